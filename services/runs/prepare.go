package runs

import (
	"context"
	"fmt"
	"time"
	"unique"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/actions"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/pages"
	"github.com/chattray/chattray/services/prompt"
)

// outline is the part of prepare that reads nothing from the store.
func (r *Runs) outline(run *run) (*answer.Prepared, pages.Offer, error) {
	offer, err := r.Pages.OfferFor(run.req.Context, run.req.ClientTools, run.owner)
	if err != nil {
		return nil, offer, fmt.Errorf("resolve the page: %w", err)
	}
	offer.Actions = r.Actions.Offered(run.ctx, run.owner, run.req.Context, offer.Actions)
	return &answer.Prepared{Filter: r.NewFilter(offer.PayloadTypes, offer.Actions), Types: offer.PayloadTypes, Actions: offer.Actions}, offer, nil
}

// prepare reads what the run needs and builds its prompt.
func (r *Runs) prepare(ctx context.Context, run *run) (*answer.Prepared, error) {
	b, offer, err := r.outline(run)
	if err != nil {
		return nil, err
	}
	if document, _ := turn.Answer(run.req.Context); document != "" {
		kind, err := r.Drafts.TargetType(ctx, run.owner, run.req.Context)
		if err != nil {
			return nil, fmt.Errorf("read the type of the target: %w", err)
		}
		offer.Note += pages.ContentNote(kind)
	}
	in := prompt.Input{Offer: offer, Context: run.req.Context, Owner: run.owner.ID, ConversationID: run.conversationID}
	if !run.newChat {
		if in.Payloads, err = r.Store.Chats.Payloads(ctx, run.owner.ID, run.conversationID); err != nil {
			return nil, fmt.Errorf("read the payloads: %w", err)
		}
		for _, p := range in.Payloads {
			b.PayloadIDs = append(b.PayloadIDs, p.PayloadID)
		}
	}
	system, outside := r.prompts.Build(ctx, in)
	b.Outside = outside
	b.Request = turn.Request{
		Model: run.req.Model, Temperature: r.Temperature, MaxTokens: r.MaxTokens, MaxIterations: r.MaxIterations, ToolOutput: r.ToolOutput,
		// Runs on one page within a minute have the same prompt, so they share it.
		System: unique.Make(system).Value(), Tools: offer.Tools,
		Facts: &turn.Facts{Context: in.Context, Payloads: offer.PayloadTypes, Actions: offer.Actions},
	}
	if b.Request.Model == "" {
		b.Request.Model = r.Model
	}
	if run.req.InteractionType == schemas.ActionExecuted {
		return b, nil
	}
	b.Request.Messages, err = r.history.Within(r.history.Room(&b.Request, r.Windows[b.Request.Model])).Messages(ctx, prompt.HistoryInput{
		Owner: run.owner.ID, ConversationID: run.conversationID, UserMessageID: run.userMessageID, Current: run.userMessage,
		Alone: run.newChat && len(run.req.ConversationHistory) == 0,
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
	return turn.TextOf(r.Agent.Run(ctx, req))
}

const (
	// accepted is the outcome of a payload whose action is done.
	accepted = "accepted"
	// releaseWait bounds the taking back of a claim.
	releaseWait = 10 * time.Second
)

// act runs the server action that the user clicked, without a call of the model. A
// payload that it accepts is claimed first, so that only one of two clicks takes effect.
func (r *Runs) act(run *run, wr *answer.Writer) error {
	offer, err := r.Pages.OfferFor(run.req.Context, nil, run.owner)
	if err != nil {
		return err
	}
	call := r.questions.Click(run.owner, run.req, run.conversationID, offer)
	call.RunID = run.id
	if err := wr.BeginAction(); err != nil {
		return err
	}
	payload := run.req.ActionMetadata.PayloadID
	if payload != "" {
		if err := r.Store.Chats.ClaimPayload(run.ctx, run.owner.ID, run.conversationID, payload, accepted); err != nil {
			return err
		}
	}
	done, err := r.Actions.Run(run.ctx, call)
	if err != nil {
		if payload != "" && actions.Undone(err) {
			r.release(run, payload)
		}
		return err
	}
	wr.EndAction(done.Text, done.Payload)
	return nil
}

// release takes back the claim on a payload whose action had no effect.
func (r *Runs) release(run *run, payload string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run.ctx), releaseWait)
	defer cancel()
	if err := r.Store.Chats.ReleasePayload(ctx, run.owner.ID, run.conversationID, payload); err != nil {
		r.Logger.Warn("release a payload", "run_id", run.id, "error", err)
	}
}
