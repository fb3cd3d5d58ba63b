package runlog

import (
	"encoding/json"
	"time"

	"github.com/chattray/chattray/schemas"
)

// Body is the kind of an event and its values. Each kind of body is a pointer
// to a struct of this file; it does not change once it is in a log. Each gives
// at most one frame per dialect.
//
//sumtype:decl
type Body interface {
	body()
	// size estimates the bytes of the body as JSON.
	size() int
}

// Run names a run for its readers.
type Run struct {
	RunID          string
	ConversationID int64
	ChatID         string
	UserMessageID  string
}

// Bodies of the run as a whole.
type (
	// Started is the first event of a run.
	Started struct {
		Run

		Message string
		Code    schemas.StatusCode
		Target  Target
	}
	// Attempt is the first event of a later attempt: events after KeptThrough
	// and before this one are void, and Text is the visible text so far.
	Attempt struct {
		Run

		Message     string
		Code        schemas.StatusCode
		Target      Target
		Number      int
		KeptThrough int64
		Text        string
	}
	// Status is a line about the current step; Code and Tool are for clients
	// with texts of their own. ApprovalID is the approval that the line asks
	// for, empty for none, and Reason why the user is asked. Shown is set for a
	// running call whose text has been shown as a block.
	Status struct {
		Message    string
		Code       schemas.StatusCode
		Tool       string
		ApprovalID string
		Reason     schemas.ApprovalReason
		Shown      bool
	}
	// ThreadStatus is a Status in a thread that a tool has opened.
	ThreadStatus struct{ Status }
	// Completed ends a run that has its answer. The payload has no diagnostics.
	Completed struct{ Payload schemas.ChatResponsePayload }
	// Failed ends a run with an error. MessageID names the part of the answer that
	// is kept, empty for none. Used is what the run has used of models; it is empty in
	// logs of older versions.
	Failed struct {
		Code      schemas.Code
		Message   string
		Retryable bool
		MessageID string
		Used      schemas.Usage
	}
	// Cancelled ends a run that was cancelled; MessageID and Used are as in Failed.
	Cancelled struct {
		MessageID string
		Used      schemas.Usage
	}
)

// Bodies that open and close levels.
type (
	// LevelStart opens a thread, a group or a message.
	LevelStart struct {
		Depth Depth
		// Type is llm, tool, mcp or document for a group, the message type for a
		// message.
		Type  string
		Label string
		// Ref is the global id in a start: the id of the answer's message, of a
		// block of a document, a payload or a call.
		Ref string
		// Tool and ToolUseID name the call that a message of type tool_call shows.
		Tool, ToolUseID string
	}
	// LevelEnd closes what a LevelStart with the same Depth and At opened. Status is
	// completed, partial, error or cancelled; Type is the type of the group's
	// start.
	LevelEnd struct {
		Depth  Depth
		Type   string
		Status string
	}
)

// Unknown is a body of a kind that only a newer release knows, which another process
// wrote. It has no frame in any dialect.
type Unknown struct{ Kind byte }

// NoIndex is the index of a call in logs that were stored before it was written down.
const NoIndex = -1

// Running is the status line of a call that runs.
func Running(tool string) Status {
	return Status{Message: "Running " + tool + "...", Code: schemas.StatusRunningTool, Tool: tool}
}

// Depth is the depth of a level.
type Depth uint8

// The levels, the outermost first.
const (
	ThreadLevel Depth = iota + 1
	GroupLevel
	MessageLevel
)

// Bodies of what a model writes.
type (
	// Text is visible text of the answer.
	Text struct{ Text string }
	// Marker is [[tool:N]] or the blank line around it.
	Marker struct{ Text string }
	// Thinking is reasoning, for the answer or in a thread.
	Thinking struct{ Text string }
	// Call begins a call that the model is writing, for the answer or in a
	// thread. Index counts the calls of the run, or of the thread; NoIndex is
	// not known.
	Call struct {
		ID, Name string
		Index    int
		// Client says that the page runs the tool.
		Client bool
	}
	// Arguments is a piece of a call's arguments.
	Arguments struct{ Text string }
	// Streamed says that an argument of the call that the model is writing goes into
	// a block: the pieces of its arguments do not have its text.
	Streamed struct{ Argument string }
	// KeptText is the visible text that still counts after a recovery, without
	// markers.
	KeptText struct{ Text string }
	// Payload is structured data for the page, from a call or, without a ToolUseID,
	// from the model's text. Index is then the number of the run's next call; it is
	// NoIndex in logs that were stored before it was written down.
	Payload struct {
		schemas.CustomPayload

		ToolUseID string
		Index     int
	}
	// ThreadText is text of a model in a thread that a tool has opened: it is
	// not part of the answer.
	ThreadText struct{ Text string }
)

