package apptest

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/relay/relaytest"
	"github.com/chattray/chattray/schemas"
)

// testPage is a page with tools on an HTTP server of the test: book and order
// have an effect and must not run twice, look may; order needs approval.
const testPage = `
http_tools:
  - name: book
    description: Books a place.
    input_schema: {type: object, required: [key], properties: {key: {type: string}}}
    method: POST
    url: TOOLS/book
    body: '{"key": {{.key}}}'
    idempotent: false
    confirm: false
  - name: order
    description: Books a place when the user agrees.
    input_schema: {type: object, required: [key], properties: {key: {type: string}}}
    method: POST
    url: TOOLS/book
    body: '{"key": {{.key}}}'
    idempotent: false
  - name: look
    description: Looks something up.
    input_schema: {type: object, required: [key], properties: {key: {type: string}}}
    url: TOOLS/look?key={{.key}}
    payload: /found
    payload_type: finding
actions:
  - action: ship
    description: Ships.
    handler: server
    http:
      method: POST
      url: TOOLS/book
      body: '{"key": {{.key}}}'
      input_schema: {type: object, required: [key], properties: {key: {type: string}}}
payload_types:
  - name: finding
    source: tool
    schema: {type: object, required: [key], properties: {key: {type: string}}}
    summary: "Finding {{.key}}"
  - name: note
    marker: "NOTE:"
    instructions: Write a note.
    schema: {type: object, required: [text], properties: {text: {type: string}}}
    summary: "Note {{.text}}"
`

// Pauses of the scripted servers, so that kills happen in every phase of runs.
const (
	modelPause = 3 * time.Millisecond
	toolPause  = 10 * time.Millisecond
	// phaseWait is how long a kill waits until its phase is reached.
	phaseWait = 15 * time.Second
	// mostEnds is how many runs may end before a trigger counts.
	mostEnds = 16
)

// System is the program with everything around it: the model's server, the
// tools' server, and a trigger that kills the program in one of their phases.
type System struct {
	T        *testing.T
	Seed     uint64
	Pause    time.Duration // of the model between two words
	Settings []string
	Model    *upstream.Server
	tools    *httptest.Server
	Client   *http.Client
	// Here makes StartReplica start replicas in this process, which send each other
	// messages over it.
	Here *relaytest.Memory
	// NATS is the server that carries the replicas' messages, nil for none.
	NATS *relaytest.Server
	// Program is the path of the program that is started, for example one of another
	// release; empty for this one.
	Program string
	// Unwatched keeps the database from checking what replicas write, which takes time.
	Unwatched bool

	mu             sync.Mutex
	random         *rand.Rand
	process        *Process      // nil while it is down
	replicas       []*Process    // several processes, see StartReplica
	all            []*Process    // all that StartReplica has started
	processChanged chan struct{} // closed when process changes
	startedAt      []int         // the times of its starts
	names          int           // of replicas
	watched        bool          // the database checks what replicas write
	looking        *sql.DB       // nil until a test looks into the database
	marks          int           // counter for the order of records

	killPhase  string // the trigger: "" is any phase
	phasesLeft int    // 0 means off
	endsLeft   int    // runs that must end before it counts
	fired      chan struct{}
	kills      map[string]int    // by phase
	hooks      map[string]func() // by phase

	lethalKey string        // a call of a tool with this key kills the program
	Died      chan struct{} // it was killed by that

	toolCalls  map[string][]int       // calls of tools by key, when
	modelCalls map[string][]ModelCall // calls of the model by question
}

