package readers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/readers"
)

const lease = 3 * time.Second

// pass lets the time of the bubble pass.
func pass(d time.Duration) { <-time.After(d) }

var user = schemas.User{ID: "user"}

// database is what the processes store: rows of a journal, segments and runs.
type database struct {
	mu       sync.Mutex
	runs     map[string]*record.Run
	alive    map[string]bool
	journal  []row
	segments map[string][]record.Segment
	away     bool
	queries  int
}

type row struct {
	n       int64
	replica string
	record.Noted
}

func newDatabase() *database {
	return &database{runs: map[string]*record.Run{}, alive: map[string]bool{}, segments: map[string][]record.Segment{}}
}

var errAway = fmt.Errorf("away: %w", record.ErrUnavailable)

func (d *database) ask() (func(), error) {
	d.mu.Lock()
	d.queries++
	if d.away {
		d.mu.Unlock()
		return nil, errAway
	}
	return d.mu.Unlock, nil
}

func (d *database) Run(_ context.Context, id string) (record.Run, error) {
	done, err := d.ask()
	if err != nil {
		return record.Run{}, err
	}
	defer done()
	if run := d.runs[id]; run != nil {
		return *run, nil
	}
	return record.Run{}, schemas.ErrNotFound
}

func (d *database) Noted(_ context.Context, replica string, n int64) (list []record.Noted, last int64, more bool, err error) {
	done, err := d.ask()
	if err != nil {
		return nil, n, false, err
	}
	defer done()
	last = n
	for _, r := range d.journal {
		if r.replica == replica && r.n > n {
			if len(list) == 4 {
				return list, last, true, nil
			}
			list, last = append(list, r.Noted), r.n
		}
	}
	return list, last, false, nil
}

func (d *database) Stored(_ context.Context, after map[string]int64) (map[string][]record.Segment, func(string) bool, error) {
	done, err := d.ask()
	if err != nil {
		return nil, nil, err
	}
	defer done()
	found, cut := map[string][]record.Segment{}, ""
	for _, id := range slices.Sorted(maps.Keys(after)) {
		for _, s := range d.segments[id] {
			if s.Last > after[id] {
				if len(found[id]) == 3 {
					cut = id
					break
				}
				found[id] = append(found[id], s)
			}
		}
	}
	return found, func(id string) bool { return id != cut }, nil
}

func (d *database) Standing(_ context.Context, ids []string) (list []record.Standing, err error) {
	done, err := d.ask()
	if err != nil {
		return nil, err
	}
	defer done()
	for _, id := range ids {
		run := d.runs[id]
		if run == nil {
			continue
		}
		s := record.Standing{ID: id, State: run.State, Attempt: run.Attempt, Replica: run.Replica, Held: d.alive[run.Replica]}
		if n := len(d.segments[id]); n > 0 {
			s.Through = d.segments[id][n-1].Last
		}
		list = append(list, s)
	}
	return list, nil
}

// next is NextSegment of the store.
func (d *database) next(_ context.Context, id string, after int64) (record.Segment, error) {
	done, err := d.ask()
	if err != nil {
		return record.Segment{}, err
	}
	defer done()
	list := slices.Clone(d.segments[id])
	for _, r := range d.journal {
		if r.RunID == id && r.replica == d.runs[id].Replica {
			list = append(list, r.Segment)
		}
	}
	for _, s := range list {
		if s.Last > after {
			return s, nil
		}
	}
	return record.Segment{}, nil
}

// change changes the database.
func (d *database) change(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

// asked returns how often the database was asked since the last call.
func (d *database) asked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.queries
	d.queries = 0
	return n
}

// process is a process that owns runs.
type process struct {
	d    *database
	name string
}

// owner is an attempt of a run in a process.
type owner struct {
	process
	id     string
	log    *eventlog.Log
	stored int64
}

// begin makes the run the process's, at its next attempt.
func (p process) begin(id string) *owner {
	o := &owner{process: p, id: id}
	p.d.change(func() {
		run := p.d.runs[id]
		if run == nil {
			run = &record.Run{ID: id, Owner: user}
			p.d.runs[id] = run
		}
		p.d.alive[p.name] = true
		run.State, run.Replica = schemas.RunRunning, p.name
		run.Attempt++
		o.log = eventlog.New(run.Attempt, func() int64 { return time.Now().UnixMilli() })
	})
	o.stored = o.log.Base()
	return o
}

// write appends n events to the log.
func (o *owner) write(t *testing.T, n int) {
	t.Helper()
	for range n {
		if err := o.log.Append(runlog.Level{}, &runlog.Text{Text: fmt.Sprint("text ", o.log.Last()+1)}); err != nil {
			t.Fatal(err)
		}
	}
}

