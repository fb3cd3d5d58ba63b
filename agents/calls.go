package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/turn"
)

// errToolTimeout cancels the context of a call that timed out, errGone the contexts
// of the calls when the consumer stopped reading.
var (
	errToolTimeout = errors.New("agents: the tool timed out")
	errGone        = errors.New("agents: the reader has stopped")
)

// batch runs the calls of one reply. Everything but the calls' own goroutines
// happens on the goroutine of Run.
type batch struct {
	*loop
	queue   []*call // not yet started, in the order in which the model asked
	waiting []*call // calls that wait for an answer from outside; they do not count as running
	running []*call
	alone   bool          // a serial call is running
	ended   chan ended    // with room for every call, so that an abandoned one never blocks
	answers chan answered // with room for every call
	bell    chan struct{} // some call has progress
	threads chan threadEvent
	over    chan struct{} // closed when threads no longer has a reader
}

// call is one call of a tool.
type call struct {
	turn.ToolCall
	index    int
	position int // in the reply
	tool     *turn.Tool
	input    json.RawMessage
	fault    string // why the call cannot run
	fits     bool   // its input was checked before it waited
	decided  bool   // reason is known
	reason   schemas.ApprovalReason
	asked    time.Time    // when it began to wait
	outcome  *turn.Result // the result of the wait; if set, the call is not run
	started  time.Time
	progress progress
	running  *concurrent.AbandonedCall // nil if it is not run
	threads  atomic.Int32              // opened so far
	once     sync.Once
}

// ended is a call's end. void is true if it has no outcome because it was
// cancelled.
type ended struct {
	call   *call
	result turn.Result
	void   bool
}

// runTools runs the reply's calls that have no result yet, and yields their
// events: calls run in parallel up to the limit, a serial one alone, and all
// start in order. False means that the loop has ended.
func (l *loop) runTools(ctx context.Context, reply turn.Reply, results []*turn.Result) bool {
	b := &batch{loop: l, bell: make(chan struct{}, 1), threads: make(chan threadEvent), over: make(chan struct{})}
	defer close(b.over)
	for i, c := range reply.ToolCalls {
		if results[i] == nil {
			next := l.prepare(c, reply.FirstIndex+i, i, b.bell)
			if reply.StopReason == schemas.MaxTokens && i == len(reply.ToolCalls)-1 && next.tool != nil && unfinished(c.Arguments) {
				next.fault = cutOffText
			}
			b.queue = append(b.queue, next)
		}
	}
	b.ended, b.answers = make(chan ended, len(b.queue)), make(chan answered, len(b.queue))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slow := time.NewTimer(progressInterval)
	defer slow.Stop()
	for {
		for ctx.Err() == nil && b.ready(ctx) {
			b.next(ctx)
		}
		switch {
		case l.gone:
			cancel(errGone)
			b.windDown(ctx, results)
			return false
		case ctx.Err() != nil:
			b.windDown(ctx, results)
			return l.cancelled(ctx)
		case len(b.running) == 0 && len(b.waiting) == 0:
			return true
		}
		select {
		case e := <-b.ended:
			b.end(e, results)
		case a := <-b.answers:
			b.answer(ctx, a)
		case e := <-b.threads:
			b.thread(e)
		case <-b.bell:
			b.report(slow)
		case <-slow.C:
			b.report(slow)
		case <-ctx.Done():
		}
	}
}

// prepare finds the call's tool and input, or why it cannot run.
func (l *loop) prepare(c turn.ToolCall, index, position int, bell chan struct{}) *call {
	out := &call{ToolCall: c, index: index, position: position, tool: l.tool(c.Name)}
	out.progress.init(bell)
	var err error
	out.input, err = turn.Input(c.Arguments)
	switch {
	case out.tool == nil:
		names := make([]string, len(l.req.Tools))
		for i := range l.req.Tools {
			names[i] = l.req.Tools[i].Name
		}
		out.fault = fmt.Sprintf("there is no tool named %q; the tools are: %s", c.Name, cmp.Or(strings.Join(names, ", "), "none"))
	case err != nil:
		out.fault = "the tool was not run: " + err.Error()
	default:
		out.input = out.tool.Fill(out.input)
	}
	return out
}

