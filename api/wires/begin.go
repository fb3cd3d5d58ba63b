package wires

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

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

// standing returns the events as they count for a run that ends instead of going on: it keeps
// all text that it has shown. Its last attempt has that text, but says that it goes on from an
// earlier event.
func standing(events []runlog.Event) []runlog.Event {
	for i := range events {
		a, ok := events[i].Body.(*runlog.Attempt)
		if !ok || i == 0 {
			continue
		}
		before := kept(slices.Clone(events[:i]))
		all := textOf(before)
		first := slices.DeleteFunc(before, func(e runlog.Event) bool { return e.Seq > a.KeptThrough })
		if a.Text == all && a.Text != textOf(first) {
			again := *a
			again.KeptThrough = events[i-1].Seq
			events = slices.Clone(events)
			events[i] = *with(&events[i], &again)
		}
	}
	return events
}

// textOf returns the text that events show, with its markers.
func textOf(events []runlog.Event) string {
	var b strings.Builder
	for i := range events {
		if a, ok := events[i].Body.(*runlog.Attempt); ok {
			b.Reset()
			b.WriteString(a.Text)
		}
		b.WriteString(events[i].Visible())
	}
	return b.String()
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