// flush writes what is new to the journal.
func (o *owner) flush() {
	var events []runlog.Event
	for tail := o.log.Tail(o.stored); ; {
		next, _ := tail.Next()
		if events = append(events, next...); len(next) == 0 {
			break
		}
	}
	if len(events) == 0 {
		return
	}
	s := record.Segment{First: events[0].Seq, Last: events[len(events)-1].Seq, Data: eventlog.Encode(events)}
	o.stored = s.Last
	o.d.change(func() {
		o.d.journal = append(o.d.journal, row{n: int64(len(o.d.journal) + 100), replica: o.name, Noted: record.Noted{RunID: o.id, Segment: s}})
	})
}

// tidy moves what the process has in the journal to its final place.
func (p process) tidy() {
	p.d.change(func() {
		for i := range p.d.journal {
			if r := &p.d.journal[i]; r.replica == p.name {
				p.d.segments[r.RunID] = append(p.d.segments[r.RunID], r.Segment)
				r.replica = ""
			}
		}
	})
}

// finish ends the run.
func (o *owner) finish() {
	o.flush()
	end := runlog.Event{Body: &runlog.Cancelled{}}
	segments := slices.Collect(func(yield func(record.Segment) bool) {
		for s := range o.log.Seal(&end) {
			s.Data = slices.Clone(s.Data)
			if !yield(s) {
				return
			}
		}
	})
	o.d.change(func() {
		for i := range o.d.journal {
			if r := &o.d.journal[i]; r.RunID == o.id {
				r.replica = ""
			}
		}
		list := slices.DeleteFunc(o.d.segments[o.id], func(s record.Segment) bool { return s.First > o.log.Base() })
		o.d.segments[o.id] = append(list, segments...)
		run := o.d.runs[o.id]
		run.State, run.LastSeq = schemas.RunCancelled, end.Seq
	})
	o.log.Publish(end)
}

// elsewhere is a process that has no run at first.
type elsewhere struct {
	*readers.Readers
	mu  sync.Mutex
	own map[string]*owner
}

func (e *elsewhere) find(id string) *readers.Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	if o := e.own[id]; o != nil {
		return &readers.Run{Owner: user.ID, Log: o.log, Came: func() {}, Left: func(leave func() int) { leave() }}
	}
	return nil
}

// takes makes it the owner of a run.
func (e *elsewhere) takes(o *owner) {
	e.mu.Lock()
	e.own[o.id] = o
	e.mu.Unlock()
	e.Came(o.id)
}

// loses makes it forget a run.
func (e *elsewhere) loses(o *owner) {
	e.mu.Lock()
	delete(e.own, o.id)
	e.mu.Unlock()
	o.log.Close()
}

// start starts a process that only reads. It ends with the test.
func start(t *testing.T, d *database, change ...func(*readers.Options)) *elsewhere {
	t.Helper()
	e := &elsewhere{own: map[string]*owner{}}
	o := readers.Options{
		Own: e.find, Runs: d, Tail: d, Lease: lease,
		Replays: eventlog.NewReplays(eventlog.ReplayOptions{Load: d.next}),
	}
	for _, c := range change {
		c(&o)
	}
	e.Readers = readers.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); e.Watch(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return e
}

// reader is what a reader of a run has got.
type reader struct {
	seqs []int64
	idle int
	late time.Duration // the longest time from an event to its arrival
	err  error
	done chan struct{}
}

// read follows a run until its end.
func (e *elsewhere) read(t *testing.T, ctx context.Context, id string, after int64, idle time.Duration) *reader {
	t.Helper()
	seq, err := e.Follow(ctx, user, id, after, idle)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for events, err := range seq {
			if r.err = err; err != nil {
				return
			}
			if len(events) == 0 {
				r.idle++
			}
			for i := range events {
				r.seqs = append(r.seqs, events[i].Seq)
				r.late = max(r.late, time.Since(time.UnixMilli(events[i].Time)))
			}
		}
	}()
	return r
}

// wants checks the numbers of a reader that has ended.
func (r *reader) wants(t *testing.T, ranges ...[2]int64) {
	t.Helper()
	<-r.done
	var want []int64
	for _, from := range ranges {
		for n := from[0]; n <= from[1]; n++ {
			want = append(want, n)
		}
	}
	if r.err != nil || !slices.Equal(r.seqs, want) {
		t.Errorf("got %v, error %v; want %v", r.seqs, r.err, want)
	}
}

// Readers of a run of another process get its events, at most half a second late, from
// whatever cursor, and its end. They ask the database as often as one reader does.
func TestElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		a := process{d, "a"}
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

// Events that leave the journal before they are read there are read where they are then,
// although none follows them.
func TestTidiedBeforeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		a := process{d, "a"}
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

