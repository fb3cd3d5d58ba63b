package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
)

// labPage is a page with tools on an HTTP server of the test: book and order have
// an effect and must not happen twice, look may; order needs approval.
const labPage = `
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

// gateAfter is the number of words that the model writes before a gate.
const gateAfter = 3

// The pauses of the scripted servers, so that a kill finds runs in every phase.
const (
	modelPause = 3 * time.Millisecond
	toolPause  = 10 * time.Millisecond
	// phaseWait is how long a kill waits for its phase to come up.
	phaseWait = 2 * time.Second
	// talkLimit bounds one run of a test.
	talkLimit = time.Minute
)

// world is the program with what stands around it: the model's server, the
// tools' server, and a trigger that kills the program at a moment of theirs.
type world struct {
	t        *testing.T
	seed     uint64
	settings []string
	model    *upstream.Server
	tools    *httptest.Server
	client   *http.Client

	mu      sync.Mutex
	random  *rand.Rand
	now     *process      // nil while it is down
	changed chan struct{} // closed when now changes
	starts  []int         // when it was started
	clock   int           // order of what is noted

	phase string // the trigger: "" is any phase
	left  int    // 0 is off
	ends  int    // runs that end before it counts
	fired chan struct{}
	kills map[string]int    // by phase
	hooks map[string]func() // by phase

	lethal string        // a call of a tool with this key kills the program
	died   chan struct{} // it has

	hits  map[string][]int // calls of tools by key, when
	asked map[string][]ask // calls of the model by question
}

// lastEvent is the phase in which a client reads the end of a run.
const lastEvent = "a last event is read"

// ask is a call of the model: when, in which turn, and the results it was told.
type ask struct {
	at, results int
	told        []string
}

func newWorld(t *testing.T, database string) *world {
	t.Helper()
	w := &world{
		t: t, seed: uint64(time.Now().UnixNano()), changed: make(chan struct{}),
		kills: map[string]int{}, hooks: map[string]func(){}, hits: map[string][]int{}, asked: map[string][]ask{},
		died:   make(chan struct{}, 1),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}},
	}
	t.Logf("seed %d", w.seed)
	w.random = rand.New(rand.NewPCG(w.seed, 0))
	w.model = upstream.New()
	w.tools = httptest.NewServer(http.HandlerFunc(w.serveTool))
	pages := t.TempDir()
	if err := os.WriteFile(filepath.Join(pages, "lab.yaml"), []byte(strings.ReplaceAll(labPage, "TOOLS", w.tools.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.settings = []string{
		"DATABASE_URL=" + database, "OPENAI_BASE_URL=" + w.model.URL(), "OPENAI_API_KEY=key", "PAGES=" + pages,
		"MAX_RUNS_PER_USER=0", "MAX_STREAMS_PER_USER=0", "REQUESTS_PER_MINUTE=0", "OTHER_REQUESTS_PER_MINUTE=0", "APPROVE_AFTER_UNTRUSTED=off",
	}
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		w.model.Close()
		w.tools.CloseClientConnections()
		w.tools.Close()
	})
	return w
}

// start starts the program.
func (w *world) start() {
	w.t.Helper()
	w.come(startProcess(w.t, w.settings...))
}

// come says where the program is now.
func (w *world) come(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = p
	w.clock++
	w.starts = append(w.starts, w.clock)
	close(w.changed)
	w.changed = make(chan struct{})
}

// current is the program once it is up.
func (w *world) current(ctx context.Context) (*process, error) {
	for {
		w.mu.Lock()
		p, changed := w.now, w.changed
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

// url is where the program is.
func (w *world) url(t testing.TB) string {
	t.Helper()
	p, err := w.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p.url
}

// leave says that the program is about to end.
func (w *world) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = nil
}

// when has do called the first time that a phase comes up, before it goes on.
func (w *world) when(phase string, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hooks[phase] = do
}

// between returns a number from low to high.
func (w *world) between(low, high int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return low + w.random.IntN(high-low+1)
}

// note returns the place in the order of all that is noted.
func (w *world) note() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock++
	return w.clock
}

// arm makes the trigger kill the program when some runs have ended and then the
// phase has come up count times.
func (w *world) arm(phase string, count int) (fired <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.phase, w.left, w.fired = phase, count, make(chan struct{})
	w.ends = w.random.IntN(crashClients + 1)
	return w.fired
}

// soon makes the trigger take the next phase, whatever it is.
func (w *world) soon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left > 0 {
		w.phase, w.left, w.ends = "", 1, 0
	}
}

// at says that a phase has come up somewhere.
func (w *world) at(phase string) {
	w.mu.Lock()
	if do := w.hooks[phase]; do != nil {
		delete(w.hooks, phase)
		w.mu.Unlock()
		do()
		w.mu.Lock()
	}
	if phase == lastEvent && w.ends > 0 {
		w.ends--
	}
	if w.left == 0 || w.ends > 0 || (w.phase != "" && w.phase != phase) || w.now == nil {
		w.mu.Unlock()
		return
	}
	if w.left--; w.left > 0 {
		w.mu.Unlock()
		return
	}
	p, fired := w.now, w.fired
	w.now = nil
	w.kills[phase]++
	w.mu.Unlock()
	p.kill()
	close(fired)
}

// killAndRestart kills the program in the phase and starts it again. A phase
// that does not come up in time is replaced by the next one that does.
func (w *world) killAndRestart(phase string, count int) {
	w.t.Helper()
	fired := w.arm(phase, count)
	for waited := time.Duration(0); waited < startWait && !w.t.Failed(); waited += phaseWait {
		select {
		case <-fired:
			w.start()
			return
		case <-time.After(phaseWait):
			w.soon()
		}
	}
	w.t.Errorf("no kill when %s", phase)
}

// serveTool is both tools.
func (w *world) serveTool(rw http.ResponseWriter, r *http.Request) {
	key := r.FormValue("key")
	if r.URL.Path == "/book" {
		var in struct{ Key string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			w.t.Errorf("book got no JSON: %v", err)
		}
		key = in.Key
	}
	w.mu.Lock()
	w.clock++
	w.hits[key] = append(w.hits[key], w.clock)
	lethal := key == w.lethal
	w.mu.Unlock()
	if lethal {
		if p, err := w.current(r.Context()); err == nil { // it calls while it starts
			w.leave()
			p.kill()
			w.died <- struct{}{}
		}
		return
	}
	w.at("a tool is called")
	if !upstream.Delay(toolPause)(rw, r) {
		return
	}
	w.at("a tool answers")
	rw.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(rw, `{"done":"%s of %s","found":{"key":%q}}`, strings.TrimPrefix(r.URL.Path, "/"), key, key) // the client may be dead
}

// deadly makes a call of a tool with the key kill the program, each time.
func (w *world) deadly(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lethal = key
}

// hitsOf returns when a tool was called with the key.
func (w *world) hitsOf(key string) []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.hits[key])
}

// asksOf returns the calls of the model for a question.
func (w *world) asksOf(question string) []ask {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked[question])
}

// checkScripted fails a test in which the model was asked for what no script
// has: a question in a wrong history, or results that do not fit it.
func (w *world) checkScripted() {
	w.t.Helper()
	for _, r := range w.model.Unscripted() {
		w.t.Errorf("nothing is scripted for %s", toJSON(r.Messages[min(1, len(r.Messages)):]))
	}
}

// modelTurn is one reply of the model: text, then calls.
type modelTurn struct {
	text  string
	calls []planned
	tail  string // markers, which are not shown
}

// planned is a call that the model asks for.
type planned struct{ tool, key string }

// script makes the model's server give these turns for the question, each once
// the gate is open (nil is no gate).
func (w *world) script(question string, turns []modelTurn, gate <-chan struct{}) {
	results := 0
	for _, one := range turns {
		before := results
		match := func(r upstream.Request) bool {
			// A question that got no answer stands before the next one.
			if r.Results() != before || !strings.HasSuffix(r.Last("user").Text(), question) {
				return false
			}
			a := ask{at: w.note(), results: before}
			for _, m := range r.Messages {
				if m.Role == "tool" {
					a.told = append(a.told, m.Text())
				}
			}
			a.told = a.told[len(a.told)-before:]
			w.mu.Lock()
			defer w.mu.Unlock()
			w.asked[question] = append(w.asked[question], a)
			return true
		}
		w.model.On(match, w.reply(one, results, gate))
		results += len(one.calls)
	}
}

// reply is a turn on the wire, a word at a time.
func (w *world) reply(one modelTurn, results int, gate <-chan struct{}) upstream.Reply {
	var parts []upstream.Part
	add := func(phase string, part ...upstream.Part) {
		parts = append(parts, part...)
		parts = append(parts, w.phasePart(phase), upstream.Delay(modelPause))
	}
	for n, word := range strings.SplitAfter(one.text+one.tail, " ") {
		if n == gateAfter {
			parts = append(parts, gatedPart(gate))
		}
		add("the model writes", upstream.Say(word))
	}
	for i, c := range one.calls {
		arguments := fmt.Sprintf(`{"key":%q}`, c.key)
		half := len(arguments) / 2
		add("the model asks for a tool", upstream.Call(i, fmt.Sprintf("call_%d", results+i), c.tool, arguments[:half], arguments[half:]))
	}
	finish := "stop"
	if len(one.calls) > 0 {
		finish = "tool_calls"
	}
	parts = append(parts, upstream.Finish(finish), upstream.Usage(10, 2), upstream.Done(), w.phasePart("the model ends"))
	return upstream.Open(parts...)
}

func (w *world) phasePart(phase string) upstream.Part {
	return upstream.Do(func(http.ResponseWriter, *http.Request) { w.at(phase) })
}

// call reads JSON from the program; it asks again when the program was killed.
func (w *world) call(ctx context.Context, method, path string, into any) (int, error) {
	for {
		p, err := w.current(ctx)
		if err != nil {
			return 0, err
		}
		req, err := request(ctx, method, p.url+path, nil)
		if err != nil {
			return 0, err
		}
		resp, err := w.client.Do(req)
		if err != nil {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			if !w.down(p) {
				return 0, err
			}
			continue
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			if !w.down(p) {
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

// down says whether the process has been killed.
func (w *world) down(p *process) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now != p
}

// startedBetween says whether the program was started between two notes.
func (w *world) startedBetween(from, to int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.starts, func(at int) bool { return from < at && at < to })
}

// report says what was killed where.
func (w *world) report() {
	w.mu.Lock()
	defer w.mu.Unlock()
	total := 0
	for _, phase := range slices.Sorted(maps.Keys(w.kills)) {
		w.t.Logf("%3d kills when %s", w.kills[phase], phase)
		total += w.kills[phase]
	}
	w.t.Logf("%3d kills, %d starts", total, len(w.starts))
}
