// Package written shows the blocks that calls write while the model is still writing
// the calls: the argument that a tool streams goes into a draft of a block and into the
// log. Its caller owns the run, the log and the levels.
package written

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/seldom"
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
	// OpenDocument opens the place of a block's content: inside the reply or the tools
	// that are being shown, or beside them if there are none.
	OpenDocument(name, block, kind string) runlog.Level
	CloseDocument(at runlog.Level, status string)
}

// Calls are the calls of a run. Only the run's goroutine uses them.
type Calls struct {
	Options

	each    map[int]*call
	earlier []*lastWrite    // what calls of earlier attempts have written last, by block
	shown   map[int]bool    // the calls whose blocks earlier attempts have shown
	planned map[string]bool // the blocks that earlier attempts have planned
	untold  seldom.Log      // of pieces that could not be stored
}

// New returns the calls of a run, none so far.
func New(options Options) *Calls {
	return &Calls{Options: options, each: make(map[int]*call)}
}

// Arguments shows a piece of the arguments of a call that the model writes. The text
// of an argument that goes into a block is shown there and nowhere else.
func (a *Calls) Arguments(e turn.ToolArguments) { a.call(e.Index).take(e) }

// call returns the call of that index; it adds the call if there is none.
func (a *Calls) call(index int) *call {
	c := a.each[index]
	if c == nil {
		c = a.newCall(index)
		if a.planning(index) {
			c.phase = later
		}
		a.each[index] = c
	}
	return c
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
// did not arrive in pieces. The block of a call whose arguments do not fit is shown
// as it was before. If arguments after the content say something else about a block,
// such as its type or its place, the block is written again; if they name another
// block, the one that was added is removed.
func (a *Calls) Reply(e *turn.Reply) {
	undone := make(map[string]bool) // the blocks of calls that do not fit
	for i, asked := range e.ToolCalls {
		whole := turn.ToolArguments{Index: e.FirstIndex + i, ID: asked.ID, Name: asked.Name}
		if a.each[whole.Index] == nil {
			whole.Fragment = asked.Arguments
		}
		c := a.call(whole.Index)
		if t := a.Tool(asked.Name); t.Streams != nil && !fits(&t, asked.Arguments) {
			if c.refuse() {
				undone[c.draft.Block()] = true
			}
		}
		c.take(whole)
		switch {
		case c.phase == later, c.phase == refused:
		case c.draft != nil && (c.request() != c.asked || undone[c.draft.Block()]):
			c.again(asked.Arguments)
		default:
			c.end("completed")
		}
	}
}

// fits reports whether a tool is called with the arguments.
func fits(t *turn.Tool, arguments string) bool {
	input, err := turn.Input(arguments)
	return err == nil && (t.Check == nil || t.Check(t.Fill(input)) == nil)
}

// Begin shows the block of a call that runs now and whose block has not been shown: it
// had to wait for a plan, for another run or for the user's approval, or an earlier
// attempt has not come so far.
func (a *Calls) Begin(e turn.ToolStart) {
	c := a.each[e.Index]
	switch t := a.Tool(e.Name); {
	case t.Streams == nil:
	case c != nil && c.phase == later && c.streams():
		c.phase = writing
		c.step()
		c.end("completed")
	case c != nil && c.streams(), a.shown[e.Index]:
	case fits(&t, string(e.Input)):
		c = a.newCall(e.Index)
		c.second = true
		a.each[e.Index] = c
		c.take(turn.ToolArguments{Index: e.Index, ID: e.ID, Name: e.Name, Fragment: string(e.Input)})
		c.end("completed")
	}
}

// Failed shows the block of a call that has failed as it was before, also if an earlier
// attempt has written it. A block over
// which the user had still to decide keeps the text that was stored with the reply.
func (a *Calls) Failed(index int) {
	if c := a.each[index]; c == nil {
		a.undo(index)
	} else if c.phase != kept {
		c.refuse()
	}
}

// End ends what is still being written when the run ends. A block over which the user
// had still to decide is shown as it was before.
func (a *Calls) End(status string) {
	for _, index := range slices.Sorted(maps.Keys(a.each)) {
		if c := a.each[index]; c.phase < closed && c.draft != nil && c.draft.Held() {
			c.refuse()
		} else {
			c.end(status)
		}
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

// Store ends a draft, which calls show before the user decides about the block. It reports
// whether all of it is stored, or that it cannot be. The error is record.ErrUnavailable: it
// may be stored later.
func (a *Calls) Store(d *documents.Draft, show func()) (whole, failed bool, away error) {
	ctx, done := a.Storing()
	defer done()
	err := d.End(ctx, show)
	a.Fenced(err)
	switch {
	case err == nil:
		return !d.Withdrawn(), false, nil
	case errors.Is(err, record.ErrFenced): // the block is the later attempt's
		return false, false, nil
	case errors.Is(err, record.ErrUnavailable):
		a.untold.Write(ctx, a.Logger, slog.LevelWarn, "could not store a piece of a block", slog.String("run_id", a.Run), slog.Any("error", err))
		return true, false, err
	default:
		return false, true, nil
	}
}

// Storing returns a context for the writes of a draft, which also works while the run
// is being stopped.
func (a *Calls) Storing() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(a.Context), eventlog.CommitWait)
}
