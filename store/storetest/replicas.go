package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// of returns a change that gives a Begin to a replica.
func of(replica string) func(*record.Begin) {
	return func(g *record.Begin) { g.Run.Replica = replica }
}

// take takes everything from those replicas, in batches.
func (f *fixture) take(to string, from ...string) (all []record.Taken) {
	f.Helper()
	for {
		batch, err := f.store.Take(f.ctx, from, to)
		must(f, err)
		if len(batch) == 0 {
			return all
		}
		all = append(all, batch...)
	}
}

// A run that is taken is at its next attempt: what its former owner wrote
// before counts, and nothing that it writes afterwards.
func testTake(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	running, waiting, done := f.begin("runs", of("a")), f.begin("waits", of("a")), f.begin("done", of("a"))
	other, nobodys := f.begin("another's", of("b")), f.begin("nobody's")
	f.mustCommit(running)
	queue := f.begin("queued", of("a"), queued, in(running.Begin.Run.ConversationID))
	f.mustCommit(waiting, done, other, nobodys, queue)
	f.mustCommit(f.finish(done, "a"))
	f.mustCommit(
		&record.Write{RunID: waiting.RunID, Attempt: 1, Wait: &record.Wait{Kind: schemas.WaitApproval, ID: "w", Tool: "t", Input: json.RawMessage(`{}`), ExpiresAt: f.now()}},
		&record.Write{RunID: running.RunID, Attempt: 1, Segment: &record.Segment{First: 1, Last: 1, Data: []byte("x")}},
	)
	equal(t, "taken", f.take("c", "a", "gone"), []record.Taken{
		{ID: running.RunID, State: schemas.RunRunning, Attempt: 2},
		{ID: waiting.RunID, State: schemas.RunWaiting, Attempt: 2},
		{ID: queue.RunID, State: schemas.RunQueued, Attempt: 0},
	})
	equal(t, "taken again", f.take("d", "a"), nil)

	late := &record.Write{RunID: running.RunID, Attempt: 1, Segment: &record.Segment{First: 2, Last: 2, Data: []byte("late")}}
	f.commit(late)
	fails(t, "a write of the former owner", late.Err, record.ErrFenced)
	fails(t, "its next attempt", f.store.BeginAttempt(f.ctx, running.RunID, 3, "a"), record.ErrFenced)
	must(t, f.store.Tidy(f.ctx, []string{"a"}))
	for _, tt := range []struct {
		w         *record.Write
		attempt   int
		uncounted int
		replica   string
	}{{running, 2, 0, "c"}, {waiting, 2, 1, "c"}, {queue, 0, 0, "c"}, {other, 1, 0, "b"}, {nobodys, 1, 0, ""}} {
		run, err := f.store.Run(f.ctx, tt.w.RunID)
		must(t, err)
		equal(t, "run", []any{run.Attempt, run.Uncounted, run.Replica}, []any{tt.attempt, tt.uncounted, tt.replica})
	}
	f.mustCommit(&record.Write{RunID: running.RunID, Attempt: 2, Segment: &record.Segment{First: 1_000_001, Last: 1_000_001, Data: []byte("y")}})
	segments, err := f.store.Segments(f.ctx, running.RunID, 0)
	must(t, err)
	equal(t, "log", whole(segments), "xy")
	equal(t, "runs of nobody", f.take("c", ""), []record.Taken{{ID: nobodys.RunID, State: schemas.RunRunning, Attempt: 2}})
	run, err := f.store.Run(f.ctx, nobodys.RunID)
	must(t, err)
	equal(t, "uncounted attempts of a run that was let go", run.Uncounted, 1)
}

// testTakeEverything is the start of a process that is alone.
func testTakeEverything(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	var want []string
	for n := range 100 {
		w := f.begin("q", of(fmt.Sprint("r", n%3)))
		w.Begin.Run.CreatedAt = start.Add(-time.Duration(n) * time.Hour) // the order does not depend on clocks
		f.mustCommit(w)
		want = append(want, w.RunID)
	}
	var got []string
	for {
		batch, err := f.store.Take(f.ctx, nil, "me")
		must(t, err)
		if len(batch) == 0 {
			break
		}
		for _, taken := range batch {
			got = append(got, taken.ID)
		}
	}
	equal(t, "taken, in the order of their starts", got, want)
}

