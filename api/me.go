package api

import (
	"context"

	"github.com/chattray/chattray/schemas"
)

func (s *server) getMe(_ context.Context, user schemas.User, _ none) (schemas.User, error) {
	user.Roles = array(user.Roles)
	return user, nil
}
