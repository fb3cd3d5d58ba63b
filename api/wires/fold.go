package wires

import (
	"maps"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// fold turns the events of a run into the frames of one response.
type fold struct {
	run    schemas.Run
	given  Given
	first  []schemas.Wait // the waits when the response began
	before map[int]bool   // calls that no longer waited then
	waits  func() ([]schemas.Wait, error)
	table  Table
	stays  func(schemas.Wait) bool
	keeps  bool // the events of every attempt are shown
	asked  func(index int) error
	calls  calls
	// resumed are the calls that waited where a response of a Keeper begins. Those that
	// were answered by the time of an event were answered by the response's request.
	resumed map[int]bool
	// seen are the calls whose waits the client has seen before the response begins.
	seen map[int]bool
	out  Frames

	held  []runlog.Event // until it is known where the response begins
	begun bool
	after int64 // the number of the event after which the response begins
	ended bool

	again bool // the newest attempt is not the first
	// shownAt are the times at which waits were shown first, in milliseconds.
	shownAt map[int]int64
}

func newFold(run schemas.Run, waits []schemas.Wait, r Response, again func() ([]schemas.Wait, error)) *fold {
	f := &fold{run: run, given: r.Given, first: waits, before: make(map[int]bool), waits: again, asked: r.Asked, after: r.After}
	p := Params{Run: run.RunID, Answered: r.Given.Differ}
	for _, w := range waits {
		if w.Answer != "" || run.State.Terminal() { // nothing waits any more
			f.before[w.Index] = true
		}
	}
	if r.Given.Calls == nil {
		p.Answered = f.before
	}
	f.out.after, f.out.number = r.Cursor, r.Number
	f.use(r.Table(p))
	return f
}

// use sets the table.
func (f *fold) use(t Table) {
	f.table, f.stays = t, func(schemas.Wait) bool { return false }
	if s, ok := t.(Stayer); ok {
		f.stays = s.Stays
	}
	if _, f.keeps = t.(Keeper); f.keeps {
		f.before = make(map[int]bool) // a response that is read again ends where it ended
	}
}

// ready returns the events that can be shown. It holds events back until the newest
// attempt has begun, so that nothing of an earlier attempt is shown, and until it is known
// where the response to a request with answers begins.
func (f *fold) ready(batch []runlog.Event) []runlog.Event {
	if f.begun || f.keeps && f.given.Calls == nil {
		return batch
	}
	f.held = append(f.held, batch...)
	if !f.complete() {
		return nil
	}
	list := f.held
	f.attempts(list)
	if !f.keeps {
		list = kept(slices.Clone(standing(list)))
	}
	if f.given.Calls != nil {
		f.after = begin(list, f.first, f.stays, f.given)
		if f.after > 0 && !f.keeps {
			f.seen = rested(f.held, f.given.Calls)
		}
	}
	if !f.keeps {
		f.replaced(list)
	}
	f.held, f.begun = nil, true
	return list
}

// complete reports whether enough events are held to begin the response.
func (f *fold) complete() bool {
	if len(f.held) == 0 {
		return false
	}
	last := &f.held[len(f.held)-1]
	if last.Terminal() {
		return true
	}
	if f.given.Calls != nil && (last.Seq < f.run.LastSequence || !shows(kept(slices.Clone(f.held)), f.first, f.given)) {
		return false
	}
	return f.run.Attempt <= 1 || last.Seq > int64(f.run.Attempt-1)*runlog.AttemptSpan
}

// later reports whether an attempt began after the response. Of a run that had ended, it is
// all that is kept of the log: the answer, as one more attempt.
func (f *fold) later(a *runlog.Attempt) bool { return a.Number > max(f.run.Attempt, 1) }

// event adds the frames of an event, and those of a pause after it.
func (f *fold) event(e *runlog.Event) error {
	if a, ok := e.Body.(*runlog.Attempt); ok {
		if f.later(a) && !f.run.State.Terminal() && !f.keeps {
			return runlog.ErrInterrupted
		}
		f.again = true
	}
	e = f.calls.indexed(e)
	hidden := e.Seq <= f.after
	if f.after > 0 && !hidden && !f.out.shown {
		f.out.shown = true
		f.out.event(0, false)
		f.table.Begin(&f.out, f.after)
	}
	f.show(e, hidden)
	if a, ok := e.Body.(*runlog.ApprovalRequest); ok && f.asked != nil && !f.before[a.Index] {
		if err := f.asked(a.Index); err != nil {
			return err
		}
	}
	rests := f.calls.event(e)
	if f.keeps && rests && hidden {
		f.rest(e)
	}
	switch {
	case e.Terminal():
		f.ended = true
	case rests && !hidden:
		return f.pause(e)
	}
	return nil
}

// show gives the event to the table. A later attempt shows every wait again, which is not a
// second wait: what the client has already is hidden, and a table that cannot take back what
// it has shown does not get it.
func (f *fold) show(e *runlog.Event, hidden bool) {
	index, wait := waitOf(e)
	seen := wait && f.seen[index]
	f.out.event(e.Seq, hidden || seen)
	if wait && !f.calls.repeats(index) {
		set(&f.shownAt, index, e.Time)
	}
	if !wait || !f.calls.repeats(index) && (hidden || !f.keeps || !seen) {
		f.table.Event(&f.out, e)
	}
	f.out.hidden = hidden
}

// pause ends the response after the event if the run waits there. Calls that were answered
// before the response began do not count: the run has continued after them.
func (f *fold) pause(e *runlog.Event) error {
	waits, err := f.waits()
	if err != nil {
		return err
	}
	open, ok := f.calls.open(waits, f.stays, func(w schemas.Wait) bool {
		return f.before[w.Index] || f.given.Calls[w.Index] || answeredBefore(w, e) && !f.lost(w) || f.resumed[w.Index] && answeredBy(w, e)
	})
	if ok {
		f.table.Pause(&f.out, open)
		f.ended = true
	}
	return nil
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
