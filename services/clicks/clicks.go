// Package clicks does the server actions that users click: it checks a click before its run
// begins, and does it in the run, without calling the model.
package clicks

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/actions"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/leases"
	"github.com/chattray/chattray/services/pages"
)

const (
	// accepted is the outcome of a payload whose action has been done.
	accepted = "accepted"
	// decisionWait is how long the decision about a payload waits for the database.
	decisionWait = 10 * time.Second
)

// Store reads what was suggested in chats, and decides payloads. Anything unknown or owned
// by another user is schemas.ErrNotFound.
type Store interface {
	ChatByKey(ctx context.Context, owner, key string) (schemas.Chat, error)
	// Messages returns a page of messages and the cursor of the preceding page.
	Messages(ctx context.Context, owner string, id int64, q record.MessageQuery) ([]schemas.Message, string, error)
	// Payloads returns the chat's payloads in order, without their data. Those of
	// superseded messages and of the run except are left out.
	Payloads(ctx context.Context, owner string, id int64, except string) ([]schemas.CustomPayload, error)
	// AcceptPayload decides a payload for a run. If anything else has decided it, the error
	// has the code conflict. ReopenPayload undoes that; it returns schemas.ErrNotFound if the
	// run has not decided it.
	AcceptPayload(ctx context.Context, owner string, id int64, payloadID, outcome, run string) error
	ReopenPayload(ctx context.Context, owner string, id int64, payloadID, run string) error
}

// Options is what Clicks work with. All fields must be set.
type Options struct {
	Store   Store
	Pages   *pages.Pages
	Actions *actions.Actions
	Logger  *slog.Logger
}

// Clicks does what users click. It is safe for concurrent use.
type Clicks struct{ Options }

// New returns Clicks with these options.
func New(o Options) *Clicks { return &Clicks{o} }

// call returns the click of a request in the chat on a page with this offer, without
// the run.
func (c *Clicks) call(user schemas.User, req *schemas.ChatRequest, chat int64, offer pages.Offer) actions.Call {
	return actions.Call{
		Action: req.ActionMetadata.ActionIdentifier, Data: req.ActionMetadata.ActionData, User: user, Context: req.Context, ConversationID: chat,
		Page: actions.Page{Name: offer.Page, Actions: offer.Actions, Own: offer.Handlers, Known: c.Pages.DeclaresAction},
	}
}

// Do does the server action that the run's request clicks; ctx is the run's context. It
// first accepts the payload of the action, so that only one of two clicks takes effect.
func (c *Clicks) Do(ctx context.Context, run answer.Run, wr *answer.Writer) error {
	offer, err := c.Pages.OfferFor(run.Request.Context, nil, run.Owner)
	if err != nil {
		return err
	}
	call := c.call(run.Owner, run.Request, run.ChatID, offer)
	call.RunID = run.ID
	payload := run.Request.ActionMetadata.PayloadID
	err = c.begin(ctx, run, wr, payload)
	begun := err == nil
	var done actions.Outcome
	if begun {
		done, err = c.Actions.Run(ctx, call)
	}
	switch {
	case err == nil:
		wr.EndAction(done.Text, done.Payload)
	case payload == "", begun && !actions.Undone(err):
	case !begun && errors.Is(err, record.ErrUnavailable) && ctx.Err() == nil: // a later attempt does it
	default:
		c.reopen(ctx, run, payload)
	}
	return err
}

// begin accepts the payload of an action, "" for none, and stores that the action is about to
// run. After an error it does not run in this attempt.
func (c *Clicks) begin(ctx context.Context, run answer.Run, wr *answer.Writer, payload string) error {
	if payload != "" {
		waiting, done := context.WithTimeout(ctx, decisionWait)
		defer done()
		if _, err := record.Persist(waiting, func() (struct{}, error) {
			return struct{}{}, c.Store.AcceptPayload(ctx, run.Owner.ID, run.ChatID, payload, accepted, run.ID)
		}); err != nil {
			return err
		}
	}
	if err := wr.BeginAction(); err != nil {
		return err
	}
	return leases.Hold(ctx)
}

// reopen makes a payload open again whose action may be tried again.
func (c *Clicks) reopen(ctx context.Context, run answer.Run, payload string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decisionWait)
	defer cancel()
	if _, err := record.Persist(ctx, func() (struct{}, error) {
		return struct{}{}, c.Store.ReopenPayload(ctx, run.Owner.ID, run.ChatID, payload, run.ID)
	}); err != nil && !errors.Is(err, schemas.ErrNotFound) {
		c.Logger.Warn("could not reopen a payload", "run_id", run.ID, "error", err)
	}
}
