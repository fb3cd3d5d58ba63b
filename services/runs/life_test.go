package runs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/trials"
)

// memory stores what runs write, unless it is away, and the runs that were cancelled.
type memory struct {
	RunStore
	mu          sync.Mutex
	away        bool
	cancelled   []string
	checkpoints []record.Checkpoint
}

func (m *memory) Commit(_ context.Context, writes []*record.Write) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return record.ErrUnavailable
	}
	for _, w := range writes {
		if w.Checkpoint != nil {
			m.checkpoints = append(m.checkpoints, *w.Checkpoint)
		}
	}
	return nil
}

func (*memory) Tend(context.Context) error { return nil }

func (m *memory) RequestCancel(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cancelled = append(m.cancelled, id)
	return nil
}

func (*memory) CancelRequested(context.Context, string, []string) ([]string, error) { return nil, nil }

func (m *memory) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.cancelled)
}

// logs is a store of logs that are not read.
type logs struct{ LogStore }

var ann = schemas.User{ID: "ann"}

// inRuns runs a test in a bubble with the runs of a process, whose store is m where the
// options name none.
func inRuns(t *testing.T, o Options, test func(t *testing.T, r *Runs, m *memory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := new(memory)
		o.Store.Commit, o.Store.Logs = m, logs{}
		if o.Store.Runs == nil {
			o.Store.Runs = m
		}
		r := New(o)
		defer func() {
			ctx, end := context.WithCancel(t.Context())
			end()
			r.Shutdown(ctx)
		}()
		test(t, r, m)
	})
}

// reads registers a run of Ann's that ends with its last reader.
func (r *Runs) reads(t *testing.T, id string, attempt int) *run {
	run := newRun(&record.Run{ID: id, Owner: ann}, r.leases.Current(), func() {})
	run.take(&schemas.ChatRequest{OnDisconnect: "cancel"}, documents.Claim{})
	run.Attempt = attempt
	r.enlist(t.Context(), run, max(attempt, 1))
	return run
}

// stoppedBy returns why a run was stopped, nil if it was not.
func stoppedBy(run *run) error {
	synctest.Wait()
	return context.Cause(run.ctx)
}

// A run that ends with its last reader is cancelled a grace after that has left, or at once
// when its user says that nobody comes back. That is stored, so that no later attempt
// continues it.
func TestLastReader(t *testing.T) {
	const grace = defaultDisconnectGrace
	for name, tt := range map[string]struct {
		do    func(r *Runs, run *run)
		after time.Duration
		want  error
	}{
		"within the grace":       {func(r *Runs, run *run) { r.left(run, func() int { return 0 }) }, grace - 1, nil},
		"after the grace":        {func(r *Runs, run *run) { r.left(run, func() int { return 0 }) }, grace, answer.ErrDisconnected},
		"another reader is left": {func(r *Runs, run *run) { r.left(run, func() int { return 1 }) }, 2 * grace, nil},
		"a reader is back": {func(r *Runs, run *run) {
			r.left(run, func() int { return 0 })
			r.own(run.ID).Came()
		}, 2 * grace, nil},
		"a reader is about to be back": {func(r *Runs, run *run) {
			r.left(run, func() int { return 0 })
			run.log.Subscribe()
		}, 2 * grace, nil},
		"it waits for its user meanwhile": {func(r *Runs, run *run) {
			r.left(run, func() int { return 0 })
			r.setIdle(run, true)
		}, 2 * grace, nil},
		"it has waited for its user": {func(r *Runs, run *run) {
			r.setIdle(run, true)
			r.setIdle(run, false)
		}, grace, answer.ErrDisconnected},
		"a reader has left elsewhere": {func(r *Runs, run *run) { here{r}.Look(run.ID) }, grace, answer.ErrDisconnected},
		"its user says so":            {func(r *Runs, run *run) { r.Leave(ann, run.ID) }, 0, answer.ErrDisconnected},
		"its user says so, read":      {func(r *Runs, run *run) { run.log.Subscribe(); r.Leave(ann, run.ID) }, 0, nil},
		"its user says so, waiting":   {func(r *Runs, run *run) { r.setIdle(run, true); r.Leave(ann, run.ID) }, 0, nil},
		"another user says so":        {func(r *Runs, run *run) { r.Leave(schemas.User{ID: "eve"}, run.ID) }, 2 * grace, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inRuns(t, Options{}, func(t *testing.T, r *Runs, m *memory) {
				run := r.reads(t, "r", 1)
				tt.do(r, run)
				<-time.After(tt.after)
				if got := stoppedBy(run); !errors.Is(got, tt.want) {
					t.Errorf("stopped by %v, want %v", got, tt.want)
				}
				if stored := len(m.requests()) > 0; stored != (tt.want != nil) {
					t.Errorf("the cancel is stored: %t, want %t", stored, tt.want != nil)
				}
			})
		})
	}
}

