package api

import (
	"encoding/json"
	"strconv"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// AppendChatFrame appends the frame of an event in the dialect chat: an id
// line, one line of JSON, a blank line. An event without a frame in this
// dialect appends nothing. The data of complete has no diagnostics; they depend
// on the reader.
func AppendChatFrame(dst []byte, e *runlog.Event) []byte {
	switch e.Kind {
	case runlog.Text, runlog.Marker:
		dst = appendID(dst, e.Seq)
		dst = append(dst, `{"type":"text_delta","text":`...)
		dst = schemas.AppendString(dst, e.Text)
		return append(dst, "}\n\n"...)
	case runlog.ToolStart:
		dst = append(appendID(dst, e.Seq), schemas.CutStrings(e.Data)...)
		return append(dst, "\n\n"...)
	case runlog.Started, runlog.Status, runlog.Attempt, runlog.ToolProgress, runlog.ToolComplete,
		runlog.ApprovalRequest, runlog.ApprovalResolved, runlog.ClientToolCall, runlog.Failed, runlog.Cancelled:
		dst = append(appendID(dst, e.Seq), e.Data...)
		return append(dst, "\n\n"...)
	case runlog.Completed:
		dst = appendID(dst, e.Seq)
		dst = append(dst, `{"type":"complete","payload":`...)
		dst = append(dst, e.Data...)
		return append(dst, "}\n\n"...)
	case runlog.ThreadStart, runlog.BlockStart, runlog.MessageStart, runlog.MessageEnd, runlog.BlockEnd, runlog.ThreadEnd,
		runlog.Thinking, runlog.ToolArguments, runlog.Payload,
		runlog.BlockReset, runlog.BlockHeader, runlog.BlockContent, runlog.BlockDone,
		runlog.ThreadText, runlog.ThreadToolStart, runlog.ThreadToolProgress, runlog.ThreadToolComplete:
		return dst
	default:
		return dst
	}
}

// chatDialect appends the frame that was encoded when the event was logged, or
// encodes it; to complete it adds the diagnostics, for a reader who may see them.
func chatDialect(diagnostics func() json.RawMessage) dialect {
	d := dialect{name: "chat", frame: func(dst []byte, e *runlog.Event) ([]byte, bool) {
		if e.Frame != nil {
			return append(dst, e.Frame...), true
		}
		return AppendChatFrame(dst, e), true
	}}
	if diagnostics == nil {
		return d
	}
	plain := d.frame
	return dialect{name: "chat+diagnostics", frame: func(dst []byte, e *runlog.Event) ([]byte, bool) {
		if e.Kind != runlog.Completed {
			return plain(dst, e)
		}
		found := diagnostics()
		return AppendChatFrame(dst, &runlog.Event{Kind: e.Kind, Seq: e.Seq, Data: withDiagnostics(e.Data, found)}), found != nil
	}}
}

// withDiagnostics puts diagnostics into the payload of complete.
func withDiagnostics(payload, diagnostics json.RawMessage) json.RawMessage {
	if len(diagnostics) == 0 || len(payload) < 2 {
		return payload
	}
	out := make(json.RawMessage, 0, len(payload)+len(diagnostics)+20)
	out = append(out, payload[:len(payload)-1]...)
	out = append(out, `,"diagnostics":`...)
	out = append(out, diagnostics...)
	return append(out, '}')
}

func appendID(dst []byte, seq int64) []byte {
	dst = append(dst, "id: "...)
	dst = strconv.AppendInt(dst, seq, 10)
	return append(dst, "\ndata: "...)
}
