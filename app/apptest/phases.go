package apptest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
)

// LastEventRead is the phase in which a client reads the end of a run.
const LastEventRead = "a last event is read"

// OnPhase has do called the first time that a phase comes up, before it goes on.
func (w *System) OnPhase(phase string, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hooks[phase] = do
}

// arm makes the trigger kill the program when some runs have ended and then the
// phase has come up count times.
func (w *System) arm(phase string, count int) (fired <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.killPhase, w.phasesLeft, w.fired = phase, count, make(chan struct{})
	w.endsLeft = w.random.IntN(mostEnds + 1)
	return w.fired
}

// takeAnyPhase makes the trigger take the next phase, whatever it is.
func (w *System) takeAnyPhase() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.phasesLeft > 0 {
		w.killPhase, w.phasesLeft, w.endsLeft = "", 1, 0
	}
}

// reached says that a phase has come up somewhere.
func (w *System) reached(phase string) {
	w.mu.Lock()
	if do := w.hooks[phase]; do != nil {
		delete(w.hooks, phase)
		w.mu.Unlock()
		do()
		w.mu.Lock()
	}
	if phase == LastEventRead && w.endsLeft > 0 {
		w.endsLeft--
	}
	if w.phasesLeft == 0 || w.endsLeft > 0 || (w.killPhase != "" && w.killPhase != phase) || w.process == nil {
		w.mu.Unlock()
		return
	}
	if w.phasesLeft--; w.phasesLeft > 0 {
		w.mu.Unlock()
		return
	}
	p, fired := w.process, w.fired
	w.process = nil
	w.kills[phase]++
	w.mu.Unlock()
	p.Kill()
	close(fired)
}

// KillAndRestart kills the program in the phase and starts it again. A phase
// that does not come up in time is replaced by the next one that does.
func (w *System) KillAndRestart(phase string, count int) {
	w.T.Helper()
	fired := w.arm(phase, count)
	for waited := time.Duration(0); waited < Limit && !w.T.Failed(); waited += phaseWait {
		select {
		case <-fired:
			w.Start()
			return
		case <-time.After(phaseWait):
			w.takeAnyPhase()
		}
	}
	w.T.Errorf("no kill when %s", phase)
}

// serveTool is both tools.
func (w *System) serveTool(rw http.ResponseWriter, r *http.Request) {
	key := r.FormValue("key")
	if r.URL.Path == "/book" {
		var in struct{ Key string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			w.T.Errorf("book got no JSON: %v", err)
		}
		key = in.Key
	}
	w.mu.Lock()
	w.marks++
	w.toolCalls[key] = append(w.toolCalls[key], w.marks)
	lethal := key == w.lethalKey
	w.mu.Unlock()
	if lethal {
		if p, err := w.Current(r.Context()); err == nil { // it calls while it starts
			w.ExpectEnd()
			p.Kill()
			w.Died <- struct{}{}
		}
		return
	}
	w.reached("a tool is called")
	if !upstream.Delay(toolPause)(rw, r) {
		return
	}
	w.reached("a tool answers")
	rw.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(rw, `{"done":"%s of %s","found":{"key":%q}}`, strings.TrimPrefix(r.URL.Path, "/"), key, key) // the client may be dead
}

// KillOnCall makes a call of a tool with the key kill the program, each time.
func (w *System) KillOnCall(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lethalKey = key
}

// ToolCalls returns when a tool was called with the key.
func (w *System) ToolCalls(key string) []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.toolCalls[key])
}

// LogKills says what was killed where.
func (w *System) LogKills() {
	w.mu.Lock()
	defer w.mu.Unlock()
	total := 0
	for _, phase := range slices.Sorted(maps.Keys(w.kills)) {
		w.T.Logf("%3d kills when %s", w.kills[phase], phase)
		total += w.kills[phase]
	}
	w.T.Logf("%3d kills, %d starts", total, len(w.startedAt))
}
