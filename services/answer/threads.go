package answer

import (
	"context"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/turn"
)

// threadStatus is the status of a thread that ended with err.
func threadStatus(err error) string {
	switch {
	case err == nil:
		return "completed"
	case errors.Is(err, ErrCancelled), errors.Is(err, ErrDisconnected), errors.Is(err, context.Canceled), errors.Is(err, concurrent.ErrLost):
		return "cancelled"
	default:
		return "error"
	}
}

// errModelOffered refuses a conversation with a model that is not offered to
// users.
var errModelOffered = schemas.NewError(schemas.CodeInvalid, "this model is not offered")

// threads lets a call have conversations of its own: it gives them the tools that they
// may use, the user, chat and page of the call, and the run's values for those
// that a request does not set.
func (wr *Writer) threads(c *turn.Call) {
	if c.Loop == nil {
		return
	}
	for _, t := range wr.offered {
		if t.Idempotent && !t.Confirm && t.Name != c.Name {
			c.Offered = append(c.Offered, wr.guarded(t, c.Index))
		}
	}
	loop, run := c.Loop, wr.prepared.Request
	c.Loop = func(ctx context.Context, label string, req turn.Request) (turn.Conclusion, error) {
		if req.Model == "" {
			req.Model = run.Model
		}
		if req.Model != run.Model && !wr.deps.OffersModel(req.Model) {
			return turn.Conclusion{}, errModelOffered
		}
		if req.MaxTokens == 0 {
			req.MaxTokens = run.MaxTokens
		}
		if req.MaxIterations == 0 {
			req.MaxIterations = run.MaxIterations
		}
		if req.ToolOutput == 0 {
			req.ToolOutput = run.ToolOutput
		}
		if req.Temperature == 0 {
			req.Temperature = run.Temperature
		}
		return loop(ctx, label, req)
	}
}

// identify gives a call its user, chat, run and page.
func (wr *Writer) identify(c *turn.Call) {
	c.User, c.ConversationID, c.RunID = wr.run.Owner, wr.run.ChatID, wr.run.ID
	c.Context, c.Message = wr.run.Request.Context, wr.run.Request.Message
}
