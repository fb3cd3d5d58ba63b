package eventlog

import (
	"context"
	"errors"
	"log/slog"

	"github.com/chattray/chattray/schemas/record"
)

// When events that are part of no write are stored.
const (
	// fewEvents is the number below which events wait for more: committing one
	// event costs as much as committing eight.
	fewEvents = 8
	// maxWaits is the number of flushes after which they are stored anyway:
	// with defaultFlush, two seconds. Nothing depends on them: a reply under way
	// at a crash is written again from its beginning.
	maxWaits = 20
)

// Attempt is an attempt of a run and its log.
type Attempt struct {
	RunID  string
	Number int
	Log    *Log
}

// unstored is an attempt whose log has events that are in no committed write.
type unstored struct {
	Attempt
	waits int
}

// Watch stores the events of the attempt's log until the log is closed: at the
// next flush or, if they are few, some flushes later. A flush costs nothing for
// a log without new events.
func (c *Committer) Watch(a Attempt) {
	u := &unstored{Attempt: a}
	a.Log.watch(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unstored = append(c.unstored, u)
	})
}

// flush stores the events that are due, in batches.
func (c *Committer) flush() {
	c.mu.Lock()
	all := c.unstored
	c.unstored = nil
	c.mu.Unlock()
	var early []*unstored
	var batch []*Commit
	end := func() {
		c.commit(batch)
		for _, w := range batch {
			switch {
			case errors.Is(w.err, record.ErrUnavailable):
				w.Log.tellUnstored()
			case w.Write.Err != nil && !errors.Is(w.Write.Err, record.ErrFenced): // nobody waits for a flush, so that nothing else would tell of it
				c.lines.Write(context.Background(), c.Logger, slog.LevelError, "events could not be stored", slog.String("run_id", w.Write.RunID), slog.Any("error", w.Write.Err))
			}
		}
		batch = nil
	}
	for _, u := range all {
		due, waits := u.Log.due(c.Prompt || u.waits == maxWaits)
		switch {
		case due:
			u.waits = 0
			batch = append(batch, &Commit{Write: &record.Write{RunID: u.RunID, Attempt: u.Number}, Log: u.Log, ready: make(chan struct{})})
			if len(batch) == maxBatch {
				end()
			}
		case waits:
			u.waits++
			early = append(early, u)
		default:
			u.waits = 0
		}
	}
	if len(batch) > 0 {
		end()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unstored = append(early, c.unstored...)
}
