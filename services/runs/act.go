package runs

import (
	"context"
	"time"

	"github.com/chattray/chattray/services/actions"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/leases"
)

const (
	// accepted is the outcome of a payload whose action has been done.
	accepted = "accepted"
	// reopenWait bounds the call that makes a payload open again.
	reopenWait = 10 * time.Second
)

// act runs the server action that the user clicked, without calling the model. It first
// accepts the payload of the action, so that only one of two clicks takes effect.
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
		if err := r.Store.Chats.ResolvePayloadOnce(run.ctx, run.owner.ID, run.conversationID, payload, accepted); err != nil {
			return err
		}
	}
	err = leases.Hold(run.ctx)
	var done actions.Outcome
	if err == nil {
		done, err = r.Actions.Run(run.ctx, call)
	}
	if err != nil {
		if payload != "" && actions.Undone(err) {
			r.reopen(run, payload)
		}
		return err
	}
	wr.EndAction(done.Text, done.Payload)
	return nil
}

// reopen makes a payload open again whose action may be tried again.
func (r *Runs) reopen(run *run, payload string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run.ctx), reopenWait)
	defer cancel()
	if err := r.Store.Chats.ReopenPayload(ctx, run.owner.ID, run.conversationID, payload); err != nil {
		r.Logger.Warn("could not reopen a payload", "run_id", run.id, "error", err)
	}
}