// If many replicas take at the same time, each run goes to one.
func testTakeAtOnce(t *testing.T, url string) {
	const runs, takers = 300, 6
	f := newFixture(t, open(t, url))
	for range runs / 50 {
		var writes []*record.Write
		for range 50 {
			writes = append(writes, f.begin("q", of("gone")))
		}
		f.mustCommit(writes...)
	}
	var mu sync.Mutex
	owners := map[string]string{}
	var group sync.WaitGroup
	for n := range takers {
		me := fmt.Sprint("taker-", n)
		group.Go(func() {
			for {
				batch, err := f.store.Take(context.Background(), []string{"gone", ""}, me)
				if err != nil {
					t.Error(err)
				}
				if len(batch) == 0 {
					return
				}
				mu.Lock()
				for _, taken := range batch {
					if owners[taken.ID] != "" || taken.Attempt != 2 {
						t.Errorf("%s got run %s at attempt %d, which %s has, want each once at attempt 2", me, taken.ID, taken.Attempt, owners[taken.ID])
					}
					owners[taken.ID] = me
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	equal(t, "runs taken", len(owners), runs)
	for id, owner := range owners {
		run, err := f.store.Run(f.ctx, id)
		must(t, err)
		equal(t, "owner and attempt", []any{run.Replica, run.Attempt}, []any{owner, 2})
	}
}

func testForeignAttempt(f *fixture) {
	w := f.begin("q", of("a"))
	f.mustCommit(w)
	fails(f, "begin another replica's run", f.store.BeginAttempt(f.ctx, w.RunID, 2, "b"), record.ErrFenced)
	must(f, f.store.BeginAttempt(f.ctx, w.RunID, 2, "a"))
}

// Runs are in the order in which they were stored, whatever their times and ids
// are.
func testPlace(f *fixture) {
	first := f.begin("q1")
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	var ids []string
	for n := range 3 {
		w := f.begin("q", in(chat), queued)
		w.Begin.Run.CreatedAt = start.Add(-time.Duration(n) * time.Hour)
		w.RunID = fmt.Sprintf("%d-%s", 9-n, newID())
		w.Begin.Run.ID = w.RunID
		f.mustCommit(w)
		ids = append(ids, w.RunID)
	}
	waiting, err := f.store.Waiting(f.ctx, chat)
	must(f, err)
	equal(f, "waiting", waiting, ids)
	later, err := f.store.RunsAfter(f.ctx, first.RunID, 9)
	must(f, err)
	equal(f, "later", later, ids)
	next, err := f.store.NextQueued(f.ctx, chat)
	must(f, err)
	equal(f, "next", next.ID, ids[0])
	busy := f.begin("q", in(chat))
	f.commit(busy)
	equal(f, "the run that the chat works on", busy.Begin.BusyRun, first.RunID)
	f.mustCommit(f.finish(first, "a"))
	busy = f.begin("q", in(chat))
	f.commit(busy)
	equal(f, "the first that waits", busy.Begin.BusyRun, ids[0])
}

// What a run changes outside of its own rows changes nothing once the run has a newer
// attempt, or has ended. The user's own changes have no fence.
func testContextFence(f *fixture) {
	w := f.begin("q", of("a"))
	f.mustCommit(w)
	p := payload("00000077", "p", `1`)
	f.mustCommit(&record.Write{RunID: w.RunID, Attempt: 1, Payloads: []record.Payload{{CustomPayload: p, MessageID: w.Begin.Run.MessageID}}})
	chat := w.Begin.Run.ConversationID
	doc := newID()
	_, err := f.store.CreateDocument(f.ctx, f.owner, record.NewDocument{ID: doc, Title: "t"})
	must(f, err)
	write := func(ctx context.Context, id string) error {
		_, err := f.store.WriteBlock(ctx, f.owner, doc, record.BlockWrite{NewBlock: record.NewBlock{ID: id, Type: "md", Content: "x"}})
		return err
	}
	first := record.WithFence(f.ctx, record.Fence{RunID: w.RunID, Attempt: 1})
	block := newID()
	must(f, write(first, block))
	must(f, f.store.AppendBlock(first, f.owner, doc, block, "y"))

	f.take("b", "a")
	for name, change := range map[string]func(ctx context.Context) error{
		"write a block": func(ctx context.Context) error { return write(ctx, newID()) },
		"append":        func(ctx context.Context) error { return f.store.AppendBlock(ctx, f.owner, doc, block, "z") },
		"propose a move": func(ctx context.Context) error {
			_, err := f.store.ProposeMove(ctx, f.owner, doc, block, nil)
			return err
		},
		"propose a deletion": func(ctx context.Context) error {
			_, err := f.store.ProposeDelete(ctx, f.owner, doc, block)
			return err
		},
		"plan": func(ctx context.Context) error {
			_, err := f.store.PlanDocument(ctx, f.owner, doc, record.Plan{Title: "new"})
			return err
		},
		"plan a new document": func(ctx context.Context) error {
			id := newID()
			_, err := f.store.PlanDocument(ctx, f.owner, id, record.Plan{Title: "new", Create: &record.NewDocument{ID: id}})
			return err
		},
		"update a stream": func(ctx context.Context) error {
			_, err := f.store.UpdateStream(ctx, 1<<40, func(*schemas.Stream) error { return nil })
			return err
		},
		"decide a payload": func(ctx context.Context) error {
			return f.store.AcceptPayload(ctx, f.owner, chat, p.PayloadID, "accepted", w.RunID)
		},
		"a summary": func(ctx context.Context) error {
			return f.store.SetSummary(ctx, f.owner, chat, record.Summary{Text: "t"})
		},
		"an answer to a wait": func(ctx context.Context) error {
			_, err := f.store.AnswerWait(ctx, record.Wait{RunID: w.RunID, Answer: schemas.WaitExpired})
			return err
		},
	} {
		fails(f, name, change(first), record.ErrFenced)
	}
	second := record.WithFence(f.ctx, record.Fence{RunID: w.RunID, Attempt: 2})
	must(f, f.store.AppendBlock(second, f.owner, doc, block, "!"))
	end := f.finish(w, "a")
	end.Attempt = 2
	f.mustCommit(end)
	fails(f, "append after the end", f.store.AppendBlock(second, f.owner, doc, block, "?"), record.ErrFenced)
	must(f, f.store.AppendBlock(f.ctx, f.owner, doc, block, "."))
	b, err := f.store.Block(f.ctx, f.owner, block)
	must(f, err)
	equal(f, "block", *b.New, "xy!.")
}
