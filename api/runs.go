package api

import (
	"context"

	"github.com/chattray/chattray/schemas"
)

// runs gives access to runs. Each call checks the owner: anything unknown or
// owned by somebody else is schemas.ErrNotFound.
type runs interface {
	Run(ctx context.Context, user schemas.User, id string) (schemas.Run, error)
	// Cancel asks the run to end and returns its state; for a run that has
	// ended it only returns the state.
	Cancel(ctx context.Context, user schemas.User, id string) (schemas.Run, error)
	// Approve answers a call that waits for the user, ToolResult one that waits
	// for the page. A second, different answer is an error of code conflict.
	Approve(ctx context.Context, user schemas.User, run, approval string, a schemas.ApprovalAnswer) (schemas.Run, error)
	ToolResult(ctx context.Context, user schemas.User, run string, result schemas.ClientToolResult) (schemas.Run, error)
	Diagnostics(ctx context.Context, user schemas.User, id string) (schemas.Diagnostics, error)
	// ToolCall returns the whole call; index counts the run's calls from 0.
	ToolCall(ctx context.Context, user schemas.User, id string, index int) (schemas.ToolCall, error)
}

func (s *server) getRun(ctx context.Context, user schemas.User, in runPath) (schemas.Run, error) {
	return s.Runs.Run(ctx, user, in.Run)
}

func (s *server) cancelRun(ctx context.Context, user schemas.User, in runPath) (schemas.Run, error) {
	return s.Runs.Cancel(ctx, user, in.Run)
}

// errNoDiagnostics refuses the diagnostics of the user's own run to a user who
// may not see system prompts; other runs are not found.
var errNoDiagnostics = schemas.NewError(schemas.CodeForbidden, "you may not see the diagnostics of runs")

func (s *server) getDiagnostics(ctx context.Context, user schemas.User, in runPath) (schemas.Diagnostics, error) {
	if s.Diagnostics != nil && s.Diagnostics(user) {
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
