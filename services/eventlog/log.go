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
	maxEvents = runlog.AttemptSpan - 1
	MaxBytes  = 64 << 20
)

// ErrFull is the error of an append over the limits.
var ErrFull = errors.New("the run's log is full")

// ErrSealed is the error of an append after Seal, Close or the terminal event.
var ErrSealed = errors.New("the run's log is sealed")

// phase is how far a log is.
type phase int

// The phases of a log. After logGiven and logEnded no event follows.
const (
	logOpen   phase = iota
	logSealed       // only the terminal event may follow
	logGiven        // closed before its run has ended
	logEnded        // the last event is terminal
)

// Log is the event log of one attempt: one writer appends, any number of
// Readers follow, each with its own cursor. Readers are woken by a one-slot
// bell that carries nothing and then read the log, so nothing is dropped,
// doubled or reordered, and a slow reader costs nobody else anything.
//
// It holds its events as they are stored.
type Log struct {
	now func() int64

	mu     sync.Mutex
	base   int64 // the number before the first event's
	n      int   // events
	bytes  int
	phase  phase
	packed packedLog
	piece  runlog.Text // the body of a piece of text while it is appended
	stored place       // what comes before it is in the store
	bells  []chan struct{}
	heard  []*func() // see Listen

	// tell is called when there are events to store; told is set until due has
	// taken them.
	tell func()
	told bool
}

// New returns the log of an attempt (from 1). Now is the time in milliseconds since the
// Unix epoch.
func New(attempt int, now func() int64) *Log {
	base := int64(attempt-1) * runlog.AttemptSpan
	return &Log{base: base, now: now, stored: place{seq: base}}
}

// Append adds an event, giving it number and time, and rings the bells.
func (l *Log) Append(at runlog.Level, b runlog.Body) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(runlog.Event{At: at, Body: b})
}

func (l *Log) append(e runlog.Event) error {
	if l.phase != logOpen {
		return ErrSealed
	}
	if err := l.room(&e); err != nil {
		return err
	}
	l.stamp(&e)
	l.packed.add(&e)
	l.put()
	l.tellOnce()
	return nil
}

// AppendText adds a piece of the answer's text as Append does. It allocates nothing for
// most pieces: their bytes are what the log holds.
func (l *Log) AppendText(at runlog.Level, text string) error {
	if len(text) >= runlog.LargeEvent {
		return l.Append(at, &runlog.Text{Text: text})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.piece.Text = text
	defer func() { l.piece.Text = "" }()
	return l.append(runlog.Event{At: at, Body: &l.piece})
}

// room refuses an event over the limits. A terminal event and the end of a level
// always fit.
func (l *Log) room(e *runlog.Event) error {
	_, end := e.Body.(*runlog.LevelEnd)
	return l.fits(e.Size(), end || e.Terminal())
}

// fits is room for an event of that size.
func (l *Log) fits(size int, always bool) error {
	l.bytes += size
	if always || l.bytes <= MaxBytes && l.n < maxEvents-16 {
		return nil
	}
	return ErrFull
}

func (l *Log) stamp(e *runlog.Event) {
	e.Seq = l.base + int64(l.n) + 1
	e.Time = l.now()
}

// put shows an event to readers.
func (l *Log) put() {
	l.n++
	l.ring()
}

func (l *Log) ring() {
	for _, bell := range l.bells {
		select {
		case bell <- struct{}{}:
		default:
		}
	}
	for _, ring := range l.heard {
		(*ring)()
	}
}

// Listen calls ring after each change of the log until leave is called. Ring must return
// at once and must not use the log.
func (l *Log) Listen(ring func()) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, &ring)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.heard = slices.DeleteFunc(l.heard, func(r *func()) bool { return r == &ring })
	}
}

// Seal returns the whole log with a terminal event e after it, as segments.
// Readers see e only after Publish. Nothing is appended between: it would not be
// stored, and would have the number of e.
func (l *Log) Seal(e *runlog.Event) iter.Seq[record.Segment] {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase = max(l.phase, logSealed)
	l.stamp(e)
	last := *e
	return sealed(slices.Clone(l.packed.parts), l.packed.end, &last)
}

// Publish appends the sealed terminal event and closes the log.
func (l *Log) Publish(e runlog.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.publish(&e)
}

func (l *Log) publish(e *runlog.Event) {
	l.phase = logEnded
	l.packed.keep(e)
	l.put()
	l.stored = l.packed.end
}

// Cancel ends the log of a run that is no longer stored: as that of a cancelled one. A log
// that has ended stays as it is.
func (l *Log) Cancel() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase < logGiven {
		end := runlog.Event{Body: &runlog.Cancelled{}}
		l.stamp(&end)
		l.publish(&end)
	}
}

// Close ends the log without a terminal event; its readers have to come back
// later.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase = max(l.phase, logGiven)
	l.ring()
}

// Last returns the number of the newest event, or of the one before the first.
func (l *Log) Last() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base + int64(l.n)
}

// Ended returns the number of the terminal event, and whether the log has one.
func (l *Log) Ended() (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase != logEnded {
		return 0, false
	}
	return l.base + int64(l.n), true
}

// Closed reports whether no event will follow.
func (l *Log) Closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase >= logGiven
}

// Given reports whether the log was closed before its run has ended.
func (l *Log) Given() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase == logGiven
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
	if l.tell != nil && !l.told && l.phase < logGiven && l.stored.seq < l.base+int64(l.n) {
		l.told = true
		l.tell()
	}
}

// due reports whether to store the unstored events now; a few are stored only
// if they have waited. Waits reports that there are some; otherwise tell is called
// for the next ones.
func (l *Log) due(waited bool) (due, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.base + int64(l.n) - l.stored.seq
	waits = n > 0 && l.phase < logGiven
	due = waits && (n >= fewEvents || waited)
	l.told = waits && !due
	return due, waits
}

// unstored returns the events that no committed write holds yet, nil for none, and the
// place after them.
func (l *Log) unstored() (*record.Segment, place) {
	l.mu.Lock()
	from, end := l.stored, l.packed.end
	var few [2]part // most logs have no more
	parts := append(few[:0], l.packed.parts[from.part:]...)
	l.mu.Unlock()
	if end.seq <= from.seq {
		return nil, end
	}
	return &record.Segment{First: from.seq + 1, Last: end.seq, Data: appendParts(parts, from)}, end
}

// markStored records that all events before the place are in the store.
func (l *Log) markStored(through place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if through.seq > l.stored.seq {
		l.stored = through
	}
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
