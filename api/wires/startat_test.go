package wires_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// answersQ1 is a service with a live run that answers the question q1.
type answersQ1 struct {
	wires.Runs

	started *schemas.ChatRequest
}

func (a *answersQ1) Start(_ context.Context, _ schemas.User, req *schemas.ChatRequest, _ record.StartOptions) (schemas.Run, error) {
	a.started = req
	return schemas.Run{RunID: "new"}, nil
}

func (*answersQ1) Run(_ context.Context, _ schemas.User, id string) (schemas.Run, error) {
	return schemas.Run{RunID: id, UserMessageID: "q1", State: schemas.RunRunning}, nil
}

// A question that is asked again is answered by the live run only if that answers it; an answer
// that is generated again has no new message.
func TestWhatAPlaceStarts(t *testing.T) {
	req := schemas.ChatRequest{Message: "hi", MessageID: "m", Attachments: []schemas.Attachment{{Name: "a.txt", MIME: "text/plain", Content: "a"}}}
	edit, again := req, schemas.ChatRequest{RegenerateMessageID: "a1"}
	edit.EditMessageID = "q2"
	for _, tt := range []struct {
		name    string
		at      wires.Place
		run     string
		started *schemas.ChatRequest
	}{
		{"the question of the live run", wires.Place{Edit: "q1", KeepsFiles: true}, "live", nil},
		{"another question", wires.Place{Edit: "q2", KeepsFiles: true}, "new", &edit},
		{"a run", wires.Place{Follow: "live"}, "live", nil},
		{"an answer", wires.Place{Regenerate: "a1"}, "new", &again},
	} {
		runs := &answersQ1{}
		c := &wires.Call{
			Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody),
			Service: &wires.Service{Runs: runs, Check: func(*schemas.ChatRequest) error { return nil }},
		}
		run, err := c.StartAt(schemas.Chat{ActiveRunID: "live"}, &req, tt.at)
		if d := cmp.Diff(tt.started, runs.started); d != "" || run.RunID != tt.run || err != nil {
			t.Errorf("%s: the run is %q (%v), want %q; it was started with (-want +got):\n%s", tt.name, run.RunID, err, tt.run, d)
		}
	}
}
