//go:build unix

package outage

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store/storetest"
)

// postgres is the server's URL; without one the test is skipped.
func postgres(t *testing.T) string {
	t.Helper()
	server := apptest.PostgresURL()
	if server == "" {
		t.Skip("no Postgres: make test gives one")
	}
	return server
}

// pooledTalks is the number of simultaneous conversations, each followed by
// reads.
const pooledTalks = 16

// Through PgBouncer in transaction mode, without a setting for it, runs, reads
// and changes of documents work at the same time.
func TestPooled(t *testing.T) {
	server := postgres(t)
	pooled := storetest.StartPooler(t, server, 8)
	system := apptest.NewSystem(t, storetest.Through(t, pooled, storetest.FreshDatabase(t, server)))
	system.Settings = append(system.Settings, "DRAIN=1s")
	system.ServeHere(app.Options{})
	var all sync.WaitGroup
	for n := range pooledTalks {
		all.Go(func() {
			c := system.NewConversation(fmt.Sprintf("chat-%d", n), "reject")
			if err := c.Run(t.Context()); err != nil {
				t.Error(err)
				return
			}
			for _, err := range c.Check(t.Context()) {
				t.Error(err)
			}
			for _, step := range []struct {
				method, path string
				body         any
			}{
				{http.MethodGet, "/api/chats", nil},
				{http.MethodGet, "/api/chat/runs/" + c.RunID, nil},
				{http.MethodPost, "/api/documents", map[string]any{"id": fmt.Sprintf("d%d", n), "title": "t"}},
				{http.MethodPost, fmt.Sprintf("/api/documents/d%d/blocks", n), map[string]any{"id": fmt.Sprintf("b%d", n), "type": "md", "content": "c"}},
				{http.MethodPatch, fmt.Sprintf("/api/blocks/b%d", n), map[string]any{"content": "changed"}},
				{http.MethodGet, fmt.Sprintf("/api/documents/d%d", n), nil},
			} {
				resp, err := system.Request(t.Context(), step.method, step.path, step.body)
				if err != nil {
					t.Errorf("%s %s: %v, want an answer", step.method, step.path, err)
					return
				}
				if _ = resp.Body.Close(); resp.StatusCode/100 != 2 {
					t.Errorf("%s %s: status %d, want 2xx", step.method, step.path, resp.StatusCode)
				}
			}
		})
	}
	all.Wait()
	apptest.Eventually(t, "it is ready", func() bool {
		status, err := system.Call(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && status == http.StatusOK
	})
}

// Three simultaneous `migrate up` on a fresh database succeed, directly and
// through a pooler.
func TestConcurrentMigrations(t *testing.T) {
	server := postgres(t)
	pooled := storetest.StartPooler(t, server, 4)
	for range 2 {
		direct := storetest.FreshDatabase(t, server)
		for _, database := range []string{direct, storetest.Through(t, pooled, storetest.FreshDatabase(t, server))} {
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					if out, err := apptest.Command(t, []string{"CHATTRAY_DATABASE_URL=" + database}, "migrate", "up"); err != nil {
						t.Errorf("migrate up: %v, want no error\n%s", err, out)
					}
				})
			}
			all.Wait()
		}
	}
}

// If Postgres hangs, every route that reads answers 503, with a hint when to
// retry, within the time of a read.
func TestReadsOfAPostgresThatHangs(t *testing.T) {
	system, c, resume := hangingPostgres(t)
	var all sync.WaitGroup
	for _, path := range []string{
		"/api/chats", "/api/chats/1", "/api/chat/runs/" + c.RunID, "/api/chat/runs/" + c.RunID + "/stream",
		"/api/documents", "/api/documents/d", "/api/streams", "/api/streams/1", "/api/reports", "/api/reports/1",
		"/api/usage", "/readyz",
	} {
		all.Go(func() { refused(t, system, http.MethodGet, path, nil) })
	}
	all.Wait()
	resume()
	apptest.Eventually(t, "reads continue", func() bool {
		var list schemas.ChatList
		status, err := system.Call(t.Context(), http.MethodGet, "/api/chats", &list)
		return err == nil && status == http.StatusOK
	})
}

