package answer

import (
	"cmp"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/payloads"
	"github.com/chattray/chattray/services/attempts"
)

// announce ends the silent phase: it logs that a later attempt begins and which
// text is kept.
func (wr *Writer) announce(e *attempts.Earlier) {
	if !wr.silent {
		return
	}
	wr.silent = false
	kept := wr.visible.String()
	wr.emit(runlog.Level{}, &runlog.Attempt{
		Run: wr.run.names(), Message: "Resuming...", Code: schemas.StatusResuming, Target: wr.target, Number: wr.run.Attempt, KeptThrough: e.Kept, Text: kept,
	})
	wr.levels.CloseEarlier(e.Log)
	for _, b := range wr.rejected {
		wr.emit(runlog.Level{}, b)
	}
	if wr.written != nil {
		wr.written.Interrupted(e.Void())
	}
	wr.showKept(standing(kept))
}

// standing returns the text of an answer without its markers.
func standing(shown string) string { return strings.TrimSpace(text.StripMarkers(shown)) }

// showKept shows the kept text as one whole message, for dialects that have
// messages. Blocks of a document are begun first: they begin with this text.
func (wr *Writer) showKept(visible string) {
	if visible = cmp.Or(wr.answer.Kept(), visible); visible == "" {
		return
	}
	wr.emit(wr.levels.Text(), &runlog.KeptText{Text: visible})
	wr.levels.Close("completed")
}

// Restore processes the finished steps again and shows those that are not in
// the stored log. The same filter gives the same text, payloads and markers.
func (wr *Writer) Restore() {
	e := wr.run.Earlier
	wr.silent, wr.keptMarkers = true, e.Markers
	wr.noteShown()
	if wr.written != nil {
		wr.written.Earlier(e.Log)
	}
	wr.interrupted = make(map[int]bool)
	for n, step := range e.Steps {
		if n == e.Replies {
			wr.announce(e)
		}
		wr.spoke = false
		wr.reply(step.Reply)
		wr.restoreCalls(e, step.Reply)
	}
	wr.announce(e)
	wr.dueMarkers()
	wr.writes.Forget() // it is stored
	wr.lookForWithdrawals()
}

// noteShown notes what the stored log shows in blocks.
func (wr *Writer) noteShown() {
	for i := range wr.run.Earlier.Log {
		wr.watch.Note(wr.run.Earlier.Log[i].Body)
	}
}

// restoreCalls takes over the finished calls of a reply: first those whose
// outcome is in the log, then the others, whose outcome it shows.
func (wr *Writer) restoreCalls(e *attempts.Earlier, reply turn.Reply) {
	for _, shown := range []bool{true, false} {
		for i := range reply.ToolCalls {
			index := reply.FirstIndex + i
			row, known := e.Calls[index]
			switch {
			case known && row.State != record.ToolFinished:
				wr.interrupted[index] = true
			case known && e.Results[index] == shown:
				if !shown {
					wr.announce(e)
				}
				wr.takeOver(row)
			}
		}
	}
}

// takeOver takes over a finished call.
func (wr *Writer) takeOver(row record.ToolCall) {
	c := wr.at(row.Index)
	c.ToolCall, c.payload = row, row.Payload
	result := turn.Result{Text: row.ModelOutput, IsError: row.IsError, Duration: row.Duration}
	if row.Payload != nil {
		result.Payload = &turn.Payload{Type: row.Payload.Type, Data: row.Payload.Data}
		wr.payloads.Keep(*row.Payload, payloads.CallPlace(row.Index))
	}
	wr.result(row.Index, result)
	if t, _ := wr.deps.Tool(row.Name); t.Replans && !row.IsError && wr.deps.Drafts != nil {
		c := wr.claimOf()
		c.Plan = true
		_, _ = wr.deps.Drafts.Claim(wr.ctx, c) // this run planned it, and fills its blocks; the claim of its first attempt may count still
	}
	if !wr.silent {
		wr.begin(turn.ToolStart{Index: row.Index, ID: row.ToolUseID, Name: row.Name, Input: row.Input})
	}
	wr.completed(c)
}

// Keep takes over what earlier attempts left of a run that ends now: its calls
// and payloads if they can be read, and all text that was shown.
func (wr *Writer) Keep() {
	e := wr.run.Earlier
	wr.silent = true
	wr.noteShown()
	if wr.filter != nil {
		wr.keptMarkers = len(e.Calls)
		for _, step := range e.Steps {
			wr.reply(step.Reply)
			for i := range step.Reply.ToolCalls {
				row, known := e.Calls[step.Reply.FirstIndex+i]
				switch {
				case !known:
				case row.State == record.ToolFinished:
					wr.takeOver(row)
				default:
					wr.at(row.Index).ToolCall = row // breakOff ends it
				}
			}
		}
		wr.writes.Forget()
	} else {
		for _, row := range e.Calls {
			wr.at(row.Index).ToolCall = row // breakOff ends those that have not ended
		}
	}
	wr.visible.Keep(e.Text())
	wr.marked = strings.Count(e.Text(), text.ToolMarker) // the others come at the end
	wr.answer.Keep(standing(e.Text()))
	wr.announce(e)
}
