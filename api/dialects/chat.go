package dialects

import (
	"encoding/json"
	"strconv"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// openChat opens the dialect chat.
func openChat(r *Reader) Encoder {
	return encoderFunc(func(dst []byte, e *runlog.Event) []byte { return appendChat(dst, e, r) })
}

// appendChat appends the frame of an event: an id line, one line of JSON, a blank line.
// An event without a frame in this dialect appends nothing.
func appendChat(dst []byte, e *runlog.Event, r *Reader) []byte {
	switch b := e.Body.(type) {
	case *runlog.Text:
		return appendTextDelta(dst, e.Seq, b.Text)
	case *runlog.Marker:
		return appendTextDelta(dst, e.Seq, b.Text)
	case *runlog.Completed:
		return appendComplete(dst, e.Seq, b, r)
	case *runlog.ToolStart:
		return appendCall(dst, e.Seq, b, false)
	case *runlog.ToolRefused:
		return appendCall(dst, e.Seq, &b.ToolStart, true)
	default:
		if v := chatEvent(e.Body); v != nil {
			return appendData(dst, e.Seq, schemas.Encode(v))
		}
		return dst
	}
}

// appendCall appends the frame of a call that begins, or that was denied.
func appendCall(dst []byte, seq int64, b *runlog.ToolStart, denied bool) []byte {
	return appendData(dst, seq, schemas.CutStrings(schemas.Encode(schemas.ToolStartEvent{
		Type: schemas.TypeToolStart, Tool: b.Tool, Input: b.Input, ToolUseID: b.ToolUseID, Index: b.Index, Title: b.Title, Denied: denied,
	})))
}

// chatEvent returns the value that is marshalled for an event without an
// encoding of its own; nil if the dialect does not show the event.
func chatEvent(body runlog.Body) any {
	switch b := body.(type) {
	case *runlog.Started:
		return schemas.StatusEvent{
			Type: schemas.TypeStatus, Message: b.Message, Code: b.Code, RunID: b.RunID, ConversationID: b.ConversationID, ChatID: b.ChatID,
			UserMessageID: b.UserMessageID,
		}
	case *runlog.Attempt:
		return schemas.StatusEvent{
			Type: schemas.TypeStatus, Message: b.Message, Code: b.Code, RunID: b.RunID, ConversationID: b.ConversationID, ChatID: b.ChatID,
			UserMessageID: b.UserMessageID, Attempt: b.Number, KeptThrough: &b.KeptThrough, Text: &b.Text,
		}
	case *runlog.Status:
		return schemas.StatusEvent{Type: schemas.TypeStatus, Message: b.Message, Code: b.Code, Values: statusValues(b), SuggestedActions: approvalActions(b)}
	case *runlog.ToolProgress:
		return schemas.ToolProgressEvent{
			Type: schemas.TypeToolProgress, Tool: b.Tool, Stage: b.Stage, Message: b.Message, Progress: b.Progress, Data: b.Data,
			ToolUseID: b.ToolUseID, Index: b.Index,
		}
	case *runlog.BlockReset:
		return blockEvent(b.By, &b.Place, schemas.BlockPiece{Reset: true, End: b.End})
	case *runlog.BlockHeader:
		return blockEvent(b.By, &b.Place, schemas.BlockPiece{Meta: json.RawMessage(b.Header)})
	case *runlog.BlockContent:
		return blockEvent(b.By, &b.Place, schemas.BlockPiece{Content: b.Text})
	case *runlog.BlockDone:
		return blockEvent(b.By, &b.Place, schemas.BlockPiece{End: true})
	case *runlog.ToolComplete:
		return schemas.ToolCompleteEvent{
			Type: schemas.TypeToolComplete, Tool: b.Tool, Index: b.Index, ToolUseID: b.ToolUseID, IsError: b.IsError, Done: b.Done,
		}
	case *runlog.ApprovalRequest:
		return schemas.ApprovalRequestEvent{
			Type: schemas.TypeApprovalRequest, ApprovalID: b.ApprovalID, Tool: b.Tool, ToolUseID: b.ToolUseID, Index: callIndex(b.Index), Input: b.Input, Message: b.Message,
			ExpiresAt: b.ExpiresAt, Title: b.Title, Description: b.Description, Reason: b.Reason, ReasonText: b.ReasonText,
		}
	case *runlog.ApprovalResolved:
		return schemas.ApprovalResolvedEvent{Type: schemas.TypeApprovalResolved, ApprovalID: b.ApprovalID, Approved: b.Approved}
	case *runlog.ClientToolCall:
		return schemas.ClientToolCallEvent{
			Type: schemas.TypeClientToolCall, Tool: b.Tool, ToolUseID: b.ToolUseID, Index: callIndex(b.Index), Input: b.Input, ExpiresAt: b.ExpiresAt,
		}
	case *runlog.Failed:
		return schemas.ErrorEvent{Type: schemas.TypeError, Message: b.Message, Code: b.Code, Retryable: b.Retryable, MessageID: b.MessageID}
	case *runlog.Cancelled:
		return schemas.CancelledEvent{Type: schemas.TypeCancelled, MessageID: b.MessageID}
	default:
		return nil
	}
}

// blockEvent returns the progress of a call whose text goes into a block while the
// model writes it; nil for what an answer itself writes into a block, whose text is
// shown as the answer.
func blockEvent(by *runlog.Caller, place *runlog.Place, piece schemas.BlockPiece) any {
	if by == nil {
		return nil
	}
	piece.BlockID, piece.DocumentID, piece.Type = place.BlockIDs, place.DocumentID, place.Type
	return schemas.ToolProgressEvent{
		Type: schemas.TypeToolProgress, Tool: by.Tool, Stage: schemas.StageWriting, Data: schemas.Encode(piece), ToolUseID: by.ToolUseID, Index: by.Index,
	}
}

// callIndex is the index of a call that waits, nil where it is not known.
func callIndex(index int) *int {
	if index == runlog.NoIndex {
		return nil
	}
	return &index
}

// statusValues returns the values in the text of a status line, nil if there
// are none.
func statusValues(s *runlog.Status) *schemas.StatusValues {
	if s.Tool == "" {
		return nil
	}
	return &schemas.StatusValues{Tool: s.Tool}
}

// approvalActions returns the two answers to the approval that a status line
// asks for. The page handles them: data has what the page needs to send the
// answer, and why the user is asked.
func approvalActions(s *runlog.Status) []schemas.SuggestedAction {
	if s.ApprovalID == "" {
		return nil
	}
	data := func(approved bool) json.RawMessage {
		return schemas.Encode(struct {
			ApprovalID string                 `json:"approval_id"`
			Approved   bool                   `json:"approved"`
			Reason     schemas.ApprovalReason `json:"reason,omitempty"`
		}{s.ApprovalID, approved, s.Reason})
	}
	return []schemas.SuggestedAction{
		{Label: "Approve", Action: "approve", Handler: "client", Data: data(true), Style: "primary"},
		{Label: "Deny", Action: "deny", Handler: "client", Data: data(false), Style: "secondary"},
	}
}

// appendTextDelta is on the path of every token.
func appendTextDelta(dst []byte, seq int64, text string) []byte {
	dst = append(appendID(dst, seq), `{"type":"text_delta","text":`...)
	return append(schemas.AppendString(dst, text), "}\n\n"...)
}

// appendComplete appends the frame of complete, whose payload may be large.
func appendComplete(dst []byte, seq int64, b *runlog.Completed, r *Reader) []byte {
	dst = append(appendID(dst, seq), `{"type":"complete","payload":`...)
	return append(r.AppendPayload(dst, b), "}\n\n"...)
}

// roomFor estimates the bytes of the frame of complete.
func roomFor(b *runlog.Completed) int {
	n := (&runlog.Event{Body: b}).Size()
	return n + n/16
}

func appendData(dst []byte, seq int64, data []byte) []byte {
	return append(append(appendID(dst, seq), data...), "\n\n"...)
}

func appendID(dst []byte, seq int64) []byte {
	dst = append(dst, "id: "...)
	dst = strconv.AppendInt(dst, seq, 10)
	return append(dst, "\ndata: "...)
}
