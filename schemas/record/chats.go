package record

import "time"

// ChatQuery asks for a page of a user's chats, pinned ones first, then the
// newest: either the archived chats or the others, and either the unlisted ones
// or the others. Text searches titles and messages; Cursor is a next_cursor, ""
// is the first page.
type ChatQuery struct {
	Limit  int
	Cursor string
	Text   string

	Archived, Unlisted bool
}

// MessageQuery asks for a page of a chat's messages, from the newest back; the
// page itself begins with the oldest. Superseded includes replaced messages.
// Forward asks for pages from the oldest on.
type MessageQuery struct {
	Limit      int
	Cursor     string
	Superseded bool
	Forward    bool
}

// FirstAnswer is the first question of a chat with its answer. Title is the
// chat's title, made from the question, Model the model that answered.
type FirstAnswer struct {
	Owner            string
	ConversationID   int64
	Title, Model     string
	Question, Answer string
}

// Summary is the running summary of a chat's older turns: it replaces every
// message up to and including Through.
type Summary struct {
	Text      string
	Through   string // message id
	UpdatedAt time.Time
}

// OldChat names a chat that has had no run for a long time.
type OldChat struct {
	Owner          string
	ConversationID int64
}
