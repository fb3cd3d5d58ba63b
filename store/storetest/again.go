package storetest

import (
	"encoding/json"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// testAfterTheEndRepeated loses the result of a commit in which a write came after the end
// of its run: it is refused again.
func testAfterTheEndRepeated(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	end := f.finish(w, "a")
	after := &record.Write{RunID: w.RunID, Attempt: 1, Segment: &record.Segment{First: 10, Last: 10, Data: []byte("x")}}
	for range 2 {
		f.commit(end, after)
		fails(f, "the end", end.Err, nil)
		fails(f, "a write after the end", after.Err, record.ErrFenced)
	}
}

// testEarlierAttemptKept ends a run while the journal still has what its attempts have
// written: the events of the earlier one are kept, its checkpoints are not.
func testEarlierAttemptKept(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	first := record.Segment{First: 1, Last: 2, Data: []byte("first")}
	f.mustCommit(&record.Write{RunID: w.RunID, Attempt: 1, Segment: &first, Checkpoint: &record.Checkpoint{N: 1, Data: json.RawMessage(`1`)}})
	must(f, f.store.BeginAttempt(f.ctx, w.RunID, 2, ""))
	second := record.Segment{First: 1_000_001, Last: 1_000_002, Data: []byte("second")}
	f.mustCommit(&record.Write{RunID: w.RunID, Attempt: 2, Segment: &second})
	end := f.finish(w, "a")
	whole := record.Segment{First: 1_000_001, Last: 1_000_003, Data: []byte("the whole second")}
	end.Attempt, end.Finish.Log, end.Finish.LastSeq = 2, log(whole), whole.Last
	f.mustCommit(end)
	must(f, f.store.Tidy(f.ctx, []string{""}))
	got, err := f.store.Segments(f.ctx, w.RunID, 0)
	must(f, err)
	equal(f, "log", got, []record.Segment{first, whole})
	left, err := f.store.Checkpoints(f.ctx, w.RunID)
	must(f, err)
	equal(f, "number of checkpoints", len(left), 0)
}

// testChatTime ends a run by a clock that is behind: the chat's time does not go back.
func testChatTime(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	end := f.finish(w, "a")
	end.Finish.EndedAt = w.Begin.Run.CreatedAt.Add(-time.Hour)
	f.mustCommit(end)
	chat, err := f.store.Chat(f.ctx, f.owner, w.Begin.Run.ConversationID)
	must(f, err)
	equal(f, "updated", chat.UpdatedAt, w.Begin.Run.CreatedAt)
}

// testReopenPayload opens a decision again, which only the user may who has made it.
func testReopenPayload(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	p := payload("0000000a", "p", `1`)
	f.mustCommit(&record.Write{RunID: w.RunID, Attempt: 1, Payloads: []record.Payload{{CustomPayload: p, MessageID: w.Begin.Run.MessageID, CreatedAt: f.now()}}})
	chat, other := w.Begin.Run.ConversationID, f.anotherUser()
	accept := func(run, outcome string) error {
		return f.store.AcceptPayload(f.ctx, f.owner, chat, p.PayloadID, outcome, run)
	}
	must(f, accept("one", "accepted"))
	fails(f, "another user", f.store.ReopenPayload(f.ctx, other.owner, chat, p.PayloadID, "one"), schemas.ErrNotFound)
	fails(f, "another run", f.store.ReopenPayload(f.ctx, f.owner, chat, p.PayloadID, "two"), schemas.ErrNotFound)
	failsWith(f, "the decision again", accept("two", "accepted"), schemas.CodeConflict)
	must(f, accept("one", "accepted")) // the answer to its first try was lost
	must(f, f.store.ReopenPayload(f.ctx, f.owner, chat, p.PayloadID, "one"))
	must(f, accept("two", "rejected"))
	must(f, f.store.ReopenPayload(f.ctx, f.owner, chat, p.PayloadID, "two"))
	_, err := f.store.ResolvePayload(f.ctx, f.owner, chat, p.PayloadID, "rejected")
	must(f, err)
	failsWith(f, "after the user's decision", accept("two", "accepted"), schemas.CodeConflict)
	fails(f, "the user's decision", f.store.ReopenPayload(f.ctx, f.owner, chat, p.PayloadID, "two"), schemas.ErrNotFound)
}

// testCommitOfTwoReplicas writes for runs of two replicas at once: each finds its own again.
func testCommitOfTwoReplicas(f *fixture) {
	a, b := f.begin("a", of("a")), f.begin("b", of("b"))
	f.mustCommit(a, b)
	first, second := record.Segment{First: 1, Last: 1, Data: []byte("a")}, record.Segment{First: 1, Last: 1, Data: []byte("b")}
	f.mustCommit(&record.Write{RunID: a.RunID, Attempt: 1, Segment: &first}, &record.Write{RunID: b.RunID, Attempt: 1, Segment: &second})
	for id, want := range map[string]record.Segment{a.RunID: first, b.RunID: second} {
		got, err := f.store.Segments(f.ctx, id, 0)
		must(f, err)
		equal(f, "log", got, []record.Segment{want})
	}
	f.mustCommit(f.finish(a, "a"), f.finish(b, "b"))
}
