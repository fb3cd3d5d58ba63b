package api

import (
	"context"
	"encoding/json"

	"github.com/chattray/chattray/schemas"
)

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
