package turn

import "github.com/chattray/chattray/schemas"

// Purpose is what a conversation with a model is for.
type Purpose string

// The purposes. The zero value is an answer to the user; the others are steps
// whose text the service itself uses: a summary of older turns, the steps of
// research (AnswerPart is one question out of several), and the title of a
// chat.
const (
	Summarize  Purpose = "summarize"
	PlanParts  Purpose = "plan_parts"
	AnswerPart Purpose = "answer_part"
	MergeParts Purpose = "merge_parts"
	NameChat   Purpose = "name_chat"
)

// Facts are the data from which a request's prompt was written, for a model
// that reads data instead of prompts, such as the demo model. Adapters of real
// models do not send them.
type Facts struct {
	Purpose Purpose
	// Question is what the user asks, without files and earlier messages; "" if
	// there is no user.
	Question string
	// Context is the page's context object.
	Context schemas.Object
	// Payloads and Actions are the ones that the page offers. A model may write
	// the payloads that have a marker.
	Payloads []PayloadType
	Actions  []schemas.Action
	// Older are the turns for Summarize or NameChat.
	Older []Message
	// Findings are the input of MergeParts.
	Findings []Finding
}

// Finding is the answer to one part of a question. Sources are the numbers by
// which it is cited.
type Finding struct {
	Question, Answer string
	Sources          []int
}
