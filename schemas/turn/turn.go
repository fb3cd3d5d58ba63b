// Package turn has the types that services, agents, tools and payloads exchange
// about one turn: the conversation for a model, the tools that it may call, and
// the events of the loop. Nothing here is sent on a wire.
package turn

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/chattray/chattray/schemas"
)

// Role is who wrote a message of the conversation.
type Role string

// The roles. The system prompt is Request.System, not a message.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is a message of the conversation for the model.
type Message struct {
	Role    Role    `json:"role"`
	Content string  `json:"content,omitempty"`
	Images  []Image `json:"images,omitempty"`
	// ToolCalls are set in an assistant's message; ToolCallID names the call
	// that a message of role tool answers.
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	// Reasoning is the reasoning of an assistant's message, for servers that want it back.
	Reasoning string `json:"reasoning,omitempty"`
	// Data is the JSON that a tool returned along with its text; nil for none.
	// Adapters of real models do not send it.
	Data json.RawMessage `json:"-"`
}

// Image is an image for a model that sees. Its content is not in it: a run may last long, and
// images are large.
type Image struct {
	MIME string `json:"mime"`
	// Size is the length of the image's base64.
	Size int `json:"size"`
	// Sum differs for images of different content. It is valid in this process.
	Sum uint64 `json:"-"`
	// Source reads the base64, which has no line ends. Each call of a model reads it again.
	Source ImageSource `json:"-"`
}

// Same reports whether the other image has the same content.
func (i Image) Same(other Image) bool {
	return i.MIME == other.MIME && i.Size == other.Size && i.Sum == other.Sum
}

// ImageSource reads the content of an image. It is safe for concurrent use.
type ImageSource interface {
	Base64(ctx context.Context) (string, error)
}

// Memory is the number of bytes that the image takes while it is sent: its base64, and what that is
// read from.
func (i Image) Memory() int { return 2 * i.Size }

// ToolCall is a call that the model asked for. Arguments is the text the model
// wrote; it may be empty or invalid JSON. Extra is JSON that the model's server gave with
// the call and wants back with it, such as a signature; "" for none.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
	Extra     string `json:"extra,omitempty"`
}

// Request is the work of one loop.
type Request struct {
	Model                    string
	Temperature              float64
	MaxTokens, MaxIterations int
	System                   string
	Messages                 []Message
	// Facts are the data from which System was written; nil for none.
	Facts *Facts
	// Tools must have different names.
	Tools []Tool
	// RunTool, when set, replaces a tool's own Run. Await, when set, blocks
	// until a call may begin: it is called for Client tools and for calls for
	// which Asks returns a reason. The wait counts neither for their timeout
	// nor for the limit of parallel calls. Asks is called once for each call,
	// when it is the next to begin; nil asks for tools with Confirm.
	RunTool func(ctx context.Context, t *Tool, call *Call) (Result, error)
	Await   func(ctx context.Context, call *Call) (Verdict, error)
	Asks    func(ctx context.Context, t *Tool, call *Call) (schemas.ApprovalReason, error)
	// Writing, when set, receives the text of the current reply, so that the
	// text is in memory only once. It is reset for each reply.
	Writing *strings.Builder
	// Steps are those that earlier attempts finished; the loop continues after them.
	Steps []Step
	// RunID, Attempt and ConversationID are for logs and traces; the loop does not use
	// them.
	RunID          string
	Attempt        int
	ConversationID int64
	// ToolOutput is the number of characters of a tool's output that the
	// model gets; 0 is the default.
	ToolOutput int
}

// Step is one iteration: a whole reply and the results of its calls, in order.
// A nil result means that the call has not ended.
type Step struct {
	Reply   Reply
	Results []*Result
}

