// Package modeltext bounds how much models write: in one reply, in one run and
// in all running runs. Its callers end a run that writes too much.
package modeltext

import (
	"sync/atomic"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/eventlog"
)

// The smallest limits of what models write, in bytes.
const (
	leastReplyText = 8 << 20
	leastRunText   = 16 << 20
	leastAllText   = 256 << 20
	// bytesPerToken is more than a token usually has: about four, more for
	// white space.
	bytesPerToken = 64
	// runsOfText is how many runs together may write as much as the limit of
	// one run.
	runsOfText = 8
	// A run with largeText ends alone, because its end briefly needs several
	// times the memory of its text; it waits no longer than aloneWait.
	largeText = 1 << 20
	aloneWait = 5 * time.Second
)

// Limits bound what models write, in bytes: text, reasoning and arguments of calls.
// Reply is for one reply, Run for a run with its threads, All for all running
// runs. A limit of 0 follows from the allowed tokens, see Or.
type Limits struct{ Reply, Run, All int64 }

// Or returns the limits, with a default for each that is 0: more than replies
// of that many tokens need.
func (l Limits) Or(maxTokens, maxIterations int) Limits {
	reply := int64(maxTokens) * bytesPerToken
	if l.Reply == 0 {
		l.Reply = max(reply, leastReplyText)
	}
	if l.Run == 0 {
		l.Run = min(max(reply*int64(maxIterations+1), leastRunText, l.Reply), eventlog.MaxBytes)
	}
	if l.All == 0 {
		l.All = max(runsOfText*l.Run, leastAllText)
	}
	return l
}

// The errors of runs whose model writes too much.
var (
	errReplyText = schemas.NewError(schemas.CodeUpstreamError, "the model wrote a longer reply than this service allows; the answer was stopped")
	errRunText   = schemas.NewError(schemas.CodeUpstreamError, "the model wrote more than this service allows for one answer; the answer was stopped")
	errAllText   = schemas.NewError(schemas.CodeTooManyRuns, "too much is being written at once; the answer was stopped, try again in a moment")
)

// Total counts what models write in all runs.
type Total struct {
	limits Limits
	all    atomic.Int64
	alone  chan struct{} // holds a value while a run with largeText ends
}

// Count is the share of one run. Only the run's goroutine uses it.
type Count struct {
	of         *Total
	run, reply int64
}

// Begin records that a reply begins.
func (c *Count) Begin() { c.reply = 0 }

// Add counts n bytes. Bytes of a thread do not count for the reply.
func (c *Count) Add(n int, inThread bool) error {
	c.run += int64(n)
	if !inThread {
		c.reply += int64(n)
	}
	switch all := c.of.all.Add(int64(n)); {
	case c.reply > c.of.limits.Reply:
		return errReplyText
	case c.run > c.of.limits.Run:
		return errRunText
	case all > c.of.limits.All:
		return errAllText
	}
	return nil
}

// Hold counts n bytes that an earlier attempt of the run has written.
func (c *Count) Hold(n int) {
	c.run += int64(n)
	c.of.all.Add(int64(n))
}

// Alone waits, if the run has much text, until no other such run is ending; done lets
// the next one end.
func (c *Count) Alone() (done func()) {
	if c.run < largeText {
		return func() {}
	}
	late := time.NewTimer(aloneWait)
	defer late.Stop()
	select {
	case c.of.alone <- struct{}{}:
		return func() { <-c.of.alone }
	case <-late.C:
		return func() {}
	}
}

// End subtracts what the run has counted, once its text is no longer held.
func (c *Count) End() {
	c.of.all.Add(-c.run)
	c.run = 0
}

// New returns a total with these limits. None of them may be 0.
func New(limits Limits) *Total {
	return &Total{limits: limits, alone: make(chan struct{}, 1)}
}

// Bytes returns how many bytes models have written in the running runs.
func (t *Total) Bytes() int64 { return t.all.Load() }

// Count returns the share of a run.
func (t *Total) Count() *Count { return &Count{of: t} }
