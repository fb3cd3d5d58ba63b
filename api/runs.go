package api

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
)

// runs is what is known of runs. Each call checks the owner: what is unknown or
// somebody else's is schemas.ErrNotFound.
type runs interface {
	Run(ctx context.Context, user schemas.User, id string) (schemas.Run, error)
	// Cancel asks the run to end and returns its state; of a run that has ended
	// it returns the state only.
	Cancel(ctx context.Context, user schemas.User, id string) (schemas.Run, error)
	// Approve answers a call that waits for the user, ToolResult one that waits
	// for the page. Another answer than the first is an error of code conflict.
	Approve(ctx context.Context, user schemas.User, run, approval string, a schemas.ApprovalAnswer) (schemas.Run, error)
	ToolResult(ctx context.Context, user schemas.User, run string, result schemas.ClientToolResult) (schemas.Run, error)
	Diagnostics(ctx context.Context, user schemas.User, id string) (schemas.Diagnostics, error)
	// ToolCall returns the call whole; index counts over the run from 0.
	ToolCall(ctx context.Context, user schemas.User, id string, index int) (schemas.ToolCall, error)
}

func (s *server) getRun(c echo.Context) error    { return ofRun(c, s.Runs.Run) }
func (s *server) cancelRun(c echo.Context) error { return ofRun(c, s.Runs.Cancel) }

// errNoDiagnostics is the answer to a user who may not see system prompts, about
// a run of their own; others are not found.
var errNoDiagnostics = schemas.NewError(schemas.CodeForbidden, "the diagnostics of runs are not for you to see")

func (s *server) getDiagnostics(c echo.Context) error {
	return ofRun(c, func(ctx context.Context, user schemas.User, run string) (schemas.Diagnostics, error) {
		if s.Diagnostics != nil && s.Diagnostics(user) {
			return s.Runs.Diagnostics(ctx, user, run)
		}
		if _, err := s.Runs.Run(ctx, user, run); err != nil {
			return schemas.Diagnostics{}, err
		}
		return schemas.Diagnostics{}, errNoDiagnostics
	})
}

// ofRun answers with what ask says about the run of the path.
func ofRun[T any](c echo.Context, ask func(context.Context, schemas.User, string) (T, error)) error {
	run, err := id(c, "run_id")
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	v, err := ask(ctx, user, run)
	if err != nil {
		return err
	}
	return respond(c, v)
}

func (s *server) getToolCall(c echo.Context) error {
	index, err := number(c, "index", 0)
	if err != nil {
		return err
	}
	return ofRun(c, func(ctx context.Context, user schemas.User, run string) (schemas.ToolCall, error) {
		return s.Runs.ToolCall(ctx, user, run, int(index))
	})
}
