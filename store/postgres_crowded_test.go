package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/storetest"
)

// signalled is a log that says when something was written.
type signalled struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{}
	once    sync.Once
}

func (s *signalled) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.Contains(p, []byte("no connection left")) {
		s.once.Do(func() { close(s.written) })
	}
	return s.text.Write(p)
}

// crowdedPostgres opens a database whose user may then have only the given number of
// connections.
func crowdedPostgres(t *testing.T, limit int) (db *sqldb.DB, user string, log *signalled) {
	t.Helper()
	postgresURL(t)
	user = "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	onServer(t, "CREATE ROLE "+user+" LOGIN PASSWORD 'pw'")
	t.Cleanup(func() { onServer(t, "DROP ROLE "+user) })
	u, err := url.Parse(databaseWith(t, "ENCODING 'UTF8' OWNER "+user))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, "pw")
	log = &signalled{written: make(chan struct{})}
	db, err = sqldb.Open(t.Context(), u.String(), sqldb.Options{Conns: 4, NoMigrate: true, ReadTimeout: time.Minute, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Upkeep().Close() })
	onServer(t, fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT %d", user, limit))
	return db, user, log
}

// A read and a change while the server has no connection left wait for one of the pool, also
// those of the table of replicas, which has the pool itself.
func TestPostgresWithoutAConnectionLeft(t *testing.T) {
	uses := maps.Clone(crowdedUses)
	uses["shared"] = func(ctx context.Context, db *sqldb.DB) error {
		pool, _ := db.Shared()
		_, err := pool.ExecContext(ctx, "SELECT 1")
		return err
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			db, _, log := crowdedPostgres(t, 1)
			waitsForThePool(t, db, log, func() {}, use)
		})
	}
}

// A pooler that takes no further client is as full as a server.
func TestPostgresPoolerWithoutAClientLeft(t *testing.T) {
	pooler := storetest.StartPooler(t, freshPostgres(t), 4)
	log := &signalled{written: make(chan struct{})}
	db, err := sqldb.Open(t.Context(), pooler, sqldb.Options{Conns: 4, NoMigrate: true, ReadTimeout: time.Minute, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Upkeep().Close() })
	waitsForThePool(t, db, log, func() {
		for { // until it takes no more
			client, err := pgconn.Connect(t.Context(), pooler)
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = client.Close(context.WithoutCancel(t.Context())) })
		}
	}, crowdedUses["write"])
}

// waitsForThePool uses the database while it gives no connection any more and those of the
// pool are in use: the use waits for one of them.
func waitsForThePool(t *testing.T, db *sqldb.DB, log *signalled, fill func(), use func(context.Context, *sqldb.DB) error) {
	t.Helper()
	pool, _ := db.Shared()
	busy, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fill()
	done := make(chan error, 1)
	go func() { done <- use(t.Context(), db) }()
	select {
	case err := <-done:
		t.Fatalf("it ended with %v, want that it waits", err)
	case <-log.written:
	}
	if err := busy.Close(); err != nil { // back to the pool
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("it ended with %v, want no error", err)
	}
}

// Without any connection they wait for the server.
func TestPostgresWithoutAnyConnection(t *testing.T) {
	for name, use := range crowdedUses {
		t.Run(name, func(t *testing.T) {
			db, user, log := crowdedPostgres(t, 0)
			onServer(t, fmt.Sprintf(`DO $$ BEGIN WHILE EXISTS (SELECT FROM pg_stat_activity WHERE usename = '%[1]s') LOOP
				PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '%[1]s';
				PERFORM pg_stat_clear_snapshot(); END LOOP; END $$`, user))
			done := make(chan error, 1)
			go func() { done <- use(t.Context(), db) }()
			select {
			case err := <-done:
				t.Fatalf("it ended with %v, want that it waits", err)
			case <-log.written:
			}
			onServer(t, "ALTER ROLE "+user+" CONNECTION LIMIT 4")
			if err := <-done; err != nil {
				t.Errorf("it ended with %v, want no error", err)
			}
		})
	}
}

var crowdedUses = map[string]func(context.Context, *sqldb.DB) error{
	"read": func(ctx context.Context, db *sqldb.DB) error {
		_, err := sqldb.Number(db.Read(ctx), "SELECT 1")
		return err
	},
	"write": func(ctx context.Context, db *sqldb.DB) error {
		return db.Write(ctx, func(tx *gorm.DB) error { return tx.Exec("SELECT 1").Error })
	},
	"batch": func(ctx context.Context, db *sqldb.DB) error {
		return db.Batch(ctx, func(ctx context.Context, tx sqldb.Session) error {
			return tx.Query(ctx, "SELECT 1", [][]any{nil}, func(sqldb.Scanner) error { return nil })
		})
	},
}

// A statement that fails with the same code, as a pooler may answer, is not tried without end.
func TestPostgresPoolerWithoutAConnectionLeft(t *testing.T) {
	db, _, _ := crowdedPostgres(t, 4)
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	err := db.Write(ctx, func(tx *gorm.DB) error {
		if tries++; tries > 1 {
			cancel()
		}
		return tx.Exec("DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53300'; END $$").Error
	})
	if tries != 1 || !errors.Is(sqldb.Translate(err), record.ErrUnavailable) {
		t.Errorf("it was tried %d times and ended with %v", tries, err)
	}
}
