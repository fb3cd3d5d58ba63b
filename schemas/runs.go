package schemas

import "time"

// RunState is the state of a run.
type RunState string

// The run states.
const (
	RunQueued    RunState = "queued"
	RunRunning   RunState = "running"
	RunWaiting   RunState = "waiting"
	RunCompleted RunState = "completed"
	RunFailed    RunState = "failed"
	RunCancelled RunState = "cancelled"
)

// Terminal reports whether a run in this state has ended.
func (s RunState) Terminal() bool {
	return s == RunCompleted || s == RunFailed || s == RunCancelled
}

// Run is the work on one user message.
type Run struct {
	RunID          string    `json:"run_id"`
	ConversationID int64     `json:"conversation_id"`
	ChatID         string    `json:"chat_id,omitempty"`
	State          RunState  `json:"state"`
	Attempt        int       `json:"attempt"`
	LastSequence   int64     `json:"last_sequence"`
	UserMessageID  string    `json:"user_message_id,omitempty"`
	MessageID      string    `json:"message_id,omitempty"`
	CreatedAt      time.Time `json:"created_at"`
	// EndedAt is absent until the run has ended.
	EndedAt    *time.Time      `json:"ended_at,omitempty"`
	StopReason StopReason      `json:"stop_reason,omitempty"`
	Usage      Usage           `json:"usage"`
	Error      *MessageFailure `json:"error,omitempty"`
	// Begun is true if the request at hand began the run, false if it found it.
	Begun bool `json:"-"`
}

// RunList lists runs.
type RunList struct {
	Items []Run `json:"items"`
}
