package readers

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/exchange"
)

const (
	// askEvery is how often the owner of a run is asked for its events, which it sends
	// until then as they happen.
	askEvery = 2 * time.Second
	// answerWait is how long its answer may take before the events are read from the
	// database, and mostGaps after how many gaps in a row they are.
	answerWait, mostGaps = time.Second, 3
	// firstWait is how long the owner of a run may take to send the first events to a new
	// mirror before they are read from the database.
	firstWait = 100 * time.Millisecond
	// gapEvery is how long events after a gap are ignored, because those that fill it are
	// on their way.
	gapEvery = 100 * time.Millisecond
)

// The ways in which a mirror is fed: from the database, or by its run's owner.
const viaLog, viaBus = "log", "bus"

// carried is how a mirror is fed by its run's owner. It belongs to the mirror and is
// guarded by its mu.
type carried struct {
	on    bool      // the owner sends its events, and the database is not polled
	due   bool      // it has to be asked for now
	gap   bool      // what comes after its last event has to be sent again
	gaps  int       // gaps since the last events without one
	noted time.Time // when the last one was noted
	asked time.Time // since when an answer is awaited; zero for none
	first time.Time // until when the first events of a new mirror are awaited from the owner
}

func (c *carried) via() string {
	if c.on {
		return viaBus
	}
	return viaLog
}

// isCarried reports whether the mirror's events are sent by the run's owner, or are about
// to be.
func (m *mirror) isCarried() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.on || m.awaitsFirst()
}

// awaitsFirst reports whether the owner has been asked for the first events. The caller
// has mu.
func (m *mirror) awaitsFirst() bool { return m.head == nil && time.Now().Before(m.first) }

// askFirst makes the owner be asked for all events of a new mirror's attempt, which spares
// the journal; false if that is not possible.
func (s *mirrors) askFirst(m *mirror) bool {
	if !s.Bus.Up() || m.replica == "" || m.number == 0 {
		return false
	}
	m.due, m.first = true, time.Now().Add(firstWait)
	ring(s.ask)
	return true
}

// beginFirst begins a new mirror with the attempt of which its run's owner sends events.
// Earlier attempts are in their final place: an owner has tidied them before it sends.
func (s *mirrors) beginFirst(m *mirror, number int) bool {
	m.feeding.Lock()
	defer m.feeding.Unlock()
	m.mu.Lock()
	begins := m.head == nil && !m.ended && !m.first.IsZero() && number >= m.number
	if begins {
		m.missing = false
	}
	m.mu.Unlock()
	if begins {
		s.begin(m, number)
	}
	return begins
}

// askOwners asks the owners of all mirrored runs for their events until ctx ends, those of
// one owner together.
func (s *mirrors) askOwners(ctx context.Context) {
	tick := time.NewTicker(tailEvery)
	defer tick.Stop()
	last := make(map[string]time.Time) // by owner with runs that are mirrored, when all were asked for
	for {
		select {
		case <-s.ask:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now, up := time.Now(), s.Bus.Up()
		asked, due := make(map[string]time.Time), make(map[string][]exchange.Item)
		for _, m := range s.every() {
			owner := m.owner()
			whole := now.Sub(last[owner]) >= askEvery
			if asked[owner] = last[owner]; whole {
				asked[owner] = now
			}
			if item, ok := s.asks(m, now, up, whole); ok {
				due[owner] = append(due[owner], item)
			}
		}
		for owner, items := range due {
			s.Bus.Ask(owner, items)
		}
		last = asked
	}
}

// owner returns the replica that has the run.
func (m *mirror) owner() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.replica
}

// asks returns how to ask for a mirror's events, if it has to be done now. One whose owner
// does not answer is read from the database.
func (s *mirrors) asks(m *mirror, now time.Time, up, whole bool) (item exchange.Item, due bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended || m.head == nil && !m.awaitsFirst() || m.replica == "" {
		return item, false
	}
	if !up || !m.asked.IsZero() && now.Sub(m.asked) >= answerWait {
		s.uncarry(m)
	}
	if !up || !m.due && !whole {
		return item, false
	}
	item = exchange.Item{ID: m.id, Attempt: m.number, After: int64(m.number-1) * runlog.AttemptSpan}
	if m.head != nil {
		item.Attempt, item.After = m.head.number, m.head.Last()
	}
	if m.gap {
		item.Flags = exchange.Gap
	}
	if m.due, m.gap = false, false; m.asked.IsZero() {
		m.asked = now
	}
	return item, true
}

// uncarry makes the database feed a mirror. The caller has its mu.
func (s *mirrors) uncarry(m *mirror) {
	m.due, m.asked, m.gaps = true, time.Time{}, 0
	if m.on {
		s.carry(m, false)
		m.missing = true // what comes in between
		ring(s.wake)
	}
}

// carry changes what feeds a mirror. The caller has its mu.
func (s *mirrors) carry(m *mirror, on bool) {
	if m.on != on && !m.ended {
		s.Metrics.Mirrors(m.via(), -1)
		m.on = on
		s.Metrics.Mirrors(m.via(), 1)
	}
}

// Take appends events that the owner of their runs has sent.
func (r *Readers) Take(from string, items []exchange.Item) {
	for i := range items {
		if m := r.mirrors.of(items[i].ID); m != nil && m.owner() == from {
			r.mirrors.take(m, &items[i])
		}
	}
}

// LookAt reads the rows of runs again, because they may have moved.
func (r *Readers) LookAt(runs []string) {
	for _, id := range runs {
		if m := r.mirrors.of(id); m != nil {
			m.miss()
			ring(r.mirrors.wake)
		}
	}
}

// take appends what the owner of a run has sent. What is missing before it is asked for
// again; the database has the events of another attempt and large ones.
func (s *mirrors) take(m *mirror, item *exchange.Item) {
	head := m.current()
	if head == nil && s.beginFirst(m, item.Attempt) {
		head = m.current()
	}
	if head == nil || item.Attempt < head.number {
		return
	}
	whole := item.Attempt == head.number && (len(item.Data) == 0 || s.feed(m, item.Attempt, item.Data, false)) && head.Last() >= item.After
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = time.Time{}
	switch {
	case whole:
		m.gaps = 0
		s.carry(m, true)
	case item.Flags&exchange.Stored != 0:
		m.missing, m.gap, m.due = true, true, true
		ring(s.wake)
	case item.Attempt > head.number:
		m.missing = true
	case time.Since(m.noted) >= gapEvery:
		s.Metrics.MirrorGap()
		if m.gaps++; m.gaps >= mostGaps {
			s.uncarry(m)
		}
		m.noted, m.gap, m.due = time.Now(), true, true
		ring(s.ask)
	}
}