// Bodies of tools that run, and of those in a thread that another tool has opened.
type (
	// ToolStart says that a tool begins. Title tells the user what the call
	// does. Streamed is the argument whose text the log has as the content of a
	// block, empty for none; Beside is then the input without it.
	ToolStart struct {
		Tool, ToolUseID string
		Index           int
		Input           json.RawMessage
		Title           string
		Streamed        string
		Beside          json.RawMessage
	}
	// ToolRefused replaces ToolStart for a call that does not run because the
	// user did not approve it.
	ToolRefused struct{ ToolStart }
	// ToolProgress is one step of a running tool; Progress is in 0..1. Document
	// is what a document tool has changed, nil for any other tool.
	ToolProgress struct {
		Tool, ToolUseID string
		Index           int
		Stage, Message  string
		Progress        float64
		Data            json.RawMessage
		Document        *DocumentChange
	}
	// DocumentChange is a change of a document: of the block BlockID, or with NewDoc
	// of its structure, the blocks BlockIDs of the types BlockTypes, both comma
	// separated.
	DocumentChange struct {
		DocumentID, BlockID, BlockIDs string
		NewDoc                        bool
		BlockTypes                    string
	}
	// ToolComplete says that a tool ended. Done tells the user what it has
	// done. Apart says that the result has a message of its own; in logs of
	// older versions it is in that of the call.
	ToolComplete struct {
		Tool, ToolUseID string
		Index           int
		IsError         bool
		Done            string
		Output          string
		Apart           bool
	}
	// ThreadToolStart is a ToolStart in a thread.
	ThreadToolStart struct{ ToolStart }
	// ThreadToolProgress is a ToolProgress in a thread.
	ThreadToolProgress struct{ ToolProgress }
	// ThreadToolComplete is a ToolComplete in a thread.
	ThreadToolComplete struct{ ToolComplete }
)

// Bodies of calls that wait.
type (
	// ApprovalRequest asks the user to approve a call, until ExpiresAt. Used is what the
	// run has used of models so far; it is empty in logs of older versions.
	ApprovalRequest struct {
		ApprovalID         string
		Tool, ToolUseID    string
		Index              int // as in Call
		Input              json.RawMessage
		Message            string
		ExpiresAt          time.Time
		Title, Description string
		Reason             schemas.ApprovalReason
		ReasonText         string
		Used               schemas.Usage
	}
	// ApprovalResolved says that the call no longer waits.
	ApprovalResolved struct {
		ApprovalID string
		Approved   bool
	}
	// ClientToolCall asks the page to run a tool of its own, until ExpiresAt. Used is as
	// in ApprovalRequest.
	ClientToolCall struct {
		Tool, ToolUseID string
		Index           int // as in Call
		Input           json.RawMessage
		ExpiresAt       time.Time
		Used            schemas.Usage
	}
)

// Bodies for content that is written into blocks of documents while the model
// writes it. Revision is the document's revision when the writing began: of two
// writers of a block, the one with the greater revision is the later. By is the
// call that writes it, nil for the text of an answer and in logs of older
// versions.
type (
	// Caller names a call.
	Caller struct {
		Tool, ToolUseID string
		Index           int
	}
	// BlockReset empties a block that the page shows. With End it withdraws
	// what was written: the block is as it was before, or removed, and nothing
	// more follows. A New block has nothing to empty and readers see nothing;
	// only its revision matters, if an earlier block with that id was deleted.
	// Refused says that the call that wrote the content has failed; without End,
	// what waited in the block before follows.
	BlockReset struct {
		Place    Place
		End      bool
		Revision int64
		New      bool
		By       *Caller
		Refused  bool
	}
	// BlockHeader is the block's metadata, one JSON object.
	BlockHeader struct {
		Place    Place
		Header   string
		Revision int64
		By       *Caller
	}
	// BlockContent is a piece of the block's content.
	BlockContent struct {
		Place    Place
		Text     string
		Revision int64
		By       *Caller
	}
	// BlockDone ends the writing into the block.
	BlockDone struct {
		Place Place
		By    *Caller
	}
)

