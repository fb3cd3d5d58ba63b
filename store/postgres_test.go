package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/storetest"
)

// postgresURL is the database of TEST_DATABASE_URL, or the one that the PG*
// variables name, as pg_virtualenv sets them. `make test` gives one.
func postgresURL(t testing.TB) string {
	t.Helper()
	if given := os.Getenv("TEST_DATABASE_URL"); given != "" {
		return given
	}
	if os.Getenv("PGHOST") == "" {
		t.Skip("no Postgres: set TEST_DATABASE_URL, or run under pg_virtualenv as `make test` does")
	}
	return "postgres:///?sslmode=prefer"
}

// freshPostgres makes a schema that is dropped at the end of the test.
func freshPostgres(t testing.TB) string {
	t.Helper()
	base := postgresURL(t)
	db, err := sql.Open("pgx", base)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	schema := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if _, err := db.ExecContext(t.Context(), "CREATE SCHEMA "+schema); err != nil {
		t.Fatalf("make a schema: %v", err)
	}
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.Background(), "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Errorf("drop the schema: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	u, err := url.Parse(base)
	if err != nil {
		t.Fatalf("parse the url: %v", err)
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

func TestPostgres(t *testing.T) {
	server := postgresURL(t)
	storetest.Run(t, freshPostgres, func(t testing.TB) string { return storetest.MadeDatabase(t, server, "chat") })
}

func TestPostgresRemote(t *testing.T) {
	postgresURL(t)
	storetest.RunRemote(t, freshPostgres)
}

func TestPostgresReplicas(t *testing.T) {
	postgresURL(t)
	storetest.RunReplicas(t, freshPostgres)
}

func BenchmarkCommitPostgres(b *testing.B) {
	postgresURL(b)
	storetest.BenchmarkCommit(b, freshPostgres)
}

func TestPostgresPooled(t *testing.T) { storetest.RunPooled(t, postgresURL(t)) }

// A database that cannot store every text as it is is refused before anything is stored.
func TestPostgresEncodings(t *testing.T) {
	in := func(encoding string, o store.Options) error {
		s, err := store.Open(t.Context(), databaseWith(t, "ENCODING '"+encoding+"' LC_COLLATE 'C' LC_CTYPE 'C'"), o)
		if err == nil {
			_ = s.Close()
		}
		return err
	}
	if err := in("LATIN1", store.Options{}); err == nil || !strings.Contains(err.Error(), "the encoding LATIN1") || errors.Is(err, record.ErrUnavailable) {
		t.Errorf("LATIN1: got %v, want a refusal that names it", err)
	}
	var log bytes.Buffer
	if err := in("SQL_ASCII", store.Options{Database: sqldb.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}}); err != nil || !strings.Contains(log.String(), "the encoding SQL_ASCII") {
		t.Errorf("SQL_ASCII: got %v, and in the log %q; want a warning", err, log.String())
	}
}

// A question is replaced through one process while another one stores its answer. The answer
// waits for that, and is replaced too.
func TestPostgresAnswerToAReplacedQuestion(t *testing.T) {
	postgresURL(t)
	url := freshPostgres(t)
	data, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	commit := func(w *record.Write) error { return errors.Join(data.Commit(t.Context(), []*record.Write{w}), w.Err) }
	at := time.Now()
	run := record.Run{ID: "run", Owner: schemas.User{ID: "u"}, Request: []byte(`{}`), UserMessageID: "question", MessageID: "answer", CreatedAt: at}
	asked := &record.Begin{Run: run, ChatKey: "c", UserMessage: &record.UserMessage{Message: schemas.Message{ID: "question", Role: "user", Type: "md", Status: schemas.MessageComplete, CreatedAt: at}}}
	if err := commit(&record.Write{RunID: "run", Attempt: 1, Begin: asked}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Rollback() }()
	var pid int
	if err := other.QueryRowContext(t.Context(), "SELECT pg_backend_pid() FROM chats WHERE key = 'c' FOR NO KEY UPDATE").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if _, err := other.ExecContext(t.Context(), "UPDATE blocks SET status = 'superseded', kept = status, tail = id WHERE id = 'question'"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- commit(&record.Write{RunID: "run", Attempt: 1, Finish: &record.Finish{
			State: schemas.RunCompleted, EndedAt: at.Add(-time.Minute), // by a clock that is behind
			Message: &schemas.Message{ID: "answer", Role: "assistant", Type: "md", Status: schemas.MessageComplete, CreatedAt: at, RunID: "run"},
		}})
	}()
	for waits := 0; waits == 0 && len(done) == 0; {
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))", pid).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	m, err := data.Message(t.Context(), "u", asked.Run.ConversationID, "answer")
	if err != nil || m.Status != schemas.MessageSuperseded {
		t.Errorf("the answer is %q, %v; want superseded", m.Status, err)
	}
}

