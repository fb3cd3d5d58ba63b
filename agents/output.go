package agents

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of a tool's result, and of the plain summary.
const (
	// maxResultText is how many bytes of an output are kept.
	maxResultText = 8 << 20
	// maxWhole is how many bytes of outputs a run keeps whole, and how many of data. Of further
	// results it keeps the text that the model gets.
	maxWhole = 16 << 20
	// maxPayload is the largest payload, in bytes; a larger one is dropped.
	maxPayload = 8 << 20
	// minToolOutput is the length in characters to which outputs are cut at most, when a
	// prompt is too long for the model.
	minToolOutput = 500
	// A plain summary has summaryResults results, and summaryText characters of
	// each.
	summaryResults = 20
	summaryText    = 500
)

// namedResult is the result of a call of the tool name.
type namedResult struct {
	name   string
	result turn.Result
}

// modelText returns the text of a result for the model. It is never empty,
// because some servers refuse empty messages.
func (l *loop) modelText(r turn.Result) string {
	if strings.TrimSpace(r.Text) == "" {
		return "(the tool gave no output)"
	}
	return cut(r.Text, l.req.ToolOutput)
}

// clean limits the size of a tool's result and makes it valid UTF-8, its text also without NUL:
// browsers close a websocket whose text is not UTF-8.
func clean(r turn.Result) turn.Result {
	if len(r.Text) > maxResultText {
		kept := text.Bytes(r.Text, maxResultText)
		r.Text = fmt.Sprintf("%s\n\n[the output was cut here, at %d of %d bytes]", kept, len(kept), len(r.Text))
	}
	r.Text = strings.ReplaceAll(strings.ToValidUTF8(r.Text, "\uFFFD"), "\x00", "\uFFFD")
	if r.Payload != nil && len(r.Payload.Data) > maxPayload {
		r.Text += fmt.Sprintf("\n\n[the payload of %d bytes was too large and is not shown]", len(r.Payload.Data))
		r.Payload = nil
	}
	if r.Payload != nil && !utf8.Valid(r.Payload.Data) {
		r.Payload = &turn.Payload{Type: r.Payload.Type, Data: validUTF8(r.Payload.Data)}
	}
	if len(r.Data) > maxPayload {
		r.Data = nil
	}
	return r
}

// keep returns a result as the run keeps it, and what the loop itself needs of it.
func (l *loop) keep(r turn.Result) (kept, own turn.Result) {
	own = turn.Result{Text: l.modelText(r), IsError: r.IsError}
	if data := resultData(&r); fits(&l.data, len(data)) {
		own.Data = data
	}
	if !fits(&l.outputs, len(r.Text)) && len(own.Text) < len(r.Text) {
		r.Text = own.Text
	}
	return r, own
}

// fits reports whether size more bytes are kept whole, and counts them in whole.
func fits(whole *int, size int) bool {
	if *whole+size > maxWhole {
		return false
	}
	*whole += size
	return true
}

func validUTF8(raw []byte) []byte { return bytes.ToValidUTF8(raw, []byte("\uFFFD")) }

// cut returns s. If s has more than limit characters, it is replaced by its
// head, a note with the length, and its tail, at most limit characters
// together. The head is twice as long as the tail, because a text's topic is at
// its beginning.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	total := utf8.RuneCountInString(s)
	if total <= limit {
		return s
	}
	note := func(left int) string {
		return fmt.Sprintf("\n\n[… %d of %d characters left out …]\n\n", left, total)
	}
	room := limit - utf8.RuneCountInString(note(total))
	if room <= 0 {
		return s[:text.Offset(s, limit)]
	}
	front := room - room/3
	return s[:text.Offset(s, front)] + note(total-room) + s[text.Offset(s, total-room+front):]
}

// shorten cuts the results of tools in the prompt, and those that will come, if the prompt is
// why the call failed: it is too long for the model. False means that no more can be cut.
func (l *loop) shorten(err error, reply *turn.Reply) bool {
	if schemas.Visible(err).Code != schemas.CodeContextTooLong || reply.Text != "" || reply.Reasoning != "" || len(reply.ToolCalls) > 0 {
		return false
	}
	shorter := false
	for !shorter && l.req.ToolOutput > minToolOutput {
		l.req.ToolOutput = max(l.req.ToolOutput/4, minToolOutput)
		for i := len(l.req.Messages); i < len(l.messages); i++ {
			m := &l.messages[i]
			if m.Role == turn.ToolRole && utf8.RuneCountInString(m.Content) > l.req.ToolOutput {
				m.Content, shorter = cut(m.Content, l.req.ToolOutput), true
			}
		}
	}
	return shorter
}

// summarize completes reply with a plain summary of the results instead of the
// model's last answer. Text that the model wrote before it failed has been
// shown and remains.
func (l *loop) summarize(reply *turn.Reply) {
	var b strings.Builder
	if reply.Text != "" {
		b.WriteString("\n\n")
	}
	unit := "steps"
	if l.limit == 1 {
		unit = "step"
	}
	fmt.Fprintf(&b, "I reached the limit of %d %s before I could write an answer.", l.limit, unit)
	if len(l.outcomes) > 0 {
		b.WriteString(" These are the tools' results:\n")
	}
	for _, o := range l.outcomes[max(0, len(l.outcomes)-summaryResults):] {
		text := cut(text.OneLine(text.Bytes(o.result.Text, maxSummaryInput)), summaryText)
		if o.result.IsError {
			text = "failed: " + text
		}
		fmt.Fprintf(&b, "\n- **%s**: %s", o.name, text)
	}
	l.emit(turn.TextDelta{Text: b.String()})
	reply.Text += b.String()
	reply.Synthetic = true
	reply.StopReason = schemas.MaxIterations
	reply.ToolCalls = nil
}

// maxSummaryInput is how many bytes of a result the summary reads.
const maxSummaryInput = 64 << 10
