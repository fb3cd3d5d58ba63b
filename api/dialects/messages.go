package dialects

import (
	"encoding/json"
	"maps"
	"strconv"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// openMessages opens the dialect messages. Each event of the log gives at most
// one frame, so the frame's chunk_id is C followed by the event's number.
func openMessages(r *Reader) Encoder {
	return encoderFunc(func(dst []byte, e *runlog.Event) []byte { return appendMessages(dst, e, r) })
}

func appendMessages(dst []byte, e *runlog.Event, r *Reader) []byte {
	switch b := e.Body.(type) {
	case *runlog.Text:
		return appendDelta(dst, e, `{"type":"text","props":{"content":`, b.Text, "}")
	case *runlog.ThreadText:
		return appendDelta(dst, e, `{"type":"text","props":{"content":`, b.Text, "}")
	case *runlog.Thinking:
		return appendDelta(dst, e, `{"type":"thinking","props":{"content":`, b.Text, "}")
	case *runlog.Arguments:
		return appendDelta(dst, e, `{"type":"tool_call","props":{"arguments":`, b.Text, "}")
	case *runlog.Streamed:
		return appendDelta(dst, e, `{"type":"tool_call","props":{"streamed":`, b.Argument, "}")
	case *runlog.Call:
		return appendDelta(dst, e, `{"type":"tool_call","props":{"arguments":`, "", callNames(b)+"}")
	case *runlog.KeptText:
		dst = append(appendID(dst, e.Seq), `{"type":"text","props":{"content":`...)
		return appendTail(append(schemas.AppendString(dst, b.Text), '}'), e)
	case *runlog.Marker, *runlog.Unknown:
		return dst
	case *runlog.Status:
		return appendLine(dst, e, b)
	case *runlog.ThreadStatus:
		return appendLine(dst, e, &b.Status)
	case *runlog.LevelStart:
		return appendFrame(dst, e, "event", levelProps(e, b.Depth, "_start", map[string]string{
			"type": b.Type, "label": b.Label, "ref": b.Ref, "tool": b.Tool, "tool_use_id": b.ToolUseID,
		}))
	case *runlog.LevelEnd:
		return appendFrame(dst, e, "event", levelProps(e, b.Depth, "_end", map[string]string{"type": b.Type, "status": b.Status}))
	case *runlog.Started, *runlog.Attempt, *runlog.Completed, *runlog.Failed, *runlog.Cancelled:
		return appendFrame(dst, e, "event", runProps(e.Body, r))
	case *runlog.ToolStart, *runlog.ToolRefused, *runlog.ToolProgress, *runlog.ToolComplete,
		*runlog.ThreadToolStart, *runlog.ThreadToolProgress, *runlog.ThreadToolComplete:
		return appendTool(dst, e)
	case *runlog.ApprovalRequest, *runlog.ApprovalResolved, *runlog.ClientToolCall:
		return appendWait(dst, e)
	case *runlog.BlockHeader:
		dst = append(appendType(dst, e, b.Place.Type), `{"meta":`...)
		return appendTail(append(append(dst, b.Header...), merged...), e)
	case *runlog.BlockContent:
		if e.At.Message == 0 { // an earlier answer, whose block this run has cleared
			return dst
		}
		dst = append(appendType(dst, e, b.Place.Type), `{"content":`...)
		return appendTail(append(schemas.AppendString(dst, b.Text), `},"delta":true`...), e)
	case *runlog.BlockReset:
		switch {
		case !b.End && !b.Refused:
			return dst
		case e.At.Message == 0:
			return appendFrame(dst, e, "event", withdrawnProps(b))
		}
		return appendChange(dst, e, b.Place.Type, propFields{"content": "", "withdrawn": true})
	case *runlog.BlockDone:
		return dst
	case *runlog.Payload:
		return appendFrame(dst, e, b.Type, props(propFields{"payload_id": b.PayloadID, "data": b.Data, "summary": b.Summary, "source": b.Source}))
	}
	return dst
}

// merged ends props that are merged into the earlier ones; replaced ends props that
// take the place of the earlier ones.
const (
	merged   = `},"delta":true,"delta_action":"merge"`
	replaced = `},"delta":true,"delta_action":"replace"`
)

// appendDelta appends a frame whose content is text between two pieces of JSON;
// it is on the path of every token.
func appendDelta(dst []byte, e *runlog.Event, before, text, after string) []byte {
	dst = append(appendID(dst, e.Seq), before...)
	dst = append(schemas.AppendString(dst, text), after...)
	return appendTail(append(dst, `,"delta":true`...), e)
}

// appendFrame appends a frame with whole props.
func appendFrame(dst []byte, e *runlog.Event, kind string, props json.RawMessage) []byte {
	return appendTail(append(appendType(dst, e, kind), props...), e)
}

// appendChange appends a frame whose props change earlier ones.
func appendChange(dst []byte, e *runlog.Event, kind string, change propFields) []byte {
	return appendEnded(dst, e, kind, props(change), merged)
}

// appendEnded appends a frame whose props, an object, end with end.
func appendEnded(dst []byte, e *runlog.Event, kind string, props json.RawMessage, end string) []byte {
	return appendTail(append(append(appendType(dst, e, kind), props[:len(props)-1]...), end...), e)
}

// appendLine appends a status line. A line that the model is called is left
// out: the start of its block shows that.
func appendLine(dst []byte, e *runlog.Event, s *runlog.Status) []byte {
	if s.Code == schemas.StatusThinking {
		return dst
	}
	return appendEnded(dst, e, "loading", schemas.Encode(schemas.StatusLine{Message: s.Message, Code: s.Code, Values: statusValues(s)}), replaced)
}

// appendType begins a frame, up to its props.
func appendType(dst []byte, e *runlog.Event, kind string) []byte {
	dst = append(appendID(dst, e.Seq), `{"type":`...)
	return append(schemas.AppendString(dst, kind), `,"props":`...)
}

// appendTail appends the ids, the metadata and the frame's end.
func appendTail(dst []byte, e *runlog.Event) []byte {
	dst = append(dst, `,"chunk_id":"C`...)
	dst = append(strconv.AppendInt(dst, e.Seq, 10), '"')
	dst = appendLevel(dst, `,"message_id":"M`, e.At.Message)
	dst = appendLevel(dst, `,"block_id":"B`, e.At.Group)
	dst = appendLevel(dst, `,"thread_id":"T`, e.At.Thread)
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

// propFields are the props of a frame, or a part of them.
type propFields map[string]any

func props(f propFields) json.RawMessage { return schemas.Encode(f) }

func eventProps(name string, data any) json.RawMessage {
	return props(propFields{"event": name, "data": data})
}

// callNames are the id and the name of a call, which its first piece carries.
func callNames(c *runlog.Call) string {
	out := schemas.AppendString([]byte(`,"id":`), c.ID)
	return string(schemas.AppendString(append(out, `,"name":`...), c.Name))
}

// runProps returns the props of the events that begin and end a run:
// stream_start, the event attempt that takes its place after a recovery, and
// stream_end.
func runProps(body runlog.Body, r *Reader) json.RawMessage {
	switch b := body.(type) {
	case *runlog.Started:
		return eventProps("stream_start", propFields{
			"ref": b.RunID, "run_id": b.RunID, "conversation_id": b.ConversationID, "chat_id": b.ChatID, "user_message_id": b.UserMessageID,
		})
	case *runlog.Attempt:
		return eventProps("attempt", propFields{"attempt": b.Number, "kept_through": b.KeptThrough, "run_id": b.RunID})
	case *runlog.Completed:
		return eventProps("stream_end", propFields{"status": "completed", "payload": json.RawMessage(r.AppendPayload(nil, b))})
	case *runlog.Failed:
		return eventProps("stream_end", schemas.StreamEnd{
			Status: "error", Code: b.Code, Message: b.Message, Retryable: b.Retryable, MessageID: b.MessageID, Usage: b.Used,
		})
	case *runlog.Cancelled:
		return eventProps("stream_end", schemas.StreamEnd{Status: "cancelled", MessageID: b.MessageID, Usage: b.Used})
	default:
		return nil
	}
}

// levelProps returns the props of an event that opens or closes a level,
// without empty ones.
func levelProps(e *runlog.Event, depth runlog.Depth, what string, values map[string]string) json.RawMessage {
	var name, id string
	switch depth {
	case runlog.ThreadLevel:
		name, id = "thread", "T"+strconv.FormatUint(uint64(e.At.Thread), 10)
	case runlog.GroupLevel:
		name, id = "block", "B"+strconv.FormatUint(uint64(e.At.Group), 10)
	case runlog.MessageLevel:
		name, id = "message", "M"+strconv.FormatUint(uint64(e.At.Message), 10)
	}
	values[name+"_id"] = id
	maps.DeleteFunc(values, func(_, value string) bool { return value == "" })
	return eventProps(name+what, values)
}

// withdrawnProps are the props of the event that what was written into a block is
// withdrawn, where the block has no open message of its own: an answer wrote it, or a
// call that writes it again.
func withdrawnProps(b *runlog.BlockReset) json.RawMessage {
	data := propFields{"ref": b.Place.BlockIDs, "document_id": b.Place.DocumentID, "withdrawn": true}
	if b.By != nil {
		data["tool_use_id"] = b.By.ToolUseID
	}
	return eventProps("withdrawn", data)
}

// appendTool appends a frame of a running call's message: its start whole, then
// what changes, merged; or of the message of its result.
func appendTool(dst []byte, e *runlog.Event) []byte {
	switch b := e.Body.(type) {
	case *runlog.ToolStart:
		return appendToolStart(dst, e, b, false)
	case *runlog.ToolRefused:
		return appendToolStart(dst, e, &b.ToolStart, true)
	case *runlog.ThreadToolStart:
		return appendToolStart(dst, e, &b.ToolStart, false)
	case *runlog.ToolProgress:
		return appendToolProgress(dst, e, b)
	case *runlog.ThreadToolProgress:
		return appendToolProgress(dst, e, &b.ToolProgress)
	case *runlog.ToolComplete:
		return appendToolComplete(dst, e, b)
	case *runlog.ThreadToolComplete:
		return appendToolComplete(dst, e, &b.ToolComplete)
	default:
		return dst
	}
}

func appendToolStart(dst []byte, e *runlog.Event, b *runlog.ToolStart, denied bool) []byte {
	start := propFields{
		"name": schemas.CutText(b.Tool), "id": schemas.CutText(b.ToolUseID), "index": b.Index, "arguments": string(schemas.CutStrings(b.Input)), "progress": 0,
	}
	if b.Streamed != "" {
		start["arguments"], start["streamed"] = string(schemas.CutStrings(b.Beside)), b.Streamed
	}
	if b.Title != "" {
		start["title"] = schemas.CutText(b.Title)
	}
	if denied {
		start["denied"] = true
	}
	return appendFrame(dst, e, "tool_call", props(start))
}

// appendToolProgress appends a step of a call: its data takes the place of the data
// before where it is the new structure of a document.
func appendToolProgress(dst []byte, e *runlog.Event, b *runlog.ToolProgress) []byte {
	if b.Document != nil && b.Document.NewDoc {
		return appendEnded(dst, e, "tool_call", props(propFields{"data": b.Data}), `},"delta":true,"delta_path":"data","delta_action":"set"`)
	}
	change := propFields{"progress": b.Progress, "stage": b.Stage, "status_message": b.Message}
	if len(b.Data) > 0 && string(b.Data) != "null" {
		change["data"] = b.Data
	}
	return appendChange(dst, e, "tool_call", change)
}

// appendToolComplete appends the result of a call as a message of its own; in logs of
// older versions it is in the message of the call.
func appendToolComplete(dst []byte, e *runlog.Event, b *runlog.ToolComplete) []byte {
	result := propFields{"is_error": b.IsError}
	if b.Done != "" {
		result["done"] = b.Done
	}
	if !b.Apart {
		result["output"] = b.Output
		return appendChange(dst, e, "tool_call", result)
	}
	result["content"], result["tool_use_id"] = b.Output, b.ToolUseID
	return appendFrame(dst, e, "text", props(result))
}

// appendWait appends a frame of the message of a call that waits, which takes the
// place of the tool's.
func appendWait(dst []byte, e *runlog.Event) []byte {
	switch b := e.Body.(type) {
	case *runlog.ApprovalRequest:
		ask := propFields{
			"approval_id": b.ApprovalID, "name": b.Tool, "id": b.ToolUseID, "input": b.Input, "message": b.Message,
			"expires_at": b.ExpiresAt, "status": "waiting", "reason": b.Reason, "reason_text": b.ReasonText,
		}
		if b.Title != "" {
			ask["title"] = b.Title
		}
		if b.Description != "" {
			ask["description"] = b.Description
		}
		return appendFrame(dst, e, "approval", props(ask))
	case *runlog.ApprovalResolved:
		status := "denied"
		if b.Approved {
			status = "approved"
		}
		return appendChange(dst, e, "approval", propFields{"approved": b.Approved, "status": status})
	case *runlog.ClientToolCall:
		return appendFrame(dst, e, "client_tool_call", props(propFields{
			"name": b.Tool, "id": b.ToolUseID, "input": b.Input, "expires_at": b.ExpiresAt,
		}))
	default:
		return dst
	}
}