// Two replicas see a new tool of an MCP server at the same moment, with different
// definitions: only the first one is trusted.
func TestPostgresNewMCPTool(t *testing.T) {
	postgresURL(t)
	url := freshPostgres(t)
	data, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = data.Close() }()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	other, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Rollback() }()
	var pid int
	err = other.QueryRowContext(t.Context(), `INSERT INTO mcp_tools (server, tool, hash, definition, changed, changed_definition, seen_at)
		VALUES ('s', 't', 'first', '{}', '', '', 1) RETURNING pg_backend_pid()`).Scan(&pid)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan []record.MCPTool, 1)
	go func() {
		list, err := data.SeeMCPTools(t.Context(), "s", []record.MCPTool{{Tool: "t", Hash: "second", Definition: []byte("{}")}})
		if err != nil {
			t.Error(err)
		}
		seen <- list
	}()
	for waits := 0; waits == 0 && len(seen) == 0; {
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))", pid).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Commit(); err != nil {
		t.Fatal(err)
	}
	if list := <-seen; len(list) != 1 || list[0].Hash != "first" || list[0].Changed != "second" {
		t.Errorf("the tools are %+v, want the first definition and the second one as its change", list)
	}
}

// Replicas that commit for several chats at once lock the chats in the same order: while one
// waits for a chat, it has none that come later. Otherwise two wait for each other, and all
// their runs with them until the server ends one of the transactions.
func TestPostgresOrderOfChats(t *testing.T) {
	postgresURL(t)
	url := freshPostgres(t)
	data, err := store.Open(t.Context(), url, store.Options{Database: sqldb.Options{Lease: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	at := time.Now()
	begin := func(run, chat string) *record.Write {
		return &record.Write{RunID: run, Attempt: 1, Begin: &record.Begin{
			Run: record.Run{ID: run, Owner: schemas.User{ID: "u"}, Request: []byte(`{}`), MessageID: "answer of " + run, UserMessageID: "question of " + run, CreatedAt: at}, ChatKey: chat,
			UserMessage: &record.UserMessage{Message: schemas.Message{ID: "question of " + run, Role: "user", Type: "md", Status: schemas.MessageComplete, CreatedAt: at}},
		}}
	}
	finish := func(run string) *record.Write {
		return &record.Write{RunID: run, Attempt: 1, Finish: &record.Finish{State: schemas.RunCancelled, EndedAt: at}}
	}
	commit := func(writes ...*record.Write) error {
		err := data.Commit(t.Context(), writes)
		for _, w := range writes {
			err = errors.Join(err, w.Err)
		}
		return err
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, chat := range []string{"z", "a", "m"} { // the order of the ids is not that of the keys
		if err := commit(begin("run in "+chat, chat)); err != nil {
			t.Fatal(err)
		}
	}
	for name, writes := range map[string][]*record.Write{
		"ends":       {finish("run in m"), finish("run in z")},
		"beginnings": {begin("2", "a"), begin("1", "z")},
		"both":       {finish("run in a"), begin("3", "z")},
	} {
		for _, w := range writes {
			if w.Begin != nil {
				w.Begin.Queue = true
			}
		}
		other, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var pid int
		if err := other.QueryRowContext(t.Context(), "SELECT pg_backend_pid() FROM chats WHERE key = 'z' FOR NO KEY UPDATE").Scan(&pid); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- commit(writes...) }()
		for waits := 0; waits == 0 && len(done) == 0; {
			if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))", pid).Scan(&waits); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := other.ExecContext(t.Context(), "SELECT 1 FROM chats WHERE key <> 'z' FOR NO KEY UPDATE NOWAIT"); err != nil {
			t.Errorf("%s: while the commit waits for the first chat, others are locked: %v", name, err)
		}
		if err := other.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
