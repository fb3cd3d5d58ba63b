package services

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/prompt"
)

// checkpoint is what a checkpoint of a run holds: a whole reply of the model,
// or that a server action was about to run.
type checkpoint struct {
	Reply  *turn.Reply `json:"reply,omitempty"`
	Action bool        `json:"action,omitempty"`
	// Spent is what the run has used of each model by then.
	Spent []record.ModelUsage `json:"spent,omitempty"`
	// Mark is of the checkpoint markNumber alone.
	Mark *mark `json:"mark,omitempty"`
}

// prior is what earlier attempts of a run left behind.
type prior struct {
	steps  []turn.Step
	calls  map[int]record.ToolCall
	action bool
	cancel bool
	spent  []record.ModelUsage
	// spared is how many of the attempts before this one only waited at their end.
	spared int
	// broken says why it cannot be read.
	broken error
	// mark is what the attempt before wrote at its start; bare says that what the
	// run has done is not gone through again, and fatal that it ends here, because
	// the process ended with it.
	mark        *mark
	bare, fatal bool
	fresh       bool // see mark.Fresh

	// log is the stored log, events are those of it that no attempt made void.
	log, events []runlog.Event
	// What of the finished steps the log shows, up to the event kept.
	kept    int64
	replies int
	results map[int]bool
	markers int
}

// standingEvents leaves out what later attempts made void.
func standingEvents(events []runlog.Event) []runlog.Event {
	var list []runlog.Event
	for _, e := range events {
		if s := attemptStatus(&e); s.KeptThrough != nil {
			for len(list) > 0 && list[len(list)-1].Seq > *s.KeptThrough {
				list = list[:len(list)-1]
			}
		}
		list = append(list, e)
	}
	return list
}

// attemptStatus is what the first event of a later attempt says; of any other
// event it is empty.
func attemptStatus(e *runlog.Event) (s schemas.StatusEvent) {
	if e.Kind == runlog.Attempt && json.Unmarshal(e.Data, &s) != nil {
		return schemas.StatusEvent{}
	}
	return s
}

// addStarted adds the calls that were shown but have no row before their
// outcome, as they may be run again.
func (p *prior) addStarted() {
	for i := range p.events {
		var e schemas.ToolStartEvent
		if p.events[i].Kind != runlog.ToolStart || json.Unmarshal(p.events[i].Data, &e) != nil {
			continue
		}
		if _, known := p.calls[e.Index]; !known {
			p.calls[e.Index] = record.ToolCall{
				Index: e.Index, ToolUseID: e.ToolUseID, Name: e.Tool, Input: e.Input, State: record.ToolStarted, StartedAt: time.UnixMilli(p.events[i].Time),
			}
		}
	}
}

// compare finds the last stored event up to which the log and the finished
// steps agree: what comes after it is void and shown again.
func (p *prior) compare() {
	p.results = make(map[int]bool)
	var standing uint32 // the block of a text that stood
	for i := range p.events {
		e := &p.events[i]
		switch e.Kind {
		case runlog.Started, runlog.Attempt:
		case runlog.Standing:
			standing = e.Block
			continue
		case runlog.BlockEnd:
			var level runlog.Level
			if e.Thread != 0 { // of a thread's own loop
				continue
			}
			switch {
			case json.Unmarshal(e.Data, &level) != nil || level.Type != "llm":
				continue
			case e.Block == standing:
			case p.replies == len(p.steps):
				return // of a reply that is in no checkpoint
			default:
				p.replies++
			}
		case runlog.ToolComplete:
			var done schemas.ToolCompleteEvent
			if json.Unmarshal(e.Data, &done) != nil || p.calls[done.Index].State != record.ToolFinished {
				return
			}
			p.results[done.Index] = true
		case runlog.Marker:
			if !strings.HasPrefix(e.Text, markerStart) {
				continue
			}
			p.markers++
		default:
			continue
		}
		p.kept = e.Seq
	}
}

