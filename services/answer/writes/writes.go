// Package writes has the writes of one attempt of a run. A write takes along what waits to
// be stored since the one before: the checkpoint of a reply or an action, and payloads.
package writes

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/eventlog"
)

// Options describes the attempt. All fields must be set.
type Options struct {
	Run     string
	Attempt int
	// Message is the id of the answer's message, to which payloads belong.
	Message string
	Log     *eventlog.Log
	Commit  *eventlog.Committer
	Now     func() time.Time
}

// Writes are the writes of an attempt. Only the run's goroutine uses them.
type Writes struct {
	Options

	checkpoint *attempts.Checkpoint // of no write yet; nil means none
	number     int                  // of the last checkpoint
	payloads   []schemas.CustomPayload
	unsaved    []*eventlog.Commit // those that may not be stored yet
	later      *eventlog.Commit   // the last one for which nobody waits
}

// New returns the writes of an attempt, none so far.
func New(o Options) *Writes { return &Writes{Options: o} }

// Keep keeps a checkpoint for the next write that does not end the run.
func (w *Writes) Keep(number int, c attempts.Checkpoint) { w.checkpoint, w.number = &c, number }

// Payload keeps a payload for the next write.
func (w *Writes) Payload(p schemas.CustomPayload) { w.payloads = append(w.payloads, p) }

// Forget drops what is kept, because an earlier attempt has stored it.
func (w *Writes) Forget() { w.checkpoint, w.payloads = nil, nil }

// Waiting reports whether a checkpoint waits to be stored.
func (w *Writes) Waiting() bool { return w.checkpoint != nil }

// Number returns the number of the last checkpoint, 0 for none.
func (w *Writes) Number() int { return w.number }

// Add submits a write. It is held while the database is not available.
func (w *Writes) Add(rw *record.Write) *eventlog.Commit {
	return w.submit(&eventlog.Commit{Write: rw, Hold: true})
}

// AddLater does the same for a write that nobody waits for. Later writes are
// not stored without it.
func (w *Writes) AddLater(rw *record.Write) {
	w.later = w.submit(&eventlog.Commit{Write: rw, Hold: true, Later: true})
}

// AddNow submits a write that is not held.
func (w *Writes) AddNow(rw *record.Write) *eventlog.Commit {
	return w.submit(&eventlog.Commit{Write: rw})
}

// Failed returns why a write that nobody waited for has failed, nil if none has.
func (w *Writes) Failed() error {
	if w.later == nil {
		return nil
	}
	return w.later.Failed()
}

func (w *Writes) submit(commit *eventlog.Commit) *eventlog.Commit {
	rw := commit.Write
	rw.RunID, rw.Attempt = w.Run, w.Attempt
	if w.checkpoint != nil && rw.Finish == nil {
		rw.Checkpoint = &record.Checkpoint{N: w.number, Data: schemas.Encode(w.checkpoint)}
	}
	for _, p := range w.payloads {
		rw.Payloads = append(rw.Payloads, record.Payload{CustomPayload: p, MessageID: w.Message, CreatedAt: w.Now()})
	}
	w.Forget()
	if w.later != nil && w.later.Stored() {
		w.later = nil
	}
	commit.Log, commit.After = w.Log, w.later
	e := w.Commit.Submit(commit)
	w.unsaved = append(slices.DeleteFunc(w.unsaved, (*eventlog.Commit).Stored), e)
	return e
}

// Unsaved returns the writes that could not be stored. A tool whose start is among them
// never began.
func (w *Writes) Unsaved() (lost []*eventlog.Commit) {
	if w.checkpoint != nil || len(w.payloads) > 0 {
		w.AddNow(&record.Write{})
	}
	for _, e := range w.unsaved {
		if err := e.Wait(context.Background()); !errors.Is(err, record.ErrUnavailable) {
			continue
		}
		if c := e.Write.ToolCall; c != nil && c.State == record.ToolStarted {
			e.Write.ToolCall = nil
		}
		lost = append(lost, e)
	}
	return lost
}