// A run that has ended is forgotten with its last reader, at once if it has none; one that
// a later attempt has replaced is not forgotten with the earlier one.
func TestEndedRunsAreForgotten(t *testing.T) {
	inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
		unread := r.reads(t, "unread", 1)
		unread.log.Close()
		r.ended(unread)
		if r.find("unread") != nil {
			t.Error("a run that nobody reads is kept")
		}
		read := r.reads(t, "read", 1)
		_, leave := read.log.Subscribe()
		read.log.Close()
		r.ended(read)
		if r.find("read") != read {
			t.Error("a run that is still read is forgotten")
		}
		if r.left(read, leave); r.find("read") != nil {
			t.Error("a run that is no longer read is kept")
		}
		first := r.reads(t, "again", 1)
		second := r.reads(t, "again", 2)
		first.log.Close()
		r.ended(first)
		if r.find("again") != second {
			t.Error("the later attempt is forgotten with the earlier one")
		}
	})
}

// An attempt whose mark cannot be stored takes no place of its user's.
func TestAttemptThatCannotBegin(t *testing.T) {
	inRuns(t, Options{RunsPerUser: 1}, func(t *testing.T, r *Runs, m *memory) {
		m.away = true
		f := found{stored: record.Run{ID: "r", Owner: ann, Attempt: 2, Request: []byte(`{}`)}, lease: r.leases.Current(), earlier: &earlier{Case: trials.Case{Earlier: attempts.Nothing()}}}
		run, mark := r.makeAttempt(f)
		if err := r.enterAttempt(t.Context(), run, mark); !errors.Is(err, record.ErrUnavailable) {
			t.Fatalf("got %v, want %v", err, record.ErrUnavailable)
		}
		release, err := r.running.Begin(ann.ID)
		if err != nil {
			t.Fatalf("the user's place is taken: %v", err)
		}
		release()
		if r.find("r") != nil {
			t.Error("the run is here, want it to be left to a later try")
		}
	})
}

// All runs that are recovered are looked at before the first begins: they do not keep the files of
// their questions meanwhile. Their requests are those that the runs have had before.
func TestRunsThatAreLookedAtKeepNoFiles(t *testing.T) {
	inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
		asked := &schemas.ChatRequest{Message: "Look", Attachments: []schemas.Attachment{{Name: "a.txt", MIME: "text/plain", Content: strings.Repeat("x", 100_000)}}}
		lease := r.leases.Current()
		f, err := r.lookAt(t.Context(), lease, 2, &record.Left{Run: record.Run{ID: "r", Owner: ann, State: schemas.RunRunning, Replica: lease.ID, Attempt: 2, Request: schemas.Encode(asked)}})
		if err != nil || f.stored.ID != "r" {
			t.Fatalf("got %q, %v", f.stored.ID, err)
		}
		if n := len(f.stored.Request) + len(schemas.Encode(f.request)); n > 1000 {
			t.Errorf("%d bytes of a request are kept", n)
		}
		run, err := r.known(f)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(schemas.Encode(run.Request)), string(schemas.Encode(light(asked))); got != want {
			t.Errorf("the run has the request %s, want %s", got, want)
		}
	})
}

