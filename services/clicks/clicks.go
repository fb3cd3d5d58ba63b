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
	// ResolvePayloadOnce decides a payload that is not decided yet; otherwise the
	// error has the code conflict. ReopenPayload undoes that.
	ResolvePayloadOnce(ctx context.Context, owner string, id int64, payloadID, outcome string) error
	ReopenPayload(ctx context.Context, owner string, id int64, payloadID string) error
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
	if err := wr.BeginAction(); err != nil {
		return err
	}
	payload := run.Request.ActionMetadata.PayloadID
	if payload != "" {
		if err := c.accept(ctx, run, payload); err != nil {
			return err
		}
	}
	err = leases.Hold(ctx)
	begins := err == nil
	var done actions.Outcome
	if begins {
		done, err = c.Actions.Run(ctx, call)
	}
	if err != nil {
		if payload != "" && (!begins || actions.Undone(err)) {
			c.reopen(ctx, run, payload)
		}
		return err
	}
	wr.EndAction(done.Text, done.Payload)
	return nil
}

// accept decides the payload of an action that has not begun. If it was decided after a try
// that had no answer, this click or another one may have done that: the error is still
// record.ErrUnavailable.
func (c *Clicks) accept(ctx context.Context, run answer.Run, payload string) error {
	waiting, done := context.WithTimeout(ctx, decisionWait)
	defer done()
	var away error
	_, err := record.Persist(waiting, func() (struct{}, error) {
		err := c.Store.ResolvePayloadOnce(ctx, run.Owner.ID, run.ChatID, payload, accepted)
		if errors.Is(err, record.ErrUnavailable) {
			away = err
		}
		return struct{}{}, err
	})
	if away != nil && err != nil && schemas.Visible(err).Code == schemas.CodeConflict {
		return away
	}
	return err
}

// reopen makes a payload open again whose action may be tried again.
func (c *Clicks) reopen(ctx context.Context, run answer.Run, payload string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decisionWait)
	defer cancel()
	if _, err := record.Persist(ctx, func() (struct{}, error) {
		return struct{}{}, c.Store.ReopenPayload(ctx, run.Owner.ID, run.ChatID, payload)
	}); err != nil {
		c.Logger.Warn("could not reopen a payload", "run_id", run.ID, "error", err)
	}
}
