package runs

import (
	"context"
	"log/slog"
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

// onLog does something when something is logged.
type onLog func()

func (onLog) Enabled(context.Context, slog.Level) bool { return true }

func (f onLog) Handle(context.Context, slog.Record) error { f(); return nil }

func (f onLog) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f onLog) WithGroup(string) slog.Handler { return f }

// The answer to a Take was lost, and the look for its runs comes while a run is given up, or
// while the start of a queued one has failed. Both wait for the database; neither is taken up
// as one that was taken: it would work beside the attempt that follows.
func TestARunThatIsGivenUpIsNotAdopted(t *testing.T) {
	for name, giveUp := range map[string]func(t *testing.T, r *Runs, adopt func()){
		"a run under way": func(t *testing.T, r *Runs, adopt func()) {
			run := r.reads(t, "r", 1)
			wr := r.writer(run)
			r.Logger = slog.New(onLog(adopt))
			r.giveUp(run, wr, record.ErrUnavailable)
		},
		"a queued one": func(t *testing.T, r *Runs, adopt func()) {
			run := r.reads(t, "r", 0)
			run.release = adopt
			r.startQueued(t.Context(), run)
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := &taking{chat: chat{held: []record.Taken{{ID: "r"}}, begin: func() error { return record.ErrUnavailable }}, take: func() error { return nil }}
			inRuns(t, Options{Store: Stores{Queue: q, Attempts: q}}, func(t *testing.T, r *Runs, _ *memory) {
				looked := 0
				giveUp(t, r, func() { looked++; r.adopt(r.looping) })
				if looked == 0 || len(q.looked) > 0 {
					t.Errorf("looked %d times, and takes up %v, want nothing", looked, q.looked)
				}
				if _, waits := r.parked["r"]; !waits || r.find("r") != nil {
					t.Error("the run does not wait for the database")
				}
			})
		})
	}
}
