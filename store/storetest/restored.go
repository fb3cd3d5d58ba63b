package storetest

import (
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// testReserveRestored has answers that are generated again with nothing to show for it:
// the earlier one gets its ids back and is current, however the attempt began.
func testReserveRestored(f *fixture) {
	id, other := newID(), newID()
	named := func(ids ...string) func(*record.Begin) {
		return func(g *record.Begin) { g.Run.MessageID, g.Reserve, g.Aliases = ids[0], true, ids[1:] }
	}
	shows := func(want string, ids ...string) {
		f.Helper()
		for _, name := range ids {
			b, err := f.store.Block(f.ctx, f.owner, name)
			must(f, err)
			if b.ID != name || b.Current == nil || *b.Current != want {
				f.Errorf("under %s is %+v, want %s", name, b, want)
			}
		}
	}
	replaced := func(w *record.Write, want ...record.Replaced) {
		f.Helper()
		got, err := f.store.Replaced(f.ctx, w.RunID)
		must(f, err)
		equal(f, "replaced", got, want)
	}
	fails := func(w *record.Write, message bool) *record.Write {
		end := f.finish(w, "")
		end.Finish.State, end.Finish.Restores = schemas.RunFailed, true
		if end.Finish.Message.ID = newID(); !message {
			end.Finish.State, end.Finish.Message = schemas.RunCancelled, nil
		}
		return end
	}
	first := f.begin("q 1", key("k"), named(id, other))
	f.mustCommit(first)
	f.mustCommit(f.finish(first, "answer 1"))
	chat := first.Begin.Run.ConversationID

	for _, ids := range [][]string{{id}, {other}, {id, other}, {other, id}} {
		for _, message := range []bool{true, false} {
			again := f.begin("again", in(chat), named(ids...))
			f.mustCommit(again)
			var want []record.Replaced
			for _, name := range ids {
				want = append(want, record.Replaced{ID: name, Text: "answer 1"})
			}
			replaced(again, want...)
			f.mustCommit(fails(again, message))
			shows("answer 1", id, other)
		}
	}
	// In one batch, and in the queue.
	whole := f.begin("at once", in(chat), named(id, other))
	must(f, f.store.Commit(f.ctx, []*record.Write{whole, fails(whole, true)}))
	shows("answer 1", id, other)
	before, waits := f.begin("q 2", in(chat)), f.begin("waits", in(chat), named(id, other), func(g *record.Begin) { g.Queue = true })
	f.mustCommit(before)
	f.mustCommit(waits)
	f.mustCommit(f.finish(before, "answer 2"))
	f.begins(waits, id, other)
	f.mustCommit(fails(waits, true))
	shows("answer 1", id, other)

	// Answers of two messages, and an attempt that brings something.
	two := f.begin("two", in(chat), named(newID(), id))
	f.mustCommit(two)
	f.mustCommit(f.finish(two, "answer 3"))
	shows("answer 3", id)
	both := f.begin("both", in(chat), named(id, other))
	f.mustCommit(both)
	replaced(both, record.Replaced{ID: id, Text: "answer 3"}, record.Replaced{ID: other, Text: "answer 1"})
	f.mustCommit(fails(both, false))
	shows("answer 3", id)
	shows("answer 1", other)
	replaced(before)
}
