package services

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

// Limits of reading stored logs. A reader holds a copy of what it shows next, at
// most pastBatch and its frames; the segments are shared.
const (
	// DefaultReplayCache is how many bytes of segments are kept for the next
	// reader, and how many all readers use at a time.
	DefaultReplayCache = 32 << 20
	// DefaultReplaysPerUser and DefaultReplays are how many stored logs are read
	// at once.
	DefaultReplaysPerUser = 16
	DefaultReplays        = 1024

	replayWait = 5 * time.Second // for a turn, and for room in the cache
	pastBatch  = 16 << 10        // bytes of events that are shown at once
	pastLoads  = 4               // segments that are read at once
	// pastWeight is what an event costs beside its text and data.
	pastWeight = 64
	// largeWeight is what a segment with a large event costs: itself, and the
	// event's frames.
	largeWeight = 3
)

// errReplays refuses a reader that has waited for its turn.
var errReplays = &schemas.Error{Code: schemas.CodeTooManyStreams, Message: "too many earlier answers are being read; try again in a moment", RetryAfter: int(replayWait / time.Second)}

// past is the segments of stored logs that readers use now, and those that they
// used last, up to a limit in bytes. Readers of one run share them. It is safe
// for concurrent use.
type past struct {
	load  func(ctx context.Context, id string, after int64) (record.Segment, error)
	limit int64
	loads chan struct{}

	mu      sync.Mutex
	runs    map[string][]*pastSegment
	idle    *list.List // of *pastSegment that nobody uses, the last used first
	loading map[pastPlace]*pastLoad
	bytes   int64         // of all segments
	freed   chan struct{} // closed when a segment is no longer used
	reads   int           // segments read from the store
}

// pastPlace is a place in a run's log.
type pastPlace struct {
	run   string
	after int64
}

type pastLoad struct {
	done chan struct{}
	err  error
}

// pastSegment is a segment in memory. All but large and users is constant.
type pastSegment struct {
	run         string
	first, last int64
	data        []byte
	weight      int64
	users       int
	place       *list.Element // in idle, where users is 0

	mu    sync.Mutex
	large map[int64]runlog.Event // its large events, once they are decoded
}

func newPast(load func(ctx context.Context, id string, after int64) (record.Segment, error), limit int64) *past {
	return &past{
		load: load, limit: limit, loads: make(chan struct{}, pastLoads), runs: make(map[string][]*pastSegment), idle: list.New(),
		loading: make(map[pastPlace]*pastLoad), freed: make(chan struct{}),
	}
}

// segment returns the run's segment with the first event after the number; nil
// when there is none. The caller says with release that it uses it no longer.
func (p *past) segment(ctx context.Context, run string, after int64) (*pastSegment, error) {
	place := pastPlace{run, after}
	for {
		p.mu.Lock()
		if s := p.find(run, after); s != nil {
			p.use(s)
			p.mu.Unlock()
			return s, nil
		}
		l := p.loading[place]
		if l == nil {
			l = &pastLoad{done: make(chan struct{})}
			p.loading[place] = l
			p.mu.Unlock()
			return p.read(ctx, place, l)
		}
		p.mu.Unlock()
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
func (p *past) read(ctx context.Context, place pastPlace, l *pastLoad) (s *pastSegment, err error) {
	defer func() {
		p.mu.Lock()
		delete(p.loading, place)
		p.mu.Unlock()
		l.err = err
		close(l.done)
	}()
	select {
	case p.loads <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Canceled // of this reader; another one reads
	}
	defer func() { <-p.loads }()
	p.mu.Lock()
	p.reads++
	p.mu.Unlock()
	stored, err := p.load(ctx, place.run, place.after)
	if ctx.Err() != nil {
		return nil, context.Canceled
	}
	if err != nil || stored.Last == 0 {
		return nil, err
	}
	s = &pastSegment{run: place.run, first: stored.First, last: stored.Last, data: stored.Data, weight: int64(len(stored.Data)) + pastWeight}
	if len(s.data) >= runlog.LargeEvent && s.first == s.last {
		s.weight *= largeWeight
	}
	return p.keep(ctx, s)
}

// keep adds a segment that the caller uses, once there is room for it: what
// nobody uses makes room. A segment over the limit is alone.
func (p *past) keep(ctx context.Context, s *pastSegment) (*pastSegment, error) {
	late := time.NewTimer(replayWait)
	defer late.Stop()
	for {
		p.mu.Lock()
		for p.bytes+s.weight > p.limit && p.idle.Len() > 0 {
			p.drop(p.idle.Back().Value.(*pastSegment))
		}
		if p.bytes == 0 || p.bytes+s.weight <= p.limit {
			if same := p.find(s.run, s.first-1); same != nil && same.first == s.first && same.last == s.last {
				s = same
			} else {
				p.runs[s.run] = append(p.runs[s.run], s)
				p.bytes += s.weight
			}
			p.use(s)
			p.mu.Unlock()
			return s, nil
		}
		freed := p.freed
		p.mu.Unlock()
		select {
		case <-freed:
		case <-late.C:
			return nil, errReplays
		case <-ctx.Done():
			return nil, context.Canceled
		}
	}
}

// find returns the segment that is in memory with the event after the number.
func (p *past) find(run string, after int64) *pastSegment {
	for _, s := range p.runs[run] {
		if s.first <= after+1 && after < s.last {
			return s
		}
	}
	return nil
}

func (p *past) use(s *pastSegment) {
	if s.users++; s.place != nil {
		p.idle.Remove(s.place)
		s.place = nil
	}
}

// release says that a reader uses the segment no longer.
func (p *past) release(s *pastSegment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	s.place = p.idle.PushFront(s)
	if p.bytes > p.limit {
		p.drop(s)
	}
	close(p.freed)
	p.freed = make(chan struct{})
}

// drop forgets a segment that nobody uses.
func (p *past) drop(s *pastSegment) {
	p.idle.Remove(s.place)
	s.place = nil
	p.bytes -= s.weight
	rest := slices.DeleteFunc(p.runs[s.run], func(o *pastSegment) bool { return o == s })
	if p.runs[s.run] = rest; len(rest) == 0 {
		delete(p.runs, s.run)
	}
}

// largeEvent returns a large event of the segment, decoded once for all readers.
func (s *pastSegment) largeEvent(p *packedEvent) runlog.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.large[p.Seq]
	if !ok {
		if s.large == nil {
			s.large = make(map[int64]runlog.Event)
		}
		e = p.event(string(p.text))
		e.Shared = new(runlog.Frames)
		s.large[p.Seq] = e
	}
	return e
}
