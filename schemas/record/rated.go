package record

import "time"

// RatedQuery asks for answers that users have rated, after a place. Since is the
// earliest time of an answer; zero is any.
type RatedQuery struct {
	After int64
	Since time.Time
	Limit int
}

// RatedAnswer names a rated answer. Place orders them; Before is the cursor of the
// messages before it in its chat.
type RatedAnswer struct {
	Place          int64
	Owner          string
	ConversationID int64
	MessageID      string
	Before         string
}
