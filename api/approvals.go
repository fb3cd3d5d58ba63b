package api

import (
	"context"
	"encoding/json"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
)

// postApproval answers a call that waits for the user.
func (s *server) postApproval(c echo.Context) error {
	approval, err := id(c, "approval_id")
	if err != nil {
		return err
	}
	answer, raw, err := decode[schemas.ApprovalAnswer](s, c)
	if err != nil {
		return err
	}
	if err := has(raw, "approved"); err != nil {
		return err
	}
	return ofRun(c, func(ctx context.Context, user schemas.User, run string) (schemas.Run, error) {
		return s.Runs.Approve(ctx, user, run, approval, answer)
	})
}

// postToolResult takes the outcome of a tool that the page runs.
func (s *server) postToolResult(c echo.Context) error {
	result, raw, err := decode[schemas.ClientToolResult](s, c)
	if err != nil {
		return err
	}
	if err := has(raw, "output"); err != nil {
		return err
	}
	return ofRun(c, func(ctx context.Context, user schemas.User, run string) (schemas.Run, error) {
		return s.Runs.ToolResult(ctx, user, run, result)
	})
}

// has refuses an object without the field: its zero value would say something.
func has(raw []byte, field string) error {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(raw, &body); err != nil || body[field] != nil {
		return err
	}
	return fieldsError(schemas.CodeInvalid, "the body has values that are not allowed", []schemas.FieldError{{Pointer: "/" + field, Detail: "is required"}})
}
