package readers

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

const (
	// tailEvery is how often what other processes store is read, while some of their runs
	// are followed.
	tailEvery = 250 * time.Millisecond
	// manyMirrors is the number of mirrors from which the rows of their runs are read
	// only at every fourth look.
	manyMirrors, rareLooks = 1000, 4
	// carriedLooks is after how many looks the rows of the runs are read whose owners send
	// their events.
	carriedLooks = 8
	// fillRounds bounds how often what is missing is read in one look.
	fillRounds = 64
)

// Tail reads what other processes store of their runs.
type Tail interface {
	// Noted returns what a replica's journal has after the row n, the number of the last
	// row, and whether there may be more.
	Noted(ctx context.Context, replica string, n int64) (list []record.Noted, last int64, more bool, err error)
	// Stored returns what is in its final place of the runs after these numbers, in
	// order; complete reports whether a run has all of it.
	Stored(ctx context.Context, after map[string]int64) (found map[string][]record.Segment, complete func(id string) bool, err error)
	// Progress returns how far the runs are; those that do not exist are missing.
	Progress(ctx context.Context, ids []string) ([]record.Progress, error)
}

// tail is how far what others store has been read. Only one goroutine uses it.
type tail struct {
	rows    map[string]int64 // the last row of each replica's journal
	looks   int
	failing bool
}

// watch feeds the mirrors from the database until ctx ends. All mirrors together cost one
// query for each replica and one for all of their runs at each look, and a few more when
// some begin, end, move or miss something.
func (s *mirrors) watch(ctx context.Context) {
	var asks sync.WaitGroup
	if s.Bus != nil {
		asks.Go(func() { s.askOwners(ctx) })
	}
	defer asks.Wait()
	tick := time.NewTicker(tailEvery)
	defer tick.Stop()
	for {
		whole := false
		select {
		case <-s.wake:
		case <-tick.C:
			whole = true
		case <-ctx.Done():
			s.stop()
			return
		}
		list := s.list()
		if len(list) == 0 {
			clear(s.tail.rows)
			continue
		}
		began := time.Now()
		err := s.look(ctx, list, whole)
		if whole {
			s.Metrics.Tail(time.Since(began))
		}
		if err != nil && ctx.Err() == nil {
			if !s.tail.failing {
				s.Logger.Warn("could not read what other processes have stored", "error", err)
			}
			clear(s.tail.rows) // it begins again
			for _, m := range list {
				m.miss()
			}
		}
		s.tail.failing = err != nil
	}
}

// stop ends all mirrors.
func (s *mirrors) stop() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	for _, m := range s.list() {
		s.end(m, runlog.ErrInterrupted)
	}
}

// look reads what is new for the mirrors, and for those that have just been made.
func (s *mirrors) look(ctx context.Context, list []*mirror, whole bool) error {
	if whole {
		polled := slices.DeleteFunc(slices.Clone(list), (*mirror).isCarried)
		if err := s.readJournals(ctx, polled); err != nil {
			return err
		}
		s.tail.looks++
		if s.tail.looks%carriedLooks == 0 {
			polled = list
		} else if len(polled) >= manyMirrors && s.tail.looks%rareLooks > 0 {
			polled = nil
		}
		if _, err := s.readProgress(ctx, polled); err != nil {
			return err
		}
	}
	for range fillRounds {
		again, err := s.fill(ctx, list)
		if err != nil || !again {
			return err
		}
	}
	return nil
}

// byReplica returns the mirrors by the replica that has the run.
func byReplica(list []*mirror) map[string]map[string]*mirror {
	found := make(map[string]map[string]*mirror)
	for _, m := range list {
		replica := m.owner()
		if replica == "" { // it has nothing in a journal
			continue
		}
		if found[replica] == nil {
			found[replica] = make(map[string]*mirror)
		}
		found[replica][m.id] = m
	}
	return found
}

// readJournals feeds the mirrors with what is new in the journals.
func (s *mirrors) readJournals(ctx context.Context, list []*mirror) error {
	replicas := byReplica(list)
	maps.DeleteFunc(s.tail.rows, func(replica string, _ int64) bool { return replicas[replica] == nil })
	for replica, mine := range replicas {
		n, known := s.tail.rows[replica]
		if !known {
			for _, m := range mine {
				m.miss()
			}
			continue
		}
		for more := true; more; {
			var noted []record.Noted
			var err error
			if noted, n, more, err = s.Tail.Noted(ctx, replica, n); err != nil {
				return err
			}
			for _, e := range noted {
				if m := mine[e.RunID]; m != nil {
					s.note(m, e.Segment)
				}
			}
			s.tail.rows[replica] = n
		}
	}
	return nil
}

// note appends a segment of the journal.
func (s *mirrors) note(m *mirror, segment record.Segment) {
	if !s.feed(m, attemptOf(segment.First), segment.Data, false) {
		s.gap(m)
	}
}

