package readers_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/readers"
)

// Readers of a run of another process get its events, at most half a second late, from
// whatever cursor, and its end. They ask the database as often as one reader does.
func TestElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		a := process{d: d, name: "a"}
		o := a.begin("r")
		o.write(t, 5)
		o.flush()
		b := start(t, d)
		var all []*reader
		for after := range int64(8) {
			all = append(all, b.read(t, t.Context(), "r", after, 0))
		}
		pass(time.Second)
		d.asked()
		for n := range 40 {
			o.write(t, 2)
			pass(100 * time.Millisecond)
			o.flush()
			if n == 20 {
				a.tidy()
			}
		}
		if n := d.asked(); n > 2*16+16 {
			t.Errorf("the database was asked %d times in 4 s, want twice every 250 ms and a little more", n)
		}
		o.write(t, 3)
		o.finish()
		for after, r := range all {
			r.wants(t, [2]int64{int64(after) + 1, 89})
			if r.late > 500*time.Millisecond && after >= 5 {
				t.Errorf("an event came %v late, want at most half a second", r.late)
			}
		}
		if _, err := b.Follow(t.Context(), user, "r", 89, 0); !errors.Is(err, runlog.ErrEnded) {
			t.Errorf("after its end: got %v, want ErrEnded", err)
		}
		if _, err := b.Follow(t.Context(), schemas.User{ID: "other"}, "r", 0, 0); !errors.Is(err, schemas.ErrNotFound) {
			t.Errorf("another user: got %v, want not found", err)
		}
	})
}

// The owner of a run has stored its end, which another process has shown, and has not shown
// it yet itself: a reader that has seen it there is told that nothing follows.
func TestEndSeenElsewhereFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		a, b := start(t, d), start(t, d)
		o := process{d: d, name: "a"}.begin("r")
		a.takes(o)
		o.write(t, 5)
		show := o.commit()
		b.read(t, t.Context(), "r", 0, 0).wants(t, [2]int64{1, 6})
		if _, err := a.Follow(t.Context(), user, "r", 6, 0); !errors.Is(err, runlog.ErrEnded) {
			t.Errorf("after its end: got %v, want ErrEnded", err)
		}
		late := a.read(t, t.Context(), "r", 5, 0)
		show()
		late.wants(t, [2]int64{6, 6})
	})
}

// Events that leave the journal before they are read there are read where they are then,
// although none follows them.
func TestTidiedBeforeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		a := process{d: d, name: "a"}
		o := a.begin("r")
		r := start(t, d).read(t, t.Context(), "r", 0, 0)
		pass(time.Second)
		o.write(t, 5)
		o.flush()
		a.tidy()
		pass(300 * time.Millisecond)
		synctest.Wait()
		if len(r.seqs) != 5 {
			t.Errorf("got %v, want 5 events", r.seqs)
		}
		o.finish()
		r.wants(t, [2]int64{1, 6})
	})
}

// A reader continues when its run moves: from another process to a third one, to its own
// one, and away from it.
func TestMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		a, c := process{d: d, name: "a"}, process{d: d, name: "c"}
		o := a.begin("r")
		o.write(t, 5)
		o.flush()
		b := start(t, d)
		r := b.read(t, t.Context(), "r", 0, 0)
		pass(time.Second)
		o.write(t, 3)
		o.flush() // this is in a's journal when a has gone, and read where it is then
		second := c.begin("r")
		pass(time.Second)
		a.tidy()
		second.write(t, 4)
		second.flush()
		pass(time.Second)
		c.tidy()
		third := process{d: d, name: "b"}.begin("r")
		b.takes(third)
		third.write(t, 2)
		synctest.Wait()
		if n := len(r.seqs); n != 14 {
			t.Errorf("got %d events, want 14: those of its own process come at once", n)
		}
		third.flush()
		process{d: d, name: "b"}.tidy()
		last := a.begin("r")
		b.loses(third)
		last.write(t, 1)
		last.flush()
		pass(time.Second)
		last.finish()
		r.wants(t, [2]int64{1, 8}, [2]int64{1_000_001, 1_000_004}, [2]int64{2_000_001, 2_000_002}, [2]int64{3_000_001, 3_000_002})
	})
}

// A run may come to this process while its new mirror is filled.
func TestComesWhileItIsRead(t *testing.T) {
	for _, stored := range []int{0, 5} {
		synctest.Test(t, func(t *testing.T) {
			d := newDatabase()
			a := process{d: d, name: "a"}
			o := a.begin("r")
			o.write(t, stored)
			o.flush()
			b := start(t, d)
			var second *owner
			d.during = func() {
				a.tidy()
				second = process{d: d, name: "b"}.begin("r")
				b.takes(second)
			}
			r := b.read(t, t.Context(), "r", 0, 0)
			synctest.Wait()
			second.write(t, 2)
			second.finish()
			r.wants(t, [2]int64{1, int64(stored)}, [2]int64{1_000_001, 1_000_003})
		})
	}
}