// NewSystem returns a system over a database. The program is not started yet.
func NewSystem(t *testing.T, database string) *System {
	t.Helper()
	s := &System{
		T: t, Seed: uint64(time.Now().UnixNano()), Pause: modelPause, processChanged: make(chan struct{}),
		kills: map[string]int{}, hooks: map[string]func(){}, toolCalls: map[string][]int{}, modelCalls: map[string][]ModelCall{},
		Died:   make(chan struct{}, 1),
		Client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}},
	}
	t.Logf("seed %d", s.Seed)
	s.random = rand.New(rand.NewPCG(s.Seed, 0))
	s.Model = upstream.New()
	s.tools = httptest.NewServer(http.HandlerFunc(s.serveTool))
	pages := t.TempDir()
	if err := os.WriteFile(filepath.Join(pages, "lab.yaml"), []byte(strings.ReplaceAll(testPage, "TOOLS", s.tools.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Settings = append(slices.Clone(patient),
		"DATABASE_URL="+database, "OPENAI_BASE_URL="+s.Model.URL(), "OPENAI_API_KEY=key", "PAGES="+pages,
		"MAX_RUNS_PER_USER=0", "MAX_STREAMS_PER_USER=0", "REQUESTS_PER_MINUTE=0", "OTHER_REQUESTS_PER_MINUTE=0", "APPROVE_AFTER_UNTRUSTED=off",
	)
	t.Cleanup(func() {
		s.Client.CloseIdleConnections()
		s.Model.Close()
		s.tools.CloseClientConnections()
		s.tools.Close()
	})
	return s
}

// Start starts the program.
func (s *System) Start() {
	s.T.Helper()
	s.setProcess(s.startProcess(s.Settings...))
}

// startProcess starts Program, or this one, in a process of its own.
func (s *System) startProcess(settings ...string) *Process {
	s.T.Helper()
	if s.Program != "" {
		return startProgram(s.T, s.Program, settings...)
	}
	return StartProcess(s.T, settings...)
}

// setProcess sets the process in which the program runs.
func (s *System) setProcess(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
	s.marks++
	s.startedAt = append(s.startedAt, s.marks)
	close(s.processChanged)
	s.processChanged = make(chan struct{})
}

// Current returns the program's process once it is running.
func (s *System) Current(ctx context.Context) (*Process, error) {
	for {
		s.mu.Lock()
		p, changed := s.process, s.processChanged
		if n := len(s.replicas); n > 0 {
			p = s.replicas[s.random.IntN(n)]
		}
		s.mu.Unlock()
		if p != nil {
			return p, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// URL returns the program's address once it is running.
func (s *System) URL(t testing.TB) string {
	t.Helper()
	p, err := s.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p.URL
}

// Process returns the program's process, nil while it is down.
func (s *System) Process() *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// ExpectEnd makes clients wait for the next start, because the program is about
// to end.
func (s *System) ExpectEnd() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = nil
}

// Between returns a number from low to high.
func (s *System) Between(low, high int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return low + s.random.IntN(high-low+1)
}

// Mark returns the next number for the order of records.
func (s *System) Mark() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks++
	return s.marks
}

// Request sends a request to the program, once it is running.
func (s *System) Request(ctx context.Context, method, path string, body any, header ...string) (*http.Response, error) {
	p, err := s.Current(ctx)
	if err != nil {
		return nil, err
	}
	req, err := NewRequest(ctx, method, p.URL+path, body, header...)
	if err != nil {
		return nil, err
	}
	return s.Client.Do(req)
}

// Send sends a request that must be answered. The body is closed at the end of
// the test.
func (s *System) Send(t testing.TB, method, path string, body any, header ...string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	t.Cleanup(cancel)
	resp, err := s.Request(ctx, method, path, body, header...)
	if err != nil {
		t.Fatalf("%s %s: %v, want an answer", method, path, err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// HangUp closes all connections of the clients, and those to the servers of the model and
// the tools.
func (s *System) HangUp() {
	s.Client.CloseIdleConnections()
	s.Model.HangUp()
	s.tools.CloseClientConnections()
}

// ReadProblem reads the problem that a request was answered with.
func ReadProblem(t testing.TB, resp *http.Response) (p schemas.Problem) {
	t.Helper()
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		t.Errorf("the body of the answer with status %d: %v, want a problem", resp.StatusCode, err)
	}
	return p
}

// Call reads JSON from the program; it retries if the program was killed.
func (s *System) Call(ctx context.Context, method, path string, into any) (int, error) {
	for {
		p, err := s.Current(ctx)
		if err != nil {
			return 0, err
		}
		req, err := NewRequest(ctx, method, p.URL+path, nil)
		if err != nil {
			return 0, err
		}
		resp, err := s.Client.Do(req)
		if err != nil {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			if !s.hasEnded(p) {
				return 0, err
			}
			continue
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			if !s.hasEnded(p) {
				return 0, err
			}
			continue
		}
		if into != nil && resp.StatusCode == http.StatusOK {
			err = json.Unmarshal(body, into)
		}
		return resp.StatusCode, err
	}
}

// hasEnded reports whether the process has been killed or replaced.
func (s *System) hasEnded(p *Process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process != p && !slices.Contains(s.replicas, p)
}

// startedBetween reports whether the program was started between two marks.
func (s *System) startedBetween(from, to int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.startedAt, func(at int) bool { return from < at && at < to })
}

// Stop stops the program with SIGTERM.
func (s *System) Stop() {
	s.T.Helper()
	p := s.Process()
	s.ExpectEnd()
	p.Signal(syscall.SIGTERM)
	if end := p.Wait(); end.ExitCode() != 0 {
		s.T.Errorf("the program ended with %v, want exit status 0", end)
	}
}

// Restart kills the program and starts it again.
func (s *System) Restart() {
	s.T.Helper()
	p := s.Process()
	s.ExpectEnd()
	p.Kill()
	s.Start()
}

// AwaitStop waits until the program is no longer ready for requests.
func (s *System) AwaitStop(t *testing.T) {
	t.Helper()
	Eventually(t, "readiness fails", func() bool {
		status, err := s.Call(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && status == http.StatusServiceUnavailable
	})
}
