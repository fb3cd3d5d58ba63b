package transcripts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/api/wires"
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
	for at, more := int64(0), true; more; more = at > 0 {
		var err error
		if at, _, err = data.DropLogs(context.Background(), at, time.Now().Add(time.Hour), time.Now()); err != nil {
			s.t.Fatal(err)
		}
	}
	time.Sleep(2 * time.Minute) //nolint:forbidigo // the time of the bubble, until no log is in memory
	for _, r := range s.runs {
		log := logs[r.id]
		if len(log) == 0 {
			continue
		}
		if events, _ := s.logOf(r.id); len(events) > 0 {
			continue // it has not ended
		}
		end := log[len(log)-1]
		s.checkStanding(r, log, log[0].ID-1)
		s.checkStanding(r, log, log[len(log)/2].ID)
		s.checkStanding(r, log, log[max(0, len(log)-2)].ID)
		s.checkStanding(r, log, log[len(log)-1].ID-1)
		// A segment that is still in memory shows levels, which the answer does not close.
		if whole := s.framesAfter(r, 0); !bytes.Contains(whole[0].Data, []byte("Thinking...")) {
			s.checkMessages(r, whole)
			for _, seen := range []int64{0, log[0].ID, log[len(log)/2].ID, end.ID - 1} {
				s.checkStandingResponse(r, end, 0, seen)
				s.checkStandingResponse(r, end, seen, 0)
			}
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
	wantEnd, gotEnd := comparable(s, end), comparable(s, last)
	if id, _ := answerOf(wantEnd)["message_id"].(string); uuid.Validate(id) != nil { // a later answer may have taken an id of the client's
		delete(answerOf(wantEnd), "message_id")
		delete(answerOf(gotEnd), "message_id")
	}
	if d := cmp.Diff(wantEnd, gotEnd); d != "" || last.ID != end.ID {
		s.t.Errorf("the end of run %s without its log, event %d (-log +without):\n%s", s.aliases.of[r.id], last.ID, d)
	}
}

// checkStandingResponse reads a run without a log as a response of the wire responses, which
// begins after the event begin, from a client that has seen the event seen. It ends with the
// run, and of a completed run it has the answer; a response that continues a run has at most
// what its numbers have room for.
func (s *fixture) checkStandingResponse(r seenRun, end apitest.Frame, begin, seen int64) {
	s.t.Helper()
	path := fmt.Sprintf("/v1/responses/resp_%s_%d", strings.ReplaceAll(r.id, "-", ""), begin)
	if begin >= end.ID || seen >= end.ID {
		return
	}
	x := s.request(step{verb: http.MethodGet, arg: fmt.Sprintf("%s?stream=true&starting_after=%d", path, seen*wires.EventSpan), user: r.step.user, roles: r.step.roles})
	x.run(s.client)
	s.checkAnswer(x)
	if x.status != http.StatusOK {
		s.t.Errorf("%s without a log: status %d, want 200", path, x.status)
		return
	}
	var last struct {
		Type     string
		Sequence int64 `json:"sequence_number"`
		Response struct {
			Created int64 `json:"created_at"`
			Output  []struct {
				Type    string
				Content []struct{ Text string }
			}
		}
	}
	wantCreated := 1
	if seen > 0 {
		wantCreated = 0
	}
	created, number := 0, int64(0)
	for line := range strings.Lines(x.body.String()) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		last.Response.Output = nil
		if err := json.Unmarshal([]byte(data), &last); err != nil || last.Sequence <= number {
			s.t.Errorf("%s without a log: %v, event %s after the number %d", path, err, data, number)
		}
		if number = last.Sequence; last.Type == "response.created" && last.Response.Created > 0 {
			created++
		}
	}
	var e struct {
		Payload *schemas.ChatResponsePayload
	}
	if err := json.Unmarshal(end.Data, &e); err != nil {
		s.t.Fatal(err)
	}
	want := map[string][]string{
		schemas.TypeComplete: {"response.completed", "response.incomplete"}, schemas.TypeCancelled: {"response.incomplete"}, schemas.TypeError: {"response.failed"},
	}[end.Type]
	if !slices.Contains(want, last.Type) || created != wantCreated {
		s.t.Errorf("%s without a log, after event %d, begins %d times and ends with %q, want %d and %q", path, seen, created, last.Type, wantCreated, want)
	}
	if end.Type != schemas.TypeComplete || begin > 0 {
		return
	}
	text := ""
	for _, i := range last.Response.Output {
		for _, c := range i.Content {
			if i.Type == "message" {
				text += c.Text
			}
		}
	}
	if got, want := apptest.WithoutMarkers(text), apptest.WithoutMarkers(e.Payload.Message); got != want {
		s.t.Errorf("%s without a log, after event %d, has the answer %q, want %q", path, seen, got, want)
	}
}

// comparable returns a terminal event without what is not kept, or may change after the end.
func comparable(s *fixture, f apitest.Frame) map[string]any {
	s.t.Helper()
	var e map[string]any
	if err := json.Unmarshal(f.Data, &e); err != nil {
		s.t.Fatal(err)
	}
	if p := answerOf(e); f.Type == schemas.TypeComplete {
		delete(p, "diagnostics")
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
	return e
}

// answerOf returns the part of a terminal event that is about the answer.
func answerOf(e map[string]any) map[string]any {
	if p, ok := e["payload"].(map[string]any); ok {
		return p
	}
	return e
}
