// Package approvals takes the answers to waiting calls: the user's approvals,
// and the results of tools that the page runs. It stores the answer and wakes
// the call; the run then continues by itself.
package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/pages"
)

const (
	// maxClientOutput bounds the output of a tool that the page runs, in bytes.
	maxClientOutput = 256 << 10
)

// Errors for answers that come too late.
var (
	errOtherAnswer  = schemas.NewError(schemas.CodeConflict, "this call already has a different answer")
	errAnswerLate   = schemas.NewError(schemas.CodeConflict, "the time for this answer has expired")
	errAnsweredRun  = schemas.NewError(schemas.CodeConflict, "the run has ended")
	errToolNotThere = schemas.NewError(schemas.CodeConflict, "this tool is no longer offered")
)

// Store reads and ends the waits of calls; record.Write adds them.
type Store interface {
	// Waits returns the calls of the run that wait or have waited, in order.
	Waits(ctx context.Context, runID string) ([]record.Wait, error)
	// AnswerWait stores the answer to a waiting call and returns the wait with the
	// first answer it got. A call that never waited is schemas.ErrNotFound; in a run
	// that has ended it is record.ErrEnded.
	AnswerWait(ctx context.Context, answer record.Wait) (record.Wait, error)
}

// Runs are the runs whose calls wait.
type Runs interface {
	// Owned returns a stored run of the user, else schemas.ErrNotFound.
	Owned(ctx context.Context, user schemas.User, id string) (record.Run, error)
	// Run returns the run as its user sees it.
	Run(ctx context.Context, user schemas.User, id string) (schemas.Run, error)
	// Wake wakes a call of the run, if the run is running here.
	Wake(id string, call int)
}

// Approvals takes answers. It is safe for concurrent use.
type Approvals struct {
	store Store
	runs  Runs
	pages *pages.Pages
}

// New returns approvals for the runs; pages have the tools' input schemas.
func New(store Store, runs Runs, pages *pages.Pages) *Approvals {
	return &Approvals{store: store, runs: runs, pages: pages}
}

// Waits returns the calls of a run of the user's that wait or have waited, in the order
// in which the model asked for them.
func (a *Approvals) Waits(ctx context.Context, user schemas.User, runID string) ([]schemas.Wait, error) {
	if _, err := a.runs.Owned(ctx, user, runID); err != nil {
		return nil, err
	}
	stored, err := a.store.Waits(ctx, runID)
	if err != nil {
		return nil, err
	}
	list := make([]schemas.Wait, len(stored))
	for i, w := range stored {
		list[i] = schemas.Wait{
			Index: w.Index, Kind: w.Kind, ApprovalID: w.ID, ToolUseID: w.ToolUseID, Tool: w.Tool, Input: w.Input, ExpiresAt: w.ExpiresAt, Answer: w.Answer,
		}
		if w.Kind != schemas.WaitApproval {
			list[i].ApprovalID = ""
		}
		if w.Answer != "" {
			list[i].AnsweredAt = &stored[i].AnsweredAt
		}
	}
	return list, nil
}

// Approve gives the user's answer to a call that waits for it, from any device. At is when
// it was given: answers that come together have one moment. The answer is durable when
// Approve returns, and the same answer may be given again. A different answer, or one after
// the approval has expired, is an error of code conflict. An input that does not fit the
// tool's schema is an error of code invalid.
func (a *Approvals) Approve(ctx context.Context, user schemas.User, runID, approvalID string, given schemas.ApprovalAnswer, at time.Time) (schemas.Run, error) {
	run, w, err := a.waitOf(ctx, user, runID, func(w record.Wait) bool { return w.Kind == schemas.WaitApproval && w.ID == approvalID })
	if err != nil {
		return schemas.Run{}, err
	}
	answer := w
	answer.Answer, answer.Edited = schemas.WaitDenied, nil
	if given.Approved {
		answer.Answer = schemas.WaitApproved
	}
	if len(given.Input) > 0 && string(given.Input) != "null" {
		if !given.Approved {
			return schemas.Run{}, schemas.Invalid("/input", "is allowed only with an approval")
		}
		if answer.Edited, err = a.editedInput(run, w, given.Input); err != nil {
			return schemas.Run{}, err
		}
	}
	answer.AnsweredAt = at
	return a.settle(ctx, user, w, answer)
}

