// Package trials decides, after a process has ended while it worked on runs, which of them
// start now and which of them wait for a trial.
//
// A killed process leaves its runs to the next start, and one of the runs may have been the
// cause. The first start recovers all of them together. A run that was running again when the
// process ended a second time is held: held runs start after all others, one at a time, each
// on trial. If the process ends during the trial of a run that has made no progress, the next
// start ends that run and recovers the others together. Attempts that ended because of that
// run do not count for the others.
package trials

import (
	"cmp"
	"slices"
	"time"

	"github.com/chattray/chattray/services/attempts"
)

// Limits of trials.
const (
	// Time is how long a run is on trial, unless it ends or becomes idle
	// earlier. StrictTime is used if a trial of Time did not show
	// which of several runs is the cause.
	Time       = 5 * time.Second
	StrictTime = time.Minute
)

// Case is a run that an ended process left.
type Case struct {
	*attempts.Earlier

	// Attempt is the one that the process left.
	Attempt int
	// Bare is true if the finished steps are not processed again; Fatal is true
	// if the run ends now, because it ended the process; for Fresh see attempts.Mark.
	Bare, Fatal, Fresh bool
}

func (c *Case) crashed() bool { return c.Mark.Crashed(c.Attempt) }

// stuck returns 1 for a run that has made no progress since its mark.
func (c *Case) stuck() int {
	if len(c.Steps) > c.Mark.Steps {
		return 0
	}
	return 1
}

// Judge sorts the runs of an ended process into those that start now and those
// that are held, in the order of their trials. Limit is how long a trial takes.
// A run that is to blame is the last of those that start now: it is Fatal.
func Judge[Run any](list []Run, of func(Run) *Case) (now, later []Run, limit time.Duration) {
	var alone []Run
	for _, run := range list {
		switch c := of(run); {
		case !c.crashed():
			now = append(now, run)
		case c.Cancel: // it only has to end
			c.Bare = true
			now = append(now, run)
		default:
			later = append(later, run)
			if c.Mark.Alone > 0 {
				alone = append(alone, run)
			}
		}
	}
	limit = Time
	if len(alone) > 1 {
		limit = StrictTime
	}
	slices.SortStableFunc(later, func(a, b Run) int {
		return cmp.Or(cmp.Compare(of(b).Mark.Alone, of(a).Mark.Alone), cmp.Compare(of(a).stuck(), of(b).stuck()))
	})
	if len(alone) == 1 && of(alone[0]).stuck() > 0 {
		guilty := of(alone[0])
		guilty.Fatal, guilty.Bare = true, true
		later = slices.DeleteFunc(later, func(run Run) bool { return of(run) == guilty })
		for _, run := range later {
			of(run).Fresh = true
		}
		now, later = append(append(now, later...), alone[0]), nil
	}
	for _, run := range slices.Concat(now, later) {
		if c := of(run); len(alone) > 0 || c.crashed() {
			c.Uncounted = c.Attempt // attempts that other runs ended do not count
		}
	}
	return now, later, limit
}
