// Package segments holds stored segments of logs in memory while they are read.
package segments

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// DefaultLimit is how many bytes of segments are kept for the next reader, and how many
// all readers use at a time.
const DefaultLimit = 32 << 20

// Wait is how long a reader waits for its turn, and for room in the cache.
const Wait = 5 * time.Second

const (
	// unusedStays is how long a segment is kept after its last use: a client that
	// was cut off comes back within it, and later the memory is free again.
	unusedStays = time.Minute

	maxLoads = 4  // segments that are read at once
	overhead = 64 // what a segment costs besides its data, in bytes
	// largeWeight is the factor for the cost of a segment with a large event:
	// the segment and the event's frames.
	largeWeight = 3
)

// ErrBusy ends the wait of a reader of a stored log.
var ErrBusy = &schemas.Error{Code: schemas.CodeTooManyStreams, Message: "too many earlier answers are being read; try again in a moment", RetryAfter: int(Wait / time.Second)}

// Cache holds the segments of stored logs that readers use now or used in the last
// minute, up to a limit in bytes. Readers of one run share them. It is safe for
// concurrent use.
type Cache struct {
	load  func(ctx context.Context, id string, after int64) (record.Segment, error)
	limit int64
	loads chan struct{}

	mu      sync.Mutex
	runs    map[string][]*Segment
	idle    *list.List  // *Segment that nobody uses, the last used first
	expires *time.Timer // drops what has not been used for long; nil while nothing is idle
	loading map[position]*loading
	bytes   int64         // of all segments
	freed   chan struct{} // closed when a segment is no longer used
	reads   int           // segments read from the store
}

// position is a position in a run's log.
type position struct {
	run   string
	after int64
}

type loading struct {
	done chan struct{}
	err  error
}

// Segment is a stored segment in memory. First and Last are the numbers of its first and
// last event. Its users only read it.
type Segment struct {
	First, Last int64
	Data        []byte

	run    string
	weight int64
	users  int
	place  *list.Element // in idle, if users is 0
	unused time.Time     // when its last user left

	mu    sync.Mutex
	large map[int64]runlog.Event // its large events, once they are decoded
}

// New returns an empty cache of at most limit bytes (0: DefaultLimit). Load returns the
// run's first segment with events after the number; one whose Last is 0 if there is none.
func New(load func(ctx context.Context, run string, after int64) (record.Segment, error), limit int64) *Cache {
	return &Cache{
		load: load, limit: cmp.Or(limit, DefaultLimit), loads: make(chan struct{}, maxLoads), runs: make(map[string][]*Segment), idle: list.New(),
		loading: make(map[position]*loading), freed: make(chan struct{}),
	}
}

