package runs

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/leases"
)

// taking is a queue from which one run is taken, which the process holds from then on. Its
// gates are closed until the test opens them; nil is open.
type taking struct {
	chat
	gave             bool
	take             func() error
	heldAt, lookedAt chan struct{}
	looked           []string
}

func (q *taking) Take(context.Context, []string, string) ([]record.Taken, error) {
	if err := q.take(); err != nil || q.gave {
		return nil, err
	}
	q.gave = true
	return []record.Taken{{ID: "r"}}, nil
}

func (q *taking) Held(context.Context, string) ([]record.Taken, error) {
	wait(q.heldAt)
	return q.held, nil
}

func (q *taking) Left(_ context.Context, ids []string, _ int, _ func([]record.Left)) {
	q.looked = append(q.looked, ids...)
	wait(q.lookedAt)
}

// gone are replicas that are gone since a moment.
type gone struct{ leases.Takeover }

func (gone) ExpiredFor(context.Context, []string) (time.Duration, error) { return time.Second, nil }

func wait(gate chan struct{}) {
	if gate != nil {
		<-gate
	}
}

// The answer to a Take was lost. The next one has taken a run, which is not here before it has
// been read. The look for runs of the first one does not take it up a second time: two of the
// same attempt would call its tools twice.
func TestARunIsTakenUpOnce(t *testing.T) {
	q := &taking{chat: chat{held: []record.Taken{{ID: "r"}}}, take: func() error { return nil }}
	inRuns(t, Options{Store: Stores{Queue: q, Attempts: q}, Leases: leases.Options{Takeover: gone{}}}, func(t *testing.T, r *Runs, _ *memory) {
		q.lookedAt = make(chan struct{})
		r.unsure = true
		r.loops.Go(func() { _ = r.takeFrom(r.looping, []string{"dead"}) })
		synctest.Wait()
		r.loops.Go(func() { r.adopt(r.looping) })
		synctest.Wait()
		if want := []string{"r"}; !slices.Equal(q.looked, want) {
			t.Errorf("takes up %v, want %v", q.looked, want)
		}
		close(q.lookedAt)
		synctest.Wait()
	})
}

// While adopt looks for the runs of a Take without an answer, another Take has none. Its runs
// are looked for, too.
func TestAnswersThatAreLostOneAfterTheOther(t *testing.T) {
	q := &taking{take: func() error { return record.ErrUnavailable }}
	inRuns(t, Options{Store: Stores{Queue: q, Attempts: q}}, func(t *testing.T, r *Runs, _ *memory) {
		q.heldAt = make(chan struct{})
		r.unsure = true
		r.loops.Go(func() { r.adopt(r.looping) })
		synctest.Wait()
		r.loops.Go(func() { _ = r.takeFrom(r.looping, []string{"dead"}) })
		synctest.Wait()
		close(q.heldAt)
		synctest.Wait()
		if r.mu.Lock(); !r.unsure {
			t.Error("nothing looks for the runs of the second Take")
		}
		r.mu.Unlock()
	})
}
