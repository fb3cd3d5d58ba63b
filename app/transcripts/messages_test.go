package transcripts

import (
	"net/http"

	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/app/apptest"
)

// checkMessages reads a run of a transcript in the dialect messages and checks
// what holds for each, and that its text is the same as in the dialect chat.
func (s *fixture) checkMessages(r seenRun, chat []apitest.Frame) {
	s.t.Helper()
	x := s.request(step{verb: http.MethodGet, arg: "/api/chat/runs/" + r.id + "/stream?dialect=messages", user: r.step.user, roles: r.step.roles})
	x.run(s.client)
	s.checkAnswer(x)
	frames := apptest.MessageFrames(s.t, s.contract, x.body.Bytes())
	if len(frames) == 0 {
		s.t.Errorf("run %s has 0 frames in the dialect messages, want some", r.id)
		return
	}
	apptest.CheckNesting(s.t, frames)
	if got, want := apptest.FoldedText(s.t, frames), apptest.WithoutMarkers(apptest.JoinedText(chat)); got != want {
		s.t.Errorf("the messages have the text %q, want %q", got, want)
	}
}
