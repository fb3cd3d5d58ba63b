package eventlog

import (
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

// Limits of reading stored logs. A reader holds a copy of the next events that
// it shows, at most batchSize, and their frames; segments are shared.
const (
	// defaultReplayCache is how many bytes of segments are kept for the next
	// reader, and how many all readers use at a time.
	defaultReplayCache = 32 << 20

	ReplayWait = 5 * time.Second // wait for a turn to read, and for room in the cache
	batchSize  = 16 << 10        // bytes of events that are shown at once
	maxLoads   = 4               // segments that are read at once
	// eventWeight is what an event costs besides its text and data, in bytes.
	eventWeight = 64
	// largeWeight is the factor for the cost of a segment with a large event:
	// the segment and the event's frames.
	largeWeight = 3
)

// ErrReplays ends the wait of a reader of a stored log.
var ErrReplays = &schemas.Error{Code: schemas.CodeTooManyStreams, Message: "too many earlier answers are being read; try again in a moment", RetryAfter: int(ReplayWait / time.Second)}

// cache holds the segments of stored logs that readers use now or used last, up
// to a limit in bytes. Readers of one run share them. It is safe for concurrent
// use.
type cache struct {
	load  func(ctx context.Context, id string, after int64) (record.Segment, error)
	limit int64
	loads chan struct{}

	mu      sync.Mutex
	runs    map[string][]*segment
	idle    *list.List // *segment that nobody uses, the last used first
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

// segment is a stored segment in memory. All but large and users is constant.
type segment struct {
	run         string
	first, last int64
	data        []byte
	weight      int64
	users       int
	place       *list.Element // in idle, if users is 0

	mu    sync.Mutex
	large map[int64]runlog.Event // its large events, once they are decoded
}

func newCache(load func(ctx context.Context, id string, after int64) (record.Segment, error), limit int64) *cache {
	return &cache{
		load: load, limit: limit, loads: make(chan struct{}, maxLoads), runs: make(map[string][]*segment), idle: list.New(),
		loading: make(map[position]*loading), freed: make(chan struct{}),
	}
}

// segment returns the run's segment with the first event after the number, nil if there
// is none. The caller calls release when it no longer uses it.
func (c *cache) segment(ctx context.Context, run string, after int64) (*segment, error) {
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
func (c *cache) read(ctx context.Context, at position, l *loading) (s *segment, err error) {
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
	s = &segment{run: at.run, first: stored.First, last: stored.Last, data: stored.Data, weight: int64(len(stored.Data)) + eventWeight}
	if len(s.data) >= runlog.LargeEvent && s.first == s.last {
		s.weight *= largeWeight
	}
	return c.keep(ctx, s)
}

// keep adds a segment that the caller uses, once there is room for it. Unused
// segments are dropped to make room. A segment larger than the limit is kept
// alone.
func (c *cache) keep(ctx context.Context, s *segment) (*segment, error) {
	late := time.NewTimer(ReplayWait)
	defer late.Stop()
	for {
		c.mu.Lock()
		for c.bytes+s.weight > c.limit && c.idle.Len() > 0 {
			c.drop(c.idle.Back().Value.(*segment))
		}
		if c.bytes == 0 || c.bytes+s.weight <= c.limit {
			if same := c.find(s.run, s.first-1); same != nil && same.first == s.first && same.last == s.last {
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
			return nil, ErrReplays
		case <-ctx.Done():
			return nil, context.Canceled
		}
	}
}

// find returns the segment in memory that has the event after the number.
func (c *cache) find(run string, after int64) *segment {
	for _, s := range c.runs[run] {
		if s.first <= after+1 && after < s.last {
			return s
		}
	}
	return nil
}

func (c *cache) use(s *segment) {
	if s.users++; s.place != nil {
		c.idle.Remove(s.place)
		s.place = nil
	}
}

// release tells the cache that a reader no longer uses the segment.
func (c *cache) release(s *segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	s.place = c.idle.PushFront(s)
	if c.bytes > c.limit {
		c.drop(s)
	}
	close(c.freed)
	c.freed = make(chan struct{})
}

// drop forgets a segment that nobody uses.
func (c *cache) drop(s *segment) {
	c.idle.Remove(s.place)
	s.place = nil
	c.bytes -= s.weight
	rest := slices.DeleteFunc(c.runs[s.run], func(o *segment) bool { return o == s })
	if c.runs[s.run] = rest; len(rest) == 0 {
		delete(c.runs, s.run)
	}
}

// largeEvent returns a large event of the segment, decoded once for all readers.
func (s *segment) largeEvent(p *packedEvent) (e runlog.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.large[p.seq]; ok {
		return e, nil
	}
	if e, err = new(bodies).own(p); err != nil {
		return e, err
	}
	if s.large == nil {
		s.large = make(map[int64]runlog.Event)
	}
	e.Shared = new(runlog.Frames)
	s.large[p.seq] = e
	return e, nil
}
