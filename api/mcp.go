package api

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
)

// postMCP passes one message to the user's handler of the Model Context Protocol.
// It counts as a stream and as a request that starts work, and ends with the token.
func (s *server) postMCP(c echo.Context) error {
	ctx, user := caller(c)
	if s.MCP == nil {
		return errNoRoute
	}
	body := bodyOf(c)
	body = bytes.TrimSpace(body)
	release, err := s.streams.acquire(user.ID)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if until := expiry(c); !until.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	r := c.Request().Clone(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del(echo.HeaderAuthorization)                                 // the handler needs no token
	r.Header.Set(echo.HeaderAccept, "application/json, text/event-stream") // the handler requires both
	s.MCP(user).ServeHTTP(c.Response(), r)
	if !c.Response().Committed && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errCallExpired
	}
	return nil
}

// errCallExpired answers a call that has no result when its token expires.
var errCallExpired = schemas.NewError(schemas.CodeUnauthorized, "the token has expired; whether the call had an effect is unknown")
