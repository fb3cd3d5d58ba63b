package leases_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/leases"
)

const lease = 3 * time.Second

// table is a table in memory; the time of the bubble is the database's.
type table struct {
	mu         sync.Mutex
	rows       map[string]*row
	unfinished []string
	away       bool
	silent     bool          // the next renewal gets no answer
	slow       time.Duration // what a call takes that comes first, or after one that was given up
	far        time.Duration // what each call takes
	cold       bool
	closed     bool     // nobody can join
	marked     []string // replicas marked as gone, in order
}

type row struct {
	record.Replica
	gone, draining bool
}

func newTable() *table { return &table{rows: map[string]*row{}} }

var errAway = fmt.Errorf("away: %w", record.ErrUnavailable)

func (t *table) setAway(away bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.away = away
}

// markGone marks a live replica as gone.
func (t *table) markGone(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[id].gone = true
}

func (t *table) markedGone() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.marked)
}

func (t *table) live(other *row) bool { return !other.gone && time.Now().Before(other.Until) }

// connect waits as a caller does who has no connection any more.
func (t *table) connect(ctx context.Context) error {
	t.mu.Lock()
	wait := t.far
	if t.cold {
		wait += t.slow
	}
	t.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cold = ctx.Err() != nil
	return ctx.Err()
}

func (t *table) Join(ctx context.Context, me record.Replica, d time.Duration) (inTheWay []record.Replica, err error) {
	if err := t.connect(ctx); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away || t.closed {
		return nil, errAway
	}
	for _, other := range t.rows {
		if t.live(other) && other.Alone != me.Alone {
			inTheWay = append(inTheWay, other.Replica)
		}
	}
	if len(inTheWay) > 0 {
		return inTheWay, nil
	}
	for _, other := range t.rows {
		other.gone = other.gone || me.Alone
	}
	me.Until = time.Now().Add(d)
	t.rows[me.ID] = &row{Replica: me}
	return nil, nil
}

func (t *table) Renew(ctx context.Context, id string, d time.Duration) (live int, err error) {
	t.mu.Lock()
	silent := t.silent
	t.silent = false
	t.mu.Unlock()
	if silent {
		<-ctx.Done()
		t.mu.Lock()
		t.cold = true
		t.mu.Unlock()
		return 0, errAway
	}
	if err := t.connect(ctx); err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away {
		return 0, errAway
	}
	if t.rows[id].gone {
		return 0, nil
	}
	t.rows[id].Until = time.Now().Add(d)
	for _, other := range t.rows {
		if t.live(other) {
			live++
		}
	}
	return live, nil
}

func (t *table) Leave(_ context.Context, id string) error {
	t.markGone(id)
	return nil
}

func (t *table) Drain(_ context.Context, id string) (others bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away {
		return false, errAway
	}
	t.rows[id].draining = true
	for _, other := range t.rows {
		others = others || t.live(other) && !other.draining
	}
	return others, nil
}

func (t *table) Served(_ context.Context, id string) (served bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away {
		return false, errAway
	}
	for _, row := range t.rows {
		served = served || row.ID != id && t.live(row)
	}
	return served, nil
}

func (t *table) LetGo(context.Context, string, []string) error { return nil }

func (t *table) Expired(context.Context) (expired []string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away {
		return nil, errAway
	}
	for id, other := range t.rows {
		if !other.gone && !t.live(other) {
			expired = append(expired, id)
		}
	}
	return expired, nil
}

func (t *table) MarkGone(_ context.Context, expired []string) (gone []string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range expired {
		if other := t.rows[id]; !other.gone && !t.live(other) {
			other.gone = true
			gone = append(gone, id)
		}
	}
	t.unfinished, t.marked = append(t.unfinished, gone...), append(t.marked, gone...)
	return gone, nil
}

func (t *table) Unfinished(context.Context) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	unfinished := t.unfinished
	t.unfinished = nil
	return unfinished, nil
}

// letGo leaves a run without an owner.
func (t *table) letGo() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unfinished = append(t.unfinished, "")
}

func (t *table) ExpiredFor(_ context.Context, replicas []string) (longest time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range replicas {
		longest = max(longest, time.Since(t.rows[id].Until))
	}
	return longest, nil
}

// replica is a member with its loops.
type replica struct {
	*leases.Leases
	end func()
	log bytes.Buffer // to be read after end

	mu    sync.Mutex
	lost  []*leases.Lease
	taken []string
}

// wasLost and hasTaken record the calls of the loops.
func (r *replica) wasLost() []*leases.Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lost)
}

func (r *replica) hasTaken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.taken)
}

// start joins and runs the loops until the end of the test.
func start(t *testing.T, rows *table, many bool) *replica {
	t.Helper()
	r := new(replica)
	r.Leases = leases.New(context.Background(), leases.Options{
		Table: rows, Takeover: rows, Many: many, Name: "host", Time: lease, Logger: slog.New(slog.NewTextHandler(&r.log, nil)),
	})
	if err := r.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() {
		r.Renew(ctx, func(l *leases.Lease) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.lost = append(r.lost, l)
		})
	})
	loops.Go(func() {
		r.Look(ctx, func(_ context.Context, from []string) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.taken = append(r.taken, from...)
			return nil
		})
	})
	r.end = sync.OnceFunc(func() { cancel(); loops.Wait() })
	t.Cleanup(r.end)
	return r
}

// passes lets time pass in a bubble.
func passes(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the time of the bubble: it passes at once
	synctest.Wait()
}

// held calls Hold and returns a channel for its result.
func held(ctx context.Context) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- leases.Hold(ctx) }()
	synctest.Wait()
	return answer
}

func answers(t *testing.T, what string, answer <-chan error, want error) {
	t.Helper()
	select {
	case err := <-answer:
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	default:
		t.Errorf("%s: no answer, want %v", what, want)
	}
}

func waits(t *testing.T, what string, answer <-chan error) {
	t.Helper()
	select {
	case err := <-answer:
		t.Errorf("%s: got %v, want it to wait", what, err)
	default:
	}
}

// While it is not known whether a lease is valid nothing is done; the next
// renewal decides.
func TestHoldWaitsForTheRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		r := start(t, rows, true)
		ctx, cancel := context.WithCancel(r.Current().Context())
		passes(time.Minute)
		answers(t, "a good lease", held(ctx), nil)
		rows.setAway(true)
		passes(lease / 3)
		answers(t, "one renewal late", held(ctx), nil)
		passes(lease)
		again, cancelled := held(ctx), held(ctx)
		waits(t, "no renewal for a lease", again)
		rows.setAway(false)
		passes(lease / 3)
		answers(t, "renewed", again, nil)
		answers(t, "renewed", cancelled, nil)
		rows.setAway(true)
		passes(lease)
		cancelled = held(ctx)
		cancel()
		synctest.Wait()
		answers(t, "a run that is cancelled while it waits", cancelled, context.Canceled)
		answers(t, "what is of no run", held(t.Context()), nil)
	})
}

// A renewal that gets no answer costs no lease: the next one is sent in time.
func TestRenewalWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		r := start(t, rows, true)
		passes(time.Minute)
		for range 10 {
			rows.mu.Lock()
			rows.silent = true
			rows.mu.Unlock()
			for range 400 {
				passes(10 * time.Millisecond)
				answers(t, "a deed", held(r.Current().Context()), nil)
				if t.Failed() {
					return
				}
			}
		}
	})
}

// Where a new connection takes longer than a renewal waits, as on a machine that is too
// busy, a replica that lost its connection renews its lease all the same, and one that was
// marked as gone meanwhile joins again.
func TestRenewalThatConnectsSlowly(t *testing.T) {
	for _, gone := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			rows := newTable()
			r := start(t, rows, true)
			passes(time.Minute)
			first := r.Current()
			rows.mu.Lock()
			rows.slow, rows.silent = 2*lease, true
			rows.mu.Unlock()
			passes(lease / 2)
			if gone {
				rows.markGone(first.ID)
			}
			passes(20 * lease)
			answers(t, "a deed", held(r.Current().Context()), nil)
			if again := r.Current() != first; again != gone {
				t.Errorf("joined again: %t, want %t", again, gone)
			}
		})
	}
}

// Where each answer takes longer than a renewal waits at first, as from a database that is far
// away, renewals are not given up again and again: after the first ones the lease remains valid.
func TestRenewalThatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		rows.far, rows.slow = lease*2/5, lease
		r := start(t, rows, true)
		passes(10 * lease)
		for range 2000 {
			passes(10 * time.Millisecond)
			answers(t, "a deed", held(r.Current().Context()), nil)
			if t.Failed() {
				return
			}
		}
	})
}

// A replica that was marked as gone stops its runs, and joins again with
// another id.
func TestMarkedAsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		r := start(t, rows, true)
		before := r.Current()
		rows.setAway(true)
		passes(lease)
		waiting := held(before.Context())
		rows.markGone(before.ID)
		rows.setAway(false)
		passes(lease / 3)
		answers(t, "a deed of the lost lease", waiting, record.ErrFenced)
		if cause := context.Cause(before.Context()); !errors.Is(cause, record.ErrFenced) || !before.Lost() {
			t.Errorf("the lost lease ended with %v, want record.ErrFenced", cause)
		}
		after := r.Current()
		if lost := r.wasLost(); len(lost) != 1 || lost[0] != before || after == before || after.ID == before.ID {
			t.Errorf("lost %v, now %s, want the lease %s to be lost and another one", r.wasLost(), after.ID, before.ID)
		}
		answers(t, "a deed of the new lease", held(after.Context()), nil)
		answers(t, "a deed of the lost one", held(before.Context()), record.ErrFenced)
	})
}

// A process that was alone and is replaced says once that it is of no use any longer.
func TestReplacedInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		r := start(t, rows, false)
		rows.markGone(r.Current().ID)
		passes(10 * lease)
		rows.setAway(true)
		passes(lease)
		rows.setAway(false)
		passes(lease)
		r.end()
		if log := r.log.String(); strings.Count(log, "a later process serves the database") != 1 || strings.Contains(log, "other replicas") {
			t.Errorf("the log does not say once that another process serves the database:\n%s", log)
		}
		if log := r.log.String(); strings.Contains(log, "the lease is renewed") {
			t.Errorf("the log says that the lease is renewed, want that it was lost:\n%s", log)
		}
	})
}

// A process that was replaced says so when no other one has served the database for some time:
// the later one has ended. An outage, in which nobody can renew a lease, does not count.
func TestDeserted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		old := start(t, rows, false)
		deserted := func() bool {
			select {
			case <-old.Deserted():
				return true
			default:
				return false
			}
		}
		passes(10 * lease)
		later := start(t, rows, false)
		passes(10 * lease)
		rows.setAway(true)
		passes(10 * lease)
		rows.setAway(false)
		passes(lease)
		if !old.Current().Lost() || deserted() {
			t.Fatalf("the old one is replaced: %t, deserted: %t; want true, false", old.Current().Lost(), deserted())
		}
		later.end() // without a word
		passes(5 * lease)
		if deserted() {
			t.Error("deserted within five leases, in which the later one may be started again")
		}
		passes(2 * lease)
		if !deserted() {
			t.Error("not deserted, want that nobody serves the database to be found")
		}
	})
}

// A replica that is gone and cannot join again says so, also after a warning that its lease
// could not be renewed.
func TestGoneAndCannotJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		r := start(t, rows, true)
		rows.setAway(true)
		passes(lease)
		rows.mu.Lock()
		rows.closed = true
		rows.mu.Unlock()
		rows.markGone(r.Current().ID)
		rows.setAway(false)
		passes(lease)
		r.end()
		if n := strings.Count(r.log.String(), "gone=true"); n != 1 {
			t.Errorf("the log says %d times that the replica is gone and cannot join, want once:\n%s", n, r.log.String())
		}
	})
}

// The log says once that the lease could not be renewed, and once that it is renewed again.
func TestOutageInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		r := start(t, rows, true)
		rows.setAway(true)
		passes(lease)
		rows.setAway(false)
		passes(lease)
		r.end()
		for _, line := range []string{"the lease could not be renewed", "the lease is renewed again"} {
			if n := strings.Count(r.log.String(), line); n != 1 {
				t.Errorf("the log says %d times %q, want once:\n%s", n, line, r.log.String())
			}
		}
	})
}

