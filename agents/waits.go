package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/turn"
)

// errAwaitPanicked ends a wait whose Await panicked, errCheckPanicked is the
// outcome of a check that did.
var (
	errAwaitPanicked = errors.New("agents: waiting panicked")
	errCheckPanicked = errors.New("agents: checking panicked")
)

// panickedText is what the model reads of a call that panicked.
const panickedText = "the tool failed unexpectedly"

// answered is the end of a call's wait.
type answered struct {
	call    *call
	verdict turn.Verdict
	err     error
}

// awaits says whether the call has to wait before it begins. Arguments that do
// not fit are told to the model at once; nobody is asked about them.
func (b *batch) awaits(ctx context.Context, c *call) bool {
	if c.tool == nil || b.req.Await == nil || !c.asked.IsZero() || c.fault != "" {
		return false
	}
	if !c.decided {
		c.decided = true
		b.decide(ctx, c)
	}
	if !c.tool.Client && c.reason == "" || c.fault != "" {
		return false
	}
	if !c.fits {
		c.fault = b.misfit(ctx, c)
		c.fits = c.fault == ""
	}
	return c.fits
}

// decide finds out whether and why the user is asked about the call. A call of
// which that cannot be known does not run.
func (b *batch) decide(ctx context.Context, c *call) {
	switch {
	case c.tool.Client:
	case b.req.Asks != nil:
		var err error
		c.reason, err = b.req.Asks(ctx, c.tool, &turn.Call{ID: c.ID, Index: c.index, Name: c.Name, Input: slices.Clone(c.input)})
		if err != nil {
			if ctx.Err() == nil {
				b.opts.Logger.WarnContext(ctx, "it is not known whether a call needs approval", "tool", c.Name, "tool_use_id", c.ID, "error", err)
			}
			c.fault = "the tool was not run: it could not be found out whether it needs the user's approval"
		}
	case c.tool.Confirm:
		c.reason = schemas.ReasonToolConfirms
	}
}

// misfit says why a call's tool cannot take its input; "" is that it can. A
// check that takes longer than ctx is left behind, and its outcome is nobody's.
func (b *batch) misfit(ctx context.Context, c *call) string {
	if c.tool.Check == nil {
		return ""
	}
	checked := make(chan error, 1)
	go func() {
		err := errCheckPanicked
		defer func() {
			if p := recover(); p != nil {
				b.opts.Logger.ErrorContext(ctx, "checking panicked", "tool", c.Name, "tool_use_id", c.ID, "panic", fmt.Sprint(p), "at", concurrent.PanicPlace())
			}
			checked <- err
		}()
		err = c.tool.Check(c.input)
	}()
	select {
	case err := <-checked:
		switch {
		case err == nil:
			return ""
		case errors.Is(err, errCheckPanicked):
			return panickedText
		}
		return "the tool was not run: its arguments do not fit its schema: " + err.Error()
	case <-ctx.Done():
		return "the tool was not run: the answer was stopped while its arguments were checked"
	}
}

// wait lets the call at the head of the queue wait, after its ToolWaiting has
// been taken. Others go on meanwhile.
func (b *batch) wait(ctx context.Context, c *call) {
	if !b.emit(turn.ToolWaiting{Index: c.index, ID: c.ID, Name: c.Name, Input: c.input, Reason: c.reason}) || ctx.Err() != nil {
		return
	}
	b.queue = b.queue[1:]
	b.waiting = append(b.waiting, c)
	c.asked = time.Now()
	go func() {
		a := answered{call: c, err: errAwaitPanicked}
		defer func() {
			if p := recover(); p != nil {
				b.opts.Logger.ErrorContext(ctx, "waiting panicked", "tool", c.Name, "tool_use_id", c.ID, "panic", fmt.Sprint(p), "at", concurrent.PanicPlace())
			}
			b.answers <- a
		}()
		a.verdict, a.err = b.req.Await(ctx, &turn.Call{ID: c.ID, Index: c.index, Name: c.Name, Input: slices.Clone(c.input)})
	}()
}

// answer takes the end of a wait: the call is the next to begin.
func (b *batch) answer(ctx context.Context, a answered) {
	c := a.call
	b.leave(c)
	switch {
	case a.err != nil && ctx.Err() != nil:
		return
	case a.err != nil:
		b.opts.Logger.WarnContext(ctx, "a call waited in vain", "tool", c.Name, "tool_use_id", c.ID, "error", a.err)
		r := failure("the tool was not run: what it had to wait for did not come")
		a.verdict = turn.Verdict{Result: &r}
	}
	if a.verdict.Input != nil {
		c.input = a.verdict.Input
	}
	c.outcome = a.verdict.Result
	b.emit(turn.ToolAnswered{Index: c.index, ID: c.ID, Name: c.Name, Verdict: a.verdict})
	b.queue = slices.Insert(b.queue, 0, c)
}

// leave takes a call out of those that wait.
func (b *batch) leave(c *call) {
	b.waiting = slices.DeleteFunc(b.waiting, func(w *call) bool { return w == c })
}
