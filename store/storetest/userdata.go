package storetest

import (
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

func testUserData(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	other := newFixture(t, f.store)
	first := f.turn("one", "a")
	chat := first.Run.ConversationID
	in := func(g *record.Begin) { g.ConversationID = chat }
	f.turn("two", "b", in)
	f.turn("three", "c", in)
	f.turn("another chat", "d")
	other.turn("foreign", "e")
	f.doc("block")
	f.mustCommit(f.spend(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), record.ModelUsage{Model: "m", Runs: 1}))

	chats, err := f.store.ChatsAfter(f.ctx, f.owner, 0, 100)
	must(f, err)
	if len(chats) != 3 || chats[0].ConversationID != chat { // spend has a chat of its own
		t.Errorf("got the chats %+v, want 3, the oldest first", chats)
	}
	if rest, err := f.store.ChatsAfter(f.ctx, f.owner, chat, 1); err != nil || len(rest) != 1 || rest[0].ConversationID != chats[1].ConversationID {
		t.Errorf("got %+v, %v, want the next chat", rest, err)
	}
	var questions []string
	for place := int64(0); ; {
		list, err := f.store.RunsOf(f.ctx, f.owner, chat, place, 2)
		must(f, err)
		if len(list) == 0 {
			break
		}
		for _, r := range list {
			if r.Run.ChatKey != chats[0].ChatID || r.Run.State != schemas.RunCompleted || len(r.Run.Request) == 0 || r.Place <= place {
				t.Errorf("got the run %+v at %d, want it whole, after %d", r.Run, r.Place, place)
			}
			questions, place = append(questions, r.Run.ID), r.Place
		}
	}
	if len(questions) != 3 || questions[0] != first.Run.ID {
		t.Errorf("got the runs %v, want 3, the oldest first", questions)
	}
	if list, err := f.store.RunsOf(f.ctx, other.owner, chat, 0, 2); err != nil || len(list) > 0 {
		t.Errorf("got %+v, %v for another owner, want none", list, err)
	}
	size, err := f.store.DataSize(f.ctx, f.owner)
	must(f, err)
	if size.Chats != 3 || size.Messages < 8 || size.Documents != 1 || size.Bytes < 256 {
		t.Errorf("got %+v, want 3 chats, at least 8 messages, a document and its bytes", size)
	}

	ended, err := f.store.Run(f.ctx, first.Run.ID)
	must(f, err)
	recent := func(since time.Time, want int64) {
		t.Helper()
		if n, err := f.store.RecentRuns(f.ctx, f.owner, since); err != nil || n != want {
			t.Errorf("%d runs since %v, %v, want %d", n, since, err, want)
		}
	}
	recent(ended.EndedAt, 4)
	recent(ended.EndedAt.Add(24*time.Hour), 0)

	open := f.begin("plans", in) // a document is withdrawn from a run that goes on
	f.mustCommit(open)
	recent(ended.EndedAt.Add(24*time.Hour), 1)
	withdrawn := f.doc()
	_, err = f.store.PlanDocument(record.WithFence(f.ctx, record.Fence{RunID: open.RunID, Attempt: 1}), f.owner, withdrawn, record.Plan{Title: "Plan", Blocks: []record.NewBlock{{ID: newID(), Type: "md"}}})
	must(f, err)
	must(f, f.store.DeleteDocument(f.ctx, f.owner, withdrawn, nil))
	for _, c := range chats {
		must(f, f.store.DeleteChat(f.ctx, f.owner, c.ConversationID))
	}
	before, err := f.store.Removed(f.ctx, f.owner, []string{first.Run.MessageID})
	must(f, err)
	deletions := func(owner string, want int64) {
		t.Helper()
		if n, err := f.store.Deletions(f.ctx, owner); err != nil || n != want {
			t.Errorf("%d deletions, %v, want %d", n, err, want)
		}
	}
	deletions(f.owner, 0)
	must(f, f.store.BeginDeletion(f.ctx, f.owner))
	deletions(f.owner, 1)
	must(f, f.store.ForgetUser(f.ctx, f.owner, "2026-11-20"))
	deletions(f.owner, 2)
	deletions(other.owner, 0)
	after, err := f.store.Removed(f.ctx, f.owner, []string{first.Run.MessageID})
	must(f, err)
	left, err := f.store.Withdrawn(f.ctx, []string{open.RunID})
	must(f, err)
	if len(left) > 0 {
		t.Errorf("the documents %v are withdrawn, want none", left)
	}
	if len(before) != 1 || len(after) > 0 {
		t.Errorf("the ids of removed blocks are %v, then %v, want one, then none", before, after)
	}
	if used := f.usage("2026-01-01", "2026-12-31"); len(used) == 0 {
		t.Error("the usage of the day has gone, want it there")
	}
	must(f, f.store.ForgetUser(f.ctx, f.owner, "2026-11-22"))
	if used := f.usage("2026-01-01", "2026-12-31"); len(used) > 0 {
		t.Errorf("the usage %+v is there, want none before the day", used)
	}

	// What was used on the day of a deletion counts until it is over; what was used after it stays.
	used := func(day int) {
		f.mustCommit(f.spend(time.Date(2024, 3, day, 0, 0, 0, 0, time.UTC), record.ModelUsage{Model: "m", Runs: 1}))
	}
	used(5)
	must(f, f.store.ForgetUser(f.ctx, f.owner, "2024-03-05"))
	used(5)
	if used := f.usage("2024-01-01", "2024-12-31"); len(used) != 1 || used[0].Runs != 2 {
		t.Errorf("the usage of the day is %+v, want that it still counts", used)
	}
	used(6)
	stays := newFixture(t, f.store)
	stays.mustCommit(stays.spend(time.Date(2024, 3, 5, 0, 0, 0, 0, time.UTC), record.ModelUsage{Model: "m", Runs: 1}))
	must(f, f.store.BeginDeletion(f.ctx, stays.owner)) // and fails midway
	for more := true; more; {
		more, err = f.store.Forget(f.ctx)
		must(f, err)
	}
	if used := f.usage("2024-01-01", "2024-12-31"); len(used) != 1 || used[0].Date != "2024-03-06" {
		t.Errorf("the usage is %+v, want that of the next day", used)
	}
	deletions(f.owner, 0)
	deletions(stays.owner, 1)
	f.forgottenYesterday()
	if used := stays.usage("2024-01-01", "2024-12-31"); len(used) != 1 {
		t.Errorf("the usage is %+v, want it there: the deletion has not ended", used)
	}
	if left, err := other.store.DataSize(f.ctx, other.owner); err != nil || left.Chats != 1 || left.Messages != 2 || left.Bytes < int64(len("foreign")+len("e")) {
		t.Errorf("another owner has %+v, %v, want everything", left, err)
	}
}

// forgottenYesterday checks that an export which has begun before midnight finds the same
// number of deletions after it, when the usage of the day has gone.
func (f *fixture) forgottenYesterday() {
	f.Helper()
	late := newFixture(f.TB, f.store)
	day := time.Now().UTC().AddDate(0, 0, -1)
	late.mustCommit(late.spend(day, record.ModelUsage{Model: "m", Runs: 1}))
	must(f, f.store.ForgetUser(f.ctx, late.owner, day.Format(time.DateOnly)))
	before, err := f.store.Deletions(f.ctx, late.owner)
	must(f, err)
	for more := true; more; {
		more, err = f.store.Forget(f.ctx)
		must(f, err)
	}
	after, err := f.store.Deletions(f.ctx, late.owner)
	must(f, err)
	if time.Now().UTC().AddDate(0, 0, -1).Day() != day.Day() {
		return // the day is no longer yesterday
	}
	if after != before || before == 0 {
		f.Errorf("%d deletions before midnight, %d after it; want the same", before, after)
	}
	if used := late.usage("2000-01-01", "2100-01-01"); len(used) > 0 {
		f.Errorf("the usage is %+v, want none of a day that is over", used)
	}
}
