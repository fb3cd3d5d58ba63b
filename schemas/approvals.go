package schemas

import (
	"encoding/json"
	"time"
)

// The events of the dialect chat while a call waits for the user or for the page.
const (
	TypeApprovalRequest  = "approval_request"
	TypeApprovalResolved = "approval_resolved"
	TypeClientToolCall   = "client_tool_call"
)

// ApprovalRequestEvent says that a call waits until the user approves or denies
// it: POST /api/chat/runs/{run_id}/approvals/{approval_id}. At ExpiresAt it is
// denied. After a recovery the same approval is shown again, with the same id.
type ApprovalRequestEvent struct {
	Type       string `json:"type"`
	ApprovalID string `json:"approval_id"`
	Tool       string `json:"tool"`
	ToolUseID  string `json:"tool_use_id"`
	// Index is the call's index, as in ToolStartEvent; nil in stored runs from before
	// there was one.
	Index     *int            `json:"index,omitempty"`
	Input     json.RawMessage `json:"input"`
	Message   string          `json:"message"`
	ExpiresAt time.Time       `json:"expires_at"`
	// Title tells the user what the call does, Description what the tool is.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Reason is why the user is asked, ReasonText is the same as a sentence.
	Reason     ApprovalReason `json:"reason,omitempty"`
	ReasonText string         `json:"reason_text,omitempty"`
}

// ApprovalReason is why a call needs the user's approval; "" means that it needs none.
type ApprovalReason string

// The reasons. If several apply, the last one of this list is given.
const (
	// ReasonToolConfirms is for a tool that always needs approval.
	ReasonToolConfirms ApprovalReason = "tool_confirms"
	// ReasonAfterUntrusted is for a call that the model made after it had read
	// text from outside.
	ReasonAfterUntrusted ApprovalReason = "after_untrusted"
	// ReasonUnseenURL is for such a call with a URL that the model composed
	// itself: it may leak data.
	ReasonUnseenURL ApprovalReason = "unseen_url"
)

// Text returns the reason as a sentence for the user.
func (r ApprovalReason) Text() string {
	switch r {
	case ReasonToolConfirms:
		return "This tool asks before it acts."
	case ReasonAfterUntrusted:
		return "The assistant has read text from outside, which may have told it to do this."
	case ReasonUnseenURL:
		return "The assistant has read text from outside and composed this address itself; the address may leak data."
	default:
		return ""
	}
}

// ApprovalResolvedEvent ends an ApprovalRequestEvent; an approval that expired
// was not approved. The call's ToolStartEvent follows, even if the call is not
// run.
type ApprovalResolvedEvent struct {
	Type       string `json:"type"`
	ApprovalID string `json:"approval_id"`
	Approved   bool   `json:"approved"`
}

// ClientToolCallEvent asks the page to run a tool of its request, and to answer
// with POST /api/chat/runs/{run_id}/tool_results. At ExpiresAt the call fails.
// After a recovery it is shown again, with the same ToolUseID.
type ClientToolCallEvent struct {
	Type      string          `json:"type"`
	Tool      string          `json:"tool"`
	ToolUseID string          `json:"tool_use_id"`
	Index     *int            `json:"index,omitempty"` // as in ApprovalRequestEvent
	Input     json.RawMessage `json:"input"`
	ExpiresAt time.Time       `json:"expires_at"`
}

// WaitKind is who a call waits for.
type WaitKind string

// The kinds of waits.
const (
	WaitApproval   WaitKind = "approval"    // the user's decision
	WaitClientTool WaitKind = "client_tool" // the page's result
)

// WaitAnswer is how a wait ended.
type WaitAnswer string

// The answers; "" means none yet.
const (
	WaitApproved WaitAnswer = "approved"
	WaitDenied   WaitAnswer = "denied"
	WaitExpired  WaitAnswer = "expired"
	WaitResult   WaitAnswer = "result"
)

// Wait is a call that waits for the user or for the page, or has waited. Index is that
// of the call, ApprovalID is set for an approval.
type Wait struct {
	Index      int             `json:"index"`
	Kind       WaitKind        `json:"kind"`
	ApprovalID string          `json:"approval_id,omitempty"`
	ToolUseID  string          `json:"tool_use_id"`
	Tool       string          `json:"tool"`
	Input      json.RawMessage `json:"input"`
	ExpiresAt  time.Time       `json:"expires_at"`
	Answer     WaitAnswer      `json:"answer,omitempty"`
	AnsweredAt *time.Time      `json:"answered_at,omitempty"`
}

// WaitList lists the waits of a run, in the order in which the model asked.
type WaitList struct {
	Items []Wait `json:"items"`
}

// ApprovalAnswer approves or denies a call. Input, an object that fits the
// tool's schema, replaces the call's own; only an approval may have one.
type ApprovalAnswer struct {
	Approved bool            `json:"approved"`
	Input    json.RawMessage `json:"input,omitempty"`
}

// MaxCallID is the length of the id of a call, in bytes: of what the service hands
// out as a model wrote it, and of what it accepts back. The tags of the requests
// and openapi.yaml repeat it.
const MaxCallID = 256

// ClientToolResult is the outcome of a ClientToolCallEvent. Output may be any
// JSON: the model reads the text of a string, and anything else as JSON.
type ClientToolResult struct {
	ToolUseID string `json:"tool_use_id" validate:"required,max=256"`
	// Index is the call's; it tells calls apart to which the model gave the same id.
	Index   *int            `json:"index,omitempty"`
	Output  json.RawMessage `json:"output"`
	IsError bool            `json:"is_error,omitempty"`
}

// ClientTool is a tool that the page runs itself. InputSchema is a JSON schema
// of type object, for the model; the page checks the arguments.
type ClientTool struct {
	Name        string          `json:"name" validate:"required,max=64,clientid"`
	Description string          `json:"description" validate:"required,max=4000"`
	InputSchema json.RawMessage `json:"input_schema"`
}
