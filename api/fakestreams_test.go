package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// documentedStream returns a documented stream without its comments.
func documentedStream(w *world, name string) string {
	text, _ := w.Components.Responses["Events"].Value.Content.Get("text/event-stream").Examples[name].Value.Value.(string)
	return strings.ReplaceAll(text, ": keep-alive\n\n", "")
}

// fakeStreams gives the documented stream of its world to alice.
type fakeStreams struct{ *world }

func (f fakeStreams) Start(_ context.Context, user schemas.User, req *schemas.ChatRequest, _ record.StartOptions) (schemas.Run, error) {
	f.call("Start %s %q", user.Name, req.Message)
	return owned[schemas.Run](f.world, user, req.ConversationID == 0 || req.ConversationID == aChat, "getRun")
}

func (f fakeStreams) Follow(_ context.Context, user schemas.User, id string, after int64, _ time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	f.call("Follow %s %s %d", user.Name, id, after)
	if user.ID != alice.ID || id != aRun {
		return nil, schemas.ErrNotFound
	}
	var events []runlog.Event
	for _, frame := range f.CheckFrames(f.t, []byte(documentedStream(f.world, f.stream))) {
		if frame.ID <= after {
			continue
		}
		e := runlog.Event{Seq: frame.ID, Kind: kinds[frame.Type], Data: frame.Data}
		var parts struct {
			Text    string          `json:"text"`
			Payload json.RawMessage `json:"payload"`
		}
		if err := json.Unmarshal(frame.Data, &parts); err != nil {
			return nil, err
		}
		if e.Kind == runlog.Completed {
			e.Data = parts.Payload
		}
		e.Text = parts.Text
		e.Frame = api.AppendChatFrame(nil, &e)
		if got := string(e.Frame); !strings.Contains(documentedStream(f.world, f.stream), got) {
			return nil, fmt.Errorf("the frame is not the documented one: %s", got)
		}
		events = append(events, e)
	}
	if len(events) == 0 {
		return nil, runlog.ErrEnded
	}
	return func(yield func([]runlog.Event, error) bool) {
		_ = yield(events[:1], nil) && len(events) > 1 && yield(events[1:], nil)
	}, nil
}

var kinds = map[string]runlog.Kind{
	"status": runlog.Status, "text_delta": runlog.Text, "tool_start": runlog.ToolStart, "tool_progress": runlog.ToolProgress,
	"tool_complete": runlog.ToolComplete, "complete": runlog.Completed, "error": runlog.Failed, "cancelled": runlog.Cancelled,
}

func (f fakeStreams) Live(user schemas.User, chat string) []string {
	f.call("Live %s %s", user.Name, chat)
	return nil
}

func (f fakeStreams) Later(_ context.Context, user schemas.User, id string) ([]string, error) {
	f.call("Later %s %s", user.Name, id)
	return nil, nil
}
