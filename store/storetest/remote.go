package storetest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // registers pgx

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
)

// RunRemote holds Postgres against what can happen on the way to a server.
func RunRemote(t *testing.T, fresh func(t testing.TB) string) {
	for name, test := range map[string]func(t *testing.T, url string){
		"server out of reach":      testOutOfReach,
		"connections ended":        testConnectionsEnded,
		"outcome of a commit lost": testLostCommit,
		"server read-only":         testReadOnly,
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

// testConnectionsEnded ends the connections on the server, as an operator does:
// a commit goes over another one, and a read says at most that the database is
// away.
func testConnectionsEnded(t *testing.T, url string) {
	way := newWire(t, url)
	f := newFixture(t, open(t, way.url))
	g := f.turn("q", "a")
	admin, err := sql.Open("pgx", url)
	must(t, err)
	t.Cleanup(func() { must(t, admin.Close()) })
	terminate := func() {
		t.Helper()
		var n int
		const statement = "SELECT COUNT(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE application_name = $1"
		must(t, admin.QueryRowContext(t.Context(), statement, way.name).Scan(&n))
		if n == 0 {
			t.Fatal("there was no connection to end")
		}
	}
	for range 5 {
		terminate()
		w := f.begin("x", key("c"))
		f.mustCommit(w)
		f.mustCommit(f.finish(w, "y"))
		terminate()
		if _, err := f.store.Chat(t.Context(), f.owner, g.Run.ConversationID); err != nil && !errors.Is(err, record.ErrUnavailable) {
			t.Errorf("read: %v", err)
		}
		must(t, f.store.Ping(t.Context()))
	}
	chat, err := f.store.ChatByKey(t.Context(), f.owner, "c")
	must(t, err)
	equal(t, "number of messages", len(f.messages(chat.ConversationID, false)), 10)
}

// testLostCommit loses the server's word that a transaction was committed: the
// same writes, committed again, are applied once.
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

// testReadOnly asks a server that answers and takes no writes.
func testReadOnly(t *testing.T, url string) {
	g := newFixture(t, open(t, url)).turn("q", "a")
	s, err := store.Open(t.Context(), url+"&default_transaction_read_only=on", store.Options{NoMigrate: true})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	fails(t, "ping", s.Ping(t.Context()), record.ErrUnavailable)
	_, err = s.Run(t.Context(), g.Run.ID)
	must(t, err)
}

// wire is a way to a server that can be cut.
type wire struct {
	url, name string
	// network and address are the server's, listen is ours.
	network, address, listen string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
	losing   bool
	done     sync.WaitGroup
	t        testing.TB
}

func newWire(t testing.TB, to string) *wire {
	config, err := pgx.ParseConfig(to)
	must(t, err)
	w := &wire{t: t, name: "wire-" + newID(), conns: make(map[net.Conn]bool)}
	w.network, w.address = pgconn.NetworkAddress(config.Host, config.Port)
	w.restore()
	w.listen = w.listener.Addr().String()
	q := url.Values{"sslmode": {"disable"}, "search_path": {config.RuntimeParams["search_path"]}, "application_name": {w.name}, "connect_timeout": {"5"}}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: w.listen, Path: config.Database, RawQuery: q.Encode()}
	w.url = u.String()
	t.Cleanup(w.cut)
	return w
}

// cut ends all connections and accepts no more.
func (w *wire) cut() {
	w.mu.Lock()
	_ = w.listener.Close() // a second cut is no matter
	for c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
	w.done.Wait()
}

// restore accepts connections again, at the same address.
func (w *wire) restore() {
	var config net.ListenConfig
	address := w.listen
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := config.Listen(context.Background(), "tcp", address)
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

// loses says whether the bytes from the server are to be lost.
func (w *wire) loses(from []byte) bool {
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

// pass copies until either end is gone or the bytes are to be lost.
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
