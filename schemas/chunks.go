package schemas

// SocketEvent is what a client sends over the websocket: one JSON object a
// frame. Name is message (also chat_message), stop, pause or resume.
type SocketEvent struct {
	Name    string         `json:"name" validate:"required,oneof=message chat_message stop pause resume"`
	Message *SocketMessage `json:"message,omitempty"`
	Model   string         `json:"model,omitempty" validate:"max=200"`
	// Mode is chat (default) or agent.
	Mode string `json:"mode,omitempty" validate:"omitempty,oneof=chat agent"`
	// BlockID and BlockIDs, comma separated, are where the answer goes.
	BlockID    string `json:"block_id,omitempty" validate:"max=1040"`
	BlockIDs   string `json:"block_ids,omitempty" validate:"max=1040"`
	DocumentID string `json:"document_id,omitempty" validate:"omitempty,clientid"`
	ChatID     string `json:"chat_id,omitempty" validate:"omitempty,clientid"`
	// UserID, if given, must be the authenticated user.
	UserID  string `json:"user_id,omitempty" validate:"max=500"`
	Context Object `json:"context,omitempty"`
	// RunID and After are for resume: it sends the chunks after that number.
	RunID string `json:"run_id,omitempty" validate:"omitempty,clientid"`
	After int64  `json:"after,omitempty" validate:"gte=0"`
}

// SocketMessage is the user's message.
type SocketMessage struct {
	Content string `json:"content"`
	Role    string `json:"role,omitempty" validate:"omitempty,oneof=user"`
}

// The types of chunks that are no content; all others are a block's type.
const (
	ChunkStatus = "status"
	ChunkReset  = "reset"
	ChunkError  = "error"
	ChunkRunEnd = "run_end"
)

// Chunk is what the server sends over the websocket. End ends a block, NewDoc
// begins a new structure of a document. Content is absent where a chunk has
// none. The first chunk of a run carries the ids of run and chat.
type Chunk struct {
	Type           string  `json:"type"`
	BlockIDs       string  `json:"block_ids,omitempty"`
	DocumentID     string  `json:"document_id,omitempty"`
	Content        *string `json:"content,omitempty"`
	End            bool    `json:"end,omitempty"`
	NewDoc         bool    `json:"new_doc,omitempty"`
	Code           Code    `json:"code,omitempty"`
	RunID          string  `json:"run_id,omitempty"`
	ChatID         string  `json:"chat_id,omitempty"`
	ConversationID int64   `json:"conversation_id,omitempty"`
	// MessageID is the message of the chat that keeps the answer.
	MessageID string   `json:"message_id,omitempty"`
	Status    RunState `json:"status,omitempty"`
	// ApprovalID is for a status: the call that waits for the user's approval.
	ApprovalID string `json:"approval_id,omitempty"`
	// Reason says why the user is asked.
	Reason ApprovalReason `json:"reason,omitempty"`
	// Seq is the number of the run's event that the chunk shows; 0 if the chunk
	// belongs to no run.
	Seq int64 `json:"seq,omitempty"`
}

// Ticket opens one websocket once, or the stream of one run any number of times.
type Ticket struct {
	Ticket    string `json:"ticket"`
	ExpiresIn int    `json:"expires_in"` // seconds
}
