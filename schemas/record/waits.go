package record

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/chattray/chattray/schemas"
)

// ErrEnded is for an answer to a call of a run that has ended.
var ErrEnded = errors.New("record: the run has ended")

// ErrEarly is for the end of a wait before its time by the database's clock.
var ErrEarly = errors.New("record: the wait is not over")

// CallAnswer is the answer to a call that waits, whose index it has: whether it may run,
// or the outcome of a tool of the page.
type CallAnswer struct {
	Index    int
	Approved *bool           // nil for an outcome
	Input    json.RawMessage // replaces the input of an approved call
	Output   json.RawMessage // nil for an approval
	IsError  bool
}

// Wait is a call that waits for its answer. A run with an unanswered wait is
// waiting, otherwise it is running: the store keeps that state in the
// transactions that add waits and answers.
type Wait struct {
	RunID string
	Index int // of the call, counted over the run
	Kind  schemas.WaitKind
	// ID is the id of an approval; ToolUseID is the model's id of the call.
	ID        string
	ToolUseID string
	Tool      string
	Input     json.RawMessage
	// Reason is why the user is asked; "" for a tool of the page.
	Reason    schemas.ApprovalReason
	CreatedAt time.Time
	ExpiresAt time.Time

	Answer     schemas.WaitAnswer
	AnsweredAt time.Time
	// Edited is the user's input that replaces Input; nil for none.
	Edited json.RawMessage
	// Output and IsError are the page's result.
	Output  string
	IsError bool
}
