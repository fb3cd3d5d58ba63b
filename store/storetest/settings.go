package storetest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
)

// RunSettings runs tests on a Postgres whose database has other settings than the defaults,
// also through a pooler.
func RunSettings(t *testing.T, server string) {
	t.Run("direct", func(t *testing.T) {
		testSettings(t, func() string {
			return withSettings(t, server, append(otherSettings, "bytea_output = escape", "lock_timeout = 1")...)
		})
	})
	pooled := StartPooler(t, server, 20)
	t.Run("pooled", func(t *testing.T) {
		testSettings(t, func() string { return Through(t, pooled, withSettings(t, server, otherSettings...)) })
	})
	t.Run("read-only for a while", func(t *testing.T) { testReadOnlyForAWhile(t, server) })
	t.Run("connections refused for a while", func(t *testing.T) { testRefusedForAWhile(t, server) })
	t.Run("commits flushed", func(t *testing.T) {
		for asked, want := range map[string]string{"off": "on", "local": "local", "remote_apply": "remote_apply"} {
			database := withSettings(t, server, "synchronous_commit = "+asked)
			testFlushed(t, database, database, want)
			testFlushed(t, Through(t, pooled, database), database, want)
		}
	})
	t.Run("migrations without a limit", func(t *testing.T) {
		limited := func() string {
			return withSettings(t, server, "statement_timeout = '10min'", "lock_timeout = '10min'", "idle_in_transaction_session_timeout = '10min'")
		}
		database := limited()
		testUnboundedMigrations(t, database, database)
		database = limited()
		testUnboundedMigrations(t, Through(t, pooled, database), database)
	})
	t.Run("refused", func(t *testing.T) {
		s, err := store.Open(t.Context(), Through(t, pooled, withSettings(t, server, "bytea_output = escape")), store.Options{})
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "bytea_output") {
			t.Errorf("got %v, want a refusal that names bytea_output", err)
		}
	})
}

var otherSettings = []string{
	"standard_conforming_strings = off", "client_encoding = LATIN1", "array_nulls = off", "transform_null_equals = on", "row_security = off",
	"DateStyle = 'German, DMY'", "IntervalStyle = sql_standard", "TimeZone = 'Asia/Kathmandu'", "extra_float_digits = -10", "default_text_search_config = german",
	"default_transaction_isolation = serializable", "default_transaction_deferrable = on",
}

// withSettings makes a database with the settings and returns its url.
func withSettings(t testing.TB, server string, settings ...string) string {
	t.Helper()
	database := FreshDatabase(t, server)
	for _, setting := range settings {
		alter(t, server, database, "SET "+setting)
	}
	return database
}

// alter changes the settings of a database.
func alter(t testing.TB, server, database, how string) {
	t.Helper()
	u, err := url.Parse(database)
	must(t, err)
	execute(t, server, fmt.Sprintf("ALTER DATABASE %s %s", strings.TrimPrefix(u.Path, "/"), how))
}

// execute runs statements on a connection of its own.
func execute(t testing.TB, database string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	must(t, err)
	defer func() { must(t, conn.Close(t.Context())) }()
	for _, statement := range statements {
		_, err := conn.Exec(t.Context(), statement)
		must(t, err)
	}
}

// testReadOnlyForAWhile connects while the server takes no writes, as one does that is not yet
// the primary. The first write after that succeeds, as does the renewal of the lease. Meanwhile
// nobody can renew a lease, and a process that was replaced does not take that for an end.
func testReadOnlyForAWhile(t *testing.T, server string) {
	database := FreshDatabase(t, server)
	must(t, open(t, database).Close())
	alter(t, server, database, "SET default_transaction_read_only = on")
	f := newFixture(t, open(t, database))
	lease := func() error { _, err := f.store.Replicas().Renew(f.ctx, "r", time.Minute); return err }
	deserted := func() error { _, err := f.store.Replicas().Served(f.ctx, "gone"); return err }
	document := func() error {
		_, err := f.store.CreateDocument(f.ctx, f.owner, record.NewDocument{ID: "d"})
		return err
	}
	w := f.begin("q")
	answer := func() error { return f.store.Commit(f.ctx, []*record.Write{w}) }
	for name, write := range map[string]func() error{"lease": lease, "deserted": deserted, "document": document, "answer": answer} {
		fails(t, name, write(), record.ErrUnavailable)
	}
	alter(t, server, database, "RESET default_transaction_read_only")
	for name, write := range map[string]func() error{"lease": lease, "deserted": deserted, "document": document, "answer": answer} {
		if err := write(); err != nil {
			t.Errorf("%s: got %v, want no error", name, err)
		}
	}
}

