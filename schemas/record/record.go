// Package record has the types that services and store exchange about runs:
// everything that a run writes, in the shape of one write. Nothing here is sent
// on a wire.
package record

import (
	"encoding/json"
	"iter"
	"time"

	"github.com/chattray/chattray/schemas"
)

// Run is a stored run.
type Run struct {
	ID             string
	ConversationID int64
	ChatKey        string
	Owner          schemas.User // the user, with the roles at that time
	// Replica is the process that the run belongs to; "" is none.
	Replica string
	State   schemas.RunState
	Attempt int // 0 until it is started
	// Uncounted is the number of attempts that do not count as failed: the run waited, or was
	// handed over, when they ended.
	Uncounted int
	Request   json.RawMessage
	// Page is the page of the request if the service has it.
	Page           string
	UserMessageID  string
	MessageID      string // the answer's id, chosen at the start
	LastSeq        int64
	CreatedAt      time.Time
	EndedAt        time.Time // zero until it has ended
	StopReason     schemas.StopReason
	Usage          schemas.Usage
	Error          *schemas.MessageFailure
	IdempotencyKey string
	BodyHash       string
	// CancelRequested is stored: a recovered run with it ends at once.
	CancelRequested bool
}

// Taken is a run that a process has taken from others: State as it was, and the
// attempt that it is at now. It still has to be read.
type Taken struct {
	ID      string
	State   schemas.RunState
	Attempt int
}

// Left is what the attempts of a run have stored: the checkpoints and the segments of its
// log in order, and its calls in the order in which the model asked for them, with as much
// of their outputs as is shown.
type Left struct {
	Run
	Checkpoints []Checkpoint
	ToolCalls   []ToolCall
	Segments    []Segment
	// Err is why a part of it could not be read. If that is the run itself, it has no state.
	Err error
}

// Ticket replaces a token in a URL. Only its hash is kept.
type Ticket struct {
	Hash  []byte
	Owner string
	// Identity is who the ticket stands for, and Ends when the token ends; zero is never.
	Identity []byte
	Ends     time.Time
}

// Claim is what a run writes: blocks of a document, or with Plan its structure. The zero
// value claims nothing.
type Claim struct {
	Run, Owner string
	Document   string
	Blocks     []string
	Plan       bool
}

// ChatPlace is a place in the order of a chat's runs.
type ChatPlace struct {
	Owner, Chat string
	Place       int64
}

// Started is a run of a chat, with its place.
type Started struct {
	ChatPlace
	RunID string
}

// CallID names a call of a run.
type CallID struct {
	RunID string
	Index int
}

// OpenRun is a run that has not ended, with its request.
type OpenRun struct {
	ID             string
	ConversationID int64
	Request        json.RawMessage
}

// Write is everything that one run writes at a time. All parts of a write are
// applied together or not at all; many writes share a transaction. Except for
// Begin, a write is applied only while the run's attempt is Attempt and the run
// has not ended; otherwise its Err is ErrFenced.
type Write struct {
	RunID   string
	Attempt int

	Begin      *Begin
	Segment    *Segment
	Checkpoint *Checkpoint
	ToolCall   *ToolCall
	// Wait is a call that begins to wait; a call that already waits is
	// unchanged.
	Wait     *Wait
	Payloads []Payload
	Finish   *Finish

	// Err is the error of this write, set by the store.
	Err error
}

// Begin makes the run: the chat (found or made), the messages, the run's row.
type Begin struct {
	Run Run
	// ConversationID 0 finds or makes the owner's chat with ChatKey.
	ConversationID int64
	ChatKey        string
	// FirstMessage is the text that a new chat begins with, Title its title.
	FirstMessage, Title string
	// Unlisted keeps a new chat out of the list of chats.
	Unlisted bool
	// History is stored in a new chat before the user's message.
	History []schemas.Message
	// UserMessage is nil if an answer is generated again. Named says that its
	// id is the client's: one that the owner uses already is schemas.ErrTaken.
	UserMessage *UserMessage
	Named       bool
	// Supersede marks this message and all after it as superseded; "" marks
	// none.
	Supersede string
	// Reserve reserves Run.MessageID, which the client has chosen, for the
	// answer; an id that the owner already uses is schemas.ErrTaken, unless it
	// belongs to an answer in the same chat: that answer gets another id and is
	// superseded together with its question, of which this question is a new
	// version. This happens when the run begins; a queued run only reserves ids
	// that are free. The id is free again if the run ends without a message.
	Reserve bool
	// Aliases are further ids that the client has chosen for the answer. They
	// are reserved in the same way, and later also name the answer's message.
	// An alias of an earlier answer then names this answer.
	Aliases []string
	// Queue allows the run to wait for an unfinished one; it is then stored as
	// queued. Without Queue, Err is ErrBusy and BusyRun is set.
	Queue bool
	// MaxQueued is how many runs of the chat may be queued; with more, Err is
	// ErrQueueFull. 0 means no limit.
	MaxQueued int
	// Wait makes the run wait even if its chat has no unfinished run, because
	// another run writes what it would write.
	Wait bool

	// Set by the store, as are Run.ConversationID and Run.ChatKey: the
	// unfinished run, whether the run was stored as running (attempt 1) or
	// queued (attempt 0), and whether the chat was made now.
	BusyRun string
	State   schemas.RunState
	NewChat bool
	// Replaces is true if a reserved id belonged to an earlier answer.
	Replaces bool
}

