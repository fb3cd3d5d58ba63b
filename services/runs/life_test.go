package runs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
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
	"github.com/chattray/chattray/services/questions"
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

func (*memory) CancelRequested(context.Context, string) ([]string, error) { return nil, nil }

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
	run.attempt = attempt
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
			r.own(run.id).Came()
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
		"a reader has left elsewhere": {func(r *Runs, run *run) { here{r}.Look(run.id) }, grace, answer.ErrDisconnected},
		"its user says so":            {func(r *Runs, run *run) { r.Leave(ann, run.id) }, 0, answer.ErrDisconnected},
		"its user says so, read":      {func(r *Runs, run *run) { run.log.Subscribe(); r.Leave(ann, run.id) }, 0, nil},
		"its user says so, waiting":   {func(r *Runs, run *run) { r.setIdle(run, true); r.Leave(ann, run.id) }, 0, nil},
		"another user says so":        {func(r *Runs, run *run) { r.Leave(schemas.User{ID: "eve"}, run.id) }, 2 * grace, nil},
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
		f := found{stored: record.Run{ID: "r", Owner: ann, Attempt: 2, Request: []byte(`{}`)}, lease: r.leases.Current(), earlier: &earlier{Earlier: attempts.Nothing()}}
		if _, err := r.beginAttempt(t.Context(), f); !errors.Is(err, record.ErrUnavailable) {
			t.Fatalf("got %v, want %v", err, record.ErrUnavailable)
		}
		release, err := r.running.Begin(ann.ID, false)
		if err != nil {
			t.Fatalf("the user's place is taken: %v", err)
		}
		release()
		if r.find("r") != nil {
			t.Error("the run is here, want it to be left to a later try")
		}
	})
}

// An attempt continues with the time and the tokens that earlier ones have used.
func TestAttemptGoesOn(t *testing.T) {
	inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
		e := attempts.Nothing()
		e.Worked, e.Spent = time.Minute, []record.ModelUsage{{Model: "m", Usage: schemas.Usage{InputTokens: 7, TotalTokens: 7}}}
		f := found{stored: record.Run{ID: "r", Owner: ann, Attempt: 2, Request: []byte(`{}`)}, lease: r.leases.Current(), earlier: &earlier{Earlier: e}}
		run, err := r.beginAttempt(t.Context(), f)
		if err != nil {
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
			run.earlier = &earlier{Earlier: attempts.Nothing(), bare: true}
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

// chat is the queue of a chat.
type chat struct {
	QueueStore
	next  func() (record.Run, error)
	begin func() error
	held  []record.Taken
	asked atomic.Int32
}

func (c *chat) NextQueued(context.Context, int64) (record.Run, error) {
	c.asked.Add(1)
	return c.next()
}

func (c *chat) BeginQueued(context.Context, string, string, []string) (record.Begun, error) {
	return record.Begun{}, c.begin()
}

func (*chat) Tidy(context.Context, []string) error { return nil }

func (c *chat) Held(context.Context, string) ([]record.Taken, error) { return c.held, nil }

// A queued run that is cancelled while its start is refused ends at once.
func TestCancelledAsItsStartIsRefused(t *testing.T) {
	c := &chat{next: func() (record.Run, error) { return record.Run{ID: "r"}, nil }}
	inRuns(t, Options{Store: Stores{Queue: c}}, func(t *testing.T, r *Runs, _ *memory) {
		run := r.reads(t, "r", 0)
		c.begin = func() error { run.stop(answer.ErrCancelled); return record.ErrBusy }
		r.next(0)
		synctest.Wait()
		if _, ended := run.log.Ended(); !ended {
			t.Error("the run has not ended")
		}
	})
}

// A queue that cannot be read, and that of a run which another process has ended, are read
// soon.
func TestQueuesAreReadAgain(t *testing.T) {
	for name, begin := range map[string]func(r *Runs){
		"it could not be read":   func(r *Runs) { r.next(0) },
		"a parked run has ended": func(r *Runs) { r.park("before", parked{lease: r.leases.Current()}) },
	} {
		t.Run(name, func(t *testing.T) {
			c := &chat{next: func() (record.Run, error) { return record.Run{}, record.ErrUnavailable }}
			inRuns(t, Options{Store: Stores{Queue: c, Runs: ended{new(memory)}}}, func(t *testing.T, r *Runs, _ *memory) {
				r.reads(t, "r", 0)
				begin(r)
				before := c.asked.Load()
				<-time.After(reviveEvery + time.Millisecond)
				synctest.Wait()
				if n := c.asked.Load() - before; n != 1 {
					t.Errorf("the queue was read %d times, want once", n)
				}
			})
		})
	}
}

// ended are stored runs that have ended.
type ended struct{ RunStore }

func (ended) Run(_ context.Context, id string) (record.Run, error) {
	return record.Run{ID: id, State: schemas.RunCompleted}, nil
}

// leftRuns notes the runs that are looked at.
type leftRuns struct{ ids []string }

func (l *leftRuns) Left(_ context.Context, ids []string, _ int, _ func([]record.Left)) {
	l.ids = append(l.ids, ids...)
}

// Of the runs that the database gives to this process only those are taken up that it does
// not know.
func TestAdopt(t *testing.T) {
	looked, c := new(leftRuns), &chat{held: []record.Taken{{ID: "here"}, {ID: "parked"}, {ID: "begins"}, {ID: "parked before"}, {ID: "unknown"}}}
	inRuns(t, Options{Store: Stores{Queue: c, Attempts: looked}}, func(t *testing.T, r *Runs, _ *memory) {
		r.reads(t, "here", 1)
		r.park("parked", parked{lease: r.leases.Current()})
		r.park("parked before", parked{})
		r.beginning.Add("begins")
		defer r.beginning.Done("begins")
		r.unsure = true
		r.adopt(t.Context())
		if want := []string{"parked before", "unknown"}; !slices.Equal(looked.ids, want) || r.unsure {
			t.Errorf("takes up %v, unsure still: %t; want %v", looked.ids, r.unsure, want)
		}
		r.mu.Lock()
		clear(r.parked)
		r.mu.Unlock()
	})
}

// A run that only waits is interrupted by a shutdown at once, also if it begins to wait
// meanwhile; the readers of one that waits for its trial come back.
func TestShutdownOfRunsThatWait(t *testing.T) {
	inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
		idle, soon, held := r.reads(t, "idle", 1), r.reads(t, "soon", 1), r.reads(t, "held", 2)
		held.earlier = new(earlier)
		r.setIdle(idle, true)
		r.hold(held)
		r.work.Add(1)
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		over := make(chan struct{})
		go func() { defer close(over); r.Shutdown(ctx) }()
		if got := stoppedBy(idle); !errors.Is(got, errShutdown) {
			t.Errorf("the one that waits was stopped by %v, want %v", got, errShutdown)
		}
		if !held.log.Closed() {
			t.Error("the log of the held one is open")
		}
		if got := stoppedBy(soon); got != nil {
			t.Errorf("the other was stopped by %v, want that it goes on", got)
		}
		if r.setIdle(soon, true); !errors.Is(stoppedBy(soon), errShutdown) {
			t.Error("one that begins to wait is not stopped")
		}
		r.work.Done()
		<-over
	})
}

