package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// testActs is what replicas tell each other about runs.
func testActs(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	r := f.store.Replicas()
	list := func(what string, got []string, err error, want ...string) {
		t.Helper()
		must(t, err)
		equal(t, what, got, want)
	}
	turns := func(replica string, want ...string) {
		t.Helper()
		got, err := r.Turns(f.ctx, replica)
		list("turns of "+replica, got, err, want...)
	}
	first := f.begin("first", of("a"))
	f.mustCommit(first)
	chat := in(first.Begin.Run.ConversationID)
	second, third := f.begin("second", of("b"), queued, chat), f.begin("third", of("a"), queued, chat)
	f.mustCommit(second)
	f.mustCommit(third)
	turns("a")
	turns("b")

	cancelled, err := r.CancelRequested(f.ctx, "b", nil)
	list("cancelled", cancelled, err)
	must(t, f.store.RequestCancel(f.ctx, second.RunID))
	cancelled, err = r.CancelRequested(f.ctx, "b", nil)
	list("cancelled of b", cancelled, err, second.RunID)
	cancelled, err = r.CancelRequested(f.ctx, "a", []string{first.RunID, "deleted", third.RunID})
	list("cancelled of a", cancelled, err, "deleted")

	open, err := r.OpenIn(f.ctx, first.Begin.Run.Owner.ID, first.Begin.Run.ChatKey)
	list("open in the chat", open, err, first.RunID, second.RunID, third.RunID)
	open, err = r.OpenIn(f.ctx, "another user", first.Begin.Run.ChatKey)
	list("open in the chat of another user", open, err)
	all, err := r.OpenOf(f.ctx, first.Begin.Run.Owner.ID)
	must(t, err)
	equal(t, "open of the user", len(all), 3)
	equal(t, "its first", all[0], record.OpenRun{ID: first.RunID, ConversationID: first.Begin.Run.ConversationID, Request: first.Begin.Run.Request})

	f.mustCommit(&record.Write{RunID: first.RunID, Attempt: 1, Wait: &record.Wait{
		Index: 2, Kind: schemas.WaitApproval, ID: newID(), Tool: "t", Input: json.RawMessage(`{}`), ExpiresAt: time.Now().Add(time.Hour),
	}})
	answered, err := r.Answered(f.ctx, []string{first.RunID, second.RunID})
	must(t, err)
	equal(t, "answered", answered, nil)
	_, err = f.store.AnswerWait(f.ctx, record.Wait{RunID: first.RunID, Index: 2, Answer: schemas.WaitApproved})
	must(t, err)
	answered, err = r.Answered(f.ctx, []string{first.RunID, second.RunID})
	must(t, err)
	equal(t, "answered", answered, []record.CallID{{RunID: first.RunID, Index: 2}})

	f.mustCommit(f.finish(first, "a"))
	ended := func(id string, want bool) {
		t.Helper()
		got, err := r.Ended(f.ctx, id)
		must(t, err)
		equal(t, "ended", got, want)
	}
	ended(first.RunID, true)
	ended(second.RunID, false)
	ended("no such run", true)
	turns("a") // the second one comes first
	turns("b", second.RunID)
	must(t, f.store.BeginAttempt(f.ctx, second.RunID, 1, "b"))
	turns("b")
	f.mustCommit(f.finish(second, "b"))
	turns("a", third.RunID)
}

// testStarts is how a process finds the runs that others start in a chat.
func testStarts(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	r := f.store.Replicas()
	first := f.begin("first")
	f.mustCommit(first)
	owner, chat := first.Begin.Run.Owner.ID, first.Begin.Run.ChatKey
	place, err := r.LastPlace(f.ctx, owner, chat)
	must(t, err)
	none, err := r.LastPlace(f.ctx, owner, "no such chat")
	must(t, err)
	equal(t, "place in no chat", none, 0)
	after := func(what, owner string, place int64, want ...string) (last int64) {
		t.Helper()
		found, err := r.StartedAfter(f.ctx, []record.ChatPlace{{Owner: owner, Chat: chat, Place: place}, {Owner: owner, Chat: "no such chat"}})
		must(t, err)
		var got []string
		for _, run := range found {
			equal(t, what+": its chat", []string{run.Owner, run.Chat}, []string{owner, chat})
			got, last = append(got, run.RunID), run.Place
		}
		equal(t, what, got, want)
		return last
	}
	after("none", owner, place)
	more := []*record.Write{f.begin("second", queued, in(first.Begin.Run.ConversationID)), f.begin("third", queued, in(first.Begin.Run.ConversationID))}
	f.mustCommit(more...)
	last := after("two", owner, place, more[0].RunID, more[1].RunID)
	after("after them", owner, last)
	after("of another user", "somebody", 0)
	f.mustCommit(f.finish(first, "a"))
	after("also ended ones", owner, place-1, first.RunID, more[0].RunID, more[1].RunID)
}
