package eventlog

import (
	"context"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/segments"
)

// A reader holds a copy of the next events that it shows, and their frames; segments are
// shared.
const (
	batchSize = 16 << 10 // bytes of events that are shown at once
	// eventWeight is what an event costs besides its text and data, in bytes.
	eventWeight = 64
)

// oldSegment is the size above which a segment belongs to a log that was stored
// as a whole. A reader keeps it until it has shown its last event, because
// reading it again would take too long.
const oldSegment = 4 * segmentSize

// ReplayOptions configures Replays. A Cache of 0 means segments.DefaultLimit.
type ReplayOptions struct {
	// Load returns the run's first segment with events after the number; one whose
	// Last is 0 when there is none.
	Load func(ctx context.Context, run string, after int64) (record.Segment, error)
	// Cache is how many bytes of segments are in memory.
	Cache int64
}

// Replays reads stored logs. It is safe for concurrent use.
type Replays struct {
	cache *segments.Cache
}

// NewReplays returns a reader of the segments that Load returns.
func NewReplays(o ReplayOptions) *Replays {
	return &Replays{cache: segments.New(o.Load, o.Cache)}
}

// Read shows the stored events after the cursor, up to the number (0 for all), and
// returns the number of the last one. An error of show ends it. It holds a copy of only
// the events that it is showing, except for large ones, which all readers share.
func (r *Replays) Read(ctx context.Context, run string, after, through int64, show func([]runlog.Event) error) (int64, error) {
	s := reader{cache: r.cache, run: run, after: after, through: through}
	defer s.leave()
	for end := false; !end; { // no event follows the end
		events, err := s.next(ctx)
		if err != nil || len(events) == 0 {
			return s.after, err
		}
		end = events[len(events)-1].Terminal()
		if err := show(events); err != nil {
			return s.after, err
		}
	}
	return s.after, nil
}

// reader reads a stored log.
type reader struct {
	cache          *segments.Cache
	run            string
	after, through int64

	using *segments.Segment // the segment in use
	// The segment, and the position in it, of the event after the number.
	first, last int64
	size        int
	place       decoder
}

// leave ends the use of the segment.
func (r *reader) leave() {
	if r.using != nil {
		r.cache.Release(r.using)
		r.using = nil
	}
}

// next returns the next events, none at the end. They are valid until the next
// call.
func (r *reader) next(ctx context.Context) ([]runlog.Event, error) {
	for {
		if r.through > 0 && r.after >= r.through {
			return nil, nil
		}
		if err := r.enter(ctx); err != nil || r.using == nil {
			return nil, err
		}
		events, keep, err := r.batch()
		if err == nil {
			err = r.place.fault()
		}
		if err != nil {
			r.leave()
			return nil, err
		}
		if len(events) > 0 {
			r.after = events[len(events)-1].Seq
			if !keep {
				r.leave()
			}
			return events, nil
		}
		// The segment does not have the event, or it is not wanted.
		if r.after = max(r.after, r.last); r.through > 0 {
			r.after = min(r.after, r.through)
		}
		r.leave()
	}
}

// enter begins to use the segment with the next event. In a segment that was
// used before, reading continues at the last position.
func (r *reader) enter(ctx context.Context) error {
	if r.using != nil && r.after < r.last {
		return nil
	}
	r.leave()
	s, err := r.cache.Use(ctx, r.run, r.after)
	if err != nil || s == nil {
		return err
	}
	r.using = s
	if s.First == r.first && s.Last == r.last && len(s.Data) == r.size {
		r.place.rest = s.Data[r.size-len(r.place.rest):]
		return nil
	}
	r.first, r.last, r.size = s.First, s.Last, len(s.Data)
	r.place = decoder{rest: s.Data}
	return nil
}

// batch decodes the next events of the segment; keep reports that they use its
// memory. A large event is returned alone.
func (r *reader) batch() (events []runlog.Event, keep bool, err error) {
	keep = len(r.using.Data) > oldSegment
	end, n := r.measure()
	if n == 0 {
		return nil, keep, nil
	}
	if n == 1 {
		p, _ := r.place.next()
		if len(p.body) >= runlog.LargeEvent {
			e, err := r.using.Large(p.seq, func() (runlog.Event, error) { return new(bodies).own(&p) })
			return []runlog.Event{e}, true, err
		}
		e, err := new(bodies).own(&p)
		return []runlog.Event{e}, keep, err
	}
	all := r.place.rest
	text := string(all[:len(all)-len(end)]) // one copy for all of them
	events = make([]runlog.Event, 0, n)
	var b bodies
	for range n {
		p, _ := r.place.next()
		to := len(all) - len(r.place.rest)
		e, err := b.event(&p, text[to-len(p.body):to])
		if err != nil {
			return events, keep, err
		}
		events = append(events, e)
	}
	return events, keep, nil
}

// measure skips the events that have been shown. It returns the rest of the
// segment after the next batch, and the number of events in the batch.
func (r *reader) measure() (rest []byte, n int) {
	ahead := r.place
	for size := 0; ; n++ {
		before := ahead
		p, ok := ahead.next()
		if !ok {
			if n == 0 {
				r.place = ahead // at the end, or at a fault
			}
			return before.rest, n
		}
		if p.seq <= r.after {
			r.place = ahead
			n--
			continue
		}
		if size += len(p.body) + eventWeight; n > 0 && size > batchSize || r.through > 0 && p.seq > r.through {
			if n == 0 {
				r.place.rest = nil
			}
			return before.rest, n
		}
	}
}
