package wires

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/chattray/chattray/schemas"
)

// Answer is the answer to a call that waits: approved or not, or the outcome of a tool of
// the page.
type Answer struct {
	Index    int
	Approved *bool
	Input    json.RawMessage // replaces the input of an approved call
	Output   json.RawMessage // nil for an approval
	IsError  bool
}

// errNotWaiting is returned for answers to calls that no longer wait, of a run that is not
// the newest of its chat.
var errNotWaiting = schemas.NewError(schemas.CodeConflict, "this call does not wait any more, and the chat has gone on")

// Answers gives answers to the calls of a user's run. Answers to calls that do not wait
// have no effect. An answer that is late or differs from an earlier one is not an error:
// the response shows what happened. It returns the calls after whose answers the response
// begins.
func (s *Service) Answers(ctx context.Context, user schemas.User, run schemas.Run, latest func() (string, error), list []Answer) (given map[int]bool, err error) {
	waits, err := s.Runs.Waits(ctx, user, run.RunID)
	if err != nil {
		return nil, err
	}
	given = make(map[int]bool)
	var last schemas.Wait
	for _, a := range list {
		i := slices.IndexFunc(waits, func(w schemas.Wait) bool { return w.Index == a.Index })
		if i < 0 || (waits[i].Kind == schemas.WaitApproval) != (a.Approved != nil) {
			continue
		}
		w := waits[i]
		if w.Answer != "" {
			if last.AnsweredAt == nil || w.AnsweredAt.After(*last.AnsweredAt) {
				last = w
			}
			continue
		}
		if err := s.answer(ctx, user, run.RunID, w, a); err != nil {
			return nil, err
		}
		given[a.Index] = true
	}
	if len(given) > 0 {
		return given, nil
	}
	if last.AnsweredAt == nil {
		return nil, schemas.ErrNotFound
	}
	newest, err := latest()
	if err != nil {
		return nil, err
	}
	if newest != run.RunID {
		return nil, errNotWaiting
	}
	given[last.Index] = true
	return given, nil
}

func (s *Service) answer(ctx context.Context, user schemas.User, run string, w schemas.Wait, a Answer) (err error) {
	if w.Kind == schemas.WaitApproval {
		_, err = s.Runs.Approve(ctx, user, run, w.ApprovalID, schemas.ApprovalAnswer{Approved: *a.Approved, Input: a.Input})
	} else {
		_, err = s.Runs.ToolResult(ctx, user, run, schemas.ClientToolResult{ToolUseID: w.ToolUseID, Index: &w.Index, Output: a.Output, IsError: a.IsError})
	}
	if seen, ok := errors.AsType[*schemas.Error](err); ok && seen.Code == schemas.CodeConflict {
		return nil
	}
	return err
}
