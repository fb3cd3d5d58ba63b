package api

import (
	"context"

	"github.com/chattray/chattray/schemas"
)

// getMe returns the user, and what the user may see and do.
func (s *server) getMe(_ context.Context, user schemas.User, _ none) (schemas.Me, error) {
	return schemas.Me{ID: user.ID, Name: user.Name, Roles: array(user.Roles), May: schemas.May{
		Diagnostics: s.Diagnostics != nil && s.Diagnostics(user), AllUsage: user.Admin(), AllStreams: user.Admin(),
	}}, nil
}
