package transcripts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/app/telemetry"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/store"
)

// Secrets that neither a client nor the log may ever contain.
const (
	canaryKey    = "canary-of-the-api-key"
	canarySecret = "canary-of-the-jwt-secret-32-bytes"
	canaryDSN    = "canary-of-the-dsn"
)

// fixture is the service of a transcript, with its model server, database and
// clients.
type fixture struct {
	t        *testing.T
	environ  []string
	config   settings.Config
	contract apitest.Contract
	aliases  *aliases

	up         *upstream.Server
	replies    int                 // the number of replies in the transcript
	asked      int                 // the number of requests already shown
	options    func(*runs.Options) // may be nil
	stores     runs.Stores         // the running service's
	wireFrames map[string]string   // by wire, see noteFrames
	newest     map[string]string   // frames of the newest version, by wire and run

	log     apptest.Buffer
	wire    *memoryWire
	client  *http.Client
	cancel  context.CancelFunc
	stopped chan error
	open    map[string]*exchange
	wires   map[string]*wire
	runs    []seenRun
}

// sampled returns a function that makes databases with the sample data, which have a canary
// in their URL. It also starts the store's packing of large values, which starts once for
// the whole process: its channels must not belong to a synctest bubble.
func sampled(t *testing.T, d apptest.Database) (copied func(t *testing.T) string) {
	t.Helper()
	original := d.Fresh(t) // what the copies are made with does not belong to a bubble either
	startPacking(t)
	if d.Name == "postgres" {
		return func(t *testing.T) string {
			return d.Fresh(t) + "&application_name=" + canaryDSN
		}
	}
	file, err := os.ReadFile(strings.TrimPrefix(original, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), canaryDSN+".db")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		return "sqlite:" + path
	}
}

// startPacking packs a large value.
func startPacking(t *testing.T) {
	t.Helper()
	data, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "large.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	large := &record.Write{RunID: "large", Begin: &record.Begin{Run: record.Run{
		ID: "large", Owner: schemas.User{ID: "una"}, Request: []byte(`"` + strings.Repeat("large ", 200) + `"`),
	}}}
	if err := errors.Join(data.Commit(t.Context(), []*record.Write{large}), large.Err, data.Close()); err != nil {
		t.Fatal(err)
	}
}

// pagesDir returns a folder with the page files.
func pagesDir(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range archive.Files {
		name, ok := strings.CutPrefix(f.Name, "pages/")
		if !ok {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// numberFrom gives the first conversation of a database the number in the part numbers.
func numberFrom(t *testing.T, database string, archive *txtar.Archive) {
	t.Helper()
	at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "numbers" })
	if at < 0 {
		return
	}
	first, err := strconv.Atoi(strings.TrimSpace(string(archive.Files[at].Data)))
	if err != nil {
		t.Fatal(err)
	}
	driver, address := "pgx", database
	statement := fmt.Sprintf("ALTER TABLE chats ALTER COLUMN id RESTART WITH %d", first)
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		driver, address = "sqlite", path
		statement = fmt.Sprintf("INSERT INTO sqlite_sequence(name, seq) VALUES('chats', %d)", first-1)
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// newFixture returns a fixture with a database and a folder of pages.
func newFixture(t *testing.T, database, pages string, archive *txtar.Archive) *fixture {
	t.Helper()
	s := &fixture{
		t: t, contract: apitest.Load(t, "../../openapi.yaml"), aliases: newAliases(), up: upstream.NewMemory(), open: map[string]*exchange{}, wires: map[string]*wire{},
		environ: []string{
			"CHATTRAY_DATABASE_URL=" + database, "CHATTRAY_PAGES=" + pages,
			"CHATTRAY_OPENAI_BASE_URL=http://upstream.test/v1", "CHATTRAY_OPENAI_API_KEY=" + canaryKey,
			"CHATTRAY_JWT_SECRET=" + canarySecret, "CHATTRAY_LOG_FORMAT=json",
			// The time of the bubble passes quickly: a lease is renewed three times in this.
			"CHATTRAY_REPLICA_LEASE=60s",
		},
	}
	for _, f := range archive.Files {
		switch f.Name {
		case "settings":
			s.environ = append(s.environ, strings.Fields(string(f.Data))...)
		case "upstream":
			s.says(string(f.Data))
		case "stand-ins":
			s.options = func(o *runs.Options) { o.Agent = newStandInAgent(o.Agent, string(f.Data)) }
		}
	}
	var err error
	if s.config, _, err = settings.Load(nil, s.environ, ""); err != nil {
		t.Fatal(err)
	}
	return s
}

// says adds replies to the model's server.
func (s *fixture) says(text string) {
	s.t.Helper()
	replies, err := parseUpstream(text)
	if err != nil {
		s.t.Fatal(err)
	}
	s.up.Push(replies...)
	s.replies += len(replies)
}

// start starts the service.
func (s *fixture) start() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	log, flush := telemetry.NewLogger(&s.log, s.config.LogLevel, s.config.LogFormat)
	watch, err := telemetry.New(ctx, telemetry.Options{Environ: s.environ})
	if err != nil {
		s.t.Fatal(err)
	}
	service, err := app.Build(ctx, s.config, app.Options{Tools: labTools(), Models: s.up.Transport(), Runs: s.takeStores}, watch, log)
	if err != nil {
		s.t.Fatal(err)
	}
	wire := newMemoryWire()
	s.wire, s.cancel, s.stopped = wire, cancel, make(chan error, 1)
	go func() {
		err := service.Answer(ctx, s.config, wire, log)
		err = errors.Join(err, service.Close(), watch.Close(context.Background()))
		flush()
		s.stopped <- err
	}()
	s.client = &http.Client{Transport: &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return wire.dial(ctx) },
		DisableCompression: true,
	}}
}

// takeStores notes the store of the service that is being built. Calls that wait expire by
// the clock of the test; Postgres has another one.
func (s *fixture) takeStores(o *runs.Options) {
	o.SharedNow = nil
	if s.options != nil {
		s.options(o)
	}
	s.stores = o.Store
}

// stop stops the service as SIGTERM does.
func (s *fixture) stop() {
	s.t.Helper()
	s.cancel()
	if err := <-s.stopped; err != nil {
		s.t.Errorf("the service stopped with %v, want no error", err)
	}
	s.client.CloseIdleConnections()
}

// closeClients ends the requests that are still read in the background.
func (s *fixture) closeClients() {
	for _, x := range s.open {
		x.cancel()
	}
	for _, w := range s.wires {
		if w.conn != nil {
			_ = w.conn.CloseNow() // it may be closed
		}
	}
	synctest.Wait()
}

// bearer returns the token of a user; "" is for no user.
func (s *fixture) bearer(user string, roles []string) string {
	if user == "nobody" {
		return ""
	}
	token, err := auth.SignToken(canarySecret, "", schemas.User{Name: user, Roles: roles}, time.Now(), time.Now().Add(24*time.Hour))
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// memoryWire is a listener whose connections are in memory.
type memoryWire struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newMemoryWire() *memoryWire {
	return &memoryWire{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (w *memoryWire) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case w.conns <- far:
		return near, nil
	case <-w.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (w *memoryWire) Accept() (net.Conn, error) {
	select {
	case conn := <-w.conns:
		return conn, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (w *memoryWire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// Addr implements net.Listener.
func (w *memoryWire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }
