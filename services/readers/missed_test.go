package readers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/exchange"
	"github.com/chattray/chattray/services/readers"
)

// The attempts before the one that is followed take no room: a run may move many times.
func TestBytesOfManyAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		b := start(t, d, func(o *readers.Options) { o.Bytes = 25_000 })
		a := process{d: d, name: "a"}
		o := a.begin("r")
		r := b.read(t, t.Context(), "r", 0, 0)
		var want [][2]int64
		for range 5 {
			if err := o.log.Append(runlog.Level{}, &runlog.Text{Text: strings.Repeat("x", 10_000)}); err != nil {
				t.Fatal(err)
			}
			o.flush()
			pass(time.Second)
			want = append(want, [2]int64{o.log.Last(), o.log.Last()})
			o = a.begin("r", a)
		}
		o.finish()
		r.wants(t, append(want, [2]int64{5_000_001, 5_000_001})...)
	})
}

// When a run moves, readers that have seen all of its earlier attempt do not read that again.
func TestManyReadersOfARunThatMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		b := start(t, d)
		a := process{d: d, name: "a"}
		o := a.begin("r")
		o.write(t, 3)
		o.flush()
		var all []*reader
		for range 50 {
			all = append(all, b.read(t, t.Context(), "r", 0, 0))
		}
		pass(time.Second)
		d.asked()
		o = process{d: d, name: "c"}.begin("r", a)
		o.write(t, 1)
		o.flush()
		pass(time.Second)
		if n := d.asked(); n > 40 {
			t.Errorf("the database was asked %d times for 50 readers, want as often as for one", n)
		}
		o.finish()
		for _, r := range all {
			r.wants(t, [2]int64{1, 3}, [2]int64{1_000_001, 1_000_002})
		}
	})
}

// coming is a database whose run comes to a process as its row is read for the second time:
// by a reader that has found it elsewhere.
type coming struct {
	*database
	reads int
	came  func()
}

func (c *coming) Run(ctx context.Context, id string) (record.Run, error) {
	run, err := c.database.Run(ctx, id)
	if c.reads++; c.reads == 2 {
		c.came()
	}
	return run, err
}

// A run may come to this process before it has a mirror here.
func TestComesBeforeItsMirror(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &coming{database: newDatabase()}
		a := process{d: d.database, name: "a"}
		a.begin("r")
		b := start(t, d.database, func(o *readers.Options) { o.Runs = d })
		var second *owner
		d.came = func() {
			second = process{d: d.database, name: "b"}.begin("r")
			b.takes(second)
		}
		r := b.read(t, t.Context(), "r", 0, 0)
		synctest.Wait()
		second.write(t, 2)
		synctest.Wait()
		if want := []int64{1_000_001, 1_000_002}; !slices.Equal(r.seqs, want) {
			t.Errorf("got %v at once, want %v", r.seqs, want)
		}
		second.finish()
		r.wants(t, [2]int64{1_000_001, 1_000_003})
	})
}

// The reader of a run that has ended, and of whose end nothing is left, has to come back.
func TestEndsWithoutALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		b := start(t, d)
		o := process{d: d, name: "a"}.begin("r")
		o.write(t, 1)
		o.flush()
		r := b.read(t, t.Context(), "r", 0, 0)
		pass(time.Second)
		d.change(func() { d.runs["r"].State = schemas.RunCancelled })
		pass(2 * time.Second)
		select {
		case <-r.done:
		default:
			t.Fatal("the reader waits still")
		}
		if !errors.Is(r.err, runlog.ErrInterrupted) || !slices.Equal(r.seqs, []int64{1}) {
			t.Errorf("got %v, error %v; want what was stored and ErrInterrupted", r.seqs, r.err)
		}
	})
}

// What could not be read while the database was away is read afterwards, although nothing
// follows it.
func TestAwayWhileItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		b := start(t, d)
		a := process{d: d, name: "a"}
		a.begin("r")
		r := b.read(t, t.Context(), "r", 0, 0)
		pass(time.Second)
		o := process{d: d, name: "c"}.begin("r", a)
		o.write(t, 1)
		o.flush()
		d.change(func() {
			d.during = func() { d.change(func() { d.away = true }) }
		})
		pass(time.Second)
		d.change(func() { d.away = false })
		pass(time.Second)
		if !slices.Equal(r.seqs, []int64{1_000_001}) {
			t.Errorf("got %v, want the event of the second attempt", r.seqs)
		}
		o.finish()
		r.wants(t, [2]int64{1_000_001, 1_000_002})
	})
}

// An event that was stored while messages were lost is read from the database once that is
// known, also if the journal has been read past it for other runs.
func TestStoredWhileMessagesAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{}
		d, a, b, counts := connected(t, w)
		polled := process{d: d, name: "a"}.begin("polled") // its events are not sent
		carried := a.begin("carried")
		other := b.read(t, t.Context(), "polled", 0, 0)
		r := b.read(t, t.Context(), "carried", 0, 0)
		pass(3 * time.Second)
		if n := counts.carried.get(); n != 1 {
			t.Fatalf("%d mirrors are fed by the owner, want 1", n)
		}
		w.loses(1)
		carried.write(t, 1)
		carried.flush()
		polled.write(t, 1)
		polled.flush()
		pass(4 * time.Second)
		if len(r.seqs) != 1 || len(other.seqs) != 1 {
			t.Errorf("got %v, and %v of the other run; want one event of each", r.seqs, other.seqs)
		}
		w.loses(0)
		carried.finish()
		polled.finish()
		r.wants(t, [2]int64{1, 2})
		other.wants(t, [2]int64{1, 2})
	})
}

// After three gaps in a row the database feeds a mirror, before its owner is known to be
// silent.
func TestGapsInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{}
		_, a, b, counts := connected(t, w)
		o := a.begin("r")
		r := b.read(t, t.Context(), "r", 0, 0)
		pass(2 * time.Second)
		w.loses(1)
		for n := range 3 {
			if counts.carried.get() != 1 {
				t.Errorf("after %d gaps the owner does not feed the mirror, want that it does", n)
			}
			b.Take("a", []exchange.Item{{ID: "r", Attempt: 1, After: 100}})
			pass(110 * time.Millisecond)
		}
		if counts.carried.get() != 0 {
			t.Error("after three gaps the owner feeds the mirror, want the database")
		}
		w.loses(0)
		o.finish()
		r.wants(t, [2]int64{1, 1})
	})
}

// A reader of an ended run that leaves before it has read anything gives its turn back.
func TestTurnOfAReaderThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		b := start(t, d, func(o *readers.Options) { o.PerUser = 1 })
		o := process{d: d, name: "a"}.begin("r")
		o.finish()
		ctx, leave := context.WithCancel(t.Context())
		if _, err := b.Follow(ctx, user, "r", 0, 0); err != nil {
			t.Fatal(err)
		}
		leave()
		b.read(t, t.Context(), "r", 0, 0).wants(t, [2]int64{1, 1})
	})
}
