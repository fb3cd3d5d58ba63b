package answer_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/answer/waits"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/guard"
	"github.com/chattray/chattray/services/modeltext"
	"github.com/chattray/chattray/services/usage"
)

// waited are the stored waits of a run.
type waited struct {
	answer.Store
	list []record.Wait
}

func (w waited) Waits(context.Context, string) ([]record.Wait, error) { return w.list, nil }

// again returns the writer of a second attempt of a run, in whose first one the model has
// called the tool, with what is stored of the call.
func again(t *testing.T, tool turn.Tool, call *record.ToolCall, change func(*answer.Deps), waits ...record.Wait) (*answer.Writer, *turn.Request, *eventlog.Log) {
	t.Helper()
	left := &record.Left{Checkpoints: []record.Checkpoint{{N: 1, Data: schemas.Encode(attempts.Checkpoint{Reply: &turn.Reply{ToolCalls: []turn.ToolCall{{ID: "c", Name: tool.Name}}}})}}}
	if call != nil {
		left.ToolCalls = append(left.ToolCalls, *call)
	}
	earlier, err := attempts.Read(left)
	if err != nil {
		t.Fatal(err)
	}
	log := eventlog.New(2, func() int64 { return 1 })
	deps := answer.Deps{
		Log: log, Store: waited{list: waits}, Spent: usage.NewLedger(nil), Text: modeltext.New(modeltext.Limits{}.Or(1000, 1)).Count(), Clock: clock{}, Now: time.Now,
		Tool: func(string) (turn.Tool, bool) { return tool, true }, Approve: guard.Off, Idle: func(bool) {}, ApprovalTimeout: time.Minute,
		Stop: func(err error) { t.Error(err) }, Logger: slog.New(slog.DiscardHandler), Mark: func(bool) *eventlog.Commit { return nil },
	}
	if change != nil {
		change(&deps)
	}
	wr := answer.New(t.Context(), answer.Run{ID: "run", Attempt: 2, ChatID: 1, MessageID: "message", Request: new(schemas.ChatRequest), Earlier: earlier}, deps)
	wr.Use(&answer.Prepared{Filter: noText{}, Request: turn.Request{Tools: []turn.Tool{tool}}})
	wr.Restore()
	return wr, wr.Ask(), log
}

