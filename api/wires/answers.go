package wires

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

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
// the response shows what happened. At returns where the client's body has the answer to a
// call, for errors.
func (s *Service) Answers(ctx context.Context, user schemas.User, run schemas.Run, latest func() (string, error), list []record.CallAnswer, at func(index int) string) (given Given, err error) {
	waits, err := s.Runs.Waits(ctx, user, run.RunID)
	if err != nil {
		return given, err
	}
	waitOf := make(map[int]schemas.Wait)
	for _, w := range waits {
		waitOf[w.Index] = w
	}
	list = slices.DeleteFunc(slices.Clone(list), func(a record.CallAnswer) bool {
		w, ok := waitOf[a.Index]
		return !ok || !takes(w, a)
	})
	failed, err := s.Runs.Answer(ctx, user, run.RunID, list)
	if err != nil {
		return given, err
	}
	var last *schemas.Wait // that was answered
	for i, a := range list {
		w := waitOf[a.Index]
		seen, ok := errors.AsType[*schemas.Error](failed[i])
		switch {
		case failed[i] == nil:
		case ok && (seen.Code == schemas.CodeConflict || seen.Code == schemas.CodeInvalid && w.Answer != ""):
			set(&given.Differ, w.Index, true)
		default:
			return given, pointedAnswer(failed[i], at(w.Index))
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

// pointedAnswer returns the error of an answer with pointers into the client's body, in which
// the answer has the pointer at.
func pointedAnswer(err error, at string) error {
	return Repointed(err, func(pointer string) string {
		if pointer == "/output" {
			return at
		}
		if rest, ok := strings.CutPrefix(pointer, "/input"); ok { // only AG-UI lets users change it
			return at + "/editedArgs" + rest
		}
		return pointer
	})
}

// WithAnswer adds an answer to a list, in which it takes the place of another one to the
// same call.
func WithAnswer(list []record.CallAnswer, a record.CallAnswer) []record.CallAnswer {
	return append(slices.DeleteFunc(list, func(other record.CallAnswer) bool { return other.Index == a.Index }), a)
}

// takes reports whether an answer is of the kind that the call waits for.
func takes(w schemas.Wait, a record.CallAnswer) bool {
	return (w.Kind == schemas.WaitApproval) == (a.Approved != nil)
}

// Settles reports whether a run waits for nothing but the answers. A client that has gone on
// gives no others: the run would go on with them until its message takes the run's place.
func (s *Service) Settles(ctx context.Context, user schemas.User, run string, list []record.CallAnswer) (bool, error) {
	waits, err := s.Runs.Waits(ctx, user, run)
	for _, w := range waits {
		if w.Answer == "" && !slices.ContainsFunc(list, func(a record.CallAnswer) bool { return a.Index == w.Index && takes(w, a) }) {
			return false, err
		}
	}
	return true, err
}

// Stay makes a response a reader of a run that it does not show: one that may end with its
// last reader, and before whose end the response's own run does not begin. If that run waits
// again, for an answer that nobody is asked for, it is cancelled. Leave ends that.
func (s *Service) Stay(ctx context.Context, user schemas.User, run schemas.Run) (leave func()) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.stay(ctx, user, run)
	}()
	return func() { stop(); <-done }
}

func (s *Service) stay(ctx context.Context, user schemas.User, run schemas.Run) {
	events, err := s.Runs.Follow(ctx, user, run.RunID, run.LastSequence, 0)
	if err != nil {
		return
	}
	var c calls
	for batch, err := range events {
		if err != nil {
			return
		}
		for i := range batch {
			if !c.event(c.indexed(&batch[i])) {
				continue
			}
			if settled, err := s.Settles(ctx, user, run.RunID, nil); err == nil && !settled {
				_, _ = s.Runs.Cancel(ctx, user, run.RunID) // else the message waits until the call expires
			}
		}
	}
}