// Tool is a function that a model may call. Package tools makes it, services
// offers it, and agents runs it. It is safe for concurrent use.
type Tool struct {
	Name        string
	Description string
	// Words are the texts that users read about a call instead of the name.
	Words
	InputSchema json.RawMessage
	// Check returns why arguments do not fit InputSchema; nil checks nothing.
	Check func(input json.RawMessage) error
	// Preset are arguments that the page sets: each call has them, and InputSchema
	// does not name them. Use Fill.
	Preset schemas.Object
	// Global tools are offered on every page.
	Global bool
	// Idempotent tools may run again when their outcome is unknown.
	Idempotent bool
	// ReadOnly tools change nothing.
	ReadOnly bool
	// Serial tools run alone.
	Serial bool
	// Confirm tools need the user's approval.
	Confirm bool
	// Effects tools change something without a later decision of the user. They
	// need approval once the model has read text from outside.
	Effects bool
	// Untrusted tools return text from outside, whose authors may try to instruct the model.
	Untrusted bool
	// Retold tools return text that a model may have written: a URL in it may
	// come from the model itself.
	Retold bool
	// Addresses returns the keys (weburl.Key) of the URLs in an input that a
	// call sends to the outside; nil means that calls send none.
	Addresses func(input json.RawMessage) []string
	// Client tools are run by the page; Run is not called.
	Client bool
	// Document tools write the document of the turn. They are not offered if
	// the answer itself is written into it.
	Document bool
	// Replans tools replace the blocks of the document: what later calls of the
	// same reply write is shown only once they run.
	Replans bool
	// Streams is the argument that is shown while the model writes it; nil
	// means none.
	Streams *StreamedArgument
	// InChat tools work on the chat that calls them and are offered only in chats.
	InChat bool
	// Timeout bounds one call; 0 means the loop's default.
	Timeout time.Duration
	// PayloadType is the type of the payload that the tool makes, if any.
	PayloadType string
	// Roles, when not empty, are the roles that may use the tool.
	Roles []string
	Run   func(ctx context.Context, call *Call) (Result, error)
}

// Fill returns a call's arguments, a JSON object, with those that the page sets.
func (t *Tool) Fill(input json.RawMessage) json.RawMessage {
	var args schemas.Object
	if len(t.Preset) == 0 || json.Unmarshal(input, &args) != nil {
		return input
	}
	if args == nil {
		args = make(schemas.Object)
	}
	maps.Copy(args, t.Preset)
	return schemas.Encode(args)
}

// StreamedArgument is a string argument of a tool whose text goes into a block
// of the turn's document while the model writes the call. The other fields name
// the arguments that identify the block; "" if the tool has no such argument.
type StreamedArgument struct {
	Argument string
	// Block is the id of the block. A call without one adds a block with the id that
	// BlockID makes, unless the block must exist.
	Block     string
	MustExist bool
	// Type and Meta are for a new block; After is the id of the block before it.
	Type, Meta, After string
}

// Verdict is the result of a call's wait.
type Verdict struct {
	// Approved is the user's decision; it is false if nobody answered in time.
	Approved bool
	// Input, when not nil, replaces the call's input.
	Input json.RawMessage
	// Result, when not nil, is the call's result: the call is not run.
	Result *Result
}

// Call is one call of a tool.
type Call struct {
	// ID is the model's id of the call, Index counts calls over the run.
	ID    string
	Index int
	Name  string
	Input json.RawMessage
	// Output is how many characters of the output the model gets; 0 is no limit.
	Output int

	// Package services sets User, ConversationID, RunID, Context and Message,
	// which is the user's message that the run answers.
	User           schemas.User
	ConversationID int64
	RunID          string
	Context        schemas.Object
	Message        string

	// Offered are the tools that a thread of the call may use: the page's tools
	// that may run again and need no approval. Package services sets it.
	Offered []Tool
	// Loop runs a conversation in a thread; nil if there are no threads. Use
	// Converse.
	Loop func(ctx context.Context, label string, req Request) (Conclusion, error)

	// Report sends progress; nil drops it. Use Progress.
	Report func(Progress)
	// Clock stops the call's timeout until the returned function is called;
	// nil does nothing. Use Waiting.
	Clock func() (resume func())
}

// Progress reports a step: fraction is in 0..1, data is marshalled to JSON and
// may be nil. Data that is no JSON or not Showable is left out.
func (c *Call) Progress(stage, message string, fraction float64, data any) {
	if c.Report == nil {
		return
	}
	var raw json.RawMessage
	if data != nil {
		encoded, err := json.Marshal(data)
		if err == nil && Showable("its data", encoded) == nil {
			raw = encoded
		}
	}
	c.Report(Progress{Stage: stage, Message: message, Fraction: fraction, Data: raw})
}

// Waiting runs wait while the call's timeout is stopped: time in a queue does not count.
func (c *Call) Waiting(wait func() error) error {
	if c.Clock != nil {
		defer c.Clock()()
	}
	return wait()
}

// Progress is one step of a running tool.
type Progress struct {
	Stage    string
	Message  string
	Fraction float64
	Data     json.RawMessage
}

// Result is what a tool returns: Text for the model, Payload for the page.
type Result struct {
	Text    string   `json:"text"`
	Payload *Payload `json:"payload,omitempty"`
	IsError bool     `json:"is_error,omitempty"`
	// Data is the content of Text as JSON, for models that read data (Facts);
	// nil means the payload's data. It is not stored: after a restart it is
	// nil.
	Data json.RawMessage `json:"-"`
	// Duration is set by the loop.
	Duration time.Duration `json:"duration,omitempty"`
}

// Payload is structured data for the page, without an id and not yet checked.
type Payload struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}