// written is how much models have written of what is there.
func (p *prior) written() (n int) {
	for i := range p.steps {
		reply := &p.steps[i].Reply
		n += len(reply.Text) + len(reply.Reasoning)
		for _, c := range reply.ToolCalls {
			n += len(c.Arguments)
		}
	}
	for i := range p.events {
		if p.events[i].Thread != 0 {
			n += len(p.events[i].Text)
		}
	}
	return n
}

// text is what a reader of all events sees.
func (p *prior) text() string {
	var b strings.Builder
	for i := range p.events {
		switch e := &p.events[i]; e.Kind { //nolint:exhaustive // the other kinds are no text
		case runlog.Text, runlog.Marker:
			b.WriteString(e.Text)
		case runlog.Attempt:
			if s := attemptStatus(e); s.Text != nil {
				b.Reset()
				b.WriteString(*s.Text)
			}
		}
	}
	return b.String()
}

// resume brings the recorder to where earlier attempts left it and says so in
// the log. It ends runs that are not to go on: cancelled ones, those with too
// many attempts, actions whose outcome is unknown, and what cannot be read;
// these keep all that their reader saw, and no model is called for them.
func (r *Runs) resume(one *run, rec *recorder) (end outcome, over bool) {
	p, cause := one.prior, context.Cause(one.ctx)
	one.text.hold(p.written())
	var unready error
	if !p.bare {
		var outline *briefing
		if outline, _, unready = r.outline(one); unready == nil {
			rec.use(outline)
		}
	}
	if p.broken != nil {
		unready = p.broken
	}
	switch {
	case p.fatal:
		end = outcome{schemas.RunFailed, errContained}
	case p.cancel:
		end = outcome{schemas.RunCancelled, errUserCancel}
	case cause != nil:
		end = r.stopped(one, cause)
	case one.attempt-p.spared > MaxAttempts, one.attempt > maxAttemptsEver:
		end = outcome{schemas.RunFailed, schemas.NewError(schemas.CodeInterrupted, "the answer was interrupted several times and was given up")}
	case p.action:
		end = outcome{schemas.RunFailed, schemas.NewError(schemas.CodeInterrupted, "the service was interrupted while the action ran; it is not known whether it took effect")}
	case unready != nil:
		end = r.stopped(one, unready)
	default:
		rec.restore(p)
		return end, false
	}
	if end.state != "" {
		rec.keep(p)
	}
	return end, true
}

// announce says in the log that a later attempt begins and what stands, and ends
// the silence.
func (rec *recorder) announce(p *prior) {
	if !rec.silent {
		return
	}
	rec.silent = false
	one, text := rec.run, rec.stood.String()
	rec.emit(runlog.Event{Kind: runlog.Attempt, Text: string(encode(rec.answer.target)), Data: encode(schemas.StatusEvent{
		Type: schemas.TypeStatus, Message: "Resuming...", RunID: one.id, ConversationID: one.conversationID, ChatID: one.chatKey,
		UserMessageID: one.userMessageID, Attempt: one.attempt, KeptThrough: &p.kept, Text: &text,
	})})
	rec.levels.closePrior(p.open())
	rec.stand(text)
}

// stand shows the text that stands as one whole message, for the dialects that
// have messages.
func (rec *recorder) stand(text string) {
	text = strings.TrimSpace(prompt.WithoutMarkers(text))
	if text == "" {
		return
	}
	rec.levels.write("text")
	rec.emit(runlog.Event{Kind: runlog.Standing, Block: rec.levels.block, Message: rec.levels.text, Text: text})
	rec.levels.closeBlock("completed")
}

// open returns the starts of the levels that the earlier attempts left open, the
// outermost first: also of those behind the event kept, which a reader may have
// seen.
func (p *prior) open() []runlog.Event {
	var open []runlog.Event
	for _, e := range p.log {
		switch e.Kind { //nolint:exhaustive // the other kinds open and close nothing
		case runlog.ThreadStart, runlog.BlockStart, runlog.MessageStart:
			open = append(open, e)
		case runlog.ThreadEnd, runlog.BlockEnd, runlog.MessageEnd:
			open = slices.DeleteFunc(open, func(o runlog.Event) bool { return closes(e, o) })
		}
	}
	return open
}

