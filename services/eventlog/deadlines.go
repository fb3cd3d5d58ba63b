package eventlog

import (
	"fmt"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

const (
	// writeWait bounds a write that is not held: the wait for the commit before it and
	// its own commit. A write without an answer by then may still be stored. One that has
	// less than leastTry left is not tried: all writes of a commit have the same time.
	writeWait, leastTry = 10 * time.Second, 2 * time.Second
	// beginWait bounds the wait of a run that begins while others are stored.
	beginWait = 30 * time.Second
	// CommitWait is how long callers wait for a write; every write has ended by then.
	CommitWait = 2 * writeWait
)

// The errors of a write whose time was over before its commit began: while others were
// stored, and while none were.
var (
	errLate = fmt.Errorf("commit: %w: %w", record.ErrUnavailable, schemas.ErrTooMuch)
	errHung = fmt.Errorf("commit: the one before did not end in time: %w", record.ErrUnavailable)
)

// dropLate ends, before they are tried, the writes whose deadline has passed
// and those that depend on a failed one.
func (c *Committer) dropLate(batch []*Commit) []*Commit {
	now := time.Now()
	return slices.DeleteFunc(batch, func(w *Commit) bool {
		if w.After != nil && w.After.Failed() != nil {
			w.finish(w.After.err)
			return true
		}
		end, bounded := c.deadline(w)
		switch {
		case !bounded || end.Sub(now) >= leastTry:
			return false
		case now.Sub(c.stored) < writeWait:
			w.finish(errLate)
		default:
			w.finish(errHung)
		}
		return true
	})
}

// deadline returns when the write must have ended; it reports false for a write
// without a deadline. A run that begins waits longer while others are stored.
func (c *Committer) deadline(w *Commit) (time.Time, bool) {
	end := w.since.Add(writeWait)
	if on := c.stored.Add(writeWait); w.Write.Begin != nil && on.After(end) {
		end = on
		if most := w.since.Add(beginWait); end.After(most) {
			end = most
		}
	}
	return end, !w.Hold && !w.since.IsZero()
}

// keepHeld ends the writes that no longer wait.
func (c *Committer) keepHeld(batch []*Commit, err error) []*Commit {
	var held []*Commit
	for _, w := range batch {
		if w.Hold && time.Since(w.since) < c.Hold {
			held = append(held, w)
			continue
		}
		w.finish(err)
	}
	return held
}
