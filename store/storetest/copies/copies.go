// Package copies makes databases of tests on a Postgres server, as copies of prepared ones:
// to make their tables takes ten times as long as to copy them.
package copies

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/chattray/chattray/store/migrations"
)

// Empty is the template of a database without tables.
const Empty = "template1"

var prepared sync.Map // by server and prefix

// Prepared returns the name of a prepared database on the server. All tests that use the
// server, the prefix, the migrations and the content share it, also those of other packages.
// If it is not there, prepare gets the url of an empty one.
func Prepared(server, prefix string, content io.Reader, prepare func(ctx context.Context, address string) error) (name string, err error) {
	once, _ := prepared.LoadOrStore([2]string{server, prefix}, sync.OnceValues(func() (string, error) {
		return prepareOnce(server, prefix, content, prepare)
	}))
	return once.(func() (string, error))()
}

func prepareOnce(server, prefix string, content io.Reader, prepare func(ctx context.Context, address string) error) (name string, err error) {
	ctx, state := context.Background(), sha256.New()
	if err := fs.WalkDir(migrations.Files, "postgres", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := migrations.Files.ReadFile(path)
		_, _ = fmt.Fprintf(state, "%s %d\n%s", path, len(file), file)
		return err
	}); err != nil {
		return "", err
	}
	if _, err := io.Copy(state, content); err != nil {
		return "", err
	}
	name = fmt.Sprintf("%s_%x", prefix, state.Sum(nil)[:8])
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	// The end of the connection releases the lock.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", name); err != nil {
		return "", err
	}
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil || exists {
		return name, err
	}
	making := name + "_making"
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + making + " WITH (FORCE)", "CREATE DATABASE " + making + " TEMPLATE " + Empty} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", err
		}
	}
	address, err := named(server, making)
	if err != nil {
		return "", err
	}
	if err := prepare(ctx, address); err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+making+" RENAME TO "+name)
	return name, err
}

// named returns the url of a database of the server.
func named(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// Of makes a database on the server, as a copy of a template that nobody uses, and returns
// its url. It is dropped at the end of the test.
func Of(t testing.TB, server, template string) string {
	t.Helper()
	admin, err := adminOf(server)
	if err != nil {
		t.Fatal(err)
	}
	name := "chattray_test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if _, err := admin.ExecContext(t.Context(), "CREATE DATABASE "+name+" TEMPLATE "+template+admin.copying); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := admin.ExecContext(context.Background(), fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name)); err != nil {
			t.Error(err)
		}
	})
	address, err := named(server, name)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// admin makes and drops the databases of a server. Its connections stay, as a new one costs
// as much as a copied database.
type admin struct {
	*sql.DB
	// copying is the option for CREATE DATABASE that copies files: pages would be written
	// twice, also to the server's log.
	copying string
}

var (
	adminsMu sync.Mutex
	admins   = make(map[string]*admin) // by the url of the server
)

func adminOf(server string) (*admin, error) {
	adminsMu.Lock()
	defer adminsMu.Unlock()
	if a := admins[server]; a != nil {
		return a, nil
	}
	db, err := sql.Open("pgx", server)
	if err != nil {
		return nil, err
	}
	var version int
	if err := db.QueryRowContext(context.Background(), "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	a := &admin{DB: db}
	if version >= 150000 { // earlier ones do nothing else
		a.copying = " STRATEGY FILE_COPY"
	}
	admins[server] = a
	return a, nil
}
