package runs_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/acts"
	"github.com/chattray/chattray/services/leases"
	"github.com/chattray/chattray/services/runs"
)

// replicas is the table of a replica that is soon marked as gone, and joins again.
type replicas struct{ leases.Takeover }

func (replicas) Served(context.Context, string) (bool, error) { return true, nil }

func (replicas) Join(context.Context, record.Replica, time.Duration) ([]record.Replica, error) {
	return nil, nil
}

func (replicas) Renew(context.Context, string, time.Duration) (int, error) { return 0, nil }

func (replicas) Drain(context.Context, string) (bool, error) { return false, nil }

func (replicas) Leave(context.Context, string) error { return nil }

func (replicas) Expired(context.Context) ([]string, error) { return nil, nil }

func (replicas) Unfinished(context.Context) ([]string, error) { return nil, nil }

// unasked is what replicas tell each other: nothing.
type unasked struct{ acts.Open }

func (unasked) CancelRequested(context.Context, string, []string) ([]string, error) { return nil, nil }

func (unasked) Turns(context.Context, string) ([]string, error) { return nil, nil }

// A queued run is stored while the replica is marked as gone: another one has the run. Its
// readers look for it there, also if this replica learns first that it is gone.
func TestARunIsStoredAsItsLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runs.New(runs.Options{
			Store:  runs.Stores{Commit: tended{}, Runs: uncancelled{}, Logs: unread{}},
			Acts:   acts.Stores{Open: unasked{}},
			Leases: leases.Options{Table: replicas{}, Takeover: replicas{}, Many: true},
		})
		defer r.Shutdown(t.Context())
		if err := r.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		before, enlist := r.Replica(), r.EnlistLater(t.Context(), "queued")
		for r.Replica() == before {
			<-time.After(time.Second)
		}
		enlist()
		if r.Follows("queued") {
			t.Error("the run is followed here, want it to be looked for")
		}
	})
}

// takenRuns are the store's runs, which cannot be read until the replica has another name.
// They have been taken again by then.
type takenRuns struct {
	uncancelled
	before, now func() string
}

func (s *takenRuns) Run(_ context.Context, id string) (record.Run, error) {
	if s.now() == s.before() {
		return record.Run{}, record.ErrUnavailable
	}
	return record.Run{ID: id, Replica: s.now(), State: schemas.RunRunning, Attempt: 2}, nil
}

// attempted is a queue that takes no writes, and the attempts that are begun.
type attempted struct {
	queue
	attempts []int
}

func (q *attempted) BeginAttempt(_ context.Context, _ string, attempt int, _ string) error {
	q.attempts = append(q.attempts, attempt)
	return record.ErrFenced
}

// A run waits for the database when its replica is marked as gone. The replica joins again and
// takes the run, as any other one may: the run is under way, and is not taken up once more.
func TestAParkedRunIsTakenAgainByItsReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, q, stored := "", &attempted{}, &takenRuns{}
		q.next.ID, q.begin = "queued", func() error { return record.ErrUnavailable }
		r := runs.New(runs.Options{
			Store:  runs.Stores{Commit: tended{}, Queue: q, Runs: stored, Logs: unread{}},
			Acts:   acts.Stores{Open: unasked{}},
			Leases: leases.Options{Table: replicas{}, Takeover: replicas{}, Many: true},
		})
		defer r.Shutdown(t.Context())
		stored.before, stored.now = func() string { return before }, r.Replica
		if err := r.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		before = r.Replica()
		r.Enlist(t.Context(), "queued")
		r.Next(0)
		<-time.After(time.Minute)
		if r.Replica() == before || q.tries != 1 {
			t.Fatalf("the replica was not marked as gone, or the run was tried %d times", q.tries)
		}
		if len(q.attempts) > 0 {
			t.Errorf("the attempts %v were begun, want none", q.attempts)
		}
	})
}
