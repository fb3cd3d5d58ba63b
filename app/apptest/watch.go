package apptest

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
)

//go:embed watch.sql
var watchSQL string

// nextName returns the name under which the next replica connects to the database.
func (s *System) nextName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names++
	return fmt.Sprintf("replica-%d", s.names)
}

// named returns the database's address for a process of that name.
func named(t testing.TB, address, name string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// watch makes the database check what replicas write, from the first one on, which has
// just made the tables. It has joined, or joins meanwhile.
func (s *System) watch(first string) {
	s.T.Helper()
	s.mu.Lock()
	done := s.watched || s.Unwatched
	s.watched = true
	s.mu.Unlock()
	if done {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.Database())
	if err != nil {
		s.T.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }() // it is committed
	if _, err := conn.PgConn().Exec(ctx, "BEGIN;"+watchSQL+"COMMIT").ReadAll(); err != nil {
		s.T.Fatalf("watch the database: %v", err)
	}
	if _, err := conn.Exec(ctx, "INSERT INTO watch.processes SELECT id, $1 FROM replicas ORDER BY started_at DESC LIMIT 1 ON CONFLICT DO NOTHING", first); err != nil {
		s.T.Fatal(err)
	}
}
