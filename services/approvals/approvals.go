// Package approvals takes the answers to waiting calls: the user's approvals,
// and the results of tools that the page runs. It stores the answer and wakes
// the call; the run then continues by itself.
package approvals

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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
	errToolMissing  = schemas.NewError(schemas.CodeConflict, "the server of this tool is not connected yet, so the input cannot be checked; try again soon")
)

// Store reads and ends the waits of calls; record.Write adds them.
type Store interface {
	// Waits returns the calls of the run that wait or have waited, in order.
	Waits(ctx context.Context, runID string) ([]record.Wait, error)
	// AnswerWaits stores the answers to waiting calls of one run, all or none, and returns
	// the waits with the first answer that each got; in a run that has ended that may be
	// none. A call that never waited is schemas.ErrNotFound.
	AnswerWaits(ctx context.Context, answers []record.Wait) ([]record.Wait, error)
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
	store   Store
	runs    Runs
	pages   *pages.Pages
	missing func(tool string) <-chan struct{}
}

// New returns approvals for the runs; pages have the tools' input schemas. Missing returns nil
// unless the server of the tool is still to be connected. It may be nil.
func New(store Store, runs Runs, pages *pages.Pages, missing func(tool string) <-chan struct{}) *Approvals {
	return &Approvals{store: store, runs: runs, pages: pages, missing: missing}
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

// Approve gives the user's answer to a call that waits for it, from any device. The answer
// is durable when Approve returns, and the same answer may be given again. A different
// answer, or one after the approval has expired, is an error of code conflict. An input
// that does not fit the tool's schema is an error of code invalid.
func (a *Approvals) Approve(ctx context.Context, user schemas.User, runID, approvalID string, given schemas.ApprovalAnswer) (schemas.Run, error) {
	return a.one(ctx, user, runID, record.CallAnswer{Approved: &given.Approved, Input: given.Input}, func(w *record.Wait) bool {
		return w.Kind == schemas.WaitApproval && w.ID == approvalID
	})
}

// ToolResult gives the result of a tool that the page ran. It is durable when ToolResult
// returns. The same result may be given again; a different one is an error of code
// conflict.
func (a *Approvals) ToolResult(ctx context.Context, user schemas.User, runID string, result schemas.ClientToolResult) (schemas.Run, error) {
	return a.one(ctx, user, runID, record.CallAnswer{Output: result.Output, IsError: result.IsError}, func(w *record.Wait) bool {
		return w.Kind == schemas.WaitClientTool && w.ToolUseID == result.ToolUseID && (result.Index == nil || *result.Index == w.Index)
	})
}

// one answers the call that is asked for and returns the run.
func (a *Approvals) one(ctx context.Context, user schemas.User, runID string, answer record.CallAnswer, is func(*record.Wait) bool) (schemas.Run, error) {
	run, waits, err := a.waitsOf(ctx, user, runID)
	if err != nil {
		return schemas.Run{}, err
	}
	i := slices.IndexFunc(waits, func(w record.Wait) bool { return is(&w) })
	if i < 0 {
		return schemas.Run{}, schemas.ErrNotFound
	}
	answer.Index = waits[i].Index
	errs, wake, err := a.settle(ctx, &run, waits, []record.CallAnswer{answer})
	defer wake() // the run continues once its state has been read
	if err = cmp.Or(err, errs[0]); err != nil {
		return schemas.Run{}, err
	}
	return a.runs.Run(ctx, user, runID)
}

// Answer gives answers to calls of a run that wait, at one moment: another reader sees all
// of them or none. It returns for each why the call does not have that answer, with the
// codes of Approve and ToolResult; a call that does not wait for such an answer is
// schemas.ErrNotFound.
func (a *Approvals) Answer(ctx context.Context, user schemas.User, runID string, answers []record.CallAnswer) ([]error, error) {
	run, waits, err := a.waitsOf(ctx, user, runID)
	if err != nil {
		return nil, err
	}
	errs, wake, err := a.settle(ctx, &run, waits, answers)
	wake()
	return errs, err
}

// waitsOf returns one of the user's runs and its waits.
func (a *Approvals) waitsOf(ctx context.Context, user schemas.User, runID string) (record.Run, []record.Wait, error) {
	run, err := a.runs.Owned(ctx, user, runID)
	if err != nil {
		return run, nil, err
	}
	list, err := a.store.Waits(ctx, runID)
	return run, list, err
}

// settle stores the answers to calls that have none, and says for each answer why its call
// does not have it. The first answer counts. Wake wakes the calls, also after an error: what
// failed may be stored.
func (a *Approvals) settle(ctx context.Context, run *record.Run, waits []record.Wait, answers []record.CallAnswer) (errs []error, wake func(), err error) {
	errs = make([]error, len(answers))
	wanted := make(map[int]*record.Wait) // what the answer i means
	var given []record.Wait
	now := time.Now()
	for i := range answers {
		at := slices.IndexFunc(waits, func(w record.Wait) bool { return w.Index == answers[i].Index })
		if at < 0 {
			errs[i] = schemas.ErrNotFound
			continue
		}
		w := waits[at]
		want, err := a.answered(run, w, &answers[i])
		if err != nil {
			errs[i] = err
			continue
		}
		want.AnsweredAt = now
		wanted[i] = &want
		switch {
		case w.Answer != "":
		case now.Before(w.ExpiresAt):
			given = append(given, want)
		default:
			w.Answer, w.AnsweredAt = schemas.WaitExpired, now
			given = append(given, w)
		}
	}
	wake = func() {
		for _, w := range given {
			a.runs.Wake(w.RunID, w.Index)
		}
	}
	stored, err := a.store.AnswerWaits(ctx, given)
	if err != nil {
		return errs, wake, err
	}
	var early []record.Wait // by the clock that counts, the database's
	for _, want := range wanted {
		if w := find(stored, want.Index); w != nil && w.Answer == "" && !now.Before(w.ExpiresAt) {
			early = append(early, *want)
		}
	}
	if len(early) > 0 {
		again, err := a.store.AnswerWaits(ctx, early)
		if err != nil {
			return errs, wake, err
		}
		stored = append(again, stored...)
	}
	for i, want := range wanted {
		errs[i] = missed(want, cmp.Or(find(stored, want.Index), find(waits, want.Index)))
	}
	return errs, wake, nil
}

func find(list []record.Wait, index int) *record.Wait {
	for i := range list {
		if list[i].Index == index {
			return &list[i]
		}
	}
	return nil
}

// missed returns why the call has not got the answer.
func missed(want, got *record.Wait) error {
	switch {
	case got.Answer == "" && want.AnsweredAt.Before(got.ExpiresAt):
		return errAnsweredRun
	case got.Answer == "", got.Answer == schemas.WaitExpired:
		return errAnswerLate
	case got.Answer != want.Answer, got.Output != want.Output, got.IsError != want.IsError, !bytes.Equal(got.Edited, want.Edited):
		return errOtherAnswer
	}
	return nil
}

// answered returns the wait with the answer.
func (a *Approvals) answered(run *record.Run, w record.Wait, given *record.CallAnswer) (want record.Wait, err error) {
	want = w
	want.Answer, want.Edited, want.Output, want.IsError = "", nil, "", given.IsError
	switch {
	case (w.Kind == schemas.WaitApproval) != (given.Approved != nil):
		return want, schemas.ErrNotFound
	case given.Approved == nil && len(given.Output) == 0:
		return want, schemas.Invalid("/output", "is required")
	case len(given.Output) > maxClientOutput:
		return want, schemas.Invalid("/output", "must have at most 256 KiB")
	case given.Approved == nil:
		want.Answer = schemas.WaitResult
		if json.Unmarshal(given.Output, &want.Output) != nil {
			want.Output = string(text.Canonical(given.Output))
		}
		return want, nil
	}
	want.Answer = schemas.WaitDenied
	if *given.Approved {
		want.Answer = schemas.WaitApproved
	}
	if len(given.Input) > 0 && string(given.Input) != "null" {
		if !*given.Approved {
			return want, schemas.Invalid("/input", "is allowed only with an approval")
		}
		want.Edited, err = a.editedInput(run, w, given.Input)
	}
	return want, err
}

// editedInput checks an input against the tool's schema and returns it on one
// line; nil means that the input is unchanged.
func (a *Approvals) editedInput(run *record.Run, w record.Wait, input json.RawMessage) (json.RawMessage, error) {
	edited := text.Canonical(input)
	if !bytes.HasPrefix(edited, []byte("{")) {
		return nil, schemas.Invalid("/input", "must be an object")
	}
	if err := turn.Readable("its arguments", edited); err != nil {
		return nil, schemas.Invalid("/input", err.Error())
	}
	if bytes.Equal(edited, text.Canonical(w.Input)) {
		return nil, nil
	}
	tool, err := a.toolOf(run, w.Tool)
	switch over := w.Answer != "" || run.State.Terminal(); {
	case over && err != nil:
		return edited, nil // the input is only compared
	case err != nil:
		return nil, err
	case !over && tool.Check != nil:
		if err := tool.Check(edited); err != nil {
			return nil, schemas.Misfit("/input", err)
		}
	}
	if edited = text.Canonical(tool.Fill(edited)); bytes.Equal(edited, text.Canonical(w.Input)) {
		return nil, nil
	}
	return edited, nil
}

// toolOf returns a tool of those that the run is offered.
func (a *Approvals) toolOf(run *record.Run, name string) (*turn.Tool, error) {
	var req schemas.ChatRequest
	if err := json.Unmarshal(run.Request, &req); err != nil {
		return nil, err
	}
	offer, err := a.pages.OfferFor(req.Context, req.ClientTools, run.Owner)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(offer.Tools, func(t turn.Tool) bool { return t.Name == name })
	switch {
	case i >= 0:
		return &offer.Tools[i], nil
	case a.missing != nil && a.missing(name) != nil:
		return nil, errToolMissing
	}
	return nil, errToolNotThere
}
