package storetest

import (
	"strings"

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

// testAgainForNothing has an answer that is generated again and leaves nothing: it is
// current as before, with what followed it.
func testAgainForNothing(f *fixture) {
	stopped := func(w *record.Write) *record.Write {
		end := f.finish(w, "")
		end.Finish.State, end.Finish.Message = schemas.RunCancelled, nil
		return end
	}
	const whole = "q1 a1 q2 a2"
	for _, takesID := range []bool{false, true} {
		id := newID()
		named := func(g *record.Begin) { g.Run.MessageID, g.Reserve = id, true }
		first := f.turn("q1", "a1", named)
		chat := first.Run.ConversationID
		second := f.turn("q2", "a2", in(chat))
		again := func(with ...func(*record.Begin)) *record.Write {
			if takesID {
				with = append(with, named)
			}
			return f.begin("", append(with, in(chat), supersede(id), answering(first))...)
		}
		must(f, f.store.SetSummary(f.ctx, f.owner, chat, record.Summary{Text: "s", Through: second.Run.MessageID, UpdatedAt: start}))
		alone := again()
		f.mustCommit(alone)
		equal(f, "under way", f.current(chat), "q1")
		f.mustCommit(stopped(alone))
		equal(f, "stopped", f.current(chat), whole)
		once := again()
		f.mustCommit(once, stopped(once))
		equal(f, "in one batch", f.current(chat), whole)

		for i, begins := range []bool{true, false} {
			before, waits := f.begin("q3", in(chat)), again(queued)
			f.mustCommit(before)
			f.mustCommit(waits)
			f.mustCommit(f.finish(before, "a3"))
			end := stopped(waits)
			switch {
			case !begins:
				end.Attempt = 0
			case takesID:
				f.begins(waits, id)
			default:
				f.begins(waits)
			}
			equal(f, "waited", f.current(chat), "q1")
			f.mustCommit(end)
			equal(f, "stopped in its turn", f.current(chat), whole+strings.Repeat(" q3 a3", i+1))
		}
		b, err := f.store.Block(f.ctx, f.owner, id)
		must(f, err)
		if b.Current == nil || *b.Current != "a1" {
			f.Errorf("the block is %+v", b)
		}

		// Its question was replaced meanwhile.
		late := again()
		f.mustCommit(late)
		edit := f.begin("q1b", in(chat), queued, supersede(first.Run.UserMessageID))
		f.mustCommit(edit)
		f.mustCommit(stopped(late))
		equal(f, "edited meanwhile", f.current(chat), "q1b")
		end := stopped(edit)
		end.Attempt = 0
		f.mustCommit(end)
		f.choose(chat, first.Run.UserMessageID)
		f.choose(chat, id)
		equal(f, "chosen", f.current(chat), whole+" q3 a3 q3 a3")
	}
}
