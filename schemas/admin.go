package schemas

import "time"

// AdminRun is a run of any user, as an admin sees it in lists.
type AdminRun struct {
	RunID          string    `json:"run_id"`
	ConversationID int64     `json:"conversation_id"`
	UserID         string    `json:"user_id"`
	UserName       string    `json:"user_name,omitempty"`
	State          RunState  `json:"state"`
	Attempt        int       `json:"attempt"`
	CreatedAt      time.Time `json:"created_at"`
	// EndedAt is absent until the run has ended, as is Model, the model that wrote the
	// last reply or was asked for it.
	EndedAt *time.Time `json:"ended_at,omitempty"`
	Model   string     `json:"model,omitempty"`
	// Page is absent for a page that the service does not have.
	Page string `json:"page,omitempty"`
	// Replica is the id of the process that has the run, or had it last.
	Replica    string          `json:"replica,omitempty"`
	StopReason StopReason      `json:"stop_reason,omitempty"`
	Usage      Usage           `json:"usage"`
	Error      *MessageFailure `json:"error,omitempty"`
}

// AdminRunList is a page of runs, the newest first. A page may have fewer items than
// were asked for, or none, while NextCursor says that there may be more: each request
// looks through a bounded number of runs.
type AdminRunList struct {
	Items      []AdminRun `json:"items"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

// SpanKind is what a run did during a span.
type SpanKind string

// The kinds of spans.
const (
	SpanQueue      SpanKind = "queue"
	SpanModel      SpanKind = "model"
	SpanTool       SpanKind = "tool"
	SpanApproval   SpanKind = "approval"
	SpanClientTool SpanKind = "client_tool"
)

// AdminSpan is a stretch of a run's time.
type AdminSpan struct {
	Kind SpanKind `json:"kind"`
	// Name is the tool, or the model once it is known.
	Name    string `json:"name,omitempty"`
	Attempt int    `json:"attempt"`
	// Thread tells apart what a tool does in threads of its own; 0 is the run itself.
	Thread    int64     `json:"thread,omitempty"`
	ToolUseID string    `json:"tool_use_id,omitempty"`
	StartedAt time.Time `json:"started_at"`
	// EndedAt is absent for a span that has not ended, or was broken off with its attempt.
	EndedAt      *time.Time `json:"ended_at,omitempty"`
	FirstTokenAt *time.Time `json:"first_token_at,omitempty"`
	// Usage is set for calls of the model in an ended run, but not in threads.
	Usage   *Usage `json:"usage,omitempty"`
	IsError bool   `json:"is_error,omitempty"`
	// Outcome is why a call of the model ended, or how an approval was answered.
	Outcome string `json:"outcome,omitempty"`
}

// AdminAttempt is one attempt of a run. Replica is the process that had it; it is absent
// if it is not known. StartedAt is absent without a log.
type AdminAttempt struct {
	Number    int        `json:"number"`
	Replica   string     `json:"replica,omitempty"`
	StartedAt *time.Time `json:"started_at,omitempty"`
}

// AdminCommit is a moment after which something of the run was on disk: begun,
// tool_started or ended.
type AdminCommit struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
	Name string    `json:"name,omitempty"`
}

// AdminTimeline is what a run did, in order of time.
type AdminTimeline struct {
	Run      AdminRun       `json:"run"`
	Attempts []AdminAttempt `json:"attempts"`
	Spans    []AdminSpan    `json:"spans"`
	Commits  []AdminCommit  `json:"commits"`
	// LogDropped says that the run's log was deleted because of its age: only the spans of
	// tools and the queue's commit are left.
	LogDropped bool `json:"log_dropped,omitempty"`
	// Truncated says that there are more spans than are shown.
	Truncated bool `json:"truncated,omitempty"`
	// LastSequence is the number of the last event of the log that was read.
	LastSequence int64 `json:"last_sequence"`
}

// AdminEvent is an event of a run's log: its time, and its frame of the dialect chat,
// absent if the event has none.
type AdminEvent struct {
	Sequence int64     `json:"sequence"`
	At       time.Time `json:"at"`
	Event    Object    `json:"event,omitempty"`
}

// AdminEventList is a part of a run's log. Next is the number to continue after, absent
// at its end.
type AdminEventList struct {
	Items []AdminEvent `json:"items"`
	Next  int64        `json:"next,omitempty"`
}

// AdminTotal is what runs used: of a day, a model, a page, a user or an error code, which
// Name says. Fallbacks are runs that another model than the first one answered.
type AdminTotal struct {
	Name         string `json:"name"`
	Runs         int64  `json:"runs"`
	Failed       int64  `json:"failed"`
	Cancelled    int64  `json:"cancelled"`
	Fallbacks    int64  `json:"fallbacks"`
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
	CostUSD      USD    `json:"cost_usd,omitzero"`
}

// AdminStats is the usage of all users between two days, both included. Models, Pages,
// Users and Errors have the first ones, by cost and then by runs. Users are counted from
// the day UsersFrom, later than From if there are too many; their failed, cancelled and
// fallback runs are not counted.
type AdminStats struct {
	From      string       `json:"from"`
	To        string       `json:"to"`
	Days      []AdminTotal `json:"days"`
	Models    []AdminTotal `json:"models"`
	Pages     []AdminTotal `json:"pages"`
	Users     []AdminTotal `json:"users"`
	Errors    []AdminTotal `json:"errors"`
	UsersFrom string       `json:"users_from,omitempty"`
}

// AdminReplica is a process that serves the database, or did lately. Live says that its
// lease is valid.
type AdminReplica struct {
	ID        string     `json:"id"`
	Name      string     `json:"name,omitempty"`
	Live      bool       `json:"live"`
	Draining  bool       `json:"draining,omitempty"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	OpenRuns  int64      `json:"open_runs"`
	// This is the process that answers.
	This bool `json:"this,omitempty"`
}

// AdminReplicaList is the processes, the newest first.
type AdminReplicaList struct {
	Items []AdminReplica `json:"items"`
}

// AdminMCPServer is an MCP server as the answering process sees it.
type AdminMCPServer struct {
	Name      string   `json:"name"`
	Connected bool     `json:"connected"`
	Tools     []string `json:"tools"`
	// Error is why it is not connected, if that is known.
	Error string `json:"error,omitempty"`
}

// AdminMCPServerList is the configured MCP servers.
type AdminMCPServerList struct {
	Items []AdminMCPServer `json:"items"`
}