// Begun is how a queued run begins.
type Begun struct {
	// MessageID is the id of its answer. Replaces is true if one of the answer's
	// ids belonged to an earlier answer.
	MessageID string
	Replaces  bool
	// Lost are the ids that the answer does not get, because they belong to
	// something else by now.
	Lost []string
}

// UserMessage is the user's message with the data that is stored with it.
type UserMessage struct {
	schemas.Message
	// Files are the attachments with their content.
	Files []schemas.Attachment
}

// Segment is a piece of a run's event log: events First..Last of one attempt,
// encoded by services. Data of adjacent segments can be concatenated. Store
// joins and compresses it.
type Segment struct {
	First, Last int64
	Data        []byte
}

// Checkpoint is one entry of a run's progress, in order of N from 1 over all
// attempts. Only services knows the format of Data.
type Checkpoint struct {
	N    int
	Data json.RawMessage
}

// ToolCallState is the state of a tool call.
type ToolCallState string

// The states of a tool call.
const (
	ToolStarted  ToolCallState = "started"
	ToolFinished ToolCallState = "finished"
)

// ToolCall is a tool call of a run; a later write of the same Index replaces
// the earlier one.
type ToolCall struct {
	RunID       string
	Index       int
	ToolUseID   string
	Name        string
	State       ToolCallState
	Attempt     int
	Input       json.RawMessage
	Output      string
	ModelOutput string
	IsError     bool
	// Payload is the payload of the tool, with valid data on one line; nil when there is none.
	Payload   *schemas.CustomPayload
	StartedAt time.Time
	Duration  time.Duration
}

// Payload is a payload of a run, in its chat.
type Payload struct {
	schemas.CustomPayload
	MessageID string
	CreatedAt time.Time
}

// Finish ends a run: its state, the answer, the whole log of the attempt (which
// replaces the attempt's segments), the trace.
type Finish struct {
	State      schemas.RunState
	StopReason schemas.StopReason
	Usage      schemas.Usage
	// Spent is Usage by model; it is added to the owner's usage on the day of
	// EndedAt.
	Spent []ModelUsage
	Error *schemas.MessageFailure
	// Message is the answer, whole or partial; nil when there is nothing to
	// keep: then an answer that was generated again is current as before. Its Payloads are stored by Write.Payloads, its tool history by
	// Write.ToolCall; both are joined when it is read.
	Message *schemas.Message
	// Restores is true if the answer has nothing that could replace an earlier one: the
	// answers whose ids the run has taken get them back and are current again, and
	// Message, which has an id of its own, is another version.
	Restores bool
	// Log yields all events of this attempt as segments, in order; LastSeq is
	// the number of the last event. The data of a segment is valid until the
	// next one is yielded. Log can be ranged over again.
	Log     iter.Seq[Segment]
	LastSeq int64
	Trace   json.RawMessage
	EndedAt time.Time
	// Model is the model that wrote the last reply, empty for none. Fallback is true if
	// it is not the one that was asked first.
	Model    string
	Fallback bool
}

// Replaced is an id that a run has taken from an earlier answer, and the text that the
// answer has.
type Replaced struct{ ID, Text string }

// ModelUsage is what a run used of a model. Runs is 1 for the model for which
// the run counts, 0 for others.
type ModelUsage struct {
	Model string        `json:"model"`
	Runs  int           `json:"runs,omitempty"`
	Usage schemas.Usage `json:"usage"`
}

// StartOptions are the parts of a request that starts a run besides its decoded
// body. BodyHash is the hash of the received body; it tells a repeated request
// from a different one with the same Idempotency-Key. Body is the received
// JSON, which is stored; without it the request is encoded.
type StartOptions struct {
	IdempotencyKey string
	BodyHash       string
	Body           json.RawMessage
}

// UsageQuery asks for the usage of a user. User "" is the caller. From and To
// are the first and the last day; zero means the service's default.
type UsageQuery struct {
	User     string
	From, To time.Time
}

// PlacedRun is a run with its place in the order of starts.
type PlacedRun struct {
	Run   Run
	Place int64
}
