package turn

import (
	"encoding/json"
	"time"

	"github.com/chattray/chattray/schemas"
)

// Event is one event of the loop; the types in this file are all there are. A
// loop ends with LoopComplete, with Cancelled, or with an error. The loop waits
// until the consumer has taken each event, so the consumer can commit what must
// be stored before the loop continues.
type Event interface{ event() }

// CallStart says that iteration N's model call begins (0-based). Final is the
// last call, in which tools are forbidden.
type CallStart struct {
	Iteration int
	Final     bool
}

// ModelAsked says which model the call goes to, if it may go to several. Err is why the
// model before it has failed, nil for the first.
type ModelAsked struct {
	Model string
	Err   error
}

// ModelWaits says that the call waits that long before the model's server is asked
// again, because it was busy or could not be reached; 0 says that it has waited.
type ModelWaits struct{ For time.Duration }

// Thinking is a piece of the model's reasoning.
type Thinking struct{ Text string }

// TextDelta is a piece of the reply's text.
type TextDelta struct{ Text string }

// FullText is a whole reply's text, from a model that did not stream.
type FullText struct{ Text string }

// ToolArguments is a piece of a call's arguments while the model writes them.
// Index counts calls over the run; ID and Name are set as soon as they are
// known.
type ToolArguments struct {
	Index    int
	ID, Name string
	Fragment string
}

// Reply is a whole reply: the assistant's message with its calls.
type Reply struct {
	// Model is the model that wrote it, if it is not the requested one.
	Model      string             `json:"model,omitempty"`
	Text       string             `json:"text,omitempty"`
	Reasoning  string             `json:"reasoning,omitempty"`
	ToolCalls  []ToolCall         `json:"tool_calls,omitempty"`
	StopReason schemas.StopReason `json:"stop_reason,omitempty"`
	Usage      schemas.Usage      `json:"usage"`
	StartedAt  time.Time          `json:"started_at"`
	Duration   time.Duration      `json:"duration,omitempty"`
	// FirstIndex is the run-wide index of ToolCalls[0].
	FirstIndex int `json:"first_index,omitempty"`
	// Final is true if tools were forbidden in this call.
	Final bool `json:"final,omitempty"`
	// Synthetic is true if no model wrote it: it is the plain summary that
	// replaces a failed last call.
	Synthetic bool `json:"synthetic,omitempty"`
}

// Extras returns how many bytes the model's server gave with the calls.
func (r *Reply) Extras() (n int) {
	for i := range r.ToolCalls {
		n += len(r.ToolCalls[i].Extra)
	}
	return n
}

// ToolWaiting says that a call is about to wait; Request.Await runs after the yield
// returns. Input is valid JSON that fits the tool's schema.
type ToolWaiting struct {
	Index int
	ID    string
	Name  string
	Input json.RawMessage
	// Reason is why the user is asked; "" for a tool of the page.
	Reason schemas.ApprovalReason
}

// ToolAnswered says that a call no longer waits. Its ToolStart follows, even if
// the answer is already the call's result.
type ToolAnswered struct {
	Index int
	ID    string
	Name  string
	Verdict
}

// ToolStart says that a call is about to run; it runs after the yield returns.
// Input is valid JSON ({} if there were no arguments).
type ToolStart struct {
	Index int
	ID    string
	Name  string
	Input json.RawMessage
}

// ToolProgress is a step of a running call.
type ToolProgress struct {
	Index int
	ID    string
	Name  string
	Progress
}

// ToolComplete is a call's result. ModelText is the text for the model.
type ToolComplete struct {
	Index     int
	ID        string
	Name      string
	Result    Result
	ModelText string
}

// PayloadMade is a tool's payload; it comes before its ToolComplete.
type PayloadMade struct {
	Index   int
	Payload Payload
}

// ThreadEvent is an event in a thread that a running call has opened:
// ThreadStart, then the events of the loop in it, then ThreadEnd. Index is the
// call's, Thread counts its threads from 1. Events of one thread come in order,
// events of several threads in any order, and all before the call's
// ToolComplete. If a call is interrupted, its last events may be missing.
type ThreadEvent struct {
	Index  int
	Thread int
	Event  Event
}

// ThreadStart opens a thread, for a loop with that model.
type ThreadStart struct{ Label, Model string }

// ThreadEnd closes a thread. Err is why its loop has no answer; nil if it has
// one.
type ThreadEnd struct{ Err error }

// LoopComplete ends a loop that has its answer.
type LoopComplete struct {
	StopReason schemas.StopReason
	Usage      schemas.Usage
}

// Cancelled ends a loop whose context was cancelled; Cause is the reason. The
// unfinished reply has been yielded as deltas.
type Cancelled struct{ Cause error }

func (CallStart) event()     {}
func (ModelAsked) event()    {}
func (ModelWaits) event()    {}
func (Thinking) event()      {}
func (TextDelta) event()     {}
func (FullText) event()      {}
func (ToolArguments) event() {}
func (Reply) event()         {}
func (ToolWaiting) event()   {}
func (ToolAnswered) event()  {}
func (ToolStart) event()     {}
func (ToolProgress) event()  {}
func (ToolComplete) event()  {}
func (PayloadMade) event()   {}
func (ThreadEvent) event()   {}
func (ThreadStart) event()   {}
func (ThreadEnd) event()     {}
func (LoopComplete) event()  {}
func (Cancelled) event()     {}