// So does every write, within its own time; requests that were sent meanwhile
// are done afterwards, once.
func TestWritesToAPostgresThatHangs(t *testing.T) {
	system, before, resume := hangingPostgres(t)
	during := system.NewConversation("chat", "queue")
	during.Patient = true
	ended := during.Start(t)
	question := func(chat string) map[string]any { return map[string]any{"message": "q", "chat_id": chat} }
	var all sync.WaitGroup
	for _, call := range []struct {
		method, path string
		body         any
	}{
		{http.MethodPost, "/api/chat/stream", question("chat")},
		{http.MethodPost, "/api/chat/stream", question("another")},
		{http.MethodPost, "/api/chat", question("third")},
		{http.MethodPost, "/api/chat/runs/" + before.RunID + "/cancel", nil},
		{http.MethodPatch, "/api/chats/1", map[string]any{"title": "t"}},
		{http.MethodDelete, "/api/chats/1", nil},
		{http.MethodPost, "/api/documents", map[string]any{"id": "d", "title": "t"}},
		{http.MethodDelete, "/api/documents/d", nil},
	} {
		all.Go(func() { refused(t, system, call.method, call.path, call.body) })
	}
	all.Wait()
	resume()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	apptest.CheckAll(t, before, during)
}

// hangingPostgres serves from a Postgres that hangs, until resume is called, after
// one run has ended.
func hangingPostgres(t *testing.T) (system *apptest.System, ended *apptest.Conversation, resume func()) {
	t.Helper()
	server := postgres(t)
	database := storetest.FreshDatabase(t, server)
	system = apptest.NewSystem(t, database)
	system.Settings = append(system.Settings, "DRAIN=1s", "DATABASE_TIMEOUT=1s")
	system.ServeHere(app.Options{})
	ended = system.NewConversation("chat", "reject")
	ended.Patient = true
	if err := ended.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	resume = stopBackends(t, server, database)
	t.Cleanup(resume)
	return system, ended, resume
}

// refused makes a call that is answered with 503 and the time of the next try.
func refused(t *testing.T, system *apptest.System, method, path string, body any) {
	ctx, cancel := context.WithTimeout(t.Context(), apptest.Limit)
	defer cancel()
	resp, err := system.Request(ctx, method, path, body)
	if err != nil {
		t.Errorf("%s %s: %v, want status 503", method, path, err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s %s: status %d, Retry-After %q, want 503 with a time to wait", method, path, resp.StatusCode, resp.Header.Get("Retry-After"))
	}
}

// stopBackends suspends all server processes of a database until resume is
// called, as if their machine hung.
func stopBackends(t *testing.T, server, database string) (resume func()) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := pgx.Connect(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	rows, err := admin.Query(t.Context(), "SELECT pid FROM pg_stat_activity WHERE datname = $1", strings.TrimPrefix(u.Path, "/"))
	if err != nil {
		t.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	if len(pids) == 0 {
		t.Fatal("the database has 0 server processes, want some")
	}
	// The process that makes new ones is their parent.
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pids[0]))
	if err != nil {
		t.Skipf("the processes of Postgres are not on this machine: %v", err)
	}
	var parent int
	if _, err := fmt.Sscanf(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " %c %d", new(rune), &parent); err != nil || parent < 2 {
		t.Fatalf("the parent of process %d is %d (%v), want a server", pids[0], parent, err)
	}
	pids = append(pids, parent)
	tell := func(s syscall.Signal) error {
		var failed error
		for _, pid := range pids {
			if err := syscall.Kill(pid, s); err != nil {
				failed = err
			}
		}
		return failed
	}
	if err := tell(syscall.SIGSTOP); err != nil {
		_ = tell(syscall.SIGCONT)
		t.Skipf("the processes of Postgres cannot be stopped from here: %v", err)
	}
	return sync.OnceFunc(func() { _ = tell(syscall.SIGCONT) }) // one may have ended
}