// cutOffText is what the model reads about a call that the limit of tokens cut
// off.
const cutOffText = "the tool was not run: the reply reached its limit of tokens before the arguments were whole; call it again with less in them"

// unfinished reports whether arguments that were cut off are incomplete. Empty
// arguments are: more may have been to come.
func unfinished(arguments string) bool { return !json.Valid([]byte(arguments)) }

// ready reports whether the next call may start now.
func (b *batch) ready(ctx context.Context) bool {
	if b.gone || len(b.queue) == 0 || ctx.Err() != nil {
		return false
	}
	if b.awaits(ctx, b.queue[0]) {
		return true
	}
	if ctx.Err() != nil || b.alone || len(b.running) >= b.opts.Parallel {
		return false
	}
	return len(b.running) == 0 || !b.queue[0].serial()
}

func (c *call) serial() bool { return c.tool != nil && c.tool.Serial }

// next starts the next call after the consumer has taken its ToolStart, or lets
// the call wait.
func (b *batch) next(ctx context.Context) {
	c := b.queue[0]
	if b.awaits(ctx, c) {
		b.wait(ctx, c)
		return
	}
	if !b.emit(turn.ToolStart{Index: c.index, ID: c.ID, Name: c.Name, Input: c.input}) || ctx.Err() != nil {
		return
	}
	b.queue = b.queue[1:]
	b.running = append(b.running, c)
	b.alone = c.serial()
	c.started = time.Now()
	switch {
	case c.fault != "":
		b.finish(c, failure(c.fault), false)
		return
	case c.outcome != nil:
		c.started = c.asked
		b.finish(c, clean(*c.outcome), false)
		return
	}
	if b.abandoned.Full(c.Name) {
		b.finish(c, failure(turn.Stuck), false)
		return
	}
	c.running = b.abandoned.Call(c.Name)
	c.running.Begins()
	timeout := cmp.Or(max(c.tool.Timeout, 0), b.opts.ToolTimeout)
	late := failure(c.tool.Late(timeout))
	ctx, cancel := context.WithCancelCause(ctx)
	clock := startClock(timeout, func() {
		cancel(errToolTimeout)
		time.AfterFunc(b.opts.Grace, func() { b.finish(c, late, false) })
	})
	go func() {
		concurrent.GrowDeepStack()
		result, void := failure(turn.Panicked), false
		defer func() {
			if p := recover(); p != nil {
				b.opts.Logger.ErrorContext(ctx, "tool panicked", "tool", c.Name, "tool_use_id", c.ID, "panic", p, "at", concurrent.PanicPlace())
			}
			clock.stop()
			cancel(nil)
			c.running.Ends()
			b.finish(c, result, void)
		}()
		result, void = b.execute(ctx, c, clock, late)
	}()
}

// execute checks the input and runs the tool. The check cannot be interrupted: a
// call whose context ends meanwhile ends at once, and this goroutine after it.
func (b *batch) execute(ctx context.Context, c *call, clock *clock, late turn.Result) (result turn.Result, void bool) {
	stopped := func() (turn.Result, bool) {
		if errors.Is(context.Cause(ctx), errToolTimeout) {
			return late, false
		}
		return turn.Result{}, true
	}
	if c.tool.Check != nil {
		leave := context.AfterFunc(ctx, func() {
			result, void := stopped()
			b.finish(c, result, void)
		})
		fault := b.check(ctx, c)
		switch {
		case !leave():
			return stopped()
		case fault != "":
			return failure(fault), false
		}
	}
	asked := &turn.Call{
		ID: c.ID, Index: c.index, Name: c.Name, Input: slices.Clone(c.input), Output: b.req.ToolOutput,
		Report: c.progress.report, Clock: clock.pause,
	}
	if !b.inThread {
		asked.Loop = func(ctx context.Context, label string, req turn.Request) (turn.Conclusion, error) {
			return b.converse(ctx, c, label, req)
		}
	}
	result, err := b.runTool(ctx, c.tool, asked)
	if err == nil {
		return clean(result), false
	}
	if ctx.Err() != nil {
		return stopped()
	}
	told, readable := errors.AsType[*schemas.Error](err)
	if !readable || err.Error() != told.Error() { // there is more than the model may read
		b.opts.Logger.WarnContext(ctx, "tool failed", "tool", c.Name, "tool_use_id", c.ID, "error", err)
	}
	if readable {
		return failure(told.Message), false
	}
	return failure(turn.Failed), false
}

