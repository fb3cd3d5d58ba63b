package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

const (
	// maxThreads is how many threads one call may open.
	maxThreads = 32
	// maxThreadLabel is the length of a thread's label, in bytes.
	maxThreadLabel = 200
)

var errManyThreads = schemas.NewError(schemas.CodeInvalid, fmt.Sprintf("a tool may have at most %d conversations", maxThreads))

// threadEvent is an event of a thread. taken gets a value when the event has been yielded.
type threadEvent struct {
	turn.ThreadEvent
	taken chan<- struct{}
}

// converse runs a loop in a new thread of the call, on the tool's goroutine.
// Each event waits until the tool's loop has taken it: one sequence has all
// events, and a slow reader slows the thread.
func (b *batch) converse(ctx context.Context, c *call, label string, req turn.Request) (answer turn.Conclusion, err error) {
	n := int(c.threads.Add(1))
	if n > maxThreads {
		return turn.Conclusion{}, errManyThreads
	}
	label = text.Bytes(label, maxThreadLabel)
	taken := make(chan struct{}, 1)
	show := func(e turn.Event) bool {
		select {
		case b.threads <- threadEvent{turn.ThreadEvent{Index: c.index, Thread: n, Event: e}, taken}:
			<-taken
			return true
		case <-b.over:
			return false
		}
	}
	if !show(turn.ThreadStart{Label: label, Model: req.Model}) {
		return turn.Conclusion{}, errGone
	}
	c.tell(threadState{Thread: n, Label: label, Status: "started"})
	err = errGone // even if the model panics
	defer func() {
		state := threadState{Thread: n, Label: label, Status: "completed"}
		switch {
		case err == nil:
		case errors.Is(context.Cause(ctx), concurrent.ErrLost):
			state.Status, state.Reason = "cancelled", lostText
		case ctx.Err() != nil:
			state.Status = "cancelled"
		default:
			state.Status = "error"
		}
		c.tell(state)
		show(turn.ThreadEnd{Err: err})
	}()
	answer, err = b.inner(ctx, req, func(e turn.Event) bool {
		if start, ok := e.(turn.ToolStart); ok {
			c.tell(threadState{Thread: n, Label: label, Status: "running", Tool: start.Name})
		}
		return show(e)
	})
	return answer, err
}

// inner runs the loop of a thread and collects its answer.
func (b *batch) inner(ctx context.Context, req turn.Request, show func(turn.Event) bool) (answer turn.Conclusion, err error) {
	l := newLoop(b.Agent, &req, func(e turn.Event, failed error) bool {
		if failed != nil {
			err = failed
			return false
		}
		switch e := e.(type) {
		case turn.Reply:
			answer.Text, answer.Model = e.Text, e.Model
		case turn.ToolComplete:
			if e.Result.Payload != nil {
				answer.Payloads = append(answer.Payloads, *e.Result.Payload)
			}
		case turn.LoopComplete:
			answer.StopReason = e.StopReason
		case turn.Cancelled:
			err = e.Cause
		case turn.CallStart, turn.ModelAsked, turn.ModelWaits, turn.Thinking, turn.TextDelta, turn.FullText, turn.ToolArguments, turn.ToolWaiting, turn.ToolAnswered, turn.ToolStart, turn.ToolProgress,
			turn.PayloadMade, turn.ThreadEvent, turn.ThreadStart, turn.ThreadEnd:
		}
		return show(e)
	})
	l.inThread = true
	for n := 0; l.step(ctx, n); n++ {
	}
	if err == nil && answer.StopReason == "" {
		err = errGone // nobody takes events any longer
	}
	return answer, err
}

// thread yields a thread's event, after the progress that the call reported
// before it. Events of an abandoned call are dropped.
func (b *batch) thread(e threadEvent) {
	defer func() { e.taken <- struct{}{} }()
	at := slices.IndexFunc(b.running, func(c *call) bool { return c.index == e.Index })
	if at < 0 {
		return
	}
	b.yieldProgress(b.running[at], false)
	if !b.gone {
		b.emit(e.ThreadEvent)
	}
}

// lostText is why a thread whose answer is no longer needed was stopped.
const lostText = "stopped: another answer came first"

// threadState is the state of one of a call's threads in the call's progress.
type threadState struct {
	Thread int    `json:"thread"`
	Label  string `json:"label"`
	Status string `json:"status"`
	Tool   string `json:"tool,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// tell reports a thread's state as progress of the call, for dialects that do
// not show threads. The fraction is left to the tool.
func (c *call) tell(state threadState) {
	text := state.Label
	if more := cmp.Or(state.Tool, state.Reason); more != "" {
		text += ": " + more
	}
	(&turn.Call{Report: c.progress.report}).Progress("thread", text, 0, state)
}
