package api

import (
	"context"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/schemas"
)

// postTicket issues a ticket, with which a browser opens a websocket or a stream.
func (s *server) postTicket(ctx context.Context, _ schemas.User, _ none) (schemas.Ticket, error) {
	id, _ := ctx.Value(identityKey{}).(auth.Identity)
	return s.tickets.Issue(ctx, id)
}