// A later attempt asks for the approval of a call for the reason of the earlier one. A call
// that was interrupted and does not run again is not asked about.
func TestAsksAgain(t *testing.T) {
	confirms := turn.Tool{Name: "order", Confirm: true}
	repeats := turn.Tool{Name: "order", Confirm: true, Idempotent: true}
	started := &record.ToolCall{Name: "order", State: record.ToolStarted}
	for name, tt := range map[string]struct {
		tool  turn.Tool
		call  *record.ToolCall
		waits []record.Wait
		want  schemas.ApprovalReason
	}{
		"it has not begun":                   {confirms, nil, nil, schemas.ReasonToolConfirms},
		"it has waited":                      {confirms, nil, []record.Wait{{Reason: schemas.ReasonUnseenURL}}, schemas.ReasonUnseenURL},
		"a tool that no longer asks":         {turn.Tool{Name: "order"}, nil, []record.Wait{{Reason: schemas.ReasonAfterUntrusted}}, schemas.ReasonAfterUntrusted},
		"it has waited in an old release":    {confirms, nil, []record.Wait{{}}, schemas.ReasonToolConfirms},
		"another call has waited":            {confirms, nil, []record.Wait{{Index: 1, Reason: schemas.ReasonUnseenURL}}, schemas.ReasonToolConfirms},
		"it was interrupted":                 {confirms, started, nil, ""},
		"it was interrupted, and runs again": {repeats, started, nil, schemas.ReasonToolConfirms},
	} {
		t.Run(name, func(t *testing.T) {
			_, req, _ := again(t, tt.tool, tt.call, nil, tt.waits...)
			got, err := req.Asks(t.Context(), &tt.tool, &turn.Call{Name: "order"})
			if err != nil || got != tt.want {
				t.Errorf("asks for %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// While a call waits, the run's time stands still. That a later attempt only waits is on
// disk before anybody sees the question: the process may end then.
func TestWaitOfALaterAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		committer := func() (c *eventlog.Committer, run func()) {
			c = eventlog.NewCommitter(eventlog.CommitterOptions{Store: new(disk), Logger: slog.New(slog.DiscardHandler), Batch: func(int, time.Duration, error) {}})
			ctx, end := context.WithCancel(context.Background())
			var work sync.WaitGroup
			t.Cleanup(func() { end(); work.Wait() })
			return c, func() { work.Go(func() { c.Run(ctx) }) }
		}
		all, runAll := committer()
		marks, runMarks := committer()
		runAll()
		var told []string
		tool := turn.Tool{Name: "order", Confirm: true}
		wr, _, log := again(t, tool, nil, func(d *answer.Deps) {
			d.Commit, d.Clock = all, watchedClock{clock{}, func(s string) { told = append(told, s) }}
			d.Mark = func(idle bool) *eventlog.Commit {
				if !idle {
					return nil
				}
				return marks.Submit(&eventlog.Commit{Write: new(record.Write)})
			}
		}, record.Wait{Kind: schemas.WaitApproval, ID: "p", ExpiresAt: time.Now().Add(time.Hour)})
		asked := func() bool {
			events, _ := log.Tail(0).Next()
			return slices.ContainsFunc(events, func(e runlog.Event) bool { _, ok := e.Body.(*runlog.ApprovalRequest); return ok })
		}
		done := make(chan error, 1)
		go func() {
			done <- wr.Handle(turn.ToolWaiting{ID: "c", Name: "order", Reason: schemas.ReasonToolConfirms})
		}()
		synctest.Wait()
		if !slices.Equal(told, []string{"pause"}) || asked() {
			t.Errorf("the clock was told %v, the question is shown: %t; want a pause, and that it is not shown before the mark is stored", told, asked())
		}
		runMarks()
		if err := <-done; err != nil || !asked() {
			t.Errorf("got %v, the question is shown: %t, want that it is", err, asked())
		}
		if err := wr.Handle(turn.ToolAnswered{ID: "c", Name: "order", Verdict: turn.Verdict{Approved: true}}); err != nil || !slices.Equal(told, []string{"pause", "resume"}) {
			t.Errorf("got %v, the clock was told %v, want that it resumes", err, told)
		}
	})
}

// unsteady is the stored wait of a call, which may not be available.
type unsteady struct {
	answer.Store
	mu   sync.Mutex
	wait record.Wait
	err  error
}

func (u *unsteady) Waits(context.Context, string) ([]record.Wait, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return []record.Wait{u.wait}, u.err
}

func (u *unsteady) set(a schemas.WaitAnswer, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.wait.Answer, u.err = a, err
}

// A call that is woken while the database is away does not end the attempt: it gets the answer
// once the database is back.
func TestAwaitedAnswerDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &unsteady{wait: record.Wait{Kind: schemas.WaitApproval, ID: "p", ExpiresAt: time.Now().Add(time.Hour)}}
		tool, bells := turn.Tool{Name: "order", Confirm: true}, new(waits.Wakeups)
		_, req, _ := again(t, tool, nil, func(d *answer.Deps) { d.Store, d.Wakeups = store, bells })
		approved := make(chan bool, 1)
		go func() {
			got, err := req.Await(t.Context(), &turn.Call{Name: "order"})
			approved <- err == nil && got.Approved
		}()
		synctest.Wait()
		store.set("", record.ErrUnavailable)
		bells.Ring(0)
		select {
		case <-approved:
			t.Fatal("the call waits no longer while the database is away")
		case <-time.After(30 * time.Second):
		}
		store.set(schemas.WaitApproved, nil)
		if !<-approved {
			t.Error("the call is not approved")
		}
	})
}

// sharedWaits are the stored waits of a run. They expire by a clock that is ahead of this
// process's.
type sharedWaits struct {
	waited
	disk
	ahead   time.Duration
	created time.Time // what was stored
	expires time.Time
}

func (w *sharedWaits) Commit(_ context.Context, writes []*record.Write) error {
	for _, write := range writes {
		if write.Wait != nil {
			w.created, w.expires = write.Wait.CreatedAt, write.Wait.ExpiresAt
		}
	}
	return nil
}

