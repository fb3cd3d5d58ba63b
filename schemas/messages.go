package schemas

import "encoding/json"

// MessageFrame is one frame of the dialect messages: a fragment of a message,
// or an event of the stream's levels. Frames with the same MessageID fold into
// one message by the delta rules.
type MessageFrame struct {
	// Type is text, thinking, loading, tool_call, image, audio, video, action,
	// error, event or, for a payload, the payload's type.
	Type  string          `json:"type"`
	Props json.RawMessage `json:"props,omitempty"`
	// ChunkID is C followed by the sequence number; it is unique.
	ChunkID   string `json:"chunk_id"`
	MessageID string `json:"message_id,omitempty"`
	BlockID   string `json:"block_id,omitempty"`
	ThreadID  string `json:"thread_id,omitempty"`
	Delta     bool   `json:"delta,omitempty"`
	DeltaPath string `json:"delta_path,omitempty"`
	// DeltaAction is append (when absent), replace, merge or set.
	DeltaAction string          `json:"delta_action,omitempty"`
	TypeChange  bool            `json:"type_change,omitempty"`
	Metadata    MessageMetadata `json:"metadata"`
}

// MessageMetadata is when a frame was made, in milliseconds since the Unix
// epoch, and its number in the run.
type MessageMetadata struct {
	Timestamp int64 `json:"timestamp"`
	Sequence  int64 `json:"sequence"`
}

// StatusLine has the props of a frame of type loading, see StatusEvent.
type StatusLine struct {
	Message string        `json:"message"`
	Code    StatusCode    `json:"code,omitempty"`
	Values  *StatusValues `json:"values,omitempty"`
}

// StreamEnd is the data of stream_end, the terminal event of the dialect
// messages. Payload is set when Status is completed; otherwise Usage is what the
// run has used of models, absent if that is nothing or unknown.
type StreamEnd struct {
	// Status is completed, error or cancelled.
	Status    string               `json:"status"`
	Payload   *ChatResponsePayload `json:"payload,omitempty"`
	Code      Code                 `json:"code,omitempty"`
	Message   string               `json:"message,omitempty"`
	Retryable bool                 `json:"retryable,omitempty"`
	MessageID string               `json:"message_id,omitempty"`
	Usage     Usage                `json:"usage,omitzero"`
}
