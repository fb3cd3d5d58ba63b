package responses

import (
	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
)

// The ids of responses and items, for tests.
var (
	ParseID    = parseID
	RunOf      = runOf
	ResponseID = responseID
)

// Place returns the place of a message after a run, or in a conversation.
func Place(c *wires.Call, previous, conversation string, req *schemas.ChatRequest) (wires.Place, error) {
	r := &request{previous: previous, thread: conversation}
	r.Previous = previous
	_, at, err := r.place(c, req)
	return at, err
}
