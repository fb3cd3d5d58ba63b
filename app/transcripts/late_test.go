package transcripts

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/store"
)

// lateStore delays the commit of a killed process until the next process has
// looked for unfinished runs.
type lateStore struct {
	*store.Store
	looks atomic.Int64
}

func (s *lateStore) Take(ctx context.Context, from []string, to string) ([]record.Taken, error) {
	if s.looks.Add(1) == 1 {
		return nil, nil
	}
	return s.Store.Take(ctx, from, to)
}

// A run that is stored only after the next process has looked for unfinished
// runs still continues, and only once. So does the run that waits for it.
func TestRunsStoredLate(t *testing.T) {
	withFixture(t, "say \"Half\"\nhang\n\nsay \"Mine\"\nhang\n\nsay \"Whole.\"\nfinish stop\n\nsay \"Second.\"\nfinish stop\n", func(s *fixture) {
		ask := func(message string) {
			s.do(step{verb: http.MethodPost, name: message, arg: "/api/chat/stream", user: "una", body: `{"message":"` + message + `","chat_id":"chat","if_busy":"queue"}`})
		}
		ask("first")
		ask("second")
		s.stop()
		late := new(lateStore)
		s.options = func(o *runs.Options) {
			late.Store, _ = o.Store.Runs.(*store.Store)
			o.Store = app.StoresOf(late)
		}
		s.start()
		time.Sleep(9 * time.Second) //nolint:forbidigo // the time of the bubble: it passes at once
		if n := s.up.Calls(); n != 1 {
			t.Fatalf("the model was asked %d times before the second look, want 1", n)
		}
		s.do(step{verb: http.MethodPost, name: "own", arg: "/api/chat/stream", user: "una", body: `{"message":"mine"}`})
		time.Sleep(time.Minute) //nolint:forbidigo // the time of the bubble: it passes at once
		if got := s.do(step{verb: http.MethodGet, arg: "/api/chats/1", user: "una"}); strings.Count(got, `"status": "complete"`) != 4 ||
			!strings.Contains(got, `"Whole."`) || !strings.Contains(got, `"Second."`) {
			t.Errorf("the chat of the late runs is %s, want 4 complete messages, with both answers", got)
		}
		if n, looks := s.up.Calls(), late.looks.Load(); n != 4 || looks != 3 {
			t.Errorf("the model was asked %d times, want 4; %d looks, want 3: one that finds nothing, one that takes the run and one at the end", n, looks)
		}
		s.closeClients()
	})
}