// Use returns the run's segment with the first event after the number, nil if there
// is none. The caller calls Release when it no longer uses it. A reader that waits too
// long for its turn or for room gets ErrBusy.
func (c *Cache) Use(ctx context.Context, run string, after int64) (*Segment, error) {
	at := position{run, after}
	for {
		c.mu.Lock()
		if s := c.find(run, after); s != nil {
			c.use(s)
			c.mu.Unlock()
			return s, nil
		}
		l := c.loading[at]
		if l == nil {
			l = &loading{done: make(chan struct{})}
			c.loading[at] = l
			c.mu.Unlock()
			return c.read(ctx, at, l)
		}
		c.mu.Unlock()
		select {
		case <-l.done:
			if l.err != nil && !errors.Is(l.err, context.Canceled) {
				return nil, l.err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// read reads a segment for all who wait for it.
func (c *Cache) read(ctx context.Context, at position, l *loading) (s *Segment, err error) {
	defer func() {
		c.mu.Lock()
		delete(c.loading, at)
		c.mu.Unlock()
		l.err = err
		close(l.done)
	}()
	select {
	case c.loads <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Canceled // only this reader ended; another one reads
	}
	defer func() { <-c.loads }()
	c.mu.Lock()
	c.reads++
	c.mu.Unlock()
	stored, err := c.load(ctx, at.run, at.after)
	if ctx.Err() != nil {
		return nil, context.Canceled
	}
	if err != nil || stored.Last == 0 {
		return nil, err
	}
	s = &Segment{run: at.run, First: stored.First, Last: stored.Last, Data: stored.Data, weight: int64(len(stored.Data)) + overhead}
	if len(s.Data) >= runlog.LargeEvent && s.First == s.Last {
		s.weight *= largeWeight
	}
	return c.keep(ctx, s)
}

// keep adds a segment that the caller uses, once there is room for it. Unused
// segments are dropped to make room. A segment larger than the limit is kept
// alone.
func (c *Cache) keep(ctx context.Context, s *Segment) (*Segment, error) {
	late := time.NewTimer(Wait)
	defer late.Stop()
	for {
		c.mu.Lock()
		for c.bytes+s.weight > c.limit && c.idle.Len() > 0 {
			c.drop(c.idle.Back().Value.(*Segment))
		}
		if c.bytes == 0 || c.bytes+s.weight <= c.limit {
			if same := c.find(s.run, s.First-1); same != nil && same.First == s.First && same.Last == s.Last {
				s = same
			} else {
				c.runs[s.run] = append(c.runs[s.run], s)
				c.bytes += s.weight
			}
			c.use(s)
			c.mu.Unlock()
			return s, nil
		}
		freed := c.freed
		c.mu.Unlock()
		select {
		case <-freed:
		case <-late.C:
			return nil, ErrBusy
		case <-ctx.Done():
			return nil, context.Canceled
		}
	}
}

// find returns the segment in memory that has the event after the number.
func (c *Cache) find(run string, after int64) *Segment {
	for _, s := range c.runs[run] {
		if s.First <= after+1 && after < s.Last {
			return s
		}
	}
	return nil
}

func (c *Cache) use(s *Segment) {
	if s.users++; s.place != nil {
		c.idle.Remove(s.place)
		s.place = nil
	}
}

// Release tells the cache that a reader no longer uses the segment.
func (c *Cache) Release(s *Segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	s.place, s.unused = c.idle.PushFront(s), time.Now()
	if c.bytes > c.limit {
		c.drop(s)
	} else if c.expires == nil {
		c.expires = time.AfterFunc(unusedStays, c.expire)
	}
	close(c.freed)
	c.freed = make(chan struct{})
}

// expire drops the segments that have not been used for unusedStays, and comes back for
// the others.
func (c *Cache) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		last := c.idle.Back()
		if last == nil {
			c.expires = nil
			return
		}
		s := last.Value.(*Segment)
		if left := unusedStays - time.Since(s.unused); left > 0 {
			c.expires = time.AfterFunc(left, c.expire)
			return
		}
		c.drop(s)
	}
}

// drop forgets a segment that nobody uses.
func (c *Cache) drop(s *Segment) {
	c.idle.Remove(s.place)
	s.place = nil
	c.bytes -= s.weight
	rest := slices.DeleteFunc(c.runs[s.run], func(o *Segment) bool { return o == s })
	if c.runs[s.run] = rest; len(rest) == 0 {
		delete(c.runs, s.run)
	}
}

// Large returns a large event of the segment, decoded once for all readers.
func (s *Segment) Large(seq int64, decode func() (runlog.Event, error)) (e runlog.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.large[seq]; ok {
		return e, nil
	}
	if e, err = decode(); err != nil {
		return e, err
	}
	if s.large == nil {
		s.large = make(map[int64]runlog.Event)
	}
	e.Shared = new(runlog.Frames)
	s.large[seq] = e
	return e, nil
}

// Stats is what a cache holds.
type Stats struct {
	Bytes    int64 // of all segments
	Runs     int
	Segments int
	Used     int // segments that readers use now
	Loaded   int // segments read from the store, ever
}

// Stats returns what the cache holds now.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := Stats{Bytes: c.bytes, Runs: len(c.runs), Loaded: c.reads}
	for _, list := range c.runs {
		n.Segments += len(list)
	}
	n.Used = n.Segments - c.idle.Len()
	return n
}
