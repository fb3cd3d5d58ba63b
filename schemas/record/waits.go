package record

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/chattray/chattray/schemas"
)

// ErrEnded is for an answer to a call of a run that has ended.
var ErrEnded = errors.New("record: the run has ended")

// WaitKind says whom a call waits for.
type WaitKind string

// The kinds of waits.
const (
	WaitApproval WaitKind = "approval"    // the user's yes or no
	WaitClient   WaitKind = "client_tool" // the page's outcome
)

// WaitAnswer says how a wait ended.
type WaitAnswer string

// The answers; "" means none yet.
const (
	WaitApproved WaitAnswer = "approved"
	WaitDenied   WaitAnswer = "denied"
	WaitExpired  WaitAnswer = "expired"
	WaitResult   WaitAnswer = "result"
)

// Wait is a call that waits for its answer. A run with an unanswered wait is
// waiting, else it is running: the store keeps that state in the transactions
// that add waits and answers.
type Wait struct {
	RunID string
	Index int // of the call, over the run
	Kind  WaitKind
	// ID is an approval's; ToolUseID is the model's id of the call.
	ID        string
	ToolUseID string
	Tool      string
	Input     json.RawMessage
	// Reason is why the user is asked; "" for a tool of the page.
	Reason    schemas.ApprovalReason
	CreatedAt time.Time
	ExpiresAt time.Time

	Answer     WaitAnswer
	AnsweredAt time.Time
	// Edited is the user's input that replaces Input; nil for none.
	Edited json.RawMessage
	// Output and IsError are the page's result.
	Output  string
	IsError bool
}
