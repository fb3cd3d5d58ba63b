package storetest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // registers pgx

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/porttest"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
)

// RunRemote tests Postgres against faults between the service and the server.
func RunRemote(t *testing.T, fresh func(t testing.TB) string) {
	for name, test := range map[string]func(t *testing.T, url string){
		"server out of reach":      testOutOfReach,
		"connections ended":        testConnectionsEnded,
		"outcome of a commit lost": testLostCommit,
		"server read-only":         testReadOnly,
		"a user without rights":    testNoRights,
		"server that hangs":        testServerHangs,
		"server full":              testServerFull,
		"a write that gives way":   testGivesWay,
		"columns added":            testColumnsAdded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

func testOutOfReach(t *testing.T, url string) {
	way := newWire(t, url)
	f := newFixture(t, open(t, way.url))
	g := f.turn("q", "a")
	w := f.begin("q2", in(g.Run.ConversationID))
	f.mustCommit(w)
	end := f.finish(w, "a2")
	way.cut()
	for name, call := range calls(f.store, f.owner, g) {
		if name != "migrate" && name != "migration status" { // they wait for the server
			fails(t, name, call(t.Context()), record.ErrUnavailable)
		}
	}
	fails(t, "finish", f.store.Commit(t.Context(), []*record.Write{end}), record.ErrUnavailable)
	way.restore()
	f.mustCommit(end)
	equal(t, "messages", f.messages(g.Run.ConversationID, false), []string{"q", "a", "q2", "a2"})
}

// testConnectionsEnded ends all connections on the server, as an operator does.
// The next call uses another connection, even if the pool is full of ended ones
// that were all used just before.
func testConnectionsEnded(t *testing.T, url string) {
	way := newWire(t, url)
	f := newFixture(t, open(t, way.url))
	g := f.turn("q", "a")
	id := g.Run.ConversationID
	_, err := f.store.CreateDocument(t.Context(), f.owner, record.NewDocument{ID: "d", Title: "0"})
	must(t, err)
	_, err = f.store.Import(t.Context(), strings.NewReader(`{"kind":"stream","stream_id":1,"name":"n"}`))
	must(t, err)
	admin, err := sql.Open("pgx", url)
	must(t, err)
	t.Cleanup(func() { must(t, admin.Close()) })
	used := func() {
		t.Helper()
		var wg sync.WaitGroup
		for range 2 * sqldb.DefaultPostgresConns {
			wg.Go(func() {
				if _, err := f.store.Chat(t.Context(), f.owner, id); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for ended, n := 0, 1; n > 0; ended += n { // the pool may be opening another one
			const statement = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1"
			must(t, admin.QueryRowContext(t.Context(), statement, way.name).Scan(&n))
			if ended+n == 0 {
				t.Fatal("there was no connection to end")
			}
		}
	}
	for name, call := range map[string]func() error{
		"commit": func() error {
			w := f.begin("x", key("c"))
			f.mustCommit(w)
			return f.store.Commit(t.Context(), []*record.Write{f.finish(w, "y")})
		},
		"read":      func() error { _, err := f.store.Chat(t.Context(), f.owner, id); return err },
		"long read": func() error { _, err := f.store.Document(t.Context(), f.owner, "d"); return err },
		"change":    func() error { _, err := f.store.PatchChat(t.Context(), f.owner, id, title("t")); return err },
		"document": func() error {
			_, err := f.store.RenameDocument(t.Context(), f.owner, "d", newID(), nil)
			return err
		},
		"new document": func() error {
			_, err := f.store.CreateDocument(t.Context(), f.owner, record.NewDocument{ID: newID()})
			return err
		},
		"stream": func() error {
			_, err := f.store.UpdateStream(t.Context(), 1, func(s *schemas.Stream) error { s.Name += "."; return nil })
			return err
		},
		"ping": func() error { return f.store.Ping(t.Context()) },
	} {
		for range 3 {
			used()
			if err := call(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	chat, err := f.store.ChatByKey(t.Context(), f.owner, "c")
	must(t, err)
	equal(t, "number of messages", len(f.messages(chat.ConversationID, false)), 6)
	stream, err := f.store.Stream(t.Context(), 1)
	must(t, err)
	equal(t, "name of the stream", stream.Name, "n...")
}

// testServerHangs uses a server that accepts requests and does not answer.
func testServerHangs(t *testing.T, url string) {
	way := newWire(t, url)
	f := newFixture(t, open(t, url))
	g := f.turn("q", "a")
	w := f.begin("q2", in(g.Run.ConversationID))
	s, err := store.Open(t.Context(), way.url, store.Options{Database: sqldb.Options{ReadTimeout: shortRemoteRead, Conns: 2}})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	release := way.hang()
	fails(t, "begin", s.Commit(t.Context(), []*record.Write{w}), record.ErrUnavailable)
	holdsNothing(t, s, f.owner, g)
	release()
	eventuallyWorks(t, s, f.owner, g)
	f.mustCommit(w) // whether or not the first try was applied
	equal(t, "messages", f.messages(g.Run.ConversationID, false), []string{"q", "a", "q2"})
}

// testServerFull uses a server whose disk has no room for a write: readiness
// reports it, although a small write would succeed.
func testServerFull(t *testing.T, url string) {
	way := newWire(t, url)
	f := newFixture(t, open(t, way.url))
	admin, err := sql.Open("pgx", url)
	must(t, err)
	t.Cleanup(func() { must(t, admin.Close()) })
	for _, statement := range []string{
		"CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full'; END $$",
		"CREATE TRIGGER no_room BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION no_room()",
	} {
		_, err := admin.ExecContext(t.Context(), statement)
		must(t, err)
	}
	fails(t, "commit", f.store.Commit(t.Context(), []*record.Write{f.begin("q")}), record.ErrUnavailable)
	unready(t, f.store, "the disk of the database is full")
}

// testLostCommit loses the server's confirmation of a commit: the same writes,
// committed again, are applied once.
func testLostCommit(t *testing.T, url string) {
	way := newWire(t, url)
	f := newFixture(t, open(t, way.url))
	f.turn("warm", "up")
	lost := func(writes ...*record.Write) {
		t.Helper()
		way.loseCommit()
		fails(t, "the lost commit", f.store.Commit(t.Context(), writes), record.ErrUnavailable)
		f.mustCommit(writes...)
	}
	w := f.begin("q", func(g *record.Begin) { g.Run.IdempotencyKey = "k" })
	lost(w)
	segment := &record.Segment{First: 1, Last: 2, Data: []byte("s")}
	lost(&record.Write{
		RunID: w.RunID, Attempt: 1, Segment: segment, ToolCall: &record.ToolCall{Name: "t", State: record.ToolFinished},
		Payloads: []record.Payload{{CustomPayload: payload("00000050", "p", `1`), MessageID: w.Begin.Run.MessageID}},
	})
	lost(f.finish(w, "a"))
	equal(t, "messages", f.messages(w.Begin.Run.ConversationID, false), []string{"q", "a"})
	m, err := f.store.Message(t.Context(), f.owner, w.Begin.Run.ConversationID, w.Begin.Run.MessageID)
	must(t, err)
	equal(t, "payloads and tool calls", []int{len(m.Payloads), len(m.ToolHistory)}, []int{1, 1})
	equal(t, "state", w.Begin.State, schemas.RunRunning)
}

// testReadOnly uses a server that answers but accepts no writes.
func testReadOnly(t *testing.T, url string) {
	g := newFixture(t, open(t, url)).turn("q", "a")
	s, err := store.Open(t.Context(), url+"&default_transaction_read_only=on", store.Options{Database: sqldb.Options{NoMigrate: true}})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	unready(t, s, "the database is read-only")
	_, err = s.Run(t.Context(), g.Run.ID)
	must(t, err)
}

// testNoRights uses a server on which another user has made the tables.
func testNoRights(t *testing.T, url string) {
	g := newFixture(t, open(t, url)).turn("q", "a")
	execute(t, url, "DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO pg_monitor', current_schema()); END $$")
	s, err := store.Open(t.Context(), url+"&role=pg_monitor", store.Options{Database: sqldb.Options{NoMigrate: true}})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	unready(t, s, "the user of the database lacks a right")
	_, err = s.Run(t.Context(), g.Run.ID)
	fails(t, "run", err, record.ErrUnavailable)
}

// wire is a connection to a server that can be cut.
type wire struct {
	url, name string
	// network and address are the server's, listen is ours.
	network, address, listen string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
	losing   bool
	hung     chan struct{} // closed when answers pass again; nil means that they pass now
	done     sync.WaitGroup
	t        testing.TB
}

func newWire(t testing.TB, to string) *wire {
	config, err := pgx.ParseConfig(to)
	must(t, err)
	w := &wire{t: t, name: "wire-" + newID(), listen: porttest.Address(t), conns: make(map[net.Conn]bool)}
	w.network, w.address = pgconn.NetworkAddress(config.Host, config.Port)
	w.restore()
	q := url.Values{"sslmode": {"disable"}, "application_name": {w.name}, "connect_timeout": {"5"}}
	if path, ok := config.RuntimeParams["search_path"]; ok {
		q.Set("search_path", path)
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: w.listen, Path: config.Database, RawQuery: q.Encode()}
	w.url = u.String()
	t.Cleanup(w.cut)
	return w
}

// cut ends all connections and accepts no further ones.
func (w *wire) cut() {
	w.mu.Lock()
	_ = w.listener.Close() // a second cut does no harm
	for c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
	w.done.Wait()
}

// restore accepts connections again, at the same address.
func (w *wire) restore() {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", w.listen)
	must(w.t, err)
	w.mu.Lock()
	w.listener = listener
	w.mu.Unlock()
	w.done.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			w.done.Go(func() { w.carry(client) })
		}
	})
}

// loseCommit cuts the connection on which the server next says COMMIT, before
// the client hears it.
func (w *wire) loseCommit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.losing = true
}

// hang holds back all answers until release is called.
func (w *wire) hang() (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	hung := make(chan struct{})
	w.hung = hung
	release = sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.hung = nil
		close(hung)
	})
	w.t.Cleanup(release)
	return release
}

// loses waits until bytes from the server may be forwarded, and reports whether
// they are dropped instead.
func (w *wire) loses(from []byte) bool {
	w.mu.Lock()
	hung := w.hung
	w.mu.Unlock()
	if hung != nil {
		<-hung
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.losing || !bytes.Contains(from, []byte("COMMIT\x00")) {
		return false
	}
	w.losing = false
	return true
}

func (w *wire) carry(client net.Conn) {
	var dialer net.Dialer
	server, err := dialer.DialContext(context.Background(), w.network, w.address)
	if err != nil {
		_ = client.Close()
		return
	}
	w.mu.Lock()
	w.conns[client], w.conns[server] = true, true
	w.mu.Unlock()
	both := func() { _, _ = client.Close(), server.Close() }
	var back sync.WaitGroup
	back.Go(func() {
		defer both()
		pass(server, client, w.loses)
	})
	pass(client, server, func([]byte) bool { return false })
	both()
	back.Wait()
	w.mu.Lock()
	delete(w.conns, client)
	delete(w.conns, server)
	w.mu.Unlock()
}

// pass copies until either end has closed or the bytes are to be lost.
func pass(from, to net.Conn, loses func([]byte) bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if loses(buf[:n]) {
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// testGivesWay commits several writes of which one gives way to others whenever it is tried.
// It alone is not stored if it begins a run, and nothing after it is if its run has begun.
func testGivesWay(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	admin, err := sql.Open("pgx", url)
	must(t, err)
	t.Cleanup(func() { must(t, admin.Close()) })
	_, err = admin.ExecContext(t.Context(), `CREATE FUNCTION give_way() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END $$;
		CREATE TRIGGER begins BEFORE INSERT ON runs FOR EACH ROW WHEN (NEW.idempotency_key = 'gives way') EXECUTE FUNCTION give_way();
		CREATE TRIGGER ends BEFORE UPDATE ON runs FOR EACH ROW WHEN (NEW.state = 'completed' AND NEW.idempotency_key = 'ends') EXECUTE FUNCTION give_way()`)
	must(t, err)
	named := func(key string) func(*record.Begin) { return func(g *record.Begin) { g.Run.IdempotencyKey = key } }
	first, bad, last := f.begin("first"), f.begin("bad", named("gives way")), f.begin("last", named("ends"))
	must(t, f.store.Commit(t.Context(), []*record.Write{first, bad, last}))
	must(t, errors.Join(first.Err, last.Err))
	fails(t, "a question that gives way", bad.Err, record.ErrUnavailable)
	equal(t, "the questions beside it", f.messages(first.Begin.Run.ConversationID, false), []string{"first"})

	held, late := f.finish(last, "answer"), f.begin("late")
	fails(t, "an end that gives way", f.store.Commit(t.Context(), []*record.Write{held, late}), record.ErrUnavailable)
	must(t, held.Err)

	step := &record.Write{RunID: first.RunID, Attempt: 1, Segment: &record.Segment{First: 1, Last: 2, Data: []byte("s")}}
	end, another := f.finish(first, "answer"), f.begin("another", named("gives way"))
	f.mustCommit(step, end)
	must(t, f.store.Commit(t.Context(), []*record.Write{step, end, another})) // again, as after a lost result
	must(t, errors.Join(step.Err, end.Err))
}
