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

// errAwaitPanicked is the error of an Await that panicked.
var errAwaitPanicked = errors.New("agents: waiting panicked")

// answered is how a call's wait ended.
type answered struct {
	call    *call
	verdict turn.Verdict
	err     error
}

// awaits reports whether the call has to wait before it begins. The user is not
// asked about invalid arguments: the model reads at once what is wrong.
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

// decide finds out whether the user has to approve the call, and why. If that
// fails, the call does not run.
func (b *batch) decide(ctx context.Context, c *call) {
	switch {
	case c.tool.Client:
	case b.req.Asks != nil:
		var err error
		c.reason, err = b.req.Asks(ctx, c.tool, &turn.Call{ID: c.ID, Index: c.index, Name: c.Name, Input: slices.Clone(c.input)})
		if err != nil {
			if ctx.Err() == nil {
				b.opts.Logger.WarnContext(ctx, "the check whether a call needs approval failed", "tool", c.Name, "tool_use_id", c.ID, "error", err)
			}
			c.fault = "the tool was not run: the check whether it needs the user's approval failed"
		}
	case c.tool.Confirm:
		c.reason = schemas.ReasonToolConfirms
	}
}

// misfit returns why the input does not fit the tool's schema; "" means that it
// does. A check that outlives ctx is abandoned.
func (b *batch) misfit(ctx context.Context, c *call) string {
	if c.tool.Check == nil {
		return ""
	}
	checked := make(chan string, 1)
	go func() { checked <- b.check(ctx, c) }()
	select {
	case fault := <-checked:
		return fault
	case <-ctx.Done():
		return "the tool was not run: the answer was stopped while its arguments were checked"
	}
}

// check is like misfit, but returns only once the check has ended.
func (b *batch) check(ctx context.Context, c *call) (fault string) {
	defer func() {
		if p := recover(); p != nil {
			b.opts.Logger.ErrorContext(ctx, "the check of a call panicked", "tool", c.Name, "tool_use_id", c.ID, "panic", fmt.Sprint(p), "at", concurrent.PanicPlace())
			fault = turn.Panicked
		}
	}()
	if err := c.tool.Check(c.input); err != nil {
		return "the tool was not run: its arguments do not fit its schema: " + err.Error()
	}
	return ""
}

// wait moves the first call of the queue to the waiting ones, after the
// consumer has taken its ToolWaiting. Other calls continue.
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
				b.opts.Logger.ErrorContext(ctx, "the wait of a call panicked", "tool", c.Name, "tool_use_id", c.ID, "panic", fmt.Sprint(p), "at", concurrent.PanicPlace())
			}
			b.answers <- a
		}()
		a.verdict, a.err = b.req.Await(ctx, &turn.Call{ID: c.ID, Index: c.index, Name: c.Name, Input: slices.Clone(c.input)})
	}()
}

// answer handles the end of a wait: the call is the next to begin.
func (b *batch) answer(ctx context.Context, a answered) {
	c := a.call
	b.leave(c)
	switch {
	case a.err != nil && ctx.Err() != nil:
		return
	case a.err != nil:
		b.opts.Logger.WarnContext(ctx, "waiting for an approval or a client tool failed", "tool", c.Name, "tool_use_id", c.ID, "error", a.err)
		r := failure("the tool was not run: waiting for its approval or result failed")
		a.verdict = turn.Verdict{Result: &r}
	}
	if a.verdict.Input != nil {
		c.input = a.verdict.Input
	}
	c.outcome = a.verdict.Result
	b.emit(turn.ToolAnswered{Index: c.index, ID: c.ID, Name: c.Name, Verdict: a.verdict})
	b.queue = slices.Insert(b.queue, 0, c)
}

// leave removes a call from the waiting ones.
func (b *batch) leave(c *call) {
	b.waiting = slices.DeleteFunc(b.waiting, func(w *call) bool { return w == c })
}