// The runs of a process that has ended again are sorted by what they are to blame for.
func TestJudge(t *testing.T) {
	// crashed is a run in whose last attempt, the second, the process ended.
	crashed := func(id string, alone int64, steps int) found {
		e := &earlier{Earlier: attempts.Nothing()}
		e.Mark, e.Steps = &attempts.Mark{Attempt: 2, Alone: alone}, make([]turn.Step, steps)
		return found{stored: record.Run{ID: id, Attempt: 3}, earlier: e}
	}
	with := func(f found, change func(e *earlier)) found { change(f.earlier); return f }
	well := func(id string) found { return with(crashed(id, 0, 0), func(e *earlier) { e.Mark.Left = true }) }
	cancelled := with(crashed("c", 0, 0), func(e *earlier) { e.Cancel = true })
	ids := func(list []found) (ids []string) {
		for _, f := range list {
			ids = append(ids, f.stored.ID)
		}
		return ids
	}
	for name, tt := range map[string]struct {
		runs       []found
		now, later []string
		limit      time.Duration
		fatal      string
		uncounted  map[string]int
	}{
		"the first crash":              {[]found{well("a"), well("b")}, []string{"a", "b"}, nil, trialTime, "", nil},
		"the second crash":             {[]found{well("a"), crashed("b", 0, 0), crashed("c", 0, 0)}, []string{"a"}, []string{"b", "c"}, trialTime, "", map[string]int{"b": 2, "c": 2}},
		"one is cancelled":             {[]found{cancelled, crashed("b", 0, 0)}, []string{"c"}, []string{"b"}, trialTime, "", map[string]int{"b": 2, "c": 2}},
		"one is to blame":              {[]found{well("a"), crashed("b", 0, 0), crashed("g", 5, 0)}, []string{"a", "b", "g"}, nil, trialTime, "g", map[string]int{"a": 2, "b": 2, "g": 2}},
		"one has made progress":        {[]found{crashed("b", 0, 0), crashed("g", 5, 1)}, nil, []string{"g", "b"}, trialTime, "", map[string]int{"b": 2, "g": 2}},
		"two may be to blame":          {[]found{crashed("b", 0, 0), crashed("g", 5, 0), crashed("h", 6, 0)}, nil, []string{"h", "g", "b"}, strictTrialTime, "", map[string]int{"b": 2, "g": 2, "h": 2}},
		"those with progress go first": {[]found{crashed("b", 0, 0), crashed("c", 0, 1)}, nil, []string{"c", "b"}, trialTime, "", map[string]int{"b": 2, "c": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
				now, later, limit := r.judge(tt.runs)
				if !slices.Equal(ids(now), tt.now) || !slices.Equal(ids(later), tt.later) || limit != tt.limit {
					t.Errorf("%v now, %v later for %v; want %v, %v and %v", ids(now), ids(later), limit, tt.now, tt.later, tt.limit)
				}
				for _, f := range slices.Concat(now, later) {
					e := f.earlier
					if id := f.stored.ID; e.fatal != (id == tt.fatal) || e.bare != (e.fatal || e.Cancel) || e.fresh != (tt.fatal == "g" && id == "b") || e.Uncounted != tt.uncounted[id] {
						t.Errorf("%s: fatal %t, bare %t, fresh %t, %d do not count; want %d", id, e.fatal, e.bare, e.fresh, e.Uncounted, tt.uncounted[id])
					}
				}
			})
		})
	}
	inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
		r.leases.Many = true
		defer func() { r.leases.Many = false }()
		if now, later, _ := r.judge([]found{crashed("a", 0, 0), crashed("g", 5, 0)}); len(now) != 2 || len(later) != 0 {
			t.Errorf("one of several processes holds %v, want none", ids(later))
		}
	})
}