func (l *loop) runTool(ctx context.Context, t *turn.Tool, asked *turn.Call) (turn.Result, error) {
	if l.req.RunTool != nil {
		return l.req.RunTool(ctx, t, asked)
	}
	return t.Run(ctx, asked)
}

func failure(text string) turn.Result { return clean(turn.Result{Text: text, IsError: true}) }

// abandonedText is logged of a call that goes on although nobody waits for it.
const abandonedText = "tool ignores its context and is abandoned"

// finish records the call's end. Later calls of finish do nothing.
func (b *batch) finish(c *call, result turn.Result, void bool) {
	c.once.Do(func() {
		result.Duration = time.Since(c.started)
		if c.running != nil && c.running.Leaves() {
			b.opts.Logger.Warn(abandonedText, "run_id", b.req.RunID, "tool", c.Name, "tool_use_id", c.ID)
		}
		b.ended <- ended{c, result, void}
	})
}

// end handles a call's end and yields its last events.
func (b *batch) end(e ended, results []*turn.Result) {
	c := e.call
	b.running = slices.DeleteFunc(b.running, func(r *call) bool { return r == c })
	b.alone = b.alone && len(b.running) > 0
	b.yieldProgress(c, true)
	if e.void {
		return
	}
	kept, own := b.keep(e.result)
	results[c.position] = &own
	if e.result.Payload != nil && !b.gone {
		b.emit(turn.PayloadMade{Index: c.index, Payload: *e.result.Payload})
	}
	if !b.gone {
		b.emit(turn.ToolComplete{Index: c.index, ID: c.ID, Name: c.Name, Result: kept, ModelText: own.Text})
	}
}

// windDown waits for the running calls of a cancelled batch, for the grace at
// most, and yields the outcomes that arrive in that time.
func (b *batch) windDown(ctx context.Context, results []*turn.Result) {
	grace := time.NewTimer(b.opts.Grace)
	defer grace.Stop()
	for len(b.running) > 0 || len(b.waiting) > 0 {
		select {
		case e := <-b.ended:
			b.end(e, results)
		case a := <-b.answers:
			b.leave(a.call)
		case e := <-b.threads:
			b.thread(e)
		case <-grace.C:
			for _, c := range slices.Concat(b.waiting, b.running) {
				if c.running == nil || c.running.Leaves() {
					b.opts.Logger.WarnContext(ctx, abandonedText, "tool", c.Name, "tool_use_id", c.ID)
				}
			}
			return
		}
	}
}

// report yields the progress that is due and sets slow to the time when more
// may be due.
func (b *batch) report(slow *time.Timer) {
	held := false
	for _, c := range slices.Clone(b.running) {
		held = b.yieldProgress(c, false) || held
	}
	if held {
		slow.Reset(progressInterval)
	}
}

func (b *batch) yieldProgress(c *call, last bool) (held bool) {
	due, held := c.progress.take(last)
	for _, p := range due {
		if b.gone {
			break
		}
		b.emit(turn.ToolProgress{Index: c.index, ID: c.ID, Name: c.Name, Progress: p})
	}
	return held
}
