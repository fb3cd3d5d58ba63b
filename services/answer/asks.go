package answer

import (
	"context"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/waits"
	"github.com/chattray/chattray/services/guard"
)

// cannotAskText is what the model of a thread reads about a call that needs approval.
const cannotAskText = "The call was not run: it needs the user's approval, which cannot be asked for here. Go on without it, or say in your answer what is needed."

// newReading returns the guard.Reading of the run; the tools must be known.
func (wr *Writer) newReading() *guard.Reading {
	return guard.NewReading(guard.ReadingOptions{
		Store: wr.deps.Store, Owner: wr.run.Owner.ID, ChatID: wr.run.ChatID, RunID: wr.run.ID,
		Question: wr.run.UserMessage, QuestionAlone: wr.run.NewChat && len(wr.run.Request.ConversationHistory) == 0,
		Outside: wr.prepared.Outside, Tool: wr.anyTool, Handles: wr.deps.Handles,
		Refused: waits.Refused,
	})
}

// anyTool returns the tool of that name, even if the page does not offer it.
func (wr *Writer) anyTool(name string) (turn.Tool, bool) {
	if i := slices.IndexFunc(wr.offered, func(t turn.Tool) bool { return t.Name == name }); i >= 0 {
		return wr.offered[i], true
	}
	return wr.deps.Tool(name)
}

// asks returns why a call needs the user's approval, "" if it needs none. A call that
// waited in an earlier attempt waits again, for the same reason.
func (wr *Writer) asks(ctx context.Context, t *turn.Tool, c *turn.Call) (schemas.ApprovalReason, error) {
	reason, err := wr.reason(ctx, t, c)
	if err != nil && ctx.Err() == nil {
		wr.deps.Stop(err) // the attempt cannot continue without it
	}
	return reason, err
}

func (wr *Writer) reason(ctx context.Context, t *turn.Tool, c *turn.Call) (schemas.ApprovalReason, error) {
	if wr.run.Earlier != nil {
		w, waited, err := wr.waits.Earlier(ctx, c.Index)
		switch {
		case err != nil:
			return "", err
		case waited && w.Reason == "":
			return schemas.ReasonToolConfirms, nil // it was the only one
		case waited:
			return w.Reason, nil
		case wr.interrupted[c.Index] && !t.Idempotent:
			return "", nil // it does not run
		}
	}
	mode := wr.deps.Approve
	if guard.Matters(mode, *t) {
		g, err := wr.reading.After(ctx, wr.finished(c.Index))
		if err != nil {
			return "", err
		}
		if why := g.Why(mode, *t, c.Input); why != "" {
			return why, nil
		}
	}
	if t.Confirm {
		return schemas.ReasonToolConfirms, nil
	}
	return "", nil
}

// finished returns the steps before the one with the call: what the model had
// read.
func (wr *Writer) finished(index int) []turn.Step { return wr.steps[:wr.stepOf(index)] }

// guarded returns a tool for the threads of the call. Nobody can be asked
// there, so a call that needs approval is refused. What one thread of a call
// has read counts for all its threads.
func (wr *Writer) guarded(t turn.Tool, index int) turn.Tool {
	run, mode := t.Run, wr.deps.Approve
	t.Run = func(ctx context.Context, c *turn.Call) (turn.Result, error) {
		wr.identify(c)
		if mode == guard.Off {
			return run(ctx, c)
		}
		g, err := wr.reading.Thread(ctx, index)
		if err != nil {
			return turn.Result{}, err
		}
		if g.Why(mode, t, c.Input) != "" {
			return turn.Result{Text: cannotAskText, IsError: true}, nil
		}
		g.Called(string(c.Input))
		result, err := run(ctx, c)
		text := result.Text
		if err != nil {
			text = schemas.Visible(err).Message
		}
		g.Answered(t, true, string(c.Input), text, err != nil || result.IsError)
		return result, err
	}
	return t
}