// A single process continues while the database is unavailable, and stops when
// the next one starts.
func TestSingleProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		first := start(t, rows, false)
		rows.setAway(true)
		passes(time.Minute)
		answers(t, "while the database is not available", held(first.Current().Context()), nil)
		rows.setAway(false)
		second := start(t, rows, false)
		passes(lease)
		if !first.Current().Lost() || second.Current().Lost() {
			t.Errorf("lost: the first %v, the second %v; want the first one's alone", first.Current().Lost(), second.Current().Lost())
		}
		answers(t, "the first one", held(first.Current().Context()), record.ErrFenced)
		passes(time.Minute)
		if !first.Current().Lost() || second.Current().Lost() {
			t.Error("the first process joined again, want it to stop")
		}
	})
}

// A replica whose own renewals were not in time for a whole lease marks no
// other one as gone: after an outage all may renew first.
func TestMarkGoneNeedsOwnRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		a, b := start(t, rows, true), start(t, rows, true)
		passes(time.Minute)
		rows.setAway(true)
		passes(time.Minute)
		rows.setAway(false)
		passes(time.Minute)
		if gone := rows.markedGone(); len(gone) > 0 {
			t.Errorf("%v were marked as gone after an outage, want none", gone)
		}
		if a.Live() != 2 || b.Live() != 2 {
			t.Errorf("there are %d and %d replicas, want both to say 2", a.Live(), b.Live())
		}
		dead := b.Current().ID
		b.end()
		died := time.Now()
		for len(a.hasTaken()) == 0 {
			passes(lease / 100)
		}
		if took := time.Since(died); took > lease+lease/6 {
			t.Errorf("found after %v, want at most the lease and a look", took)
		}
		if !slices.Equal(a.hasTaken(), []string{dead}) {
			t.Errorf("taken from %v, want %s", a.hasTaken(), dead)
		}
	})
}

func TestJoinWaitsForThoseInTheWay(t *testing.T) {
	for _, many := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			rows := newTable()
			other := start(t, rows, !many)
			passes(lease / 3)
			err := leases.New(context.Background(), leases.Options{Table: rows, Takeover: rows, Many: many, Time: lease}).Join(t.Context())
			if err == nil || !strings.Contains(err.Error(), other.Current().ID) {
				t.Errorf("many %v: error %v, want one that names %s", many, err, other.Current().ID)
			}
			other.end() // as after a kill: its lease expires
			started := time.Now()
			start(t, rows, many)
			if took := time.Since(started); took > lease+lease/6 {
				t.Errorf("many %v: waited for %v, want at most a lease", many, took)
			}
		})
	}
}

// The database may break a connection just when a process starts; a process ends if it
// stays away.
func TestJoinWhileTheDatabaseIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		rows.setAway(true)
		if err := leases.New(context.Background(), leases.Options{Table: rows, Takeover: rows, Many: true, Time: lease}).Join(t.Context()); !errors.Is(err, record.ErrUnavailable) {
			t.Errorf("error %v, want that the database is not available", err)
		}
		back := time.AfterFunc(lease/6, func() { rows.setAway(false) })
		defer back.Stop()
		start(t, rows, true)
	})
}

func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		r := start(t, rows, true)
		r.end()
		r.Leave()
		start(t, rows, false) // at once
		leases.New(context.Background(), leases.Options{}).Leave()
	})
}

// The last replica can hand its runs over to nobody, and a single process hands
// over nothing.
func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		a, b := start(t, rows, true), start(t, rows, true)
		if !a.HandOver(t.Context()) || b.HandOver(t.Context()) {
			t.Error("want the first one that leaves to hand over, and not the other one")
		}
		rows.setAway(true)
		if a.HandOver(t.Context()) {
			t.Error("want nothing to be handed over while the database is not available")
		}
		if start(t, newTable(), false).HandOver(t.Context()) {
			t.Error("want a process that is alone to hand nothing over")
		}
	})
}