// ToolResult gives the result of a tool that the page ran, at a moment. It is durable when
// ToolResult returns. The same result may be given again; a different one is an
// error of code conflict.
func (a *Approvals) ToolResult(ctx context.Context, user schemas.User, runID string, result schemas.ClientToolResult, at time.Time) (schemas.Run, error) {
	_, w, err := a.waitOf(ctx, user, runID, func(w record.Wait) bool {
		return w.Kind == schemas.WaitClientTool && w.ToolUseID == result.ToolUseID && (result.Index == nil || *result.Index == w.Index)
	})
	if err != nil {
		return schemas.Run{}, err
	}
	if len(result.Output) == 0 {
		return schemas.Run{}, schemas.Invalid("/output", "is required")
	}
	if len(result.Output) > maxClientOutput {
		return schemas.Run{}, schemas.Invalid("/output", "must have at most 256 KiB")
	}
	answer := w
	answer.Answer, answer.IsError = schemas.WaitResult, result.IsError
	if json.Unmarshal(result.Output, &answer.Output) != nil {
		answer.Output = string(text.Canonical(result.Output))
	}
	answer.AnsweredAt = at
	return a.settle(ctx, user, w, answer)
}

// waitOf finds a wait of one of the user's runs.
func (a *Approvals) waitOf(ctx context.Context, user schemas.User, runID string, is func(record.Wait) bool) (record.Run, record.Wait, error) {
	run, err := a.runs.Owned(ctx, user, runID)
	if err != nil {
		return run, record.Wait{}, err
	}
	list, err := a.store.Waits(ctx, runID)
	if err != nil {
		return run, record.Wait{}, err
	}
	i := slices.IndexFunc(list, is)
	if i < 0 {
		return run, record.Wait{}, schemas.ErrNotFound
	}
	return run, list[i], nil
}

// settle stores the answer to w, wakes the call and returns the run. The first answer
// counts.
func (a *Approvals) settle(ctx context.Context, user schemas.User, w, answer record.Wait) (schemas.Run, error) {
	if w.Answer == "" {
		given := answer
		if !answer.AnsweredAt.Before(w.ExpiresAt) {
			given = w
			given.Answer, given.AnsweredAt = schemas.WaitExpired, answer.AnsweredAt
		}
		var err error
		if w, err = a.store.AnswerWait(ctx, given); errors.Is(err, record.ErrEnded) {
			return schemas.Run{}, errAnsweredRun
		} else if err != nil {
			return schemas.Run{}, err
		}
		defer a.runs.Wake(w.RunID, w.Index) // the run continues once its state has been read
	}
	switch {
	case w.Answer == schemas.WaitExpired:
		return schemas.Run{}, errAnswerLate
	case w.Answer != answer.Answer, w.Output != answer.Output, w.IsError != answer.IsError, !bytes.Equal(w.Edited, answer.Edited):
		return schemas.Run{}, errOtherAnswer
	}
	return a.runs.Run(ctx, user, w.RunID)
}

// editedInput checks an input against the tool's schema and returns it on one
// line; nil means that the input is unchanged.
func (a *Approvals) editedInput(run record.Run, w record.Wait, input json.RawMessage) (json.RawMessage, error) {
	edited := text.Canonical(input)
	if !bytes.HasPrefix(edited, []byte("{")) {
		return nil, schemas.Invalid("/input", "must be an object")
	}
	if err := turn.Readable(edited); err != nil {
		return nil, schemas.Invalid("/input", err.Error())
	}
	if bytes.Equal(edited, text.Canonical(w.Input)) {
		return nil, nil
	}
	if w.Answer != "" || run.State.Terminal() {
		return edited, nil // the input is only compared
	}
	var req schemas.ChatRequest
	if err := json.Unmarshal(run.Request, &req); err != nil {
		return nil, err
	}
	offer, err := a.pages.OfferFor(req.Context, req.ClientTools, run.Owner)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(offer.Tools, func(t turn.Tool) bool { return t.Name == w.Tool })
	if i < 0 {
		return nil, errToolNotThere
	}
	if check := offer.Tools[i].Check; check != nil {
		if err := check(edited); err != nil {
			return nil, schemas.Invalid("/input", err.Error())
		}
	}
	if edited = text.Canonical(offer.Tools[i].Fill(edited)); bytes.Equal(edited, text.Canonical(w.Input)) {
		return nil, nil
	}
	return edited, nil
}
