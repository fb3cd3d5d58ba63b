package wires

import (
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// Stretches returns the frames of each response of an ended run, as a client gets them that
// gives the stored answers at each pause. The first response begins with the run.
// beginnings has, for each later response, the number of the event after which it begins.
func Stretches(table func(p Params) Table, run string, events []runlog.Event, waits []schemas.Wait) (frames [][]byte, beginnings []int64) {
	if _, keeps := table(Params{Run: run}).(Keeper); !keeps {
		events = kept(events)
	}
	before := make(map[int]bool)
	for after := int64(0); ; {
		f := &fold{before: before, after: after, begun: true, run: schemas.Run{Attempt: maxAttempts}, waits: func() ([]schemas.Wait, error) { return waits, nil }}
		f.use(table(Params{Run: run}))
		last := f.all(events)
		frames = append(frames, f.out.take())
		if last == nil {
			return frames, beginnings
		}
		after, before = last.Seq, make(map[int]bool)
		given := make(map[int]bool)
		for _, w := range waits {
			if f.calls.waiting[w.Index] && !f.stays(w) {
				given[w.Index] = true
			}
			if w.AnsweredAt != nil && w.AnsweredAt.UnixMilli() < last.Time || given[w.Index] {
				before[w.Index] = true
			}
		}
		next := begin(events, waits, f.stays, given)
		beginnings = append(beginnings, next)
		if f.keeps && next > after { // the call was asked for again before it was answered
			after = next
		}
	}
}

// Replayed returns the frames after the cursor of an ended run, for a client that resumes
// it. All its calls count as answered. If number is not nil, each frame gets an id line.
func Replayed(table func(p Params) Table, run string, events []runlog.Event, waits []schemas.Wait, cursor int64, number func(dst []byte, number int64) []byte) []byte {
	before := make(map[int]bool)
	for _, w := range waits {
		before[w.Index] = true
	}
	f := &fold{before: before, begun: true, run: schemas.Run{Attempt: maxAttempts}, waits: func() ([]schemas.Wait, error) { return waits, nil }}
	f.use(table(Params{Run: run, Answered: before}))
	f.out.after = cursor
	f.out.Numbered(number)
	if !f.keeps {
		events = kept(events)
	}
	f.all(events)
	return f.out.take()
}

// maxAttempts is more attempts than any run has.
const maxAttempts = 1 << 20

// all adds the frames of events until the response ends. It returns the event after which
// the response pauses, or nil at the end of the run.
func (f *fold) all(events []runlog.Event) *runlog.Event {
	for i := range events {
		e := &events[i]
		if err := f.event(e); err != nil || f.ended {
			if e.Terminal() {
				return nil
			}
			return e
		}
	}
	return nil
}
