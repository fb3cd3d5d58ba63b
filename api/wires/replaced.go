package wires

import "github.com/chattray/chattray/schemas/runlog"

// Replacer is a Table that tells its client if a later attempt has replaced what the client
// has seen.
type Replacer interface {
	// Replaced is called before the first event: the client has seen events that the
	// Attempt with the number by replaced. seen are those of them that were stored.
	Replaced(by int64, seen []runlog.Event)
}

// replaced tells the table if the client has seen events that a later attempt replaced. The
// response then begins with that attempt at the latest. What is kept of a log that is no
// longer stored replaces all of it, under the log's last numbers.
func (f *fold) replaced(list []runlog.Event) {
	t, ok := f.table.(Replacer)
	if !ok || f.out.after == 0 {
		return
	}
	cursor := f.out.after / EventSpan
	for i := range list {
		a, ok := list[i].Body.(*runlog.Attempt)
		if ok && f.later(a) && cursor < f.run.LastSequence {
			f.out.after = min(f.out.after, list[i].Seq*EventSpan-1)
		} else if !ok || list[i].Seq <= cursor {
			continue
		}
		if a.KeptThrough < cursor {
			var seen []runlog.Event
			for _, e := range f.held {
				if e.Seq > a.KeptThrough && e.Seq <= cursor {
					seen = append(seen, e)
				}
			}
			t.Replaced(list[i].Seq, seen)
			f.after, f.out.shown = min(f.after, list[i].Seq-1), true
		}
		return
	}
}
