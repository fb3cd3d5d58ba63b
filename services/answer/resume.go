package answer

import (
	"strings"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/prompt"
)

// Checkpoint is what a checkpoint of a run holds: a whole reply of the model, or
// that a server action was about to run.
type Checkpoint struct {
	Reply  *turn.Reply `json:"reply,omitempty"`
	Action bool        `json:"action,omitempty"`
	// Spent is what the run has used of each model by then.
	Spent []record.ModelUsage `json:"spent,omitempty"`
}

// Prior is what earlier attempts of a run left behind of its answer.
type Prior struct {
	steps []turn.Step
	calls map[int]record.ToolCall

	// log is the stored log, events are those of it that no attempt made void.
	log, events []runlog.Event
	// What of the finished steps the log shows, up to the event kept.
	kept    int64
	replies int
	results map[int]bool
	markers int
}

// NewPrior compares the stored log with the finished replies and calls.
func NewPrior(replies []turn.Reply, calls []record.ToolCall, log []runlog.Event) *Prior {
	p := &Prior{calls: make(map[int]record.ToolCall), log: log, events: standingEvents(log)}
	for _, reply := range replies {
		p.steps = append(p.steps, turn.Step{Reply: reply, Results: make([]*turn.Result, len(reply.ToolCalls))})
	}
	for _, c := range calls {
		p.calls[c.Index] = c
	}
	p.addStarted()
	p.compare()
	return p
}

// Steps is how many replies are finished.
func (p *Prior) Steps() int { return len(p.steps) }

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
func (p *Prior) addStarted() {
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
func (p *Prior) compare() {
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

// Written is how much models have written of what is there.
func (p *Prior) Written() (n int) {
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
func (p *Prior) text() string {
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

// announce says in the log that a later attempt begins and what stands, and ends
// the silence.
func (wr *Writer) announce(p *Prior) {
	if !wr.silent {
		return
	}
	wr.silent = false
	text := wr.stood.String()
	wr.emit(runlog.Level{}, &runlog.Attempt{
		Run: wr.run.names(), Message: "Resuming...", Target: wr.answer.target, Number: wr.run.Attempt, KeptThrough: p.kept, Text: text,
	})
	wr.levels.CloseEarlier(p.log)
	wr.stand(text)
}

// stand shows the text that stands as one whole message, for the dialects that
// have messages.
func (wr *Writer) stand(text string) {
	text = strings.TrimSpace(prompt.WithoutMarkers(text))
	if text == "" {
		return
	}
	wr.emit(wr.levels.Text(), &runlog.Standing{Text: text})
	wr.levels.Close("completed")
}

// Restore goes through the finished steps again, in silence as far as the
// stored log shows them: the same filter gives the same text, the same payloads
// and the same markers.
func (wr *Writer) Restore() {
	p := wr.run.Prior
	wr.silent, wr.keptMarkers = true, p.markers
	wr.interrupted = make(map[int]bool)
	for n, step := range p.steps {
		if n == p.replies {
			wr.announce(p)
		}
		wr.spoke = false
		wr.reply(step.Reply)
		wr.restoreCalls(p, step.Reply)
	}
	wr.announce(p)
	wr.dueMarkers()
	wr.checkpoint, wr.pending = nil, nil // they are stored
}

// restoreCalls takes over what is known of a reply's calls: first those whose
// outcome the log shows, then, for all to see, the others.
func (wr *Writer) restoreCalls(p *Prior, reply turn.Reply) {
	for _, shown := range []bool{true, false} {
		for i := range reply.ToolCalls {
			index := reply.FirstIndex + i
			row, known := p.calls[index]
			switch {
			case known && row.State != record.ToolFinished:
				wr.interrupted[index] = true
			case known && p.results[index] == shown:
				if !shown {
					wr.announce(p)
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
	result := turn.Result{Text: row.Output, IsError: row.IsError, Duration: row.Duration}
	if row.Payload != nil {
		result.Payload = &turn.Payload{Type: row.Payload.Type, Data: row.Payload.Data}
		wr.payloads = append(wr.payloads, *row.Payload)
		wr.take(row.Payload.PayloadID)
	}
	wr.result(row.Index, result)
	if !wr.silent {
		wr.begin(turn.ToolStart{Index: row.Index, ID: row.ToolUseID, Name: row.Name, Input: row.Input})
	}
	wr.completed(c)
}

// Keep takes over what earlier attempts left of a run that ends here: its calls
// and payloads as far as they can be told, and all text that was shown.
func (wr *Writer) Keep() {
	p := wr.run.Prior
	wr.silent = true
	if wr.filter != nil {
		wr.keptMarkers = len(p.calls)
		wr.interrupted = make(map[int]bool)
		for _, step := range p.steps {
			wr.reply(step.Reply)
			for i := range step.Reply.ToolCalls {
				row, known := p.calls[step.Reply.FirstIndex+i]
				switch {
				case !known:
				case row.State == record.ToolFinished:
					wr.takeOver(row)
				default:
					wr.at(row.Index).ToolCall = row // breakOff ends it
				}
			}
		}
		wr.checkpoint, wr.pending = nil, nil
	} else {
		for _, row := range p.calls {
			wr.at(row.Index).ToolCall = row // breakOff ends those that have not
		}
	}
	wr.stood.Reset()
	wr.stood.WriteString(p.text())
	wr.shown, wr.worded = wr.stood.Len() > 0, strings.TrimSpace(wr.stood.String()) != ""
	wr.announce(p)
}