// A reader goes on when its run moves: from another process to a third one, to its own
// one, and away from it.
func TestMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		a, c := process{d, "a"}, process{d, "c"}
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
		third := process{d, "b"}.begin("r")
		b.takes(third)
		third.write(t, 2)
		synctest.Wait()
		if n := len(r.seqs); n != 14 {
			t.Errorf("got %d events, want 14: those of its own process come at once", n)
		}
		third.flush()
		process{d, "b"}.tidy()
		last := a.begin("r")
		b.loses(third)
		last.write(t, 1)
		last.flush()
		pass(time.Second)
		last.finish()
		r.wants(t, [2]int64{1, 8}, [2]int64{1_000_001, 1_000_004}, [2]int64{2_000_001, 2_000_002}, [2]int64{3_000_001, 3_000_002})
	})
}

// A cursor in an attempt whose events are still in the journal of a process that has gone
// leaves nothing out.
func TestCursorInJournalOfTheGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		a, c := process{d, "a"}, process{d, "c"}
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
		a, c := process{d, "a"}, process{d, "c"}
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

// A reader whose run nobody has gets keep-alives, and has to come back after five leases.
func TestNobodyHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		o := process{d, "a"}.begin("r")
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
		o := process{d, "a"}.begin("r")
		b := start(t, d)
		r := b.read(t, t.Context(), "r", 0, 0)
		o.write(t, 2)
		o.flush()
		pass(time.Second)
		d.change(func() { d.away = true })
		pass(20 * time.Second)
		o.write(t, 2)
		o.flush()
		process{d, "a"}.tidy()
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
		o := process{d, "a"}.begin("r")
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
		large := process{d, "a"}.begin("large")
		if err := large.log.Append(runlog.Level{}, &runlog.Text{Text: strings.Repeat("x", 9_000)}); err != nil {
			t.Fatal(err)
		}
		large.flush()
		ctx, cancel := context.WithCancel(t.Context())
		r := b.read(t, ctx, "large", 0, 0)
		process{d, "a"}.begin("small")
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
		process{d, "a"}.begin("idle")
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

// number is a number that several goroutines change.
type number struct {
	mu sync.Mutex
	n  int
}

func (n *number) add(change int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.n += change
}

func (n *number) get() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.n
}

type counter struct{ mirrors, gaps number }

func (c *counter) Mirrors(_ string, change int) { c.mirrors.add(change) }
func (c *counter) MirrorGap()                   { c.gaps.add(1) }
func (c *counter) MirrorLag(time.Duration)      {}
func (c *counter) Tail(time.Duration)           {}

// Readers that come, leave and come back with their cursors while the run moves between
// processes, the journal is tidied and the database goes away have read the stored log,
// each event once.
func TestUnion(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			random, coming := rand.New(rand.NewPCG(seed, 3)), rand.New(rand.NewPCG(seed, 4))
			d := newDatabase()
			b := start(t, d)
			processes := []process{{d, "a"}, {d, "c"}, {d, "b"}}
			o := processes[0].begin("r")
			stop := make(chan struct{})
			go func() {
				defer close(stop)
				for range 60 {
					pass(time.Duration(random.IntN(200)) * time.Millisecond)
					switch random.IntN(8) {
					case 0:
						o.tidy()
					case 1:
						d.change(func() { d.away = true })
						pass(time.Duration(random.IntN(1000)) * time.Millisecond)
						d.change(func() { d.away = false })
					case 2:
						before := o
						o = processes[random.IntN(3)].begin("r")
						before.tidy()
						if before.name == "b" {
							b.loses(before)
						}
						if o.name == "b" {
							b.takes(o)
						}
						o.write(t, 1)
					default:
						o.write(t, 1+random.IntN(20))
						if o.name != "b" || random.IntN(3) > 0 {
							o.flush()
						}
					}
				}
				o.finish()
			}()
			got := map[int64]string{}
			for after, over := int64(0), false; !over; {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(coming.IntN(3000))*time.Millisecond)
				seq, err := b.Follow(ctx, user, "r", after, 0)
				if err != nil {
					cancel()
					pass(50 * time.Millisecond)
					continue
				}
				for events, err := range seq {
					if err != nil {
						break
					}
					for _, e := range events {
						if e.Seq <= after {
							t.Fatalf("seed %d: event %d after %d", seed, e.Seq, after)
						}
						after = e.Seq
						got[e.Seq] = fmt.Sprint(e.Body)
						over = over || e.Terminal()
					}
				}
				cancel()
				pass(time.Millisecond)
			}
			<-stop
			for _, s := range d.segments["r"] {
				events, err := eventlog.Decode(s.Data)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					if got[e.Seq] == "" {
						t.Fatalf("seed %d: event %d was not read", seed, e.Seq)
					}
				}
			}
		})
	}
}
