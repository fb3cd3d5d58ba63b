package runs

import (
	"context"
	"fmt"
	"strings"
	"unique"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/actions"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/pages"
	"github.com/chattray/chattray/services/prompt"
)

// prepareApart is prepare on a goroutine of its own, so that the deep stack that it
// takes is given back and not kept for as long as the model streams.
func (r *Runs) prepareApart(ctx context.Context, one *run) (b *answer.Prepared, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic at %s: %v", concurrent.PanicPlace(), p)
			}
		}()
		b, err = r.prepare(ctx, one)
	}()
	<-done
	return b, err
}

// outline is the part of prepare for which nothing is read.
func (r *Runs) outline(one *run) (*answer.Prepared, pages.Offer, error) {
	offer, err := r.Pages.OfferFor(one.req.Context, one.req.ClientTools, one.owner)
	if err != nil {
		return nil, offer, fmt.Errorf("resolve the page: %w", err)
	}
	return &answer.Prepared{Filter: r.NewFilter(offer.PayloadTypes, offer.Actions), Types: offer.PayloadTypes}, offer, nil
}

// prepare reads what the run needs and builds its prompt.
func (r *Runs) prepare(ctx context.Context, one *run) (*answer.Prepared, error) {
	b, offer, err := r.outline(one)
	if err != nil {
		return nil, err
	}
	in := prompt.Input{Offer: offer, Context: one.req.Context, Owner: one.owner.ID, ConversationID: one.conversationID}
	if !one.newChat {
		if in.Payloads, err = r.Store.Chats.Payloads(ctx, one.owner.ID, one.conversationID); err != nil {
			return nil, fmt.Errorf("read the payloads: %w", err)
		}
		for _, p := range in.Payloads {
			b.PayloadIDs = append(b.PayloadIDs, p.PayloadID)
		}
	}
	system, outside := r.prompts.Build(ctx, in)
	b.Outside = outside
	b.Request = turn.Request{
		Model: one.req.Model, Temperature: r.Temperature, MaxTokens: r.MaxTokens, MaxIterations: r.MaxIterations, ToolOutput: r.ToolOutput,
		// Runs on one page have the same prompt within a minute; they share it.
		System: unique.Make(system).Value(), Tools: offer.Tools,
		Facts: &turn.Facts{Context: in.Context, Payloads: offer.PayloadTypes, Actions: offer.Actions},
	}
	if b.Request.Model == "" {
		b.Request.Model = r.Model
	}
	if one.req.InteractionType == schemas.ActionExecuted {
		return b, nil
	}
	b.Request.Messages, err = r.history.Within(r.history.Room(&b.Request, r.Windows[b.Request.Model])).Messages(ctx, prompt.HistoryInput{
		Owner: one.owner.ID, ConversationID: one.conversationID, UserMessageID: one.userMessageID, Current: one.userMessage,
		Alone: one.newChat && len(one.req.ConversationHistory) == 0,
		Summarize: func(ctx context.Context, text string, older []turn.Message) (string, error) {
			return r.summarize(ctx, b.Request.Model, text, older)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	return b, nil
}

// summarize condenses older turns with one call of the model.
func (r *Runs) summarize(ctx context.Context, model, text string, older []turn.Message) (string, error) {
	return r.ask(ctx, prompt.SummaryRequest(model, text, older, r.Windows[model], r.MaxTokens))
}

// ask makes one call of the model without tools and returns its text.
func (r *Runs) ask(ctx context.Context, req turn.Request) (string, error) {
	var text strings.Builder
	for event, err := range r.Agent.Run(ctx, req) {
		if err != nil {
			return "", err
		}
		switch e := event.(type) {
		case turn.TextDelta:
			text.WriteString(e.Text)
		case turn.FullText:
			text.WriteString(e.Text)
		case turn.Cancelled:
			return "", e.Cause
		case turn.CallStart, turn.Thinking, turn.ToolArguments, turn.Reply, turn.ToolWaiting, turn.ToolAnswered, turn.ToolStart, turn.ToolProgress, turn.ToolComplete, turn.PayloadMade, turn.LoopComplete,
			turn.ThreadEvent, turn.ThreadStart, turn.ThreadEnd:
		}
	}
	return text.String(), nil
}

// act runs the server action that the user clicked, without a call of the model.
func (r *Runs) act(one *run, wr *answer.Writer) answer.Outcome {
	if err := wr.BeginAction(); err != nil {
		return r.stopped(one, err)
	}
	done, err := r.Actions.Run(one.ctx, actions.CallOf(one.req, one.owner, one.conversationID))
	if err != nil {
		return r.stopped(one, err)
	}
	wr.EndAction(done.Text, done.Payload)
	return answer.Outcome{State: schemas.RunCompleted}
}
