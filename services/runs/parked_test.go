package runs

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/trials"
)

// oneRun is a database with one run, which may be away.
type oneRun struct {
	RunStore
	QueueStore
	answer.Store

	mu       sync.Mutex
	away     bool
	run      record.Run
	finishes []*record.Finish
}

func (s *oneRun) setAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func (s *oneRun) Commit(_ context.Context, writes []*record.Write) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return record.ErrUnavailable
	}
	for _, w := range writes {
		if w.Finish != nil {
			s.finishes, s.run.State = append(s.finishes, w.Finish), w.Finish.State
		}
	}
	return nil
}

func (s *oneRun) Replaced(context.Context, string) ([]record.Replaced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, record.ErrUnavailable
	}
	return nil, nil
}

func (*oneRun) Tend(context.Context) error { return nil }

func (s *oneRun) Run(context.Context, string) (record.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run, nil
}

func (*oneRun) CancelRequested(context.Context, string, []string) ([]string, error) { return nil, nil }

func (s *oneRun) BeginAttempt(_ context.Context, _ string, attempt int, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run.Attempt = attempt
	return nil
}

func (*oneRun) Tidy(context.Context, []string) error { return nil }

func (s *oneRun) Left(_ context.Context, _ []string, _ int, found func([]record.Left)) {
	run, _ := s.Run(context.Background(), "")
	found([]record.Left{{Run: run}})
}

// A run has ended its process each time, and the database is away when it is to end, or when
// the attempt that ends it is to begin: it is not tried once more when the database is back.
func TestARunThatEndedItsProcessIsNotTriedAgainAfterAnOutage(t *testing.T) {
	for name, begins := range map[string]bool{"it ends": true, "its attempt begins": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := new(oneRun)
				r := New(Options{Store: Stores{Commit: s, Runs: s, Queue: s, Attempts: s, Logs: logs{}, Answer: s}})
				defer r.Shutdown(t.Context())
				lease := r.leases.Current()
				s.run = record.Run{ID: "r", Owner: ann, State: schemas.RunRunning, Attempt: 3, Replica: lease.ID, Request: []byte(`{"message":"q"}`)}
				f := found{stored: s.run, lease: lease, earlier: &earlier{Case: trials.Case{Earlier: attempts.Nothing(), Fatal: true, Bare: true}}}
				s.setAway(!begins)
				for _, run := range r.beginAttempts(t.Context(), []found{f}) {
					s.setAway(true)
					r.goWork(run)
					r.work.Done()
					<-run.done
				}
				s.setAway(false)
				<-time.After(time.Minute)
				s.mu.Lock()
				defer s.mu.Unlock()
				if len(s.finishes) != 1 || s.finishes[0].Error == nil || s.finishes[0].Error.Message != errContained.Message {
					t.Errorf("the run ends %d times, want once, given up", len(s.finishes))
				}
			})
		})
	}
}

// endsAway is a oneRun that is away only for writes.
type endsAway struct{ *oneRun }

func (endsAway) Replaced(context.Context, string) ([]record.Replaced, error) { return nil, nil }

// The database was away at the end of a run, and is back when the process stops: the end is
// stored then, however soon.
func TestParkedEndIsStoredAtStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := endsAway{new(oneRun)}
		r := New(Options{Store: Stores{Commit: s, Runs: s, Queue: s, Attempts: s, Logs: logs{}, Answer: s}})
		lease := r.leases.Current()
		s.run = record.Run{ID: "r", Owner: ann, State: schemas.RunRunning, Attempt: 3, Replica: lease.ID, Request: []byte(`{"message":"q"}`)}
		f := found{stored: s.run, lease: lease, earlier: &earlier{Case: trials.Case{Earlier: attempts.Nothing(), Fatal: true, Bare: true}}}
		for _, run := range r.beginAttempts(t.Context(), []found{f}) {
			s.setAway(true)
			r.goWork(run)
			r.work.Done()
			<-run.done
		}
		s.setAway(false)
		r.Shutdown(t.Context())
		if len(s.finishes) != 1 {
			t.Errorf("the end was stored %d times, want once", len(s.finishes))
		}
	})
}

// While the database remains away, the process stops without the end.
func TestParkedEndDoesNotHoldTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &oneRun{away: true}
		r := New(Options{Store: Stores{Commit: s, Runs: s, Queue: s, Attempts: s, Logs: logs{}, Answer: s}})
		for _, id := range []string{"r", "s", "t"} {
			r.park(id, parked{lease: r.leases.Current(), lost: []*eventlog.Commit{{Write: &record.Write{RunID: id, Finish: new(record.Finish)}}}})
		}
		began := time.Now()
		r.Shutdown(t.Context())
		if took := time.Since(began); took > 2*eventlog.CommitWait {
			t.Errorf("it took %v, want at most twice the time of a commit", took)
		}
	})
}