// An attempt continues with the time and the tokens that earlier ones have used.
func TestAttemptGoesOn(t *testing.T) {
	inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
		e := attempts.Nothing()
		e.Worked, e.Spent = time.Minute, []record.ModelUsage{{Model: "m", Usage: schemas.Usage{InputTokens: 7, TotalTokens: 7}}}
		f := found{stored: record.Run{ID: "r", Owner: ann, Attempt: 2, Request: []byte(`{}`)}, lease: r.leases.Current(), earlier: &earlier{Case: trials.Case{Earlier: e}}}
		run, mark := r.makeAttempt(f)
		if err := r.enterAttempt(t.Context(), run, mark); err != nil {
			t.Fatal(err)
		}
		r.work.Done()
		if run.limit.Used() != time.Minute || run.spent.Total().InputTokens != 7 || run.log.Base() != 1_000_000 {
			t.Errorf("it has used %v and %+v, in a log after %d; want a minute, 7 tokens and the log of the second attempt", run.limit.Used(), run.spent.Total(), run.log.Base())
		}
	})
}

// However many attempts do not count, a run has no more than the numbers of levels allow.
func TestAttemptsAreBounded(t *testing.T) {
	for _, tt := range []struct {
		attempt, uncounted int
		want               schemas.RunState
	}{{MaxAttempts + 1, 0, schemas.RunFailed}, {maxAttemptsEver + 1, maxAttemptsEver + 1, schemas.RunFailed}} {
		inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
			run := r.reads(t, "r", tt.attempt)
			run.earlier = &earlier{Case: trials.Case{Earlier: attempts.Nothing(), Bare: true}}
			run.earlier.Uncounted = tt.uncounted
			if end, over := r.resume(run, r.writer(run)); !over || end.State != tt.want {
				t.Errorf("attempt %d, of which %d do not count: over %t, %v; want %v", tt.attempt, tt.uncounted, over, end.State, tt.want)
			}
			if n := eventlog.New(tt.attempt, nil).Base(); run.log.Base() != n {
				t.Errorf("the log begins after %d, want %d", run.log.Base(), n)
			}
		})
	}
}

// A queued run without a reader ends at once, not when its turn comes.
func TestLastReaderOfAQueuedRun(t *testing.T) {
	inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
		run := r.reads(t, "r", 0)
		r.left(run, func() int { return 0 })
		<-time.After(defaultDisconnectGrace)
		synctest.Wait()
		if _, ended := run.log.Ended(); !ended {
			t.Error("the run has not ended")
		}
	})
}

// An attempt that ends with the service is not to blame for the end of the process.
func TestLeftInGoodOrder(t *testing.T) {
	inRuns(t, Options{}, func(t *testing.T, r *Runs, m *memory) {
		run := r.reads(t, "r", 2)
		run.earlier = &earlier{Case: trials.Case{Earlier: attempts.Nothing()}}
		if state := r.giveUp(run, r.writer(run), errShutdown); state.Terminal() || !run.log.Closed() {
			t.Errorf("the run is %s, its log closed: %t", state, run.log.Closed())
		}
		e, err := attempts.Read(&record.Left{Checkpoints: m.checkpoints})
		if err != nil || e.Mark == nil || e.Mark.Attempt != 2 || e.Mark.Crashed(2) {
			t.Errorf("the mark is %+v, %v, want that the attempt has not crashed", e.Mark, err)
		}
	})
}

// What earlier attempts have written counts for the limits of a run's text.
func TestTextOfEarlierAttempts(t *testing.T) {
	inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
		run := r.reads(t, "r", 2)
		e := attempts.Nothing()
		e.Cancel, e.Steps = true, []turn.Step{{Reply: turn.Reply{Text: "12345"}}}
		run.earlier = &earlier{Case: trials.Case{Earlier: e, Bare: true}}
		if _, over := r.resume(run, r.writer(run)); !over || r.ModelText() != 5 {
			t.Errorf("over: %t, %d bytes are counted, want 5", over, r.ModelText())
		}
	})
}
