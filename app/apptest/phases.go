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

// OnPhase calls do the first time that a run enters the phase, before the run continues;
// nil is nothing.
func (s *System) OnPhase(phase string, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks[phase] = do
}

// arm makes the trigger kill the program after some runs have ended and the
// phase has then been reached count times.
func (s *System) arm(phase string, count int) (fired <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killPhase, s.phasesLeft, s.fired = phase, count, make(chan struct{})
	s.endsLeft = s.random.IntN(mostEnds + 1)
	return s.fired
}

// takeAnyPhase makes the trigger fire in the next phase, whatever it is.
func (s *System) takeAnyPhase() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phasesLeft > 0 {
		s.killPhase, s.phasesLeft, s.endsLeft = "", 1, 0
	}
}

// reached tells the trigger that a run has entered the phase.
func (s *System) reached(phase string) {
	s.mu.Lock()
	if do := s.hooks[phase]; do != nil {
		delete(s.hooks, phase)
		s.mu.Unlock()
		do()
		s.mu.Lock()
	}
	if phase == LastEventRead && s.endsLeft > 0 {
		s.endsLeft--
	}
	if s.phasesLeft == 0 || s.endsLeft > 0 || (s.killPhase != "" && s.killPhase != phase) || s.process == nil {
		s.mu.Unlock()
		return
	}
	if s.phasesLeft--; s.phasesLeft > 0 {
		s.mu.Unlock()
		return
	}
	p, fired := s.process, s.fired
	s.process = nil
	s.kills[phase]++
	s.mu.Unlock()
	p.Kill()
	close(fired)
}

// KillAndRestart kills the program in the phase and starts it again. A phase
// that is not reached in time is replaced by the next one.
func (s *System) KillAndRestart(phase string, count int) {
	s.T.Helper()
	fired := s.arm(phase, count)
	for waited := time.Duration(0); waited < Limit && !s.T.Failed(); waited += phaseWait {
		select {
		case <-fired:
			s.Start()
			return
		case <-time.After(phaseWait):
			s.takeAnyPhase()
		}
	}
	s.T.Errorf("the program was not killed when %s, want one kill", phase)
}

// serveTool answers the calls of all tools.
func (s *System) serveTool(rw http.ResponseWriter, r *http.Request) {
	key := r.FormValue("key")
	if r.URL.Path == "/book" {
		var in struct{ Key string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			s.T.Errorf("the body of a call of book: %v, want JSON", err)
		}
		key = in.Key
	}
	s.mu.Lock()
	s.marks++
	s.toolCalls[key] = append(s.toolCalls[key], s.marks)
	lethal := key == s.lethalKey
	s.mu.Unlock()
	if lethal {
		if p, err := s.Current(r.Context()); err == nil { // the program calls while it starts
			s.ExpectEnd()
			p.Kill()
			s.Died <- struct{}{}
		}
		return
	}
	s.reached("a tool is called")
	if !upstream.Delay(toolPause)(rw, r) {
		return
	}
	s.reached("a tool answers")
	rw.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(rw, `{"done":"%s of %s","found":{"key":%q}}`, strings.TrimPrefix(r.URL.Path, "/"), key, key) // the client may have been killed
}

// KillOnCall makes a call of a tool with the key kill the program, each time.
func (s *System) KillOnCall(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lethalKey = key
}

// ToolCalls returns when a tool was called with the key.
func (s *System) ToolCalls(key string) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.toolCalls[key])
}

// LogKills logs how often the program was killed in each phase.
func (s *System) LogKills() {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := 0
	for _, phase := range slices.Sorted(maps.Keys(s.kills)) {
		s.T.Logf("%3d kills when %s", s.kills[phase], phase)
		total += s.kills[phase]
	}
	s.T.Logf("%3d kills, %d starts", total, len(s.startedAt))
}