func (*Started) body()          {}
func (*Attempt) body()          {}
func (*Status) body()           {}
func (*Completed) body()        {}
func (*Failed) body()           {}
func (*Cancelled) body()        {}
func (*LevelStart) body()       {}
func (*LevelEnd) body()         {}
func (*Text) body()             {}
func (*Marker) body()           {}
func (*Thinking) body()         {}
func (*Call) body()             {}
func (*Arguments) body()        {}
func (*Streamed) body()         {}
func (*KeptText) body()         {}
func (*Payload) body()          {}
func (*ThreadText) body()       {}
func (*ToolStart) body()        {}
func (*ToolProgress) body()     {}
func (*ToolComplete) body()     {}
func (*ApprovalRequest) body()  {}
func (*ApprovalResolved) body() {}
func (*ClientToolCall) body()   {}
func (*BlockReset) body()       {}
func (*BlockHeader) body()      {}
func (*BlockContent) body()     {}
func (*BlockDone) body()        {}
func (*Unknown) body()          {}

// bodySize estimates the bytes of field names and short values.
const bodySize = 128

func (b *Started) size() int   { return bodySize + len(b.Target.Header) }
func (b *Attempt) size() int   { return bodySize + len(b.Target.Header) + len(b.Text) }
func (b *Status) size() int    { return len(b.Message) + len(b.Code) + len(b.Tool) }
func (b *Failed) size() int    { return bodySize + len(b.Message) }
func (b *Cancelled) size() int { return bodySize }
func (b *LevelStart) size() int {
	return len(b.Type) + len(b.Label) + len(b.Ref) + len(b.Tool) + len(b.ToolUseID)
}
func (b *LevelEnd) size() int         { return len(b.Type) + len(b.Status) }
func (b *Text) size() int             { return len(b.Text) }
func (b *Marker) size() int           { return len(b.Text) }
func (b *Thinking) size() int         { return len(b.Text) }
func (b *Call) size() int             { return len(b.ID) + len(b.Name) }
func (b *Arguments) size() int        { return len(b.Text) }
func (b *Streamed) size() int         { return len(b.Argument) }
func (b *KeptText) size() int         { return len(b.Text) }
func (b *Payload) size() int          { return bodySize + len(b.Data) + len(b.Summary) }
func (b *ThreadText) size() int       { return len(b.Text) }
func (b *ToolStart) size() int        { return bodySize + len(b.Input) + len(b.Beside) }
func (b *ToolProgress) size() int     { return bodySize + len(b.Message) + len(b.Data) }
func (b *ToolComplete) size() int     { return bodySize + len(b.Output) }
func (b *ApprovalRequest) size() int  { return bodySize + len(b.Input) + len(b.Description) }
func (b *ApprovalResolved) size() int { return bodySize }
func (b *ClientToolCall) size() int   { return bodySize + len(b.Input) }
func (b *BlockReset) size() int       { return bodySize }
func (b *BlockHeader) size() int      { return bodySize + len(b.Header) }
func (b *BlockContent) size() int     { return bodySize + len(b.Text) }
func (b *BlockDone) size() int        { return bodySize }
func (b *Unknown) size() int          { return bodySize }

func (b *Completed) size() int {
	p := &b.Payload
	n := 2*bodySize + len(p.Message)
	for i := range p.Payloads {
		n += bodySize + len(p.Payloads[i].Data)
	}
	if p.CustomPayload != nil {
		n += bodySize + len(p.CustomPayload.Data)
	}
	for i := range p.ToolHistory {
		n += bodySize + len(p.ToolHistory[i].Input) + len(p.ToolHistory[i].Output)
	}
	return n
}
