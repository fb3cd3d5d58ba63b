package readers

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/eventlog"
)

const (
	// keepMirror is how long a mirror without readers is kept.
	keepMirror = 2 * time.Second
	// maxMirrors bounds their number.
	maxMirrors = 20_000
	// givenUp is after how many leases without an owner the readers of a run leave.
	givenUp = 5
	// fillWait bounds how long a reader waits for the first events of a mirror.
	fillWait = 5 * time.Second
)

// attempt is the log of one attempt in a mirror. Next is set before the log is closed
// without a terminal event; nil then means that the mirror has ended.
type attempt struct {
	*eventlog.Log
	number int
	next   *attempt
}

// mirror is a run of another process, for its readers here: the logs of its attempts
// from the one at which they came. Events are appended only in order, whoever brings
// them: those that it has are skipped, and those after a gap wait until the gap is
// filled from the store. What the store has is whole, so a later attempt begins only
// with events from there, after all that is stored of the one before. The first attempt of
// a mirror may begin with the events of its owner.
type mirror struct {
	id   string
	done chan struct{} // closed when it has its first attempt or an error

	feeding sync.Mutex // held while events are appended
	size    int64      // what it counts of the bytes of all; guarded by mirrors.mu

	mu      sync.Mutex
	head    *attempt // the newest attempt; nil until it has been filled
	err     error    // why it has ended
	ended   bool     // nothing more is appended
	readers int
	idle    time.Time // since when it has no readers
	state   schemas.RunState
	number  int // the attempt at which the run is
	replica string
	held    time.Time // when its replica's lease was last seen to be valid
	missing bool      // there are events that it does not have
	carried
}

// current returns the newest attempt.
func (m *mirror) current() *attempt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.head
}

// next returns the attempt after one whose log is closed; nil at the mirror's end.
func (m *mirror) next(a *attempt) *attempt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return a.next
}

// queued reports whether the run waits for its turn.
func (m *mirror) queued() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state == schemas.RunQueued
}

// fault returns why the mirror has ended, nil if the run is this process's now.
func (m *mirror) fault() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// last returns the number of the newest event, and false for a mirror without events.
func (m *mirror) last() (n int64, filled bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.head == nil {
		return 0, false
	}
	return m.head.Last(), true
}

// live reports whether events may still be appended.
func (m *mirror) live() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.ended
}

// wants reports whether the mirror has to be filled from the store.
func (m *mirror) wants() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.ended && (m.missing || m.head == nil) && !m.awaitsFirst()
}

// miss notes that there are events that the mirror does not have.
func (m *mirror) miss() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.missing, m.first = true, time.Time{}
}

// attemptOf returns the attempt that an event belongs to.
func attemptOf(seq int64) int { return int((seq-1)/runlog.AttemptSpan) + 1 }

// mirrors are the mirrors of a process. It is safe for concurrent use.
type mirrors struct {
	Options
	wake chan struct{} // some have to be filled
	ask  chan struct{} // some have to be asked for

	mu      sync.Mutex
	all     map[string]*mirror
	bytes   int64
	stopped bool // nothing feeds them any more

	tail tail
}

func newMirrors(o Options) *mirrors {
	return &mirrors{Options: o, wake: make(chan struct{}, 1), ask: make(chan struct{}, 1), all: make(map[string]*mirror), tail: tail{rows: make(map[string]int64)}}
}

// open returns the mirror of an unfinished run for a reader, once it has events or is
// known to have none; nil if the run is this process's now. The reader calls leave at
// its end.
func (s *mirrors) open(ctx context.Context, stored record.Run) (*mirror, error) {
	m, err := s.join(stored)
	if err != nil {
		return nil, err
	}
	if run := s.Own(m.id); run != nil && !run.Log.Given() { // it came here before the mirror was made
		s.came(m.id)
	}
	wait, cancel := context.WithTimeoutCause(ctx, fillWait, record.ErrUnavailable)
	defer cancel()
	select {
	case <-m.done:
	case <-wait.Done():
		err = context.Cause(wait)
	}
	if err == nil && m.current() != nil {
		return m, nil
	}
	s.leave(m)
	return nil, cmp.Or(err, m.fault())
}

