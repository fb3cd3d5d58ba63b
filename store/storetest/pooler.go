package storetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chattray/chattray/schemas/porttest"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/storetest/copies"
)

// StartPooler starts PgBouncer in transaction mode before the server of a url,
// with conns connections to each database, and returns the url through it. It
// is stopped at the end of the test.
func StartPooler(t testing.TB, server string, conns int) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("no pgbouncer: install Debian's package pgbouncer, as .ci/setup does")
	}
	config, err := pgx.ParseConfig(server)
	must(t, err)
	address := porttest.Address(t)
	_, port, err := net.SplitHostPort(address)
	must(t, err)
	file := filepath.Join(t.TempDir(), "pgbouncer.ini")
	must(t, os.WriteFile(file, fmt.Appendf(nil, `[databases]
* = host=%s port=%d user=%s password='%s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = %d
max_client_conn = 500
`, config.Host, config.Port, config.User, strings.ReplaceAll(config.Password, "'", "''"), port, conns), 0o600))
	args := []string{file}
	if os.Geteuid() == 0 {
		args = append([]string{"-u", "nobody"}, args...) // it refuses to run as root
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("pgbouncer: %s", output.String()[max(0, output.Len()-2000):])
		}
	})
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: address,
		Path: "/" + config.Database, RawQuery: "sslmode=disable",
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(hangs); ; <-tick.C {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", u.Host)
		if err == nil {
			_ = conn.Close()
			return u.String()
		}
		if time.Now().After(deadline) {
			t.Fatalf("pgbouncer does not listen: %v", err)
		}
	}
}

// FreshDatabase makes an empty database on a server and returns its url. It is
// dropped at the end of the test.
func FreshDatabase(t testing.TB, server string) string {
	t.Helper()
	return copies.Of(t, server, copies.Empty)
}

// MadeDatabase is FreshDatabase with all tables. They are in the schema, which is not the
// default one if it has a name.
func MadeDatabase(t testing.TB, server, schema string) string {
	t.Helper()
	template, err := copies.Prepared(server, "chattray_store"+schema, strings.NewReader(schema), func(ctx context.Context, address string) error {
		if schema != "" {
			conn, err := pgx.Connect(ctx, address)
			if err != nil {
				return err
			}
			_, err = conn.Exec(ctx, "CREATE SCHEMA "+schema)
			if err := errors.Join(err, conn.Close(ctx)); err != nil {
				return err
			}
		}
		s, err := store.Open(ctx, inSchema(t, address, schema), store.Options{})
		if err != nil {
			return err
		}
		return s.Close()
	})
	must(t, err)
	return inSchema(t, copies.Of(t, server, template), schema)
}

// inSchema returns the url of a database whose tables are in a schema.
func inSchema(t testing.TB, address, schema string) string {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	if schema != "" {
		q := u.Query()
		q.Set("search_path", schema)
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// Elsewhere returns the url of a database at another address.
func Elsewhere(t testing.TB, address, database string) string {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	u.Path = "/" + database
	return u.String()
}

// RunPooled runs the suite of all databases on Postgres behind PgBouncer, and
// tests of faults that happen only there.
func RunPooled(t *testing.T, server string) {
	pooled := StartPooler(t, server, 20)
	empty := func(t testing.TB) string { return Through(t, pooled, FreshDatabase(t, server)) }
	made := func(t testing.TB) string { return Through(t, pooled, MadeDatabase(t, server, "")) }
	t.Run("suite", func(t *testing.T) { Run(t, empty, made) })
	t.Run("migrations", func(t *testing.T) {
		for range 3 {
			url := FreshDatabase(t, server)
			testMigratedAtOnce(t, Through(t, pooled, url))
			noLocks(t, url)
		}
	})
	t.Run("one connection", func(t *testing.T) {
		t.Parallel()
		database := FreshDatabase(t, server)
		testOneConnection(t, Through(t, StartPooler(t, server, 1), database), database)
	})
	t.Run("comes later", func(t *testing.T) { testPoolerComesLater(t, server, pooled) })
}

// Through returns the url of a database through a pooler.
func Through(t testing.TB, pooled, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	must(t, err)
	return Elsewhere(t, pooled, strings.TrimPrefix(u.Path, "/"))
}

// noLocks checks that no advisory lock is left in the database.
func noLocks(t testing.TB, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer func() { must(t, conn.Close(t.Context())) }()
	var n int
	must(t, conn.QueryRow(t.Context(),
		"SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(&n))
	equal(t, "advisory locks that are left", n, 0)
}

// testOneConnection migrates through a pooler that has too few connections: the
// error says what to do. They are enough once there is nothing to migrate.
func testOneConnection(t *testing.T, address, database string) {
	u, err := url.Parse(address)
	must(t, err)
	q := u.Query()
	q.Set("connect_timeout", "2")
	u.RawQuery = q.Encode()
	_, err = store.Open(t.Context(), u.String(), store.Options{})
	if err == nil || !strings.Contains(err.Error(), "default_pool_size") {
		t.Errorf("open: got %v", err)
	}
	for _, way := range []string{database, u.String()} {
		data, err := store.Open(t.Context(), way, store.Options{})
		must(t, err)
		must(t, data.Close())
	}
}

// testPoolerComesLater puts a pooler in front of a server that a store already
// uses.
func testPoolerComesLater(t *testing.T, server, pooled string) {
	database := FreshDatabase(t, server)
	way := newWire(t, database)
	s := open(t, way.url)
	f := newFixture(t, s)
	g := f.turn("q", "a")
	to, err := pgx.ParseConfig(Through(t, pooled, database))
	must(t, err)
	way.cut()
	way.network, way.address = pgconn.NetworkAddress(to.Host, to.Port)
	way.restore()
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			if _, err := s.Chat(t.Context(), f.owner, g.Run.ConversationID); err != nil {
				t.Error(err)
			}
			if _, err := s.PatchChat(t.Context(), f.owner, g.Run.ConversationID, title("t")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
