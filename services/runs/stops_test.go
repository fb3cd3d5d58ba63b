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
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/leases"
	"github.com/chattray/chattray/services/questions"
)

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

// leaving is the table of a replica that hands its runs over. While it looks for another one,
// asked is called.
type leaving struct {
	leases.Table
	leases.Takeover
	asked func()
	letGo []string
}

func (l *leaving) Drain(context.Context, string) (bool, error) {
	l.asked()
	return true, nil
}

func (l *leaving) LetGo(_ context.Context, _ string, runs []string) error {
	l.letGo = append(l.letGo, runs...)
	return nil
}

// A run begins to wait while the replica that stops still looks for another one. It is handed
// over, too: its user may answer at once.
func TestHandOverOfARunThatBeginsToWait(t *testing.T) {
	table := new(leaving)
	o := Options{Store: Stores{Queue: new(chat)}, Leases: leases.Options{Table: table, Takeover: table, Many: true}}
	inRuns(t, o, func(t *testing.T, r *Runs, _ *memory) {
		run := r.reads(t, "r", 1)
		r.work.Go(func() {
			<-run.ctx.Done()
			r.giveUp(run, r.writer(run), context.Cause(run.ctx))
		})
		table.asked = func() { r.setIdle(run, true); synctest.Wait() }
		r.Shutdown(t.Context())
		if want := []string{"r"}; !slices.Equal(table.letGo, want) {
			t.Errorf("hands over %v, want %v", table.letGo, want)
		}
	})
}

// A run is queued only after the replica that stops has handed its queued runs over: its
// question had been accepted before, or its start is refused. It is handed over, too.
func TestHandOverOfARunThatIsQueuedLate(t *testing.T) {
	refused := make(chan error)
	for name, tt := range map[string]struct{ before, late func(r *Runs) }{
		"a new question": {func(*Runs) {}, func(r *Runs) { r.enlistAt(r.base, "r", 0) }},
		"a refused start": {
			func(r *Runs) { r.enlistAt(r.base, "r", 0); r.loops.Go(func() { r.next(0) }) },
			func(*Runs) { refused <- record.ErrBusy },
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := &leaving{asked: func() {}}
			c := &chat{next: func() (record.Run, error) { return record.Run{ID: "r"}, nil }}
			o := Options{Store: Stores{Queue: c}, Leases: leases.Options{Table: table, Takeover: table, Many: true}}
			inRuns(t, o, func(t *testing.T, r *Runs, _ *memory) {
				refused = make(chan error)
				c.begin = func() error { return <-refused }
				other := r.enter()
				tt.before(r)
				synctest.Wait()
				r.loops.Go(func() {
					synctest.Wait()
					tt.late(r)
					r.work.Done()
				})
				r.Shutdown(t.Context())
				if want := []string{"r"}; !other || !slices.Equal(table.letGo, want) {
					t.Errorf("hands over %v, want %v", table.letGo, want)
				}
			})
		})
	}
}

// leftRun is the only run that an earlier attempt has left.
type leftRun record.Left

func (l *leftRun) Left(_ context.Context, _ []string, _ int, found func([]record.Left)) {
	found([]record.Left{record.Left(*l)})
}

// A run is read while the replica stops: one that was parked, or that has just been taken. It
// is handed over, too: no other one would take it before the replica has gone.
func TestHandOverOfARunThatIsTakenUp(t *testing.T) {
	for name, takeUp := range map[string]func(r *Runs, run record.Run) error{
		"parked": func(r *Runs, run record.Run) error {
			return r.takeUp(r.looping, run, &parked{lease: r.leases.Current(), taken: true})
		},
		"taken": func(r *Runs, run record.Run) error {
			r.takeUpAll(r.looping, r.leases.Current(), []record.Taken{{ID: run.ID, Attempt: run.Attempt, State: run.State}}, func() {})
			return nil
		},
	} {
		for when, looks := range map[string]bool{"while it looks for another one": true, "while its runs finish": false} {
			t.Run(name+" "+when, func(t *testing.T) {
				table, left := new(leaving), new(leftRun)
				o := Options{Store: Stores{Queue: new(chat), Attempts: left}, Leases: leases.Options{Table: table, Takeover: table, Many: true}}
				inRuns(t, o, func(t *testing.T, r *Runs, _ *memory) {
					late := func() {
						left.Run = record.Run{ID: "r", Attempt: 2, State: schemas.RunRunning, Replica: r.leases.Current().ID}
						if err := takeUp(r, left.Run); err != nil {
							t.Error(err)
						}
						r.work.Done()
					}
					r.enter()
					table.asked = func() {}
					if looks {
						table.asked = sync.OnceFunc(late)
					} else {
						r.loops.Go(func() { synctest.Wait(); late() }) // Shutdown waits for the work
					}
					r.Shutdown(t.Context())
					if want := []string{"r"}; !slices.Equal(table.letGo, want) {
						t.Errorf("hands over %v, want %v", table.letGo, want)
					}
				})
			})
		}
	}
}

// Ids that belong to something else are refused; only a message that the client has named
// may have been sent before.
func TestTakenIDs(t *testing.T) {
	inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
		if _, err := r.questions.Instead(t.Context(), &questions.Question{Begin: new(record.Begin), Request: new(schemas.ChatRequest)}, record.StartOptions{}, schemas.ErrTaken); !errors.Is(err, schemas.ErrTaken) {
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
			_, err = r.begin(t.Context(), q, record.StartOptions{}, release)
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
