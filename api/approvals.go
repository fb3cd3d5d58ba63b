package api

import (
	"context"
	"encoding/json"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
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

// appendWait appends a frame of the message of a call that waits, in the dialect
// messages: it stands in the place of the tool's.
func appendWait(dst []byte, e *runlog.Event) []byte {
	switch e.Kind {
	case runlog.ApprovalRequest:
		var a schemas.ApprovalRequestEvent
		_ = json.Unmarshal(e.Data, &a)
		ask := propFields{
			"approval_id": a.ApprovalID, "name": a.Tool, "id": a.ToolUseID, "input": a.Input, "message": a.Message,
			"expires_at": a.ExpiresAt, "status": "waiting", "reason": a.Reason, "reason_text": a.ReasonText,
		}
		if a.Title != "" {
			ask["title"] = a.Title
		}
		if a.Description != "" {
			ask["description"] = a.Description
		}
		return appendFrame(dst, e, "approval", props(ask))
	case runlog.ApprovalResolved:
		var a schemas.ApprovalResolvedEvent
		_ = json.Unmarshal(e.Data, &a)
		status := "denied"
		if a.Approved {
			status = "approved"
		}
		dst = append(appendID(dst, e.Seq), `{"type":"approval","props":`...)
		dst = append(dst, props(propFields{"approved": a.Approved, "status": status})...)
		return appendTail(append(dst, `,"delta":true,"delta_action":"merge"`...), e)
	default:
		var t schemas.ClientToolCallEvent
		_ = json.Unmarshal(e.Data, &t)
		return appendFrame(dst, e, "client_tool_call", props(propFields{
			"name": t.Tool, "id": t.ToolUseID, "input": t.Input, "expires_at": t.ExpiresAt,
		}))
	}
}
