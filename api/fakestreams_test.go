package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// documentedStream returns a documented stream without its comments.
func documentedStream(w *testEnv, name string) string {
	text, _ := w.Components.Responses["Events"].Value.Content.Get("text/event-stream").Examples[name].Value.Value.(string)
	return strings.ReplaceAll(text, ": keep-alive\n\n", "")
}

// fakeStreams gives alice the documented stream of its testEnv.
type fakeStreams struct{ *testEnv }

func (f fakeStreams) Start(_ context.Context, user schemas.User, req *schemas.ChatRequest, _ record.StartOptions) (schemas.Run, error) {
	f.call("Start %s %q", user.Name, req.Message)
	return owned[schemas.Run](f.testEnv, user, req.ConversationID == 0 || req.ConversationID == aChat, "getRun")
}

func (f fakeStreams) Follow(_ context.Context, user schemas.User, id string, after int64, _ time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	f.call("Follow %s %s %d", user.Name, id, after)
	if user.ID != alice.ID || id != aRun {
		return nil, schemas.ErrNotFound
	}
	var events []runlog.Event
	for _, frame := range f.CheckFrames(f.t, []byte(documentedStream(f.testEnv, f.stream))) {
		if frame.ID <= after {
			continue
		}
		body, err := bodyOf(frame)
		if err != nil {
			return nil, err
		}
		e := runlog.Event{Seq: frame.ID, Body: body}
		if got := string(api.AppendChatFrame(nil, &e)); !strings.Contains(documentedStream(f.testEnv, f.stream), got) {
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

// bodyOf is the event that a documented frame shows.
func bodyOf(frame apitest.Frame) (runlog.Body, error) {
	switch frame.Type {
	case "status":
		e, err := decoded[schemas.StatusEvent](frame)
		run := runlog.Run{RunID: e.RunID, ConversationID: e.ConversationID, ChatID: e.ChatID, UserMessageID: e.UserMessageID}
		if e.KeptThrough != nil {
			return &runlog.Attempt{Run: run, Message: e.Message, Code: e.Code, Number: e.Attempt, KeptThrough: *e.KeptThrough, Text: *e.Text}, err
		}
		return &runlog.Started{Run: run, Message: e.Message, Code: e.Code}, err
	case "text_delta":
		e, err := decoded[schemas.TextDeltaEvent](frame)
		return &runlog.Text{Text: e.Text}, err
	case "tool_start":
		e, err := decoded[schemas.ToolStartEvent](frame)
		return &runlog.ToolStart{Tool: e.Tool, ToolUseID: e.ToolUseID, Index: e.Index, Input: e.Input, Title: e.Title}, err
	case "tool_progress":
		e, err := decoded[schemas.ToolProgressEvent](frame)
		return &runlog.ToolProgress{
			Tool: e.Tool, ToolUseID: e.ToolUseID, Index: e.Index, Stage: e.Stage, Message: e.Message, Progress: e.Progress, Data: e.Data,
		}, err
	case "tool_complete":
		e, err := decoded[schemas.ToolCompleteEvent](frame)
		return &runlog.ToolComplete{Tool: e.Tool, ToolUseID: e.ToolUseID, Index: e.Index, IsError: e.IsError, Done: e.Done}, err
	case "complete":
		e, err := decoded[schemas.CompleteEvent](frame)
		return &runlog.Completed{Payload: e.Payload}, err
	case "error":
		e, err := decoded[schemas.ErrorEvent](frame)
		return &runlog.Failed{Code: e.Code, Message: e.Message, Retryable: e.Retryable, MessageID: e.MessageID}, err
	case "cancelled":
		e, err := decoded[schemas.CancelledEvent](frame)
		return &runlog.Cancelled{MessageID: e.MessageID}, err
	default:
		return nil, fmt.Errorf("no event shows a frame of type %s", frame.Type)
	}
}

func decoded[T any](frame apitest.Frame) (e T, err error) {
	err = json.Unmarshal(frame.Data, &e)
	return e, err
}

func (f fakeStreams) LiveIn(context.Context, schemas.User, string) ([]string, error) { return nil, nil }

func (fakeStreams) Leave(schemas.User, string) {}

func (f fakeStreams) Future(context.Context, schemas.User, string, int64) (bool, error) {
	return false, nil
}

func (f fakeStreams) Live(_ context.Context, user schemas.User, chat string) ([]string, error) {
	f.call("Live %s %s", user.Name, chat)
	return nil, nil
}

func (f fakeStreams) Later(_ context.Context, user schemas.User, id string) ([]string, error) {
	f.call("Later %s %s", user.Name, id)
	return nil, nil
}
