package transcripts

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// seenRun is a run that an answer named, and its user.
type seenRun struct {
	id   string
	step step
	live [][]apitest.Frame // the frames that its streams have shown
}

// checkAnswer checks an answer against the contract and for secrets, and records
// its run.
func (s *fixture) checkAnswer(x *exchange) {
	s.t.Helper()
	if x.status == 0 {
		return
	}
	body := x.body.Bytes()
	stream := strings.HasPrefix(x.head.Get("Content-Type"), "text/event-stream")
	if stream && x.err != nil { // the client went away in the middle of a frame
		body = body[:bytes.LastIndex(body, []byte("\n\n"))+2]
	}
	if x.status < http.StatusBadRequest {
		s.contract.CheckRequest(s.t, x.request, x.sent)
	}
	s.contract.CheckResponse(s.t, x.request, x.status, x.head, body)
	s.checkSecrets(x, body)
	id := x.head.Get("X-Run-Id")
	if id == "" {
		return
	}
	at := slices.IndexFunc(s.runs, func(r seenRun) bool { return r.id == id })
	if at < 0 {
		at = len(s.runs)
		s.runs = append(s.runs, seenRun{id: id, step: x.step})
	}
	if stream && !ofWire(x.step.arg) { // a wire has other frames
		s.checkHead(x, id)
		frames := s.contract.CheckFrames(s.t, body)
		if !strings.Contains(x.step.arg, "dialect=messages") { // its frames are different
			s.runs[at].live = append(s.runs[at].live, frames)
		}
	}
}

// checkHead checks the headers of a stream.
func (s *fixture) checkHead(x *exchange, run string) {
	s.t.Helper()
	want := map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
		"Content-Location": "/api/chat/runs/" + run + "/stream", "X-Content-Type-Options": "nosniff",
	}
	got := map[string]string{}
	for name := range want {
		got[name] = x.head.Get(name)
	}
	if d := cmp.Diff(want, got); d != "" {
		s.t.Errorf("headers of %s %s (-want +got):\n%s", x.step.verb, x.step.arg, d)
	}
	if x.head.Get("X-Request-Id") == "" {
		s.t.Error("the header X-Request-Id of a stream is empty, want an id")
	}
}

// checkSecrets looks for secrets in an answer, and for prompts in one for a user
// who is no admin.
func (s *fixture) checkSecrets(x *exchange, body []byte) {
	s.t.Helper()
	var all bytes.Buffer
	if err := x.head.Write(&all); err != nil {
		s.t.Fatal(err)
	}
	all.Write(body)
	s.checkHidden(x.step, all.Bytes())
}

// checkHidden looks in an answer for what the user may not see.
func (s *fixture) checkHidden(st step, all []byte) {
	s.t.Helper()
	never := []string{canaryKey, canarySecret, canaryDSN, upstreamCanary, toolCanary, "chat.db", ".go:"}
	if !slices.Contains(st.roles, "admin") {
		never = append(never, "## IDENTITY", "## GUIDELINES", `"diagnostics":{`)
	}
	for _, secret := range never {
		if bytes.Contains(all, []byte(secret)) {
			s.t.Errorf("%s %s as %s: the answer has the secret %q, want it without:\n%s", st.verb, st.arg, st.user, secret, all)
		}
	}
}

// checkLog looks for secrets in the log, and for texts of users and models.
func (s *fixture) checkLog(steps []step) {
	s.t.Helper()
	log := s.log.String()
	never := []string{canaryKey, canarySecret, canaryDSN, "## IDENTITY", "goroutine "} // a stack begins with the last
	for _, st := range steps {
		var body struct{ Message string }
		if json.Unmarshal([]byte(st.body), &body) == nil && len(body.Message) > 4 {
			never = append(never, body.Message)
		}
	}
	for _, r := range s.runs {
		for _, frames := range r.live {
			for _, f := range frames {
				var delta schemas.TextDeltaEvent
				if f.Type == schemas.TypeTextDelta && json.Unmarshal(f.Data, &delta) == nil && len(delta.Text) > 8 && !apptest.ToolMark.MatchString(delta.Text) {
					never = append(never, delta.Text)
				}
			}
		}
	}
	for _, text := range never {
		if strings.Contains(log, text) {
			s.t.Errorf("the log has %q, want it without:\n%s", text, log)
		}
	}
}

