package readers_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// database is what the processes store: rows of a journal, segments and runs.
type database struct {
	mu       sync.Mutex
	runs     map[string]*record.Run
	alive    map[string]bool
	journal  []row
	segments map[string][]record.Segment
	away     bool
	queries  int
	during   func() // called once, before the next Stored
}

type row struct {
	n       int64
	replica string
	record.Noted
}

func newDatabase() *database {
	return &database{runs: map[string]*record.Run{}, alive: map[string]bool{}, segments: map[string][]record.Segment{}}
}

var errAway = fmt.Errorf("away: %w", record.ErrUnavailable)

func (d *database) ask() (func(), error) {
	d.mu.Lock()
	d.queries++
	if d.away {
		d.mu.Unlock()
		return nil, errAway
	}
	return d.mu.Unlock, nil
}

func (d *database) Run(_ context.Context, id string) (record.Run, error) {
	done, err := d.ask()
	if err != nil {
		return record.Run{}, err
	}
	defer done()
	if run := d.runs[id]; run != nil {
		return *run, nil
	}
	return record.Run{}, schemas.ErrNotFound
}

func (d *database) Noted(_ context.Context, replica string, n int64) (list []record.Noted, last int64, more bool, err error) {
	done, err := d.ask()
	if err != nil {
		return nil, n, false, err
	}
	defer done()
	last = n
	for _, r := range d.journal {
		if r.replica == replica && r.n > n {
			if len(list) == 4 {
				return list, last, true, nil
			}
			list, last = append(list, r.Noted), r.n
		}
	}
	return list, last, false, nil
}

func (d *database) Stored(_ context.Context, after map[string]int64) (map[string][]record.Segment, func(string) bool, error) {
	d.mu.Lock()
	during := d.during
	d.during = nil
	d.mu.Unlock()
	if during != nil {
		during()
	}
	done, err := d.ask()
	if err != nil {
		return nil, nil, err
	}
	defer done()
	found, cut := map[string][]record.Segment{}, ""
	for _, id := range slices.Sorted(maps.Keys(after)) {
		for _, s := range d.segments[id] {
			if s.Last > after[id] {
				if len(found[id]) == 3 {
					cut = id
					break
				}
				found[id] = append(found[id], s)
			}
		}
	}
	return found, func(id string) bool { return id != cut }, nil
}

func (d *database) Progress(_ context.Context, ids []string) (list []record.Progress, err error) {
	done, err := d.ask()
	if err != nil {
		return nil, err
	}
	defer done()
	for _, id := range ids {
		run := d.runs[id]
		if run == nil {
			continue
		}
		s := record.Progress{ID: id, State: run.State, Attempt: run.Attempt, Replica: run.Replica, Held: d.alive[run.Replica]}
		if n := len(d.segments[id]); n > 0 {
			s.Through = d.segments[id][n-1].Last
		}
		list = append(list, s)
	}
	return list, nil
}

// next is NextSegment of the store.
func (d *database) next(_ context.Context, id string, after int64) (record.Segment, error) {
	done, err := d.ask()
	if err != nil {
		return record.Segment{}, err
	}
	defer done()
	list := slices.Clone(d.segments[id])
	for _, r := range d.journal {
		if r.RunID == id && r.replica == d.runs[id].Replica {
			list = append(list, r.Segment)
		}
	}
	for _, s := range list {
		if s.Last > after {
			return s, nil
		}
	}
	return record.Segment{}, nil
}

// change changes the database.
func (d *database) change(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

// asked returns how often the database was asked since the last call.
func (d *database) asked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.queries
	d.queries = 0
	return n
}
