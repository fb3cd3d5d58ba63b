// Package eventlog owns the event logs of runs: the log of a run under way with the
// bell that wakes its readers, the form in which logs are stored, the group commit
// that stores them, and reading stored logs. It does not interpret events.
package eventlog

import (
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// Limits of one attempt's log. MaxBytes counts the bodies of its events.
const (
	maxEvents  = runlog.AttemptSpan - 1
	MaxBytes   = 64 << 20
	maxFrames  = 1 << 20 // bytes of frames that are kept for further readers
	arenaChunk = 1 << 10
	arenaMax   = 32 << 10
	// frameRoom is the approximate size of a frame without the body, in bytes.
	frameRoom = 128
)

// ErrFull is the error of an append over the limits.
var ErrFull = errors.New("the run's log is full")

// Log is the event log of one attempt: one writer appends, any number of
// Readers follow, each with its own cursor. Readers are woken by a one-slot
// bell that carries nothing and then read the log, so nothing is dropped,
// doubled or reordered, and a slow reader costs nobody else anything.
type Log struct {
	frame func(dst []byte, e *runlog.Event) []byte
	now   func() int64

	mu     sync.Mutex
	base   int64 // the number before the first event's
	events []runlog.Event
	stored int // how many of events are in the store
	bytes  int
	arena  []byte
	framed int // bytes of the events' frames
	closed bool
	bells  []chan struct{}

	// tell is called when there are events to store; told is set until due has
	// taken them.
	tell func()
	told bool
}

// New returns the log of an attempt (from 1). Frame appends an event's frame in
// the dialect that most readers want; it is encoded once, when the event is
// appended. Now is the time in milliseconds since the Unix epoch.
func New(attempt int, frame func([]byte, *runlog.Event) []byte, now func() int64) *Log {
	return &Log{base: int64(attempt-1) * runlog.AttemptSpan, frame: frame, now: now}
}

// Append adds an event, giving it number and time, and rings the bells.
func (l *Log) Append(at runlog.Level, b runlog.Body) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := runlog.Event{At: at, Body: b}
	if err := l.room(&e); err != nil {
		return err
	}
	l.stamp(&e)
	l.put(e)
	return nil
}

// room refuses an event over the limits. A terminal event and the end of a level
// always fit.
func (l *Log) room(e *runlog.Event) error {
	l.bytes += e.Size()
	if l.bytes <= MaxBytes && len(l.events) < maxEvents-16 {
		return nil
	}
	if _, end := e.Body.(*runlog.LevelEnd); end || e.Terminal() {
		return nil
	}
	return ErrFull
}

func (l *Log) stamp(e *runlog.Event) {
	e.Seq = l.base + int64(len(l.events)) + 1
	e.Time = l.now()
}

func (l *Log) put(e runlog.Event) {
	defer l.ring()
	l.events = append(l.events, e)
	last := &l.events[len(l.events)-1] // no reader has it yet
	switch {
	case e.Large():
		last.Shared = new(runlog.Frames) // its readers encode it
	case l.framed < maxFrames:
		l.keepFrame(last)
	}
	l.tellOnce()
}

// keepFrame encodes the event for all readers: in the arena, or by itself if it
// is as long as many others.
func (l *Log) keepFrame(e *runlog.Event) {
	size := e.Size() + frameRoom
	switch {
	case cap(l.arena)-len(l.arena) >= size:
	case size < arenaChunk:
		l.arena = make([]byte, 0, min(arenaMax, max(arenaChunk, 2*cap(l.arena))))
	default:
		e.Frame = l.frame(make([]byte, 0, size), e)
		l.framed += len(e.Frame)
		return
	}
	start := len(l.arena)
	l.arena = l.frame(l.arena, e)
	if end := len(l.arena); end > start {
		e.Frame = l.arena[start:end:end]
		l.framed += end - start
	}
}

func (l *Log) ring() {
	for _, bell := range l.bells {
		select {
		case bell <- struct{}{}:
		default:
		}
	}
}

// Seal returns the whole log with a terminal event e after it, as segments.
// Readers see e only after Publish.
func (l *Log) Seal(e *runlog.Event) iter.Seq[record.Segment] {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stamp(e)
	last := *e
	return segmentsOf(slices.Clip(l.events), &last)
}

// Publish appends the sealed terminal event and closes the log.
func (l *Log) Publish(e runlog.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.put(e)
	l.stored = len(l.events)
}

// Close ends the log without a terminal event; its readers have to come back
// later.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.ring()
}

// Since returns the events after the number, and whether more may come. The
// slice is the log's own; it never changes.
func (l *Log) Since(after int64) (events []runlog.Event, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := min(max(after-l.base, 0), int64(len(l.events)))
	n := len(l.events)
	return l.events[from:n:n], !l.closed
}

// Last returns the number of the newest event, or of the one before the first.
func (l *Log) Last() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base + int64(len(l.events))
}

// Ended returns the number of the terminal event, and whether the log has one.
func (l *Log) Ended() (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.events)
	if n == 0 || !l.events[n-1].Terminal() {
		return 0, false
	}
	return l.events[n-1].Seq, true
}

// Base returns the number before the first event's.
func (l *Log) Base() int64 { return l.base }

// watch sets what to call when there are events that no committed write holds yet.
func (l *Log) watch(tell func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell = tell
	l.tellOnce()
}

// tellUnstored calls tell again for events that could not be stored.
func (l *Log) tellUnstored() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tellOnce()
}

func (l *Log) tellOnce() {
	if l.tell != nil && !l.told && !l.closed && l.stored < len(l.events) {
		l.told = true
		l.tell()
	}
}

// due reports whether to store the unstored events now; a few are stored only
// if they have waited. Open reports that they wait; otherwise tell is called
// for the next ones.
func (l *Log) due(waited bool) (due, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.events) - l.stored
	open = n > 0 && !l.closed
	due = open && (n >= fewEvents || waited)
	l.told = open && !due
	return due, open
}

// unstored returns the events that no committed write holds yet.
func (l *Log) unstored() []runlog.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.events)
	return l.events[l.stored:n:n]
}

// markStored records that all events up to the number are in the store.
func (l *Log) markStored(through int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stored = max(l.stored, int(through-l.base))
}

// Subscribe returns a bell that rings when there is something new, and a
// function to call when the reader leaves; it returns the number of readers
// that remain.
func (l *Log) Subscribe() (bell <-chan struct{}, leave func() (left int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := make(chan struct{}, 1)
	l.bells = append(l.bells, mine)
	return mine, func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.bells = slices.DeleteFunc(l.bells, func(b chan struct{}) bool { return b == mine })
		return len(l.bells)
	}
}

// Readers returns the number of readers that follow now.
func (l *Log) Readers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.bells)
}
