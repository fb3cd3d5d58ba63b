package runs

import (
	"context"
	"encoding/json"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/trace"
)

// Diagnostics returns the trace of an ended run of the user.
func (r *Runs) Diagnostics(ctx context.Context, user schemas.User, id string) (schemas.Diagnostics, error) {
	if run := r.find(id); run != nil && run.owner.ID == user.ID {
		if d := run.trace.Load(); d != nil {
			return trace.Expand(*d), nil
		}
	}
	if _, err := r.Owned(ctx, user, id); err != nil {
		return schemas.Diagnostics{}, err
	}
	raw, err := r.Store.Logs.Trace(ctx, id)
	if err != nil {
		return schemas.Diagnostics{}, err
	}
	var d schemas.Diagnostics
	if err := json.Unmarshal(raw, &d); err != nil {
		return schemas.Diagnostics{}, err
	}
	return trace.Expand(d), nil
}
