package wires

import (
	"context"
	"maps"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// calls tracks the calls of the newest reply that has calls: which of them have ended, and
// which wait for the user or for the page. A later attempt continues with the calls of the
// reply that it keeps.
type calls struct {
	group     uint32        // of the reply
	asked     map[int]int64 // calls of the reply, with the number of the event, as below
	ended     map[int]int64
	shown     map[int]int64 // calls whose wait is shown
	waiting   map[int]bool
	approvals map[string]int // index of a call by its approval id
	byUse     map[string]int // index of a call by the model's id
	count     int
}

// indexed returns the event with the index of its call, also for logs that were stored
// without it.
func (c *calls) indexed(e *runlog.Event) *runlog.Event {
	known := func(index int, use string) int {
		if index == runlog.NoIndex {
			return c.byUse[use]
		}
		return index
	}
	switch b := e.Body.(type) {
	case *runlog.Call:
		if e.At.Thread != 0 {
			return e
		}
		index := b.Index
		if index == runlog.NoIndex {
			index = c.count
		}
		c.count++
		if c.byUse == nil {
			c.byUse = make(map[string]int)
		}
		c.byUse[b.ID] = index
		if index != b.Index {
			again := *b
			again.Index = index
			return with(e, &again)
		}
	case *runlog.ApprovalRequest:
		if index := known(b.Index, b.ToolUseID); index != b.Index {
			again := *b
			again.Index = index
			return with(e, &again)
		}
	case *runlog.ClientToolCall:
		if index := known(b.Index, b.ToolUseID); index != b.Index {
			again := *b
			again.Index = index
			return with(e, &again)
		}
	default:
	}
	return e
}

// with returns the event with another body.
func with(e *runlog.Event, b runlog.Body) *runlog.Event {
	again := *e
	again.Body, again.Shared = b, nil
	return &again
}

// event records an event. It reports whether every call of the last reply now has ended
// or waits, and at least one waits.
func (c *calls) event(e *runlog.Event) (rests bool) {
	switch b := e.Body.(type) {
	case *runlog.Attempt:
		c.keep(b.KeptThrough)
		return false
	case *runlog.Call:
		if e.At.Thread != 0 {
			return false
		}
		if e.At.Group != c.group {
			c.group, c.asked, c.ended, c.shown, c.waiting = e.At.Group, nil, nil, nil, nil
		}
		set(&c.asked, b.Index, e.Seq)
		return false
	case *runlog.ApprovalRequest:
		set(&c.approvals, b.ApprovalID, b.Index)
		c.wait(b.Index, e.Seq)
	case *runlog.ClientToolCall:
		c.wait(b.Index, e.Seq)
	case *runlog.ApprovalResolved, *runlog.ToolStart, *runlog.ToolRefused:
		index, _ := c.resolves(e)
		delete(c.waiting, index)
		return false
	case *runlog.ToolComplete:
		delete(c.waiting, b.Index)
		set(&c.ended, b.Index, e.Seq)
	default:
		return false
	}
	return c.rests()
}

// rests reports whether every call of the last reply has ended or waits, and at least one
// waits.
func (c *calls) rests() bool {
	if len(c.waiting) == 0 {
		return false
	}
	for index := range c.asked {
		if _, ended := c.ended[index]; !ended && !c.waiting[index] {
			return false
		}
	}
	return true
}

// wait records that an event shows the wait of a call.
func (c *calls) wait(index int, seq int64) {
	set(&c.waiting, index, true)
	if _, shown := c.shown[index]; !shown {
		set(&c.shown, index, seq)
	}
}

// repeats reports whether a wait is shown that is shown already, by what the newest attempt
// keeps.
func (c *calls) repeats(index int) bool {
	_, shown := c.shown[index]
	return shown
}

// keep forgets what a later attempt replaces. That attempt shows every wait again.
func (c *calls) keep(through int64) {
	replaced := func(_ int, seq int64) bool { return seq > through }
	maps.DeleteFunc(c.asked, replaced)
	maps.DeleteFunc(c.ended, replaced)
	maps.DeleteFunc(c.shown, replaced)
	c.waiting = nil
}

// waitOf returns the call whose wait the event shows.
func waitOf(e *runlog.Event) (index int, ok bool) {
	switch b := e.Body.(type) {
	case *runlog.ApprovalRequest:
		return b.Index, true
	case *runlog.ClientToolCall:
		return b.Index, true
	default:
		return 0, false
	}
}

// resolves returns the call whose wait the event ends.
func (c *calls) resolves(e *runlog.Event) (index int, ok bool) {
	switch b := e.Body.(type) {
	case *runlog.ApprovalResolved:
		index, ok = c.approvals[b.ApprovalID]
		return index, ok
	case *runlog.ToolStart:
		return b.Index, true
	case *runlog.ToolRefused:
		return b.Index, true
	case *runlog.ToolComplete:
		return b.Index, true
	default:
		return 0, false
	}
}

func set[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[key] = value
}

// open returns the waits of the calls that wait, in order, without those at which the
// response stays open. ok is false if one of them was already answered: the run is about
// to continue.
func (c *calls) open(waits []schemas.Wait, stays, answered func(schemas.Wait) bool) (open []schemas.Wait, ok bool) {
	for _, w := range waits {
		switch {
		case !c.waiting[w.Index], stays(w):
		case answered(w):
			return nil, false
		default:
			open = append(open, w)
		}
	}
	return open, len(open) > 0
}

// answeredBefore reports whether a wait was answered before the event.
func answeredBefore(w schemas.Wait, e *runlog.Event) bool {
	return w.AnsweredAt != nil && w.AnsweredAt.UnixMilli() < e.Time
}

// rest records where a response of a Keeper begins.
func (f *fold) rest(e *runlog.Event) {
	if f.seen == nil {
		f.seen = make(map[int]bool)
	}
	maps.Copy(f.seen, f.calls.waiting)
	if e.Seq == f.after {
		f.resumed = maps.Clone(f.calls.waiting)
	}
}

// lost reports whether a wait was answered before a later attempt shows it first. The client
// has seen it in an earlier one, of which a process that was killed has not stored it, and
// with it the pause at which the response ended.
func (f *fold) lost(w schemas.Wait) bool {
	return f.keeps && f.again && !f.seen[w.Index] && w.AnsweredAt.UnixMilli() < f.shownAt[w.Index]
}

// attempts records the newest attempt of a run that goes on. Nothing has been shown: a
// response whose run was taken over while it waited for its first event shows the attempt
// that it finds.
func (f *fold) attempts(events []runlog.Event) {
	for i := range events {
		if a, ok := events[i].Body.(*runlog.Attempt); ok && !f.run.State.Terminal() {
			f.run.Attempt = max(f.run.Attempt, a.Number)
		}
	}
}

// answeredBy reports whether a wait was answered at the time of the event or before.
func answeredBy(w schemas.Wait, e *runlog.Event) bool {
	return w.AnsweredAt != nil && w.AnsweredAt.UnixMilli() <= e.Time
}

// kept returns the events without those that a later attempt replaced.
func kept(events []runlog.Event) []runlog.Event {
	var list []runlog.Event
	for _, e := range events {
		if a, ok := e.Body.(*runlog.Attempt); ok {
			list = slices.DeleteFunc(list, func(e runlog.Event) bool { return e.Seq > a.KeptThrough })
		}
		list = append(list, e)
	}
	return list
}

// begin returns the number of the event after which the response begins to a request that
// answered the given calls: the last pause before the first event that resolves one of
// them, or the last pause of all if no event does yet. A later attempt may show a wait again
// that was answered before: the client has seen it all the same. If that attempt does not
// pause before it resolves the call, the client has seen the pause of an earlier attempt, and
// everything that is repeated before the call is resolved.
//
// Of calls that all had their answers before, it is the response to the last answer. Calls
// that were answered together have one response: it did not pause between them.
func begin(events []runlog.Event, waits []schemas.Wait, stays func(schemas.Wait) bool, given Given) (after int64) {
	var c calls
	waited := make(map[int]bool)
	resolved := false // one of the calls that were answered together
	var kept, attempt int64
	for i := range events {
		e := c.indexed(&events[i])
		if a, ok := e.Body.(*runlog.Attempt); ok {
			kept, attempt = a.KeptThrough, e.Seq
		}
		if index, ok := c.resolves(e); ok && given.Names(index) {
			if !resolved && i > 0 && (!waited[index] || attempt > 0 && after <= kept) {
				after = events[i-1].Seq
			}
			if resolved = true; given.Calls[index] {
				return after
			}
		}
		rests := c.event(e)
		for index := range c.waiting {
			waited[index] = true
		}
		if !rests {
			continue
		}
		answered := func(w schemas.Wait) bool {
			if given.Names(w.Index) {
				return resolved && answeredBy(w, e)
			}
			return answeredBefore(w, e)
		}
		if _, pause := c.open(waits, stays, answered); pause {
			after, resolved = e.Seq, false
		}
	}
	return after
}

// shows reports whether the events show that each of the given calls waits or has waited,
// and where the response to their answers begins: one of them is resolved, also by what the
// newest attempt keeps, or the run rests after all calls that were answered before. Events
// may be late, those of another process or of a call that runs.
func shows(events []runlog.Event, waits []schemas.Wait, given Given) bool {
	var c calls
	seen, before := make(map[int]bool), make(map[int]bool)
	for _, w := range waits {
		if w.Answer != "" && !given.Names(w.Index) {
			before[w.Index] = true
		}
	}
	answered := false
	for i := range events {
		e := c.indexed(&events[i])
		index, resolved := c.resolves(e)
		if resolved {
			seen[index] = true
			answered = answered || given.Calls[index]
			delete(before, index)
		}
		c.event(e)
		for index := range c.waiting {
			seen[index] = true
		}
	}
	for index := range given.Calls {
		if !seen[index] {
			return false
		}
	}
	return answered || len(before) == 0 && c.rests()
}

// rested returns the calls that the client has seen waiting before the newest attempt: the
// run rested there, after a reply that asked for one of the given calls.
func rested(events []runlog.Event, given map[int]bool) map[int]bool {
	var c calls
	seen, all := make(map[int]bool), make(map[int]bool)
	for i := range events {
		e := c.indexed(&events[i])
		if _, ok := e.Body.(*runlog.Attempt); ok {
			maps.Copy(seen, all)
		}
		if c.event(e) && c.asks(given) {
			maps.Copy(all, c.waiting)
		}
	}
	return seen
}

// asks reports whether the reply asked for one of the calls.
func (c *calls) asks(given map[int]bool) bool {
	for index := range given {
		if _, ok := c.asked[index]; ok {
			return true
		}
	}
	return false
}

// Rests reports whether a response can begin after an event of the run: the run rested
// there, or a later attempt went on there with what it kept. It is not known of a run whose
// log is no longer kept: any event is taken for one.
func (s *Service) Rests(ctx context.Context, user schemas.User, run schemas.Run, after int64) (bool, error) {
	events, err := s.Runs.Follow(ctx, user, run.RunID, 0, 0)
	if err != nil {
		return false, err
	}
	var c calls
	again := false
	for batch, err := range events {
		if err != nil {
			return false, err
		}
		for i := range batch {
			e := c.indexed(&batch[i])
			if a, ok := e.Body.(*runlog.Attempt); ok {
				if run.State.Terminal() && a.Number > run.Attempt {
					return true, nil // all that is kept of the log
				}
				again = true
			}
			if e.Seq > after {
				_, resolves := c.resolves(e)
				return again && resolves, nil
			}
			rests := c.event(e)
			if e.Seq == after && (rests || !again || after >= run.LastSequence) {
				return rests, nil
			}
		}
	}
	return false, nil
}
