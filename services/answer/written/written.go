// Package written shows the blocks that calls write while the model is still writing
// the calls: the argument that a tool streams goes into a draft of a block and into the
// log. Its caller owns the run, the log and the levels.
package written

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/eventlog"
)

// Options describes the run whose calls are shown. All fields must be set.
type Options struct {
	Context context.Context //nolint:containedctx // the run's, which lives as long as the calls
	Run     string
	Owner   schemas.User
	// Document is the document that the run writes, "" for none.
	Document string
	// Title is the text from which a document that is created gets its title.
	Title  string
	Drafts *documents.Documents
	Levels Levels
	// Emit appends an event to the log; Append does so from any goroutine.
	Emit   func(at runlog.Level, b runlog.Body)
	Append func(at runlog.Level, b runlog.Body) error
	// Tool returns an offered tool, or the zero Tool.
	Tool func(name string) turn.Tool
	// Asked is how many calls the finished replies have asked for.
	Asked func() int
	// Approved says that all calls need approval.
	Approved bool
	// Fenced takes the errors of writes: one may say that a later attempt has begun.
	Fenced func(err error)
	Logger *slog.Logger
}

// Levels gives the events of calls their places in the log.
type Levels interface {
	Arguments(e turn.ToolArguments)
	Streamed(index int, argument string)
	OpenDocument(name, block, kind string) runlog.Level
	CloseDocument(at runlog.Level, status string)
}

// Calls are the calls of a run. Only the run's goroutine uses them.
type Calls struct {
	Options

	each map[int]*call
}

// New returns the calls of a run, none so far.
func New(options Options) *Calls {
	return &Calls{Options: options, each: make(map[int]*call)}
}

// Arguments shows a piece of the arguments of a call that the model writes. The text
// of an argument that goes into a block is shown there and nowhere else.
func (a *Calls) Arguments(e turn.ToolArguments) {
	c := a.each[e.Index]
	if c == nil {
		c = &call{all: a, index: e.Index, later: a.planning(e.Index)}
		a.each[e.Index] = c
	}
	c.take(e)
}

// planning reports whether an earlier call of the current reply makes a plan:
// the plan would remove what is written now.
func (a *Calls) planning(index int) bool {
	for i := a.Asked(); i < index; i++ {
		if c := a.each[i]; c != nil && c.tool.Replans {
			return true
		}
	}
	return false
}

// Reply ends the blocks of a whole reply, and shows those whose arguments
// did not arrive in pieces. If arguments after the content say more about a
// block, such as its id or its place, the block is shown again; a block that
// was added without them is removed.
func (a *Calls) Reply(e *turn.Reply) {
	for i, asked := range e.ToolCalls {
		index := e.FirstIndex + i
		whole := turn.ToolArguments{Index: index, ID: asked.ID, Name: asked.Name}
		if a.each[index] == nil {
			whole.Fragment = asked.Arguments
		}
		a.Arguments(whole)
		c := a.each[index]
		if c == nil || c.later {
			continue
		}
		c.end("completed")
		if c.draft != nil && len(c.args.Head) > c.early && c.takeBack() {
			first := strings.TrimSuffix(string(schemas.Encode(c.args.Head)), "}")
			whole.Fragment = first + `,` + strings.TrimPrefix(strings.TrimSpace(asked.Arguments), "{")
			c = &call{all: a, index: index, again: true}
			a.each[index] = c
			c.take(whole)
			c.end("completed")
		}
	}
}

// Begin shows the block of a call that had to wait for a plan, or for another
// run, now that it runs.
func (a *Calls) Begin(index int) {
	if c := a.each[index]; c != nil && c.later {
		c.later = false
		if c.streams() {
			c.step()
		}
		c.end("completed")
	}
}

// End ends what is still being written when the run ends.
func (a *Calls) End(status string) {
	for _, c := range a.each {
		c.end(status)
	}
}

// Streamed returns the argument of a call whose text goes into a block, "" for none.
func (a *Calls) Streamed(index int) string {
	if c := a.each[index]; c != nil && c.streamed {
		return c.tool.Streams.Argument
	}
	return ""
}

// Draft returns what a call writes while the model writes it, nil for nothing.
func (a *Calls) Draft(index int) *documents.Draft {
	if c := a.each[index]; c != nil {
		return c.draft
	}
	return nil
}

// claimOf returns the run's claim to a block of its document.
func (a *Calls) claimOf(block string) documents.Claim {
	return documents.Claim{Run: a.Run, Owner: a.Owner.ID, Document: a.Document, Blocks: []string{block}}
}

// EndDraft ends a draft and reports whether all of it is stored. A block that
// could not be stored completely is removed from the document, and readers are
// told with reset, so that they see what is stored.
func (a *Calls) EndDraft(d *documents.Draft, at runlog.Level, reset *runlog.BlockReset) bool {
	ctx, done := a.Storing()
	defer done()
	err := d.End(ctx)
	a.Fenced(err)
	switch {
	case err == nil:
		return !d.Withdrawn()
	case errors.Is(err, record.ErrFenced): // the block is the later attempt's
		return false
	case errors.Is(err, record.ErrUnavailable): // the run stops too
		a.Logger.Warn("could not store a piece of a block", "run_id", a.Run, "error", err)
		return true
	}
	if _, err := a.Drafts.Settle(ctx, a.Owner, d.Block(), record.Revert, nil); err != nil {
		a.Logger.Warn("could not remove an incomplete block", "run_id", a.Run, "error", err)
	}
	a.Emit(at, reset)
	return false
}

// Storing returns a context for the writes of a draft, which also works while the run
// is being stopped.
func (a *Calls) Storing() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(a.Context), eventlog.CommitWait)
}
