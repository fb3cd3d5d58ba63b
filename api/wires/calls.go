package wires

import (
	"maps"

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

// asks reports whether the reply asked for one of the calls.
func (c *calls) asks(given map[int]bool) bool {
	for index := range given {
		if _, ok := c.asked[index]; ok {
			return true
		}
	}
	return false
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

// answeredBy reports whether a wait was answered at the time of the event or before.
func answeredBy(w schemas.Wait, e *runlog.Event) bool {
	return w.AnsweredAt != nil && w.AnsweredAt.UnixMilli() <= e.Time
}

func set[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[key] = value
}