// join adds a reader to the mirror of a run, which is made if there is none.
func (s *mirrors) join(stored record.Run) (*mirror, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.all[stored.ID]
	if m == nil && s.stopped {
		return nil, runlog.ErrInterrupted
	}
	if m == nil {
		if len(s.all) >= maxMirrors || s.bytes >= s.Bytes {
			return nil, errFull
		}
		m = &mirror{
			id: stored.ID, done: make(chan struct{}), state: stored.State, number: stored.Attempt, replica: stored.Replica,
			held: time.Now(), missing: true,
		}
		s.all[m.id] = m
		s.Metrics.Mirrors(viaLog, 1)
		if !s.askFirst(m) {
			ring(s.wake)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readers++
	return m, nil
}

// ring tells the goroutine that waits for it.
func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// leave ends the reading of a mirror.
func (s *mirrors) leave(m *mirror) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.readers--; m.readers == 0 {
		m.idle = time.Now()
	}
}

// came ends the mirror of a run that is this process's now.
func (s *mirrors) came(id string) {
	if m := s.of(id); m != nil {
		s.end(m, nil)
	}
}

// of returns the mirror of a run, nil for none.
func (s *mirrors) of(id string) *mirror {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// every returns all mirrors.
func (s *mirrors) every() []*mirror {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.AppendSeq(make([]*mirror, 0, len(s.all)), maps.Values(s.all))
}

// end ends a mirror: its readers leave with err, or look for the run again if it is nil.
func (s *mirrors) end(m *mirror, err error) {
	m.mu.Lock()
	ended, head, replica := m.ended, m.head, m.replica
	if m.ended = true; !ended {
		m.err = err
	}
	m.mu.Unlock()
	if !ended {
		s.forget(m)
		if s.Bus != nil && head != nil {
			s.Bus.Leave(replica, m.id)
		}
		if head == nil {
			close(m.done)
		} else {
			head.Close()
		}
	}
}

// forget drops a mirror. Its readers may still read what it has.
func (s *mirrors) forget(m *mirror) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[m.id] == m {
		delete(s.all, m.id)
		s.bytes -= m.size
		m.mu.Lock()
		defer m.mu.Unlock()
		s.Metrics.Mirrors(m.via(), -1)
	}
}

// list returns the mirrors; those that nobody has read for a while are dropped.
func (s *mirrors) list() []*mirror {
	return slices.DeleteFunc(s.every(), func(m *mirror) bool {
		m.mu.Lock()
		idle, ended := m.readers == 0 && time.Since(m.idle) >= keepMirror, m.ended
		m.mu.Unlock()
		switch {
		case idle && !ended:
			s.end(m, runlog.ErrInterrupted)
		case idle:
			s.forget(m)
		}
		return idle || ended
	})
}

// feed appends segments of an attempt of the run. Whole says that they come from the
// store, with all that is stored before them. It reports whether the mirror then has all
// events up to the last one of the segments, of which what cannot be read is none.
func (s *mirrors) feed(m *mirror, number int, segments []byte, whole bool) bool {
	m.feeding.Lock()
	defer m.feeding.Unlock()
	head := m.current()
	if head == nil && !whole || head != nil && number < head.number || !m.live() {
		return true
	}
	if head == nil || number > head.number {
		if !whole {
			return false
		}
		head = s.begin(m, number)
	}
	before := head.Bytes()
	last, err := head.Feed(segments)
	s.grow(m, head.Bytes()-before)
	if last.Seq > 0 {
		s.Metrics.MirrorLag(time.Since(time.UnixMilli(last.Time)))
	}
	switch {
	case last.Terminal:
		m.mu.Lock()
		m.ended = true
		m.mu.Unlock()
	case errors.Is(err, eventlog.ErrGap), err != nil && !whole: // the store has what did not arrive
		return false
	case err != nil:
		s.Logger.Warn("could not follow a run of another process", "run_id", m.id, "error", err)
		s.end(m, runlog.ErrInterrupted)
	}
	return true
}

// begin begins the log of an attempt after that of the one before. If the mirror has ended
// meanwhile, nobody reads what is returned.
func (s *mirrors) begin(m *mirror, number int) *attempt {
	next := &attempt{Log: eventlog.New(number, func() int64 { return time.Now().UnixMilli() }), number: number}
	m.mu.Lock()
	if m.ended { // end has let its readers go
		m.mu.Unlock()
		return next
	}
	before := m.head
	m.head = next
	if before != nil {
		before.next = next
	}
	m.due = true
	m.mu.Unlock()
	ring(s.ask)
	if before == nil {
		close(m.done)
		return next
	}
	before.Close()
	s.grow(m, -before.Bytes()) // only readers that are late still hold it
	return next
}

// gap notes that events are missing.
func (s *mirrors) gap(m *mirror) {
	s.Metrics.MirrorGap()
	m.miss()
}

// grow counts the bytes of a mirror. One that grows over the limit of all ends.
func (s *mirrors) grow(m *mirror, n int) {
	s.mu.Lock()
	if s.all[m.id] == m {
		m.size += int64(n)
		s.bytes += int64(n)
	}
	full := n > 0 && s.bytes > s.Bytes
	s.mu.Unlock()
	if full {
		s.end(m, runlog.ErrInterrupted)
	}
}
