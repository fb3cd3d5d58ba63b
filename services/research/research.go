// Package research owns the research data: everybody may read it, a stream's
// owner and admins may write it.
package research

import (
	"context"
	"encoding/json"

	"github.com/chattray/chattray/schemas"
)

// Store reads and changes the research data. An unknown id is schemas.ErrNotFound.
type Store interface {
	Streams(ctx context.Context) ([]schemas.Stream, error)
	Stream(ctx context.Context, id int64) (schemas.Stream, error)
	// UpdateStream applies change to the stream in one transaction.
	UpdateStream(ctx context.Context, id int64, change func(*schemas.Stream) error) (schemas.Stream, error)
	// Reports are newest first; streamID 0 is all streams.
	Reports(ctx context.Context, streamID int64) ([]schemas.Report, error)
	// Report returns the report with its articles.
	Report(ctx context.Context, id int64) (schemas.Report, error)
}

// Research reads and changes the research data. It is safe for concurrent use.
type Research struct {
	Store
}

// New returns a Research over the store.
func New(store Store) *Research { return &Research{store} }

// UpdateStream sets the fields that the update has. A user who may not change
// the stream gets schemas.CodeForbidden: everybody may read it.
func (r *Research) UpdateStream(ctx context.Context, user schemas.User, id int64, u schemas.StreamUpdate) (schemas.Stream, error) {
	if len(u.Schema) > 0 {
		var object map[string]json.RawMessage
		if json.Unmarshal(u.Schema, &object) != nil {
			return schemas.Stream{}, schemas.Invalid("/schema", "must be an object")
		}
	}
	return r.Store.UpdateStream(ctx, id, func(s *schemas.Stream) error {
		if !MayWrite(user, s) {
			return schemas.NewError(schemas.CodeForbidden, "only the owner of the stream and admins may change it")
		}
		if u.Name != nil {
			s.Name = *u.Name
		}
		if u.Purpose != nil {
			s.Purpose = *u.Purpose
		}
		if u.Instructions != nil {
			s.Instructions = *u.Instructions
		}
		if len(u.Schema) > 0 {
			s.Schema = u.Schema
		}
		return nil
	})
}

// MayWrite reports whether the user may change the stream; only admins may change
// one without an owner.
func MayWrite(user schemas.User, s *schemas.Stream) bool {
	return user.Admin() || s.Owner != "" && s.Owner == user.ID
}