// An attempt that ends with the service is not to blame for the end of the process.
func TestLeftInGoodOrder(t *testing.T) {
	inRuns(t, Options{}, func(t *testing.T, r *Runs, m *memory) {
		run := r.reads(t, "r", 2)
		run.earlier = &earlier{Earlier: attempts.Nothing()}
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
		run.earlier = &earlier{Earlier: e, bare: true}
		if _, over := r.resume(run, r.writer(run)); !over || r.ModelText() != 5 {
			t.Errorf("over: %t, %d bytes are counted, want 5", over, r.ModelText())
		}
	})
}

// Ids that belong to something else are refused; only a message that the client has named
// may have been sent before.
func TestTakenIDs(t *testing.T) {
	inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
		if _, err := r.resent(t.Context(), ann, &schemas.ChatRequest{}, new(record.Begin)); !errors.Is(err, schemas.ErrTaken) {
			t.Errorf("got %v, want %v", err, schemas.ErrTaken)
		}
	})
}

// hanging are stored runs of a database that does not answer.
type hanging struct{ RunStore }

func (hanging) Run(ctx context.Context, _ string) (record.Run, error) {
	<-ctx.Done()
	return record.Run{}, record.ErrUnavailable
}

// A shutdown does not wait for the database to read a parked run.
func TestShutdownWhileAParkedRunIsRead(t *testing.T) {
	inRuns(t, Options{Store: Stores{Runs: hanging{new(memory)}}}, func(t *testing.T, r *Runs, _ *memory) {
		r.park("r", parked{lease: r.leases.Current()})
		<-time.After(reviveEvery + time.Millisecond)
		began := time.Now()
		ctx, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if r.Shutdown(ctx); time.Since(began) > time.Second {
			t.Errorf("it took %v, want a second", time.Since(began))
		}
	})
}

// A run that cannot be stored takes no place of its user's. It may have been stored, so it is
// looked for once the database is back.
func TestRunThatCannotBeStored(t *testing.T) {
	inRuns(t, Options{RunsPerUser: 1}, func(t *testing.T, r *Runs, m *memory) {
		m.away = true
		for range 2 {
			release, err := r.admit(ann, false)
			if err != nil {
				t.Fatalf("the user's place is taken: %v", err)
			}
			q := &questions.Question{Begin: &record.Begin{Run: record.Run{ID: "r", Owner: ann}}}
			_, err = r.begin(t.Context(), q, new(schemas.ChatRequest), record.StartOptions{}, release)
			r.work.Done()
			if schemas.Visible(err).Code != schemas.CodeStoreUnavailable {
				t.Errorf("got %v, want %s", err, schemas.CodeStoreUnavailable)
			}
		}
		if p, ok := r.parked["r"]; !ok || p.lease != r.leases.Current() || p.taken {
			t.Errorf("parked: %t, %+v, want that the run is looked for", ok, p)
		}
		if r.beginning.Has("r") {
			t.Error("the run is still about to begin")
		}
		clear(r.parked)
	})
}
