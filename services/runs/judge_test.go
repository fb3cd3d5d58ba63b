package runs

import (
	"slices"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/trials"
)

// The runs of a process that has ended again are sorted by what they are to blame for.
func TestJudge(t *testing.T) {
	// crashed is a run in whose last attempt, the second, the process ended.
	crashed := func(id string, alone int64, steps int) found {
		e := &earlier{Case: trials.Case{Earlier: attempts.Nothing(), Attempt: 2}}
		e.Mark, e.Steps = &attempts.Mark{Attempt: 2, Alone: alone}, make([]turn.Step, steps)
		return found{stored: record.Run{ID: id, Attempt: 3}, earlier: e}
	}
	with := func(f found, change func(e *earlier)) found { change(f.earlier); return f }
	well := func(id string) found { return with(crashed(id, 0, 0), func(e *earlier) { e.Mark.Left = true }) }
	cancelled := with(crashed("c", 0, 0), func(e *earlier) { e.Cancel = true })
	ids := func(list []found) (ids []string) {
		for _, f := range list {
			ids = append(ids, f.stored.ID)
		}
		return ids
	}
	for name, tt := range map[string]struct {
		runs       []found
		now, later []string
		limit      time.Duration
		fatal      string
		uncounted  map[string]int
	}{
		"the first crash":              {[]found{well("a"), well("b")}, []string{"a", "b"}, nil, trials.Time, "", nil},
		"the second crash":             {[]found{well("a"), crashed("b", 0, 0), crashed("c", 0, 0)}, []string{"a"}, []string{"b", "c"}, trials.Time, "", map[string]int{"b": 2, "c": 2}},
		"one is cancelled":             {[]found{cancelled, crashed("b", 0, 0)}, []string{"c"}, []string{"b"}, trials.Time, "", map[string]int{"b": 2, "c": 2}},
		"one is to blame":              {[]found{well("a"), crashed("b", 0, 0), crashed("g", 5, 0)}, []string{"a", "b", "g"}, nil, trials.Time, "g", map[string]int{"a": 2, "b": 2, "g": 2}},
		"one has made progress":        {[]found{crashed("b", 0, 0), crashed("g", 5, 1)}, nil, []string{"g", "b"}, trials.Time, "", map[string]int{"b": 2, "g": 2}},
		"two may be to blame":          {[]found{crashed("b", 0, 0), crashed("g", 5, 0), crashed("h", 6, 0)}, nil, []string{"h", "g", "b"}, trials.StrictTime, "", map[string]int{"b": 2, "g": 2, "h": 2}},
		"those with progress go first": {[]found{crashed("b", 0, 0), crashed("c", 0, 1)}, nil, []string{"c", "b"}, trials.Time, "", map[string]int{"b": 2, "c": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
				now, later, limit := r.judge(tt.runs)
				if !slices.Equal(ids(now), tt.now) || !slices.Equal(ids(later), tt.later) || limit != tt.limit {
					t.Errorf("%v now, %v later for %v; want %v, %v and %v", ids(now), ids(later), limit, tt.now, tt.later, tt.limit)
				}
				for _, f := range slices.Concat(now, later) {
					e := f.earlier
					if id := f.stored.ID; e.Fatal != (id == tt.fatal) || e.Bare != (e.Fatal || e.Cancel) || e.Fresh != (tt.fatal == "g" && id == "b") || e.Uncounted != tt.uncounted[id] {
						t.Errorf("%s: fatal %t, bare %t, fresh %t, %d do not count; want %d", id, e.Fatal, e.Bare, e.Fresh, e.Uncounted, tt.uncounted[id])
					}
				}
			})
		})
	}
	inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
		r.leases.Many = true
		defer func() { r.leases.Many = false }()
		if now, later, _ := r.judge([]found{crashed("a", 0, 0), crashed("g", 5, 0)}); len(now) != 2 || len(later) != 0 {
			t.Errorf("one of several processes holds %v, want none", ids(later))
		}
	})
}