// checkRuns reads every run of the transcript again, from its start, and checks the rules
// that hold for every log.
func (s *fixture) checkRuns() {
	s.t.Helper()
	logs := make(map[string][]apitest.Frame)
	for _, r := range s.runs {
		var run schemas.Run
		if !s.fetch(r, "/api/chat/runs/"+r.id, &run) {
			continue // deleted with its chat
		}
		x := s.request(step{verb: http.MethodGet, arg: "/api/chat/runs/" + r.id + "/stream", user: r.step.user, roles: r.step.roles})
		x.run(s.client)
		s.checkAnswer(x)
		frames := s.contract.CheckFrames(s.t, x.body.Bytes())
		if len(frames) == 0 {
			s.t.Errorf("the log of run %s has no events, want some", s.aliases.of[r.id])
			continue
		}
		logs[r.id] = frames
		apptest.CheckFrames(s.t, frames)
		s.checkMessages(r, frames)
		for _, live := range r.live {
			apptest.CheckUnion(s.t, frames, live)
		}
		s.checkEnd(r, &run, frames)
		events, waits := s.logOf(r.id)
		s.checkWires(r, events, waits)
	}
	s.checkDropped(logs)
}

// fetch reads JSON as the user of the run; false is 404.
func (s *fixture) fetch(r seenRun, path string, into any) bool {
	s.t.Helper()
	x := s.request(step{verb: http.MethodGet, arg: path, user: r.step.user, roles: r.step.roles})
	x.run(s.client)
	if x.status == http.StatusNotFound {
		return false
	}
	s.checkAnswer(x)
	if err := json.Unmarshal(x.body.Bytes(), into); err != nil {
		s.t.Errorf("GET %s: status %d, want 200: %s", path, x.status, x.body.String())
	}
	return true
}

// checkEnd compares the terminal event with the run and with the message that
// is kept in the chat.
func (s *fixture) checkEnd(r seenRun, run *schemas.Run, frames []apitest.Frame) {
	s.t.Helper()
	last := frames[len(frames)-1]
	ends := map[string]schemas.RunState{
		schemas.TypeComplete: schemas.RunCompleted, schemas.TypeError: schemas.RunFailed, schemas.TypeCancelled: schemas.RunCancelled,
	}
	if run.State != ends[last.Type] || run.LastSequence != last.ID || run.EndedAt == nil {
		s.t.Errorf("the run is %+v, want it to match the end of its log, event %d %s", run, last.ID, last.Type)
	}
	var end struct {
		MessageID string                      `json:"message_id"`
		Payload   schemas.ChatResponsePayload `json:"payload"`
	}
	_ = json.Unmarshal(last.Data, &end) // the contract check has decoded it before
	id, want := end.MessageID, apptest.JoinedText(frames)
	if last.Type == schemas.TypeComplete {
		id = end.Payload.MessageID
	}
	if id != run.MessageID && uuid.Validate(id) == nil { // a later answer may have taken an id of the client's
		s.t.Errorf("the run has the message %q, want %q as at the end of its log", run.MessageID, id)
	}
	var chat struct {
		Messages []schemas.Message `json:"messages"`
	}
	if id == "" || !s.fetch(r, "/api/chats/"+strconv.FormatInt(run.ConversationID, 10)+"?superseded=true", &chat) {
		return
	}
	at := slices.IndexFunc(chat.Messages, func(m schemas.Message) bool { return m.ID == run.MessageID })
	if at < 0 {
		s.t.Errorf("the chat lacks the message %s, want it there", id)
		return
	}
	kept := chat.Messages[at]
	if kept.Content != want {
		s.t.Errorf("the message is kept as %q, want the text %q", kept.Content, want)
	}
	if last.Type == schemas.TypeComplete {
		p := end.Payload
		d := cmp.Diff(
			[]any{p.SuggestedValues, p.SuggestedActions, p.ToolHistory, p.StopReason, p.Usage, p.Warnings},
			[]any{kept.SuggestedValues, kept.SuggestedActions, kept.ToolHistory, kept.StopReason, *kept.Usage, kept.Warnings})
		if d != "" {
			s.t.Errorf("the stored message (-complete +stored):\n%s", d)
		}
	}
}
