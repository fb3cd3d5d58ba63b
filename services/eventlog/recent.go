package eventlog

import (
	"slices"

	"github.com/chattray/chattray/schemas/runlog"
)

// Limits of the events of a log that are in memory as readers get them: the newest
// ones, by number and by bytes of their bodies. A reader that is further back decodes
// what it reads.
const (
	maxRecent   = 2048
	recentBytes = 256 << 10
	firstChunk  = 32
	lastChunk   = 256

	arenaChunk = 1 << 10
	arenaMax   = 32 << 10
	// frameRoom is the approximate size of a frame without the body, in bytes.
	frameRoom = 128
)

// recent are the newest events of a log, in chunks that never move: what it has given
// to readers does not change.
type recent struct {
	frame  func(dst []byte, e *runlog.Event) []byte
	chunks []chunk
	n      int // events
	size   int // bytes of their bodies
	arena  []byte
}

type chunk struct {
	events []runlog.Event
	size   int
}

// add adds an event, encodes its frame, and returns it as readers get it.
func (r *recent) add(e runlog.Event) *runlog.Event {
	c := r.room()
	c.events = append(c.events, e)
	r.n++
	last := &c.events[len(c.events)-1] // no reader has it yet
	if e.Large() {
		last.Shared = new(runlog.Frames) // its readers encode it
		return last
	}
	c.size += e.Size()
	r.size += e.Size()
	r.encode(last)
	return last
}

// room returns the last chunk with room for an event.
func (r *recent) room() *chunk {
	next := firstChunk
	if n := len(r.chunks); n > 0 {
		last := &r.chunks[n-1]
		if len(last.events) < cap(last.events) && last.size < recentBytes/4 {
			return last
		}
		next = min(2*cap(last.events), lastChunk)
	}
	for len(r.chunks) > 0 && (r.n > maxRecent || r.size > recentBytes) {
		oldest := r.chunks[0]
		r.chunks = slices.Delete(r.chunks, 0, 1)
		r.n, r.size = r.n-len(oldest.events), r.size-oldest.size
	}
	r.chunks = append(r.chunks, chunk{events: make([]runlog.Event, 0, next)})
	return &r.chunks[len(r.chunks)-1]
}

// encode encodes the event for all readers: in the arena, or by itself if it is as long
// as many others.
func (r *recent) encode(e *runlog.Event) {
	size := e.Size() + frameRoom
	switch {
	case cap(r.arena)-len(r.arena) >= size:
	case size < arenaChunk:
		r.arena = make([]byte, 0, min(arenaMax, max(arenaChunk, 2*cap(r.arena))))
	default:
		e.Frame = r.frame(make([]byte, 0, size), e)
		return
	}
	start := len(r.arena)
	r.arena = r.frame(r.arena, e)
	if end := len(r.arena); end > start {
		e.Frame = r.arena[start:end:end]
	}
}

// since returns the next events after the number, none if they are not here.
func (r *recent) since(after int64) []runlog.Event {
	for _, c := range slices.Backward(r.chunks) {
		if first := c.events[0].Seq; first <= after+1 {
			return slices.Clip(c.events[min(after+1-first, int64(len(c.events))):])
		}
	}
	return nil
}
