package services

import (
	"context"
	"encoding/json"

	"github.com/chattray/chattray/schemas"
)

// Research is the research data: everybody reads it, a stream's owner and admins
// write it.
type Research struct {
	researchStore
}

// NewResearch returns the research data of a store.
func NewResearch(store researchStore) *Research { return &Research{store} }

// UpdateStream sets what the update has. For a user who may not write the stream
// it is schemas.ErrNotFound, as for an unknown one.
func (r *Research) UpdateStream(ctx context.Context, user schemas.User, id int64, u schemas.StreamUpdate) (schemas.Stream, error) {
	if len(u.Schema) > 0 {
		var object map[string]json.RawMessage
		if json.Unmarshal(u.Schema, &object) != nil {
			return schemas.Stream{}, schemas.Invalid("/schema", "must be an object")
		}
	}
	return r.researchStore.UpdateStream(ctx, id, func(s *schemas.Stream) error {
		if !mayWrite(user, s) {
			return schemas.ErrNotFound
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

// mayWrite says whether the stream is the user's to change; a stream without an
// owner is for admins.
func mayWrite(user schemas.User, s *schemas.Stream) bool {
	return user.Admin() || s.Owner != "" && s.Owner == user.ID
}