// When a run comes to a process that knows the end of the earlier attempts, only those of
// its readers ask the database who have not seen that end.
func TestTakenFromTheGone(t *testing.T) {
	for _, tt := range []struct {
		name         string
		seen, before int64
		asks         bool
		missed       [2]int64
	}{
		{"all is seen", 5, 5, false, [2]int64{1, 5}},
		{"more is seen than was stored", 5, 4, false, [2]int64{1, 5}},
		{"something is missed", 5, 8, true, [2]int64{1, 8}},
		{"it is not known", 5, 0, true, [2]int64{1, 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDatabase()
				a := process{d: d, name: "a"}
				o := a.begin("r")
				o.write(t, int(tt.seen))
				o.flush()
				b := start(t, d)
				r := b.read(t, t.Context(), "r", 0, 0)
				pass(1100 * time.Millisecond) // at no instant at which the database is asked
				if missed := tt.before - tt.seen; missed > 0 {
					o.write(t, int(missed))
					o.flush()
				}
				a.tidy()
				second := process{d: d, name: "b"}.begin("r")
				second.before = tt.before
				d.asked()
				b.takes(second)
				synctest.Wait()
				if n := d.asked(); n > 0 != tt.asks {
					t.Errorf("the database was asked %d times, want that it is asked: %t", n, tt.asks)
				}
				second.write(t, 2)
				second.finish()
				r.wants(t, tt.missed, [2]int64{1_000_001, 1_000_003})
			})
		})
	}
}

// A cursor in an attempt whose events are still in the journal of a process that has gone
// leaves nothing out.
func TestCursorInJournalOfTheGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		a, c := process{d: d, name: "a"}, process{d: d, name: "c"}
		o := a.begin("r")
		o.write(t, 5)
		o.flush()
		a.tidy()
		o.write(t, 5)
		o.flush()
		second := c.begin("r") // has not tidied yet
		r := start(t, d).read(t, t.Context(), "r", 3, 0)
		pass(time.Second)
		a.tidy()
		second.write(t, 2)
		second.flush()
		pass(time.Second)
		second.finish()
		r.wants(t, [2]int64{4, 10}, [2]int64{1_000_001, 1_000_003})
	})
}

// A reader that has seen an event of an attempt of which this process knows nothing yet
// is not sent back to the start: neither by a mirror nor by an owner that has lost its run.
func TestCursorOfALaterAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		a, c := process{d: d, name: "a"}, process{d: d, name: "c"}
		o := a.begin("r")
		o.write(t, 5)
		o.flush()
		b := start(t, d)
		first := b.read(t, t.Context(), "r", 0, 0)
		suspended := start(t, d)
		suspended.takes(o)
		pass(time.Second)
		a.tidy()
		second := c.begin("r")
		second.write(t, 1)
		all := []*reader{b.read(t, t.Context(), "r", 1_000_001, 0), suspended.read(t, t.Context(), "r", 1_000_001, 0)}
		synctest.Wait()
		second.flush()
		suspended.loses(o)
		pass(time.Second)
		second.finish()
		first.wants(t, [2]int64{1, 5}, [2]int64{1_000_001, 1_000_002})
		for _, r := range all {
			r.wants(t, [2]int64{1_000_002, 1_000_002})
		}
		if r := b.read(t, t.Context(), "r", 0, 0); true {
			r.wants(t, [2]int64{1, 5}, [2]int64{1_000_001, 1_000_002})
		}
	})
}

// A reader that has seen far more of another process's run than is stored is not sent back
// to the start; one whose cursor nobody can have seen is, once a lease is over.
func TestCursorAhead(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cursor int64
		writes []int // a second apart
		want   [2]int64
	}{
		{"soon stored", 3_000, []int{1_500, 1_500, 1}, [2]int64{3_001, 3_003}},
		{"near enough", 3_000, []int{2_500, 501}, [2]int64{3_001, 3_003}},
		{"ended before", 3_000, []int{1_500}, [2]int64{1, 0}},
		{"of no event", 9_000, []int{1, 1, 1, 1, 1}, [2]int64{1, 7}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDatabase()
				o := process{d: d, name: "a"}.begin("r")
				o.write(t, 1)
				o.flush()
				b := start(t, d)
				r := b.read(t, t.Context(), "r", tt.cursor, 0)
				for _, n := range tt.writes {
					pass(time.Second)
					o.write(t, n)
					o.flush()
				}
				pass(time.Second)
				o.finish()
				r.wants(t, tt.want)
			})
		})
	}
}

