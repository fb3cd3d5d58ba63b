// Package apptest has the helpers that the tests of the whole service share.
// System is the program with a scripted model server and tools, in a process
// that can be killed or in the test's own; Conversation is a client that checks
// the promises of the service; Client and Socket send requests as users do.
// There are databases of every kind, and checks for every stream.
package apptest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sample"
	"github.com/chattray/chattray/store/storetest/copies"
)

// Database is a kind of database that tests run on.
type Database struct {
	Name string
	// Fresh returns the url of a database that is deleted at the end of the test. It is as
	// the first start of the service leaves it: with tables and the sample of research.
	Fresh func(t testing.TB) string
	// Empty returns the url of one that has no tables; on SQLite there is no file yet.
	Empty func(t testing.TB) string
}

// SQLite keeps its database in a file of the test. A test that runs only on
// SQLite is skipped if TEST_DATABASES names another kind.
var SQLite = Database{
	Name: "sqlite",
	Fresh: func(t testing.TB) string {
		address := noFile(t)
		file, err := migrated()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(strings.TrimPrefix(address, "sqlite:"), file, 0o600); err != nil {
			t.Fatal(err)
		}
		return address
	},
	Empty: noFile,
}

func noFile(t testing.TB) string {
	if only := os.Getenv("TEST_DATABASES"); only != "" && only != "sqlite" {
		t.Skip("this test runs only on SQLite")
	}
	return "sqlite:" + filepath.Join(t.TempDir(), "chat.db")
}

// prepare makes the tables of a database and loads the sample into it.
func prepare(ctx context.Context, address string) error {
	data, err := store.Open(ctx, address, store.Options{})
	if err != nil {
		return err
	}
	_, err = data.Import(ctx, sample.Open())
	return errors.Join(err, data.Close())
}

// migrated returns a prepared database file: each test would make it again.
var migrated = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "chat.db")
	if err := prepare(context.Background(), "sqlite:"+path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Databases returns SQLite, and Postgres if the environment names a server:
// TEST_DATABASE_URL, else PGHOST. TEST_DATABASES names the only kind to test.
func Databases() []Database {
	list := []Database{SQLite}
	if server := PostgresURL(); server != "" {
		list = append(list, Database{
			Name: "postgres",
			Fresh: func(t testing.TB) string {
				template, err := copies.Prepared(server, "chattray_tables", sample.Open(), prepare)
				if err != nil {
					t.Fatal(err)
				}
				return copies.Of(t, server, template)
			},
			Empty: func(t testing.TB) string { return copies.Of(t, server, copies.Empty) },
		})
	}
	if only := os.Getenv("TEST_DATABASES"); only != "" {
		list = slices.DeleteFunc(list, func(d Database) bool { return d.Name != only })
	}
	return list
}

// Load returns the url of a fresh database with the content of a file: a database file
// for SQLite, the statements of a dump for Postgres.
func (d Database) Load(t *testing.T, content []byte) string {
	t.Helper()
	address := d.Empty(t)
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return address
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.PgConn().Exec(t.Context(), string(content)).ReadAll(); err != nil {
		t.Fatal(err)
	}
	return address
}

// Unpacked returns the content of a file that was compressed with gzip.
func Unpacked(t *testing.T, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// OnDatabases runs a test in parallel on a fresh database of every kind. The
// program is not started.
func OnDatabases(t *testing.T, test func(t *testing.T, system *System)) {
	t.Helper()
	for _, d := range Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			test(t, NewSystem(t, d.Fresh(t)))
		})
	}
}

// PostgresURL returns the url of the server in the environment, empty for none.
func PostgresURL() string {
	if u := os.Getenv("TEST_DATABASE_URL"); u != "" {
		return u
	}
	host := os.Getenv("PGHOST")
	if host == "" {
		return ""
	}
	u := url.URL{Scheme: "postgres", Path: cmp.Or(os.Getenv("PGDATABASE"), "postgres"), User: url.UserPassword(os.Getenv("PGUSER"), os.Getenv("PGPASSWORD"))}
	q := url.Values{"sslmode": {cmp.Or(os.Getenv("PGSSLMODE"), "disable")}, "host": {host}, "port": {cmp.Or(os.Getenv("PGPORT"), "5432")}}
	u.RawQuery = q.Encode()
	return u.String()
}

// Open opens a database of tests beside the service. Reading waits for SQLite's lock.
func Open(t testing.TB, database string) *sql.DB {
	t.Helper()
	driver, source := "pgx", database
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		driver, source = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