// closes says whether an event ends the level that another one started.
func closes(end, start runlog.Event) bool {
	return end.Kind == levelEnds[start.Kind] && end.Thread == start.Thread && end.Block == start.Block && end.Message == start.Message
}

// levelEnds is the kind of event that ends what another kind starts.
var levelEnds = map[runlog.Kind]runlog.Kind{
	runlog.ThreadStart: runlog.ThreadEnd, runlog.BlockStart: runlog.BlockEnd, runlog.MessageStart: runlog.MessageEnd,
}

// restore goes through the finished steps again, in silence as far as the
// stored log shows them: the same filter gives the same text, the same payloads
// and the same markers.
func (rec *recorder) restore(p *prior) {
	rec.silent, rec.keptMarkers = true, p.markers
	rec.interrupted = make(map[int]bool)
	for n, step := range p.steps {
		if n == p.replies {
			rec.announce(p)
		}
		rec.spoke = false
		rec.reply(step.Reply)
		rec.restoreCalls(p, step.Reply)
	}
	rec.announce(p)
	rec.dueMarkers()
	rec.checkpoint, rec.pending = nil, nil // they are stored
}

// restoreCalls takes over what is known of a reply's calls: first those whose
// outcome the log shows, then, for all to see, the others.
func (rec *recorder) restoreCalls(p *prior, reply turn.Reply) {
	for _, shown := range []bool{true, false} {
		for i := range reply.ToolCalls {
			index := reply.FirstIndex + i
			row, known := p.calls[index]
			switch {
			case known && row.State != record.ToolFinished:
				rec.interrupted[index] = true
			case known && p.results[index] == shown:
				if !shown {
					rec.announce(p)
				}
				rec.takeOver(row)
			}
		}
	}
}

// takeOver takes over a finished call.
func (rec *recorder) takeOver(row record.ToolCall) {
	c := rec.at(row.Index)
	c.ToolCall, c.payload = row, row.Payload
	result := turn.Result{Text: row.Output, IsError: row.IsError, Duration: row.Duration}
	if row.Payload != nil {
		result.Payload = &turn.Payload{Type: row.Payload.Type, Data: row.Payload.Data}
		rec.payloads = append(rec.payloads, *row.Payload)
		rec.take(row.Payload.PayloadID)
	}
	rec.result(row.Index, result)
	if !rec.silent {
		rec.begin(turn.ToolStart{Index: row.Index, ID: row.ToolUseID, Name: row.Name, Input: row.Input})
	}
	rec.completed(c)
}

// keep takes over what earlier attempts left of a run that ends here: its calls
// and payloads as far as they can be told, and all text that was shown.
func (rec *recorder) keep(p *prior) {
	rec.silent = true
	if rec.filter != nil {
		rec.keptMarkers = len(p.calls)
		rec.interrupted = make(map[int]bool)
		for _, step := range p.steps {
			rec.reply(step.Reply)
			for i := range step.Reply.ToolCalls {
				row, known := p.calls[step.Reply.FirstIndex+i]
				switch {
				case !known:
				case row.State == record.ToolFinished:
					rec.takeOver(row)
				default:
					rec.at(row.Index).ToolCall = row // breakOff ends it
				}
			}
		}
		rec.checkpoint, rec.pending = nil, nil
	} else {
		for _, row := range p.calls {
			rec.at(row.Index).ToolCall = row // breakOff ends those that have not
		}
	}
	rec.stood.Reset()
	rec.stood.WriteString(p.text())
	rec.shown, rec.worded = rec.stood.Len() > 0, strings.TrimSpace(rec.stood.String()) != ""
	rec.announce(p)
}
