package api

import (
	"encoding/json"
	"strconv"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// levelEvents are the names of the events that open and close levels.
var levelEvents = map[runlog.Kind]string{
	runlog.ThreadStart: "thread_start", runlog.BlockStart: "block_start", runlog.MessageStart: "message_start",
	runlog.MessageEnd: "message_end", runlog.BlockEnd: "block_end", runlog.ThreadEnd: "thread_end",
}

// messagesDialect appends frames of the dialect messages. Each event of the log
// gives at most one, so that its chunk_id is C and the event's number. Of
// complete the diagnostics depend on the reader, as in chatDialect.
func messagesDialect(diagnostics func() json.RawMessage) dialect {
	if diagnostics == nil {
		plain := messagesFrame(nil)
		return dialect{name: "messages", frame: func(dst []byte, e *runlog.Event) ([]byte, bool) { return plain(dst, e), true }}
	}
	return dialect{name: "messages+diagnostics", frame: func(dst []byte, e *runlog.Event) ([]byte, bool) {
		final := true
		dst = messagesFrame(func() json.RawMessage {
			found := diagnostics()
			final = found != nil
			return found
		})(dst, e)
		return dst, final
	}}
}

func messagesFrame(diagnostics func() json.RawMessage) func(dst []byte, e *runlog.Event) []byte {
	return func(dst []byte, e *runlog.Event) []byte {
		switch e.Kind {
		case runlog.Text, runlog.ThreadText:
			return appendDelta(dst, e, `{"type":"text","props":{"content":`, "}")
		case runlog.Thinking:
			return appendDelta(dst, e, `{"type":"thinking","props":{"content":`, "}")
		case runlog.ToolArguments:
			return appendDelta(dst, e, `{"type":"tool_call","props":{"arguments":`, callNames(e.Data)+"}")
		case runlog.Standing:
			dst = append(appendID(dst, e.Seq), `{"type":"text","props":{"content":`...)
			dst = append(schemas.AppendString(dst, e.Text), '}')
			return appendTail(dst, e)
		case runlog.Marker:
			return dst
		case runlog.Started, runlog.Attempt:
			return appendFrame(dst, e, "event", startProps(e))
		case runlog.Status:
			return appendFrame(dst, e, "loading", props(statusOf(e).props()))
		case runlog.ThreadStart, runlog.BlockStart, runlog.MessageStart, runlog.MessageEnd, runlog.BlockEnd, runlog.ThreadEnd:
			return appendFrame(dst, e, "event", levelProps(e))
		case runlog.ToolStart, runlog.ToolProgress, runlog.ToolComplete,
			runlog.ThreadToolStart, runlog.ThreadToolProgress, runlog.ThreadToolComplete:
			return appendTool(dst, e)
		case runlog.ApprovalRequest, runlog.ApprovalResolved, runlog.ClientToolCall:
			return appendWait(dst, e)
		case runlog.BlockHeader, runlog.BlockContent:
			return appendBlock(dst, e)
		case runlog.Payload:
			return appendPayload(dst, e)
		case runlog.Completed, runlog.Failed, runlog.Cancelled:
			return appendFrame(dst, e, "event", endProps(e, diagnostics))
		default:
			return dst
		}
	}
}

// appendDelta appends a frame whose content is the event's text, between two
// pieces of JSON; it is on the path of every token.
func appendDelta(dst []byte, e *runlog.Event, before, after string) []byte {
	dst = append(appendID(dst, e.Seq), before...)
	dst = append(schemas.AppendString(dst, e.Text), after...)
	return appendTail(append(dst, `,"delta":true`...), e)
}

// appendFrame appends a frame with whole props.
func appendFrame(dst []byte, e *runlog.Event, kind string, props json.RawMessage) []byte {
	dst = append(appendID(dst, e.Seq), `{"type":`...)
	dst = append(schemas.AppendString(dst, kind), `,"props":`...)
	return appendTail(append(dst, props...), e)
}

// appendTail appends the ids, the metadata and the frame's end.
func appendTail(dst []byte, e *runlog.Event) []byte {
	dst = append(dst, `,"chunk_id":"C`...)
	dst = append(strconv.AppendInt(dst, e.Seq, 10), '"')
	dst = appendLevel(dst, `,"message_id":"M`, e.Message)
	dst = appendLevel(dst, `,"block_id":"B`, e.Block)
	dst = appendLevel(dst, `,"thread_id":"T`, e.Thread)
	dst = append(dst, `,"metadata":{"timestamp":`...)
	dst = strconv.AppendInt(dst, e.Time, 10)
	dst = append(dst, `,"sequence":`...)
	dst = strconv.AppendInt(dst, e.Seq, 10)
	return append(dst, "}}\n\n"...)
}

func appendLevel(dst []byte, key string, n uint32) []byte {
	if n == 0 {
		return dst
	}
	return append(strconv.AppendUint(append(dst, key...), uint64(n), 10), '"')
}

// propFields are props, or a part of them.
type propFields map[string]any

func props(f propFields) json.RawMessage {
	raw, err := json.Marshal(f)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

func eventProps(name string, data any) json.RawMessage {
	return props(propFields{"event": name, "data": data})
}

// callNames are the id and the name of a call, which its first piece carries.
func callNames(data json.RawMessage) string {
	var c struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	if len(data) == 0 || json.Unmarshal(data, &c) != nil {
		return ""
	}
	out := schemas.AppendString([]byte(`,"id":`), c.ID)
	return string(schemas.AppendString(append(out, `,"name":`...), c.Name))
}

type status schemas.StatusEvent

func statusOf(e *runlog.Event) status {
	var s status
	_ = json.Unmarshal(e.Data, &s) // our own; what is absent stays empty
	return s
}

func (s status) props() propFields { return propFields{"message": s.Message} }

// startProps are the props of stream_start, and of the event attempt that
// stands in its place after a recovery.
func startProps(e *runlog.Event) json.RawMessage {
	s := statusOf(e)
	if e.Kind == runlog.Started {
		return eventProps("stream_start", propFields{
			"ref": s.RunID, "run_id": s.RunID, "conversation_id": s.ConversationID, "chat_id": s.ChatID, "user_message_id": s.UserMessageID,
		})
	}
	return eventProps("attempt", propFields{"attempt": s.Attempt, "kept_through": s.KeptThrough, "run_id": s.RunID})
}

// levelProps are the props of an event that opens or closes a level.
func levelProps(e *runlog.Event) json.RawMessage {
	var level runlog.Level
	_ = json.Unmarshal(e.Data, &level)
	data := propFields{}
	switch e.Kind {
	case runlog.ThreadStart, runlog.ThreadEnd:
		data["thread_id"] = "T" + strconv.FormatUint(uint64(e.Thread), 10)
	case runlog.BlockStart, runlog.BlockEnd:
		data["block_id"] = "B" + strconv.FormatUint(uint64(e.Block), 10)
	default:
		data["message_id"] = "M" + strconv.FormatUint(uint64(e.Message), 10)
	}
	for key, value := range map[string]string{
		"type": level.Type, "label": level.Label, "ref": level.Ref, "status": level.Status, "tool": level.Tool, "tool_use_id": level.ToolUseID,
	} {
		if value != "" {
			data[key] = value
		}
	}
	return eventProps(levelEvents[e.Kind], data)
}

// appendTool appends a frame of a running call's message: its start whole, then
// what changes, merged.
func appendTool(dst []byte, e *runlog.Event) []byte {
	if e.Kind == runlog.ToolStart || e.Kind == runlog.ThreadToolStart {
		var t schemas.ToolStartEvent
		_ = json.Unmarshal(schemas.CutStrings(e.Data), &t)
		start := propFields{"name": t.Tool, "id": t.ToolUseID, "index": t.Index, "input": t.Input, "status": "running", "progress": 0}
		if t.Title != "" {
			start["title"] = t.Title
		}
		return appendFrame(dst, e, "tool_result", props(start))
	}
	var change propFields
	if e.Kind == runlog.ToolProgress || e.Kind == runlog.ThreadToolProgress {
		var t schemas.ToolProgressEvent
		_ = json.Unmarshal(e.Data, &t)
		change = propFields{"progress": t.Progress, "stage": t.Stage, "status_message": t.Message}
		if len(t.Data) > 0 && string(t.Data) != "null" {
			change["data"] = t.Data
		}
	} else {
		var t schemas.ToolCompleteEvent
		_ = json.Unmarshal(e.Data, &t)
		change = propFields{"output": e.Text, "is_error": t.IsError, "status": "completed", "progress": 1}
		if t.IsError {
			change["status"] = "error"
		}
		if t.Done != "" {
			change["done"] = t.Done
		}
	}
	dst = append(appendID(dst, e.Seq), `{"type":"tool_result","props":`...)
	dst = append(dst, props(change)...)
	return appendTail(append(dst, `,"delta":true,"delta_action":"merge"`...), e)
}

// appendBlock appends a frame of what is written into a block of a document: a
// message of the block's type, with its header as meta.
func appendBlock(dst []byte, e *runlog.Event) []byte {
	var t runlog.Target
	_ = json.Unmarshal(e.Data, &t)
	if e.Kind == runlog.BlockHeader {
		dst = append(appendID(dst, e.Seq), `{"type":`...)
		dst = append(schemas.AppendString(dst, t.Type), `,"props":{"meta":`...)
		return appendTail(append(append(dst, e.Text...), `},"delta":true,"delta_action":"merge"`...), e)
	}
	dst = append(appendID(dst, e.Seq), `{"type":`...)
	dst = append(schemas.AppendString(dst, t.Type), `,"props":{"content":`...)
	return appendTail(append(schemas.AppendString(dst, e.Text), `},"delta":true`...), e)
}

func appendPayload(dst []byte, e *runlog.Event) []byte {
	var p schemas.CustomPayload
	_ = json.Unmarshal(e.Data, &p)
	return appendFrame(dst, e, p.Type, props(propFields{"payload_id": p.PayloadID, "data": p.Data, "summary": p.Summary, "source": p.Source}))
}

// endProps are the props of stream_end.
func endProps(e *runlog.Event, diagnostics func() json.RawMessage) json.RawMessage {
	switch e.Kind {
	case runlog.Completed:
		payload := e.Data
		if diagnostics != nil {
			payload = withDiagnostics(payload, diagnostics())
		}
		return eventProps("stream_end", propFields{"status": "completed", "payload": payload})
	case runlog.Failed:
		var f schemas.ErrorEvent
		_ = json.Unmarshal(e.Data, &f)
		return eventProps("stream_end", schemas.StreamEnd{
			Status: "error", Code: f.Code, Message: f.Message, Retryable: f.Retryable, MessageID: f.MessageID,
		})
	default:
		var c schemas.CancelledEvent
		_ = json.Unmarshal(e.Data, &c)
		return eventProps("stream_end", schemas.StreamEnd{Status: "cancelled", MessageID: c.MessageID})
	}
}
