package wires

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

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

// Given is what the answers of a request did.
type Given struct {
	// Calls are the calls after whose answers the response begins; nil for a request without
	// answers.
	Calls map[int]bool
	// Again are all calls that the request answers, if none waits any more: it may be a
	// request that is sent again, whose response begins where it began the first time.
	Again map[int]bool
	// Differ are the calls that have another answer than the one of the request.
	Differ map[int]bool
}

// Names reports whether the request answers a call.
func (g Given) Names(index int) bool { return g.Calls[index] || g.Again[index] }

// Answers gives answers to the calls of a user's run. Answers to calls that do not wait
// have no effect. An answer that is late or differs from an earlier one is not an error:
// the response shows what happened.
func (s *Service) Answers(ctx context.Context, user schemas.User, run schemas.Run, latest func() (string, error), list []Answer) (given Given, err error) {
	// A request that is sent twice at once gets the same response twice.
	unlock, err := s.answering.Lock(ctx, run.RunID)
	if err != nil {
		return given, err
	}
	defer unlock()
	waits, err := s.Runs.Waits(ctx, user, run.RunID)
	if err != nil {
		return given, err
	}
	at := time.Now()       // of all answers: no response ends between them
	var last *schemas.Wait // that was answered
	for _, a := range list {
		i := slices.IndexFunc(waits, func(w schemas.Wait) bool { return w.Index == a.Index })
		if i < 0 || (waits[i].Kind == schemas.WaitApproval) != (a.Approved != nil) {
			continue
		}
		w := waits[i]
		stands, err := s.answer(ctx, user, run.RunID, w, a, at)
		switch {
		case err != nil:
			return given, err
		case !stands:
			set(&given.Differ, w.Index, true)
		}
		if w.Answer == "" && !run.State.Terminal() {
			set(&given.Calls, w.Index, true)
			continue
		}
		set(&given.Again, w.Index, true)
		if last == nil || last.AnsweredAt == nil || w.AnsweredAt != nil && w.AnsweredAt.After(*last.AnsweredAt) {
			last = &w
		}
	}
	if len(given.Calls) > 0 {
		given.Again = nil
		return given, nil
	}
	if last == nil {
		return given, schemas.ErrNotFound
	}
	newest, err := latest()
	if err != nil {
		return given, err
	}
	if newest != run.RunID {
		return given, errNotWaiting
	}
	set(&given.Calls, last.Index, true)
	return given, nil
}

// waits returns the calls of a run that wait or have waited, after the answers that are being
// given: a response that is read again tells by their moment whether it ended before them.
func (s *Service) waits(ctx context.Context, user schemas.User, run string) ([]schemas.Wait, error) {
	unlock, err := s.answering.Lock(ctx, run)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.Runs.Waits(ctx, user, run)
}

// answer gives an answer at a moment. It reports whether the call has that answer now, and
// not another.
func (s *Service) answer(ctx context.Context, user schemas.User, run string, w schemas.Wait, a Answer, at time.Time) (stands bool, err error) {
	if w.Kind == schemas.WaitApproval {
		_, err = s.Runs.Approve(ctx, user, run, w.ApprovalID, schemas.ApprovalAnswer{Approved: *a.Approved, Input: a.Input}, at)
	} else {
		_, err = s.Runs.ToolResult(ctx, user, run, schemas.ClientToolResult{ToolUseID: w.ToolUseID, Index: &w.Index, Output: a.Output, IsError: a.IsError}, at)
	}
	seen, ok := errors.AsType[*schemas.Error](err)
	if ok && (seen.Code == schemas.CodeConflict || seen.Code == schemas.CodeInvalid && w.Answer != "") {
		return false, nil
	}
	return err == nil, err
}

// WithAnswer adds an answer to a list, in which it takes the place of another one to the
// same call.
func WithAnswer(list []Answer, a Answer) []Answer {
	return append(slices.DeleteFunc(list, func(other Answer) bool { return other.Index == a.Index }), a)
}

// Stay makes a response a reader of a run that it does not show: one that may end with its
// last reader, and before whose end the response's own run does not begin. Leave ends that.
func (s *Service) Stay(ctx context.Context, user schemas.User, run schemas.Run) (leave func()) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if events, err := s.Runs.Follow(ctx, user, run.RunID, run.LastSequence, 0); err == nil {
			for range events { //nolint:errcheck // nobody is shown them
			}
		}
	}()
	return func() { stop(); <-done }
}
