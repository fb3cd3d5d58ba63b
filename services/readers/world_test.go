package readers_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/exchange"
	"github.com/chattray/chattray/services/readers"
)

const lease = 3 * time.Second

// pass lets the time of the bubble pass, and what happens then happen. Only one goroutine may.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

var user = schemas.User{ID: "user"}

// process is a process that owns runs, and may send their events.
type process struct {
	d    *database
	name string
	*sender
}

// owner is an attempt of a run in a process.
type owner struct {
	process
	id     string
	log    *eventlog.Log
	stored int64
	before int64 // what it knows of earlier attempts, see readers.Run
}

// begin makes the run the process's, at its next attempt, and tidies what its earlier owners
// have written before it sends anything.
func (p process) begin(id string, earlier ...process) *owner {
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
	for _, e := range earlier {
		e.tidy()
	}
	if p.sender != nil {
		p.owns(o)
	}
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
	source := o.log.Source(o.stored)
	data, more := []byte(nil), true
	for more {
		data, _, more = source.Append(data, 64<<20)
	}
	if len(data) == 0 {
		return
	}
	s := record.Segment{First: o.stored + 1, Last: source.Last(), Data: data}
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
func (o *owner) finish() { o.commit()() }

// commit stores the end of the run, which the owner's readers see once show is called.
func (o *owner) commit() (show func()) {
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
	return func() { o.log.Publish(end) }
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
		return &readers.Run{Owner: user.ID, Log: o.log, Before: o.before, Came: func() {}, Left: func(leave func() int) { leave() }}
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
	running(t, e.Watch)
	if o.Bus != nil {
		running(t, func(ctx context.Context) { o.Bus.Run(ctx, exchange.Handlers{Events: e.Take, Rows: e.LookAt}) })
	}
	return e
}

// running runs something until the end of the test.
func running(t *testing.T, do func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); do(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
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

type counter struct{ mirrors, carried, gaps number }

func (c *counter) Mirrors(via string, change int) {
	c.mirrors.add(change)
	if via == "bus" {
		c.carried.add(change)
	}
}
func (c *counter) MirrorGap()              { c.gaps.add(1) }
func (c *counter) MirrorLag(time.Duration) {}
func (c *counter) Tail(time.Duration)      {}
