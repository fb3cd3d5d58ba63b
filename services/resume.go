package services

import (
	"context"
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
		if later, ok := e.Body.(*runlog.Attempt); ok {
			for len(list) > 0 && list[len(list)-1].Seq > later.KeptThrough {
				list = list[:len(list)-1]
			}
		}
		list = append(list, e)
	}
	return list
}

// addStarted adds the calls that were shown but have no row before their
// outcome, as they may be run again.
func (p *prior) addStarted() {
	for i := range p.events {
		b, ok := p.events[i].Body.(*runlog.ToolStart)
		if !ok {
			continue
		}
		if _, known := p.calls[b.Index]; !known {
			p.calls[b.Index] = record.ToolCall{
				Index: b.Index, ToolUseID: b.ToolUseID, Name: b.Tool, Input: b.Input, State: record.ToolStarted, StartedAt: time.UnixMilli(p.events[i].Time),
			}
		}
	}
}

// compare finds the last stored event up to which the log and the finished
// steps agree: what comes after it is void and shown again.
func (p *prior) compare() {
	p.results = make(map[int]bool)
	var standing uint32 // the group of a text that stood
	for i := range p.events {
		e := &p.events[i]
		switch b := e.Body.(type) {
		case *runlog.Started, *runlog.Attempt:
		case *runlog.Standing:
			standing = e.At.Group
			continue
		case *runlog.LevelEnd:
			switch {
			case b.Depth != runlog.GroupLevel || b.Type != "llm" || e.At.Thread != 0: // or of a thread's own loop
				continue
			case e.At.Group == standing:
			case p.replies == len(p.steps):
				return // of a reply that is in no checkpoint
			default:
				p.replies++
			}
		case *runlog.ToolComplete:
			if p.calls[b.Index].State != record.ToolFinished {
				return
			}
			p.results[b.Index] = true
		case *runlog.Marker:
			if !strings.HasPrefix(b.Text, markerStart) {
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
		if p.events[i].At.Thread == 0 {
			continue
		}
		switch b := p.events[i].Body.(type) {
		case *runlog.ThreadText:
			n += len(b.Text)
		case *runlog.Thinking:
			n += len(b.Text)
		case *runlog.Arguments:
			n += len(b.Text)
		default:
		}
	}
	return n
}

// text is what a reader of all events sees.
func (p *prior) text() string {
	var b strings.Builder
	for i := range p.events {
		if later, ok := p.events[i].Body.(*runlog.Attempt); ok {
			b.Reset()
			b.WriteString(later.Text)
		}
		b.WriteString(visible(&p.events[i]))
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
	text := rec.stood.String()
	rec.emit(runlog.Level{}, &runlog.Attempt{
		Run: rec.run.names(), Message: "Resuming...", Target: rec.answer.target, Number: rec.run.attempt, KeptThrough: p.kept, Text: text,
	})
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
	rec.emit(rec.levels.at(rec.levels.text), &runlog.Standing{Text: text})
	rec.levels.closeBlock("completed")
}

// open returns the levels that the earlier attempts left open, the outermost
// first: also those after the event kept, which a reader may have seen.
func (p *prior) open() []openLevel {
	var open []openLevel
	for _, e := range p.log {
		switch b := e.Body.(type) {
		case *runlog.LevelStart:
			open = append(open, openLevel{e.At, b.Depth})
		case *runlog.LevelEnd:
			open = slices.DeleteFunc(open, func(o openLevel) bool { return o == openLevel{e.At, b.Depth} })
		default:
		}
	}
	return open
}

// openLevel is a level that has been opened.
type openLevel struct {
	at    runlog.Level
	depth runlog.Depth
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
