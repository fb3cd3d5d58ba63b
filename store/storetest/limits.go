package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
)

// testStartLimits is what a user may start in all processes together.
func testStartLimits(t *testing.T, url string) {
	limited := func(l store.StartLimits) *fixture {
		s, err := store.Open(t.Context(), url, store.Options{Limits: l})
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		return newFixture(t, s)
	}
	elsewhere := newFixture(t, open(t, url))
	by := func(owner string, age time.Duration) func(*record.Begin) {
		return func(g *record.Begin) {
			g.Run.Owner.ID = owner
			g.Run.CreatedAt = elsewhere.now().Add(-age)
		}
	}
	chats := func(owner string) int {
		list, err := elsewhere.store.ChatsAfter(t.Context(), owner, 0, 100)
		must(t, err)
		return len(list)
	}
	refused := func(f *fixture, what string, code schemas.Code, again int, w *record.Write) {
		t.Helper()
		before := chats(w.Begin.Run.Owner.ID)
		f.commit(w)
		equal(t, "chats after "+what, chats(w.Begin.Run.Owner.ID), before)
		if w.Err == nil {
			t.Fatalf("%s was begun, want %s", what, code)
		}
		e := schemas.Visible(w.Err)
		equal(t, what, []any{e.Code, e.RetryAfter}, []any{code, again})
	}

	f := limited(store.StartLimits{OpenRuns: 3})
	first := elsewhere.begin("q", by("ann", time.Hour))
	elsewhere.mustCommit(first, elsewhere.begin("q", by("ann", 0)), elsewhere.begin("q", by("bob", 0)))
	f.mustCommit(f.begin("the third", by("ann", 0)))
	refused(f, "the fourth", schemas.CodeTooManyRuns, 5, f.begin("q", by("ann", 0)))
	instead := f.begin("q", by("ann", 0), in(first.Begin.Run.ConversationID)) // it may end the one under way
	f.commit(instead)
	fails(f, "one in a busy chat", instead.Err, record.ErrBusy)
	equal(t, "the run under way", instead.Begin.BusyRun, first.RunID)
	f.mustCommit(f.begin("another user's", by("bob", 0)))
	elsewhere.mustCommit(elsewhere.finish(first, "a"))
	before := chats("ann")
	third, fourth := f.begin("q", by("ann", 0)), f.begin("q", by("ann", 0))
	f.commit(third, fourth) // in one transaction
	must(t, third.Err)
	equal(t, "the one after it", schemas.Visible(fourth.Err).Code, schemas.CodeTooManyRuns)
	equal(t, "new chats of both", chats("ann")-before, 1)

	f = limited(store.StartLimits{RunsPerMinute: 3})
	oldest := elsewhere.begin("q", by("cat", 40*time.Second))
	elsewhere.mustCommit(elsewhere.begin("q", by("cat", 2*time.Minute)), elsewhere.begin("q", by("cat", -time.Hour)), oldest)
	f.mustCommit(f.begin("the second", by("cat", 20*time.Second)), f.begin("the third", by("cat", 20*time.Second)))
	w := f.begin("q", by("cat", 0))
	left := time.Minute - w.Begin.Run.CreatedAt.Sub(oldest.Begin.Run.CreatedAt)
	refused(f, "the fourth of a minute", schemas.CodeTooManyRequests, int((left+time.Second-1)/time.Second), w)
	w = f.begin("q", by("cat", 0), in(oldest.Begin.Run.ConversationID)) // its caller must not end the one under way
	left = time.Minute - w.Begin.Run.CreatedAt.Sub(oldest.Begin.Run.CreatedAt)
	refused(f, "one in a busy chat", schemas.CodeTooManyRequests, int((left+time.Second-1)/time.Second), w)
}

// testStartsAtOnce is what a user starts with several questions at each of two processes at
// the same time.
func testStartsAtOnce(t *testing.T, url string) {
	const limit, users = 8, 20
	var both [2]*fixture
	for i := range both {
		s, err := store.Open(t.Context(), url, store.Options{Limits: store.StartLimits{OpenRuns: limit}})
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		both[i] = newFixture(t, s)
	}
	for n := range users {
		var writes [2][]*record.Write
		for i, f := range both {
			for range limit {
				writes[i] = append(writes[i], f.begin("q", func(g *record.Begin) { g.Run.Owner.ID = strconv.Itoa(n) }))
			}
		}
		var at sync.WaitGroup
		for i, f := range both {
			at.Go(func() { f.commit(writes[i]...) })
		}
		at.Wait()
		begun := 0
		for _, w := range slices.Concat(writes[0], writes[1]) {
			if w.Err == nil {
				begun++
			}
		}
		equal(t, "runs begun at two processes at once", begun, limit)
	}
}