// testRefusedForAWhile uses a server that answers, and lets nobody in, as while the password of
// the service is changed there.
func testRefusedForAWhile(t *testing.T, server string) {
	database := FreshDatabase(t, server)
	f := newFixture(t, open(t, database))
	g := f.turn("q", "a")
	alter(t, server, database, "ALLOW_CONNECTIONS false")
	u, err := url.Parse(database)
	must(t, err)
	execute(t, server, fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'", strings.TrimPrefix(u.Path, "/")))
	for name, call := range calls(f.store, f.owner, g) {
		fails(t, name, call(t.Context()), record.ErrUnavailable)
	}
	w := f.begin("q2", in(g.Run.ConversationID))
	fails(t, "begin", f.store.Commit(f.ctx, []*record.Write{w}), record.ErrUnavailable)
	alter(t, server, database, "ALLOW_CONNECTIONS true")
	f.mustCommit(w)
}

// testFlushed checks the setting with which answers and changes are committed.
func testFlushed(t *testing.T, url, database, want string) {
	t.Helper()
	f := newFixture(t, open(t, url))
	execute(t, database, "CREATE TABLE IF NOT EXISTS commits (setting TEXT)", "TRUNCATE commits",
		"CREATE OR REPLACE FUNCTION note() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN INSERT INTO commits VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$",
		"CREATE OR REPLACE TRIGGER noted AFTER INSERT ON runs EXECUTE FUNCTION note()",
		"CREATE OR REPLACE TRIGGER noted AFTER INSERT ON documents EXECUTE FUNCTION note()")
	f.turn("q", "a")
	_, err := f.store.CreateDocument(f.ctx, f.owner, record.NewDocument{ID: newID()})
	must(t, err)
	conn, err := pgx.Connect(t.Context(), database)
	must(t, err)
	defer func() { must(t, conn.Close(t.Context())) }()
	var settings []string
	must(t, conn.QueryRow(t.Context(), "SELECT array_agg(setting) FROM commits").Scan(&settings))
	equal(t, "synchronous_commit", settings, []string{want, want})
}

// testUnboundedMigrations checks that no limit of the database holds for migrations.
func testUnboundedMigrations(t *testing.T, url, database string) {
	t.Helper()
	execute(t, database, "CREATE SCHEMA seen", "CREATE TABLE seen.limits (setting TEXT)",
		`CREATE FUNCTION seen.note() RETURNS EVENT_TRIGGER LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen.limits
			SELECT name || ' ' || setting FROM pg_settings WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') AND setting <> '0'; END $$`,
		"CREATE EVENT TRIGGER noted ON ddl_command_end WHEN TAG IN ('ALTER TABLE', 'CREATE INDEX') EXECUTE FUNCTION seen.note()")
	open(t, url)
	conn, err := pgx.Connect(t.Context(), database)
	must(t, err)
	defer func() { must(t, conn.Close(t.Context())) }()
	var limits []string
	must(t, conn.QueryRow(t.Context(), "SELECT array_agg(DISTINCT setting) FROM seen.limits").Scan(&limits))
	equal(t, "limits", limits, nil)
}

func testSettings(t *testing.T, fresh func() string) {
	s := open(t, fresh())
	for _, name := range []string{"text", "chats searched", "tool calls", "begin with attachments", "large content", "messages in pages", "many goroutines", "one chat, many goroutines", "changes of one document at once"} {
		t.Run(name, func(t *testing.T) {
			sharedTests[name](newFixture(t, s))
		})
	}
	t.Run("many take at once", func(t *testing.T) { testTakeAtOnce(t, fresh()) })
	steps, err := s.MigrationStatus(t.Context())
	must(t, err)
	if applied := time.Since(steps[0].AppliedAt).Abs(); applied > time.Hour {
		t.Errorf("the first migration was applied %v ago, want now", applied)
	}
}
