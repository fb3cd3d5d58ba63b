package wires

import (
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// replyGroup is the type of the group of a model's reply.
const replyGroup = "llm"

// calls tracks the calls of the model's last reply: which of them have ended, and which
// wait for the user or for the page.
type calls struct {
	asked     []int
	ended     map[int]bool
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
	case *runlog.LevelStart:
		if b.Depth == runlog.GroupLevel && b.Type == replyGroup && e.At.Thread == 0 {
			c.asked, c.ended, c.waiting = nil, nil, nil
		}
		return false
	case *runlog.Call:
		if e.At.Thread == 0 {
			c.asked = append(c.asked, b.Index)
		}
		return false
	case *runlog.ApprovalRequest:
		set(&c.approvals, b.ApprovalID, b.Index)
		set(&c.waiting, b.Index, true)
	case *runlog.ClientToolCall:
		set(&c.waiting, b.Index, true)
	case *runlog.ApprovalResolved, *runlog.ToolStart, *runlog.ToolRefused:
		index, _ := c.resolves(e)
		delete(c.waiting, index)
		return false
	case *runlog.ToolComplete:
		delete(c.waiting, b.Index)
		set(&c.ended, b.Index, true)
	default:
		return false
	}
	if len(c.waiting) == 0 {
		return false
	}
	return !slices.ContainsFunc(c.asked, func(index int) bool { return !c.ended[index] && !c.waiting[index] })
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
// that was answered before: the client has seen it all the same.
func begin(events []runlog.Event, waits []schemas.Wait, stays func(schemas.Wait) bool, given map[int]bool) (after int64) {
	var c calls
	waited := make(map[int]bool)
	for i := range events {
		e := c.indexed(&events[i])
		if index, ok := c.resolves(e); ok && given[index] {
			if !waited[index] && i > 0 {
				after = events[i-1].Seq
			}
			return after
		}
		rests := c.event(e)
		for index := range c.waiting {
			waited[index] = true
		}
		if !rests {
			continue
		}
		if _, pause := c.open(waits, stays, func(w schemas.Wait) bool { return !given[w.Index] && answeredBefore(w, e) }); pause {
			after = e.Seq
		}
	}
	return after
}

// shows reports whether the events show that each of the calls waits or has waited.
func shows(events []runlog.Event, given map[int]bool) bool {
	var c calls
	seen := make(map[int]bool)
	for i := range events {
		e := c.indexed(&events[i])
		if index, ok := c.resolves(e); ok {
			seen[index] = true
		}
		c.event(e)
		for index := range c.waiting {
			seen[index] = true
		}
	}
	for index := range given {
		if !seen[index] {
			return false
		}
	}
	return true
}
