package schemas

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// InteractionType is how the user made a message.
type InteractionType string

// The interaction types.
const (
	TextInput      InteractionType = "text_input"
	ValueSelected  InteractionType = "value_selected"
	ActionExecuted InteractionType = "action_executed"
)

// ChatRequest starts a run: POST /api/chat/stream and POST /api/chat. Only
// Message is required; it may be empty for ActionExecuted and for
// RegenerateMessageID.
type ChatRequest struct {
	Message         string          `json:"message"`
	Context         Object          `json:"context,omitempty"`
	InteractionType InteractionType `json:"interaction_type,omitempty" validate:"omitempty,oneof=text_input value_selected action_executed"`
	ActionMetadata  *ActionMetadata `json:"action_metadata,omitempty"`
	// ConversationID and ChatID name the chat; an unknown ConversationID is not
	// found, an unknown ChatID makes a chat with that key.
	ConversationID int64  `json:"conversation_id,omitempty" validate:"gte=0"`
	ChatID         string `json:"chat_id,omitempty" validate:"omitempty,max=64,clientid"`
	// ConversationHistory is used only for a new chat: without the two, or with a
	// ChatID that is unknown. It is stored as the chat's first messages.
	ConversationHistory []HistoryMessage `json:"conversation_history,omitempty" validate:"max=200,dive"`
	// MessageID is the id that the user's message gets; one that the owner uses already
	// is a conflict, or the run that the same request began.
	MessageID string `json:"message_id,omitempty" validate:"omitempty,max=64,clientid"`
	// Unlisted keeps a new chat out of the list of chats.
	Unlisted bool   `json:"unlisted,omitempty"`
	Model    string `json:"model,omitempty" validate:"max=200"`
	// OnDisconnect is continue (default) or cancel.
	OnDisconnect string `json:"on_disconnect,omitempty" validate:"omitempty,oneof=continue cancel"`
	// IfBusy is reject (default), queue or cancel.
	IfBusy              string `json:"if_busy,omitempty" validate:"omitempty,oneof=reject queue cancel"`
	EditMessageID       string `json:"edit_message_id,omitempty" validate:"max=64"`
	RegenerateMessageID string `json:"regenerate_message_id,omitempty" validate:"max=64"`
	// Attachments are the files of the message. In an edit nil keeps all files of the
	// edited message, unless KeepAttachments says which.
	Attachments []Attachment `json:"attachments,omitempty" validate:"max=10,dive"`
	// KeepAttachments are the indexes of the files of the edited message that the new
	// one has before Attachments.
	KeepAttachments []int `json:"keep_attachments,omitempty" validate:"max=10,unique,dive,gte=0"`
	// ClientTools are tools of the page; the model may call them in this run.
	ClientTools []ClientTool `json:"client_tools,omitempty" validate:"max=16,dive"`
}

// Repeats reports whether the request asks for the same as an earlier one. What becomes of
// other runs may differ: a wire chooses that by what the chat is doing.
func (r *ChatRequest) Repeats(earlier *ChatRequest) bool {
	same := *earlier
	same.IfBusy = r.IfBusy
	return bytes.Equal(Encode(&same), Encode(r))
}

// ActionMetadata is the click on a suggested action that the server handles.
type ActionMetadata struct {
	ActionIdentifier string          `json:"action_identifier" validate:"required,max=100"`
	ActionData       json.RawMessage `json:"action_data,omitempty"`
	// PayloadID is the payload_id of the SuggestedAction.
	PayloadID string `json:"payload_id,omitempty" validate:"max=64"`
}

// HistoryMessage is an earlier message that the client sends. A client may send
// its own message objects: other members have no effect.
type HistoryMessage struct {
	Role    string `json:"role" validate:"required,oneof=user assistant"`
	Content string `json:"content"`
}

// Attachment is a file of the user. Text types hold text; images, of a type of ImageMedia,
// and PDF files base64. A stored PDF file holds its text.
type Attachment struct {
	Name    string `json:"name" validate:"required,max=255"`
	MIME    string `json:"mime" validate:"required,max=100"`
	Content string `json:"content" validate:"required"`
}

// MediaPDF is the media type of PDF files.
const MediaPDF = "application/pdf"

// imageMedia are the media types of images that models take, with their other names.
var imageMedia = map[string]string{
	"image/png": "image/png", "image/jpeg": "image/jpeg", "image/jpg": "image/jpeg", "image/gif": "image/gif", "image/webp": "image/webp",
}

// ImageMedia returns the registered name of the media type, in lower case and without
// parameters, of an image that models take, and "" for any other type.
func ImageMedia(kind string) string { return imageMedia[kind] }

// MediaWords says which media types an Attachment may have.
const MediaWords = "a text type, image/png, image/jpeg, image/gif, image/webp or " + MediaPDF

// textMedia are the media types other than text/* that are text.
var textMedia = []string{
	"application/json", "application/x-ndjson", "application/jsonl", "application/xml", "application/yaml", "application/x-yaml",
	"application/toml", "application/sql", "application/javascript", "application/x-javascript", "application/typescript",
	"application/x-sh", "application/csv", "application/x-tex", "application/x-bibtex", "application/x-research-info-systems",
}

// TextMedia reports whether a media type, in lower case and without parameters,
// is text that a model can read.
func TextMedia(kind string) bool {
	structured := strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml")
	return strings.HasPrefix(kind, "text/") || slices.Contains(textMedia, kind) || structured && !strings.HasPrefix(kind, "image/")
}
