package eventlog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// mixedLog is a log of 100 replies: each has some text and a call of a tool.
func mixedLog() []runlog.Event {
	var log []runlog.Event
	add := func(bodies ...runlog.Body) {
		for _, b := range bodies {
			log = append(log, runlog.Event{Seq: int64(len(log) + 1), Time: 1, At: runlog.Level{Group: 1, Message: 2}, Body: b})
		}
	}
	input := json.RawMessage(`{"query":"alpha beta"}`)
	payload := schemas.ChatResponsePayload{Message: strings.Repeat("word ", 400)}
	for i := range 100 {
		add(&runlog.LevelStart{Depth: runlog.GroupLevel, Type: "llm", Label: "Answer", Ref: "m1"}, &runlog.LevelStart{Depth: runlog.MessageLevel, Type: "text", Ref: "m1"})
		for range 20 {
			add(&runlog.Text{Text: "word "})
		}
		add(&runlog.LevelEnd{Depth: runlog.MessageLevel, Status: "completed"}, &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: "llm", Status: "completed"},
			&runlog.Status{Message: "Running search..."}, &runlog.ToolStart{Tool: "search", ToolUseID: "c1", Index: i, Input: input},
			&runlog.ToolProgress{Tool: "search", ToolUseID: "c1", Index: i, Stage: "half", Progress: 0.5},
			&runlog.ToolComplete{Tool: "search", ToolUseID: "c1", Index: i, Output: "found"})
		payload.ToolHistory = append(payload.ToolHistory, schemas.ToolCall{ToolName: "search", Input: input, Output: "found", ToolUseID: "c1"})
	}
	add(&runlog.Completed{Payload: payload})
	return log
}

// BenchmarkDecode decodes a stored log of 2,801 events.
func BenchmarkDecode(b *testing.B) {
	data := appendEvents(nil, mixedLog())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
