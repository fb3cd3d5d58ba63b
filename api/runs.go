package api

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// runs gives access to runs. Each call checks the owner: anything unknown or
// owned by another user is schemas.ErrNotFound.
type runs interface {
	Run(ctx context.Context, user schemas.User, id string) (schemas.Run, error)
	// ByKey returns the run that an Idempotency-Key started.
	ByKey(ctx context.Context, user schemas.User, key string) (schemas.Run, error)
	// Waits returns the calls of the run that wait or have waited.
	Waits(ctx context.Context, user schemas.User, id string) ([]schemas.Wait, error)
	// Cancel asks the run to end and returns its state; for a run that has
	// ended it only returns the state.
	Cancel(ctx context.Context, user schemas.User, id string) (schemas.Run, error)
	// CancelAll is Cancel for several runs, in this order. It calls stored once all
	// requests are stored, before a run here ends.
	CancelAll(ctx context.Context, user schemas.User, stored func(), ids ...string) error
	// Approve answers a call that waits for the user, ToolResult one that waits
	// for the page. A second, different answer is an error of code conflict.
	Approve(ctx context.Context, user schemas.User, run, approval string, a schemas.ApprovalAnswer) (schemas.Run, error)
	ToolResult(ctx context.Context, user schemas.User, run string, result schemas.ClientToolResult) (schemas.Run, error)
	// Answer answers several calls at one moment, and says for each why it does not have
	// that answer.
	Answer(ctx context.Context, user schemas.User, run string, answers []record.CallAnswer) ([]error, error)
	Diagnostics(ctx context.Context, user schemas.User, id string) (schemas.Diagnostics, error)
	// ToolCall returns the whole call; index counts the run's calls from 0.
	ToolCall(ctx context.Context, user schemas.User, id string, index int) (schemas.ToolCall, error)
}

func (s *server) getRun(ctx context.Context, user schemas.User, in runPath) (schemas.Run, error) {
	return s.Runs.Run(ctx, user, in.Run)
}

// findRun lists the run that was started under an Idempotency-Key, if there is one.
func (s *server) findRun(ctx context.Context, user schemas.User, in struct {
	Key string `query:"idempotency_key" max:"255"`
},
) (schemas.RunList, error) {
	if in.Key == "" {
		return schemas.RunList{}, badQuery("idempotency_key", "is required")
	}
	run, err := s.Runs.ByKey(ctx, user, in.Key)
	if errors.Is(err, schemas.ErrNotFound) {
		return schemas.RunList{Items: []schemas.Run{}}, nil
	}
	return schemas.RunList{Items: []schemas.Run{run}}, err
}

func (s *server) getWaits(ctx context.Context, user schemas.User, in runPath) (schemas.WaitList, error) {
	list, err := s.Runs.Waits(ctx, user, in.Run)
	return schemas.WaitList{Items: array(list)}, err
}

func (s *server) cancelRun(ctx context.Context, user schemas.User, in runPath) (schemas.Run, error) {
	return s.Runs.Cancel(ctx, user, in.Run)
}

// errNoDiagnostics refuses the diagnostics of the user's own run to a user who
// may not see system prompts; other runs are not found.
var errNoDiagnostics = schemas.NewError(schemas.CodeForbidden, "you may not see the diagnostics of runs")

func (s *server) getDiagnostics(ctx context.Context, user schemas.User, in runPath) (schemas.Diagnostics, error) {
	if s.Diagnostics(user) {
		return s.Runs.Diagnostics(ctx, user, in.Run)
	}
	if _, err := s.Runs.Run(ctx, user, in.Run); err != nil {
		return schemas.Diagnostics{}, err
	}
	return schemas.Diagnostics{}, errNoDiagnostics
}

func (s *server) getToolCall(ctx context.Context, user schemas.User, in struct {
	runPath

	Index int64 `path:"index" min:"0"`
},
) (schemas.ToolCall, error) {
	return s.Runs.ToolCall(ctx, user, in.Run, int(in.Index))
}

// approvalAnswer is a schemas.ApprovalAnswer that also tells whether approved
// was sent: its zero value would deny.
type approvalAnswer struct {
	Approved *bool           `json:"approved" validate:"required"`
	Input    json.RawMessage `json:"input,omitempty"`
}

// postApproval answers a call that waits for the user.
func (s *server) postApproval(ctx context.Context, user schemas.User, in struct {
	runPath

	Approval string `path:"approval_id"`
	Body     approvalAnswer
},
) (schemas.Run, error) {
	return s.Runs.Approve(ctx, user, in.Run, in.Approval, schemas.ApprovalAnswer{Approved: *in.Body.Approved, Input: in.Body.Input})
}

// postToolResult takes the outcome of a tool that the page runs.
func (s *server) postToolResult(ctx context.Context, user schemas.User, in struct {
	runPath

	Body schemas.ClientToolResult
},
) (schemas.Run, error) {
	return s.Runs.ToolResult(ctx, user, in.Run, in.Body)
}
