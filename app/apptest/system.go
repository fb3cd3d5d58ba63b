package apptest

import (
	"context"
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
)

// testPage is a page with tools on an HTTP server of the test: book and order have
// an effect and must not happen twice, look may; order needs approval.
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

// The pauses of the scripted servers, so that a kill finds runs in every phase.
const (
	modelPause = 3 * time.Millisecond
	toolPause  = 10 * time.Millisecond
	// phaseWait is how long a kill waits for its phase to come up.
	phaseWait = 15 * time.Second
	// mostEnds is how many runs may end before a trigger counts.
	mostEnds = 16
)

// System is the program with what stands around it: the model's server, the
// tools' server, and a trigger that kills the program at a moment of theirs.
type System struct {
	T        *testing.T
	Seed     uint64
	Settings []string
	Model    *upstream.Server
	tools    *httptest.Server
	Client   *http.Client

	mu             sync.Mutex
	random         *rand.Rand
	process        *Process      // nil while it is down
	processChanged chan struct{} // closed when now changes
	startedAt      []int         // when it was started
	marks          int           // order of what is noted

	killPhase  string // the trigger: "" is any phase
	phasesLeft int    // 0 is off
	endsLeft   int    // runs that end before it counts
	fired      chan struct{}
	kills      map[string]int    // by phase
	hooks      map[string]func() // by phase

	lethalKey string        // a call of a tool with this key kills the program
	Died      chan struct{} // it has

	toolCalls  map[string][]int       // calls of tools by key, when
	modelCalls map[string][]ModelCall // calls of the model by question
}

// NewSystem is a system over a database, with the program not started yet.
func NewSystem(t *testing.T, database string) *System {
	t.Helper()
	w := &System{
		T: t, Seed: uint64(time.Now().UnixNano()), processChanged: make(chan struct{}),
		kills: map[string]int{}, hooks: map[string]func(){}, toolCalls: map[string][]int{}, modelCalls: map[string][]ModelCall{},
		Died:   make(chan struct{}, 1),
		Client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}},
	}
	t.Logf("seed %d", w.Seed)
	w.random = rand.New(rand.NewPCG(w.Seed, 0))
	w.Model = upstream.New()
	w.tools = httptest.NewServer(http.HandlerFunc(w.serveTool))
	pages := t.TempDir()
	if err := os.WriteFile(filepath.Join(pages, "lab.yaml"), []byte(strings.ReplaceAll(testPage, "TOOLS", w.tools.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Settings = []string{
		"DATABASE_URL=" + database, "OPENAI_BASE_URL=" + w.Model.URL(), "OPENAI_API_KEY=key", "PAGES=" + pages,
		"MAX_RUNS_PER_USER=0", "MAX_STREAMS_PER_USER=0", "REQUESTS_PER_MINUTE=0", "OTHER_REQUESTS_PER_MINUTE=0", "APPROVE_AFTER_UNTRUSTED=off",
	}
	t.Cleanup(func() {
		w.Client.CloseIdleConnections()
		w.Model.Close()
		w.tools.CloseClientConnections()
		w.tools.Close()
	})
	return w
}

// Start starts the program.
func (w *System) Start() {
	w.T.Helper()
	w.setProcess(StartProcess(w.T, w.Settings...))
}

// setProcess says where the program is now.
func (w *System) setProcess(p *Process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.process = p
	w.marks++
	w.startedAt = append(w.startedAt, w.marks)
	close(w.processChanged)
	w.processChanged = make(chan struct{})
}

// Current is the program once it is up.
func (w *System) Current(ctx context.Context) (*Process, error) {
	for {
		w.mu.Lock()
		p, changed := w.process, w.processChanged
		w.mu.Unlock()
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

// URL is where the program is.
func (w *System) URL(t testing.TB) string {
	t.Helper()
	p, err := w.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p.URL
}

// Process is the program as it is now, nil while it is down.
func (w *System) Process() *Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.process
}

// ExpectEnd says that the program is about to end.
func (w *System) ExpectEnd() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.process = nil
}

// Between returns a number from low to high.
func (w *System) Between(low, high int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return low + w.random.IntN(high-low+1)
}

// Mark returns the place in the order of all that is noted.
func (w *System) Mark() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks++
	return w.marks
}

// Call reads JSON from the program; it asks again when the program was killed.
func (w *System) Call(ctx context.Context, method, path string, into any) (int, error) {
	for {
		p, err := w.Current(ctx)
		if err != nil {
			return 0, err
		}
		req, err := NewRequest(ctx, method, p.URL+path, nil)
		if err != nil {
			return 0, err
		}
		resp, err := w.Client.Do(req)
		if err != nil {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			if !w.hasEnded(p) {
				return 0, err
			}
			continue
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			if !w.hasEnded(p) {
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

// hasEnded says whether the process has been killed.
func (w *System) hasEnded(p *Process) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.process != p
}

// startedBetween says whether the program was started between two notes.
func (w *System) startedBetween(from, to int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.startedAt, func(at int) bool { return from < at && at < to })
}

// Stop stops the program as SIGTERM does.
func (w *System) Stop() {
	w.T.Helper()
	p := w.Process()
	w.ExpectEnd()
	p.Signal(syscall.SIGTERM)
	if end := p.Wait(); end.ExitCode() != 0 {
		w.T.Errorf("the program ended with %v", end)
	}
}

// Restart kills the program and starts it again.
func (w *System) Restart() {
	w.T.Helper()
	p := w.Process()
	w.ExpectEnd()
	p.Kill()
	w.Start()
}

// AwaitStop waits until the program says that it takes no more.
func (w *System) AwaitStop(t *testing.T) {
	t.Helper()
	Eventually(t, "readiness fails", func() bool {
		status, err := w.Call(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && status == http.StatusServiceUnavailable
	})
}
