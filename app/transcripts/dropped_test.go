package transcripts

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store"
)

// checkDropped deletes the logs of all ended runs. A reader then gets the whole answer and
// the same end, from wherever it comes back.
func (s *fixture) checkDropped(logs map[string][]apitest.Frame) {
	s.t.Helper()
	data, ok := s.stores.Logs.(*store.Store)
	if !ok {
		return
	}
	for more := true; more; {
		var err error
		if _, more, err = data.DropLogs(context.Background(), time.Now().Add(time.Hour)); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, r := range s.runs {
		log := logs[r.id]
		if len(log) == 0 {
			continue
		}
		if events, _ := s.logOf(r.id); len(events) > 0 {
			continue // it began after a run that has not ended
		}
		s.checkStanding(r, log, log[0].ID-1)
		s.checkStanding(r, log, log[len(log)/2].ID)
		s.checkStanding(r, log, log[max(0, len(log)-2)].ID)
		s.checkStanding(r, log, log[len(log)-1].ID-1)
		// A segment that is still in memory shows levels, which the answer does not close.
		if whole := s.framesAfter(r, 0); !bytes.Contains(whole[0].Data, []byte("Thinking...")) {
			s.checkMessages(r, whole)
		}
	}
}

// framesAfter reads a run after an event.
func (s *fixture) framesAfter(r seenRun, after int64) []apitest.Frame {
	s.t.Helper()
	x := s.request(step{verb: http.MethodGet, arg: "/api/chat/runs/" + r.id + "/stream?after=" + strconv.FormatInt(after, 10), user: r.step.user, roles: r.step.roles})
	x.run(s.client)
	if x.status != http.StatusOK {
		return nil
	}
	s.checkAnswer(x)
	return s.contract.CheckFrames(s.t, x.body.Bytes())
}

// checkStanding reads a run without a log after an event of its log.
func (s *fixture) checkStanding(r seenRun, log []apitest.Frame, after int64) {
	s.t.Helper()
	end := log[len(log)-1]
	if after >= end.ID {
		return
	}
	seen := []apitest.Frame{}
	for _, f := range log {
		if f.ID <= after {
			seen = append(seen, f)
		}
	}
	frames := s.framesAfter(r, after)
	if len(frames) == 0 {
		s.t.Errorf("run %s without its log has no events after %d, want its end", s.aliases.of[r.id], after)
		return
	}
	for i := 1; i < len(frames); i++ {
		if frames[i].ID <= frames[i-1].ID {
			s.t.Errorf("the events of run %s without its log are numbered %d, %d, want them to rise", s.aliases.of[r.id], frames[i-1].ID, frames[i].ID)
		}
	}
	if frames[0].ID <= after {
		s.t.Errorf("run %s without its log begins with event %d, want one after %d", s.aliases.of[r.id], frames[0].ID, after)
	}
	if got, want := apptest.JoinedText(append(seen, frames...)), apptest.JoinedText(log); got != want {
		s.t.Errorf("run %s without its log shows %q after event %d, want %q", s.aliases.of[r.id], got, after, want)
	}
	last := frames[len(frames)-1]
	if d := cmp.Diff(comparable(s, end), comparable(s, last)); d != "" || last.ID != end.ID {
		s.t.Errorf("the end of run %s without its log, event %d (-log +without):\n%s", s.aliases.of[r.id], last.ID, d)
	}
}

// comparable returns a terminal event without what is not kept, or may change after the end.
func comparable(s *fixture, f apitest.Frame) map[string]any {
	s.t.Helper()
	var e map[string]any
	if err := json.Unmarshal(f.Data, &e); err != nil {
		s.t.Fatal(err)
	}
	fields := e
	if p, ok := e["payload"].(map[string]any); ok && f.Type == schemas.TypeComplete {
		delete(p, "diagnostics")
		fields = p
		drop := func(v any) {
			if m, ok := v.(map[string]any); ok {
				delete(m, "outcome")
			}
		}
		drop(p["custom_payload"])
		if list, ok := p["payloads"].([]any); ok {
			for _, v := range list {
				drop(v)
			}
		}
	}
	if id, _ := fields["message_id"].(string); uuid.Validate(id) != nil {
		delete(fields, "message_id") // a later answer may have taken an id of the client's
	}
	return e
}