// A reader whose run nobody has gets keep-alives, and has to come back after five leases.
func TestNobodyHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		o := process{d: d, name: "a"}.begin("r")
		o.write(t, 2)
		o.flush()
		b := start(t, d)
		r := b.read(t, t.Context(), "r", 0, time.Second)
		pass(time.Second)
		d.change(func() { d.alive["a"] = false })
		began := time.Now()
		<-r.done
		if took := time.Since(began); !errors.Is(r.err, runlog.ErrInterrupted) || took < 5*lease || took > 6*lease {
			t.Errorf("ended after %v with %v, want ErrInterrupted after 15 s", took, r.err)
		}
		if r.idle < 14 {
			t.Errorf("got %d keep-alives, want one each second", r.idle)
		}
		r = b.read(t, t.Context(), "r", 2, time.Second)
		pass(time.Second)
		d.change(func() { delete(d.runs, "r") })
		if <-r.done; !errors.Is(r.err, runlog.ErrInterrupted) {
			t.Errorf("the reader of a deleted run ends with %v, want ErrInterrupted", r.err)
		}
	})
}

// A reader waits while the database is away, and then gets what it missed.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		o := process{d: d, name: "a"}.begin("r")
		b := start(t, d)
		r := b.read(t, t.Context(), "r", 0, 0)
		o.write(t, 2)
		o.flush()
		pass(time.Second)
		d.change(func() { d.away = true })
		pass(20 * time.Second)
		o.write(t, 2)
		o.flush()
		process{d: d, name: "a"}.tidy()
		d.change(func() { d.away = false })
		pass(time.Second)
		o.finish()
		r.wants(t, [2]int64{1, 5})
	})
}

// When the process stops, the readers of other processes' runs leave at different times
// and are told different times to come back.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		o := process{d: d, name: "a"}.begin("r")
		o.write(t, 2)
		o.flush()
		b := start(t, d)
		var all []*reader
		for range 50 {
			all = append(all, b.read(t, t.Context(), "r", 0, 0))
		}
		synctest.Wait()
		began := time.Now()
		b.End(t.Context(), 3*time.Second)
		if took := time.Since(began); took < 2*time.Second || took > 3*time.Second {
			t.Errorf("the last of 50 readers left after %v, want just under 3 s", took)
		}
		retries := map[time.Duration]bool{}
		for _, r := range all {
			later, ok := errors.AsType[*runlog.Interrupted](r.err)
			if !ok || later.Retry < 500*time.Millisecond || later.Retry > 3*time.Second {
				t.Fatalf("ended with %v, want an interruption with a time between 500 ms and 3 s", r.err)
			}
			retries[later.Retry] = true
		}
		if len(retries) < 25 {
			t.Errorf("%d different times to come back, want almost 50", len(retries))
		}
		if r := b.read(t, t.Context(), "r", 0, 0); true {
			if <-r.done; !errors.Is(r.err, runlog.ErrInterrupted) {
				t.Errorf("a reader that comes after the end gets %v, want ErrInterrupted", r.err)
			}
		}
	})
}

// Mirrors are dropped when nobody reads them, and take a limited number of bytes.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		counts := &counter{}
		b := start(t, d, func(o *readers.Options) { o.Bytes, o.Metrics = 10_000, counts })
		large := process{d: d, name: "a"}.begin("large")
		if err := large.log.Append(runlog.Level{}, &runlog.Text{Text: strings.Repeat("x", 9_000)}); err != nil {
			t.Fatal(err)
		}
		large.flush()
		ctx, cancel := context.WithCancel(t.Context())
		r := b.read(t, ctx, "large", 0, 0)
		process{d: d, name: "a"}.begin("small")
		small := b.read(t, t.Context(), "small", 0, 0)
		pass(time.Second)
		large.write(t, 200)
		large.flush()
		if <-r.done; !errors.Is(r.err, runlog.ErrInterrupted) {
			t.Errorf("the reader of a run that takes too much ends with %v, want ErrInterrupted", r.err)
		}
		cancel()
		pass(time.Second)
		if n := counts.mirrors.get(); n != 1 {
			t.Errorf("%d mirrors are left, want that of the small run", n)
		}
		d.change(func() { delete(d.runs, "small") })
		<-small.done
		process{d: d, name: "a"}.begin("idle")
		ctx, cancel = context.WithCancel(t.Context())
		idle := b.read(t, ctx, "idle", 0, 0)
		pass(time.Second)
		cancel()
		<-idle.done
		pass(time.Second)
		if n := counts.mirrors.get(); n != 1 {
			t.Errorf("%d mirrors one second after the last reader, want 1", n)
		}
		pass(2 * time.Second)
		if n := counts.mirrors.get(); n != 0 {
			t.Errorf("%d mirrors three seconds after the last reader, want none", n)
		}
		d.asked()
		pass(10 * time.Second)
		if n := d.asked(); n != 0 {
			t.Errorf("the database was asked %d times while nothing is followed, want never", n)
		}
	})
}
