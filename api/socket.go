package api

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/schemas"
)

// defaultSessionIdle is the time without events after which a socket ends.
const defaultSessionIdle = 15 * time.Minute

// postTicket issues a ticket, with which a browser opens a websocket or a stream.
func (s *server) postTicket(ctx context.Context, _ schemas.User, _ none) (schemas.Ticket, error) {
	id, _ := ctx.Value(identityKey{}).(auth.Identity)
	return s.tickets.Issue(ctx, id)
}

// socketPath is where the websocket is.
const socketPath = "/api/ws"

// getSocket speaks the websocket until one side ends it.
func (s *server) getSocket(c echo.Context) error {
	_, id := identityOf(c)
	r := c.Request()
	if !upgrade(r) {
		return schemas.NewError(schemas.CodeBadRequest, "this is a websocket")
	}
	release, err := s.openStream(c)
	if err != nil {
		return err
	}
	defer release()
	return s.websockets.Serve(c.Response(), r, id.User, id.Expires)
}