func (w *sharedWaits) now(context.Context) (time.Time, error) { return time.Now().Add(w.ahead), nil }

func (w *sharedWaits) AnswerWait(ctx context.Context, answer record.Wait) (record.Wait, error) {
	if now, _ := w.now(ctx); answer.Answer == schemas.WaitExpired && now.Before(answer.ExpiresAt) {
		return answer, record.ErrEarly
	}
	return answer, nil
}

// aloneWaits are the stored waits of a run of a single process, whose clock counts.
type aloneWaits struct{ waited }

func (aloneWaits) AnswerWait(_ context.Context, answer record.Wait) (record.Wait, error) {
	return answer, nil
}

// A call waits as long as its user was told, also if a later start gives calls less time.
func TestWaitKeepsItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		wait := record.Wait{Kind: schemas.WaitApproval, ID: "p", CreatedAt: began, ExpiresAt: began.Add(time.Hour)}
		_, req, _ := again(t, turn.Tool{Name: "order", Confirm: true}, nil, func(d *answer.Deps) {
			d.Store, d.Wakeups = aloneWaits{waited{list: []record.Wait{wait}}}, new(waits.Wakeups)
		})
		if _, err := req.Await(t.Context(), &turn.Call{ID: "c", Name: "order"}); err != nil || time.Since(began) != time.Hour {
			t.Errorf("it ended after %v, %v; want an hour", time.Since(began), err)
		}
	})
}

// A call waits no longer if the clock is set back.
func TestWaitExpiresAlthoughTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back time.Duration
		tool := turn.Tool{Name: "order", Confirm: true}
		wait := record.Wait{Kind: schemas.WaitApproval, ID: "p", CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Minute)}
		_, req, _ := again(t, tool, nil, func(d *answer.Deps) {
			d.Store, d.Wakeups, d.Now = &sharedWaits{waited: waited{list: []record.Wait{wait}}}, new(waits.Wakeups), func() time.Time { return time.Now().Add(-back) }
		})
		began := time.Now()
		back = time.Hour
		if _, err := req.Await(t.Context(), &turn.Call{ID: "c", Name: "order"}); err != nil || time.Since(began) != time.Minute {
			t.Errorf("it ended after %v, %v; want a minute", time.Since(began), err)
		}
	})
}

// What a call waits for expires by the clock that all processes share, however far this
// process's own is behind or ahead of it.
func TestWaitsExpireBySharedClock(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"this process is behind": time.Hour, "this process is ahead": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &sharedWaits{ahead: ahead}
				committer := eventlog.NewCommitter(eventlog.CommitterOptions{Store: store, Logger: slog.New(slog.DiscardHandler), Batch: func(int, time.Duration, error) {}})
				ctx, end := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); committer.Run(ctx) }()
				defer func() { end(); <-done }()
				tool := turn.Tool{Name: "order", Confirm: true}
				store.list = []record.Wait{{Kind: schemas.WaitApproval, ID: "p", CreatedAt: time.Now().Add(ahead), ExpiresAt: time.Now().Add(ahead + time.Minute)}}
				wr, req, _ := again(t, tool, nil, func(d *answer.Deps) {
					d.Commit, d.Store, d.SharedNow, d.Wakeups = committer, store, store.now, new(waits.Wakeups)
				})
				if err := wr.Handle(turn.ToolWaiting{ID: "c", Name: "order", Reason: schemas.ReasonToolConfirms}); err != nil {
					t.Fatal(err)
				}
				if want := store.list[0]; !store.created.Equal(want.CreatedAt) || !store.expires.Equal(want.ExpiresAt) {
					t.Errorf("the wait is from %v to %v, want %v and %v", store.created, store.expires, want.CreatedAt, want.ExpiresAt)
				}
				began := time.Now()
				if _, err := req.Await(t.Context(), &turn.Call{ID: "c", Name: "order"}); err != nil || time.Since(began) != time.Minute {
					t.Errorf("it ended after %v, %v; want a minute", time.Since(began), err)
				}
			})
		})
	}
}