// readProgress reads how far the runs are. Those that have moved or ended, or whose events have
// left the journal, miss something then.
func (s *mirrors) readProgress(ctx context.Context, list []*mirror) (map[string]record.Progress, error) {
	if len(list) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to read
	}
	ids := make([]string, len(list))
	for i, m := range list {
		ids[i] = m.id
	}
	found, err := s.Tail.Progress(ctx, ids)
	if err != nil {
		return nil, err
	}
	progress := make(map[string]record.Progress, len(found))
	for _, at := range found {
		progress[at.ID] = at
	}
	for _, m := range list {
		if at, ok := progress[m.id]; ok {
			s.applyProgress(m, at)
		} else { // it was deleted
			s.end(m, runlog.ErrInterrupted)
		}
	}
	return progress, nil
}

// applyProgress updates a mirror. It ends if nobody has had the run for long.
func (s *mirrors) applyProgress(m *mirror, at record.Progress) {
	last, filled := m.last()
	m.mu.Lock()
	if m.replica != at.Replica || m.number != at.Attempt || at.State.Terminal() || filled && at.Through > last {
		m.missing = true
	}
	if at.Held || m.number != at.Attempt {
		m.held = time.Now()
	}
	moved := m.replica != at.Replica
	m.replica, m.state, m.number = at.Replica, at.State, at.Attempt
	lost := time.Since(m.held) > givenUp*s.Lease && !at.State.Terminal()
	if moved {
		s.uncarry(m)
		ring(s.ask)
	}
	m.mu.Unlock()
	if lost {
		s.end(m, runlog.ErrInterrupted)
	}
}

// fill reads what mirrors miss: first where their runs are, then the journals of those
// replicas from their beginning, then what is in its final place. Data that moves
// meanwhile is found twice. Again reports that there was too much for one call.
func (s *mirrors) fill(ctx context.Context, list []*mirror) (again bool, err error) {
	wanting := slices.DeleteFunc(slices.Clone(list), func(m *mirror) bool { return !m.wants() })
	if len(wanting) == 0 {
		return false, nil
	}
	progress, err := s.readProgress(ctx, wanting)
	if err != nil {
		return false, err
	}
	wants := make(map[string]bool, len(wanting))
	for _, m := range wanting {
		wants[m.id] = true
		m.mu.Lock()
		m.missing = false // what is missed from now on may not be read here
		m.mu.Unlock()
	}
	noted := make(map[string][]record.Segment)
	for replica, mine := range byReplica(list) { // also carried ones: what is found may serve them too
		if err := s.journal(ctx, replica, mine, wants, noted); err != nil {
			return false, err
		}
	}
	after := make(map[string]int64, len(wanting))
	for _, m := range wanting {
		last, filled := m.last()
		if !filled {
			newest := progress[m.id].Through
			for _, segment := range noted[m.id] {
				newest = max(newest, segment.Last)
			}
			last = max(0, newest-1) / runlog.AttemptSpan * runlog.AttemptSpan
		}
		after[m.id] = last
	}
	found, complete, err := s.Tail.Stored(ctx, after)
	if err != nil {
		return false, err
	}
	for _, m := range wanting {
		segments, whole := found[m.id], complete(m.id)
		if whole {
			segments = append(segments, noted[m.id]...)
		}
		again = again || !whole
		s.filled(m, after[m.id], segments, whole, progress[m.id].State.Terminal())
	}
	return again, nil
}

// journal reads the journal of a replica from its beginning, if one of its runs is among
// those that are wanted, and adds to noted what it has of those.
func (s *mirrors) journal(ctx context.Context, replica string, mine map[string]*mirror, wants map[string]bool, noted map[string][]record.Segment) error {
	more := false
	for id := range mine {
		more = more || wants[id]
	}
	for n := int64(0); more; {
		var list []record.Noted
		var err error
		if list, n, more, err = s.Tail.Noted(ctx, replica, n); err != nil {
			return err
		}
		for _, e := range list {
			if wants[e.RunID] {
				noted[e.RunID] = append(noted[e.RunID], e.Segment)
			} else if m := mine[e.RunID]; m != nil {
				s.note(m, e.Segment)
			}
		}
		s.tail.rows[replica] = n
	}
	return nil
}

// filled appends what the store has of a run after the number. If that is the whole of a
// run that has ended, and its end is not there, the readers have to look again.
func (s *mirrors) filled(m *mirror, after int64, segments []record.Segment, whole, ended bool) {
	m.mu.Lock()
	m.missing = m.missing || !whole
	begins := m.head == nil && whole && !slices.ContainsFunc(segments, func(s record.Segment) bool { return s.Last > after })
	m.mu.Unlock()
	if begins {
		m.feeding.Lock()
		s.begin(m, attemptOf(after+1))
		m.feeding.Unlock()
	}
	for _, segment := range segments {
		if segment.Last > after {
			s.feed(m, attemptOf(segment.First), segment.Data, true)
		}
	}
	if whole && ended && m.live() {
		s.end(m, runlog.ErrInterrupted)
	}
}