// testQueueFull is how many runs of a chat may wait, decided under the chat's lock.
func testQueueFull(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	first := f.begin("first")
	f.mustCommit(first)
	two := func(g *record.Begin) { g.MaxQueued = 2 }
	wait := func() *record.Write { return f.begin("waits", queued, two, in(first.Begin.Run.ConversationID)) }
	one, other := wait(), wait()
	f.mustCommit(one, other)
	late := wait()
	f.commit(late)
	fails(t, "the third that waits", late.Err, record.ErrQueueFull)
	f.mustCommit(f.finish(first, "a"))
	late = wait()
	f.commit(late)
	fails(t, "one while two wait", late.Err, record.ErrQueueFull)
}

// testSameRequest is the same request for the same answer, sent to two processes.
func testSameRequest(t *testing.T, url string) {
	s, err := store.Open(t.Context(), url, store.Options{Database: sqldb.Options{Lease: time.Minute}})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	f := newFixture(t, s)
	request := func(text, answer string) *record.Write {
		return f.begin("q", key("chat"), queued, func(g *record.Begin) {
			g.Run.Request, g.Run.MessageID, g.Reserve = json.RawMessage(text), answer, true
		})
	}
	first := request(`{"message":"q"}`, "answer")
	f.mustCommit(first)
	again := request(`{"message":"q"}`, "answer")
	f.commit(again)
	fails(t, "the same request", again.Err, record.ErrSame)
	equal(t, "its run", again.Begin.BusyRun, first.RunID)
	again = request(`{"message":"q","if_busy":"cancel"}`, "answer")
	f.commit(again)
	fails(t, "the same request, which would cancel its run", again.Err, record.ErrSame)
	f.mustCommit(request(`{"message":"q"}`, "another answer"))
	other := request(`{"message":"something else"}`, "answer")
	f.commit(other)
	if errors.Is(other.Err, record.ErrSame) {
		t.Error("another request for the same answer is taken for the first one")
	}
	f.mustCommit(f.finish(first, "a"))
	again = request(`{"message":"q"}`, "answer")
	f.commit(again)
	must(t, again.Err) // it is asked again
}

// testOrderAtOnce has two processes store messages to one chat at the same time: the chat has
// them in the order in which their runs begin.
func testOrderAtOnce(t *testing.T, url string) {
	const chats, each = 10, 4
	both := [2]*fixture{newFixture(t, open(t, url)), newFixture(t, open(t, url))}
	for n := range chats {
		var writes [2][]*record.Write
		for i, f := range both {
			for range each {
				writes[i] = append(writes[i], f.begin("q", queued, key("chat "+strconv.Itoa(n)), func(g *record.Begin) { g.Run.Owner.ID = "ann" }))
			}
		}
		var at sync.WaitGroup
		for i, f := range both {
			at.Go(func() {
				for _, w := range writes[i] {
					f.commit(w)
				}
			})
		}
		at.Wait()
		f := both[0]
		chat := writes[0][0].Begin.Run.ConversationID
		placed, err := f.store.RunsOf(f.ctx, "ann", chat, 0, 2*each)
		must(t, err)
		list, _, err := f.store.Messages(f.ctx, "ann", chat, record.MessageQuery{Limit: 2 * each})
		must(t, err)
		var asked, begun []string
		for _, r := range placed {
			begun = append(begun, r.Run.UserMessageID)
		}
		for _, m := range list {
			asked = append(asked, m.ID)
		}
		equal(t, "the messages of the chat", asked, begun)
		running := 0
		for _, w := range slices.Concat(writes[0], writes[1]) {
			must(t, w.Err)
			if w.Begin.State == schemas.RunRunning {
				running++
			}
		}
		equal(t, "runs that began at once", running, 1)
	}
}
