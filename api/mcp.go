package api

import (
	"bytes"
	"context"
	"io"

	"github.com/labstack/echo/v4"
)

// postMCP passes one message to the user's handler of the Model Context Protocol.
// It counts as a stream and as a request that starts work. It does not end with the token: a
// call is short, and may have had its effect.
func (s *server) postMCP(c echo.Context) error {
	ctx, user := caller(c)
	if s.MCP == nil {
		return errNoRoute
	}
	body := bytes.TrimSpace(bodyOf(c))
	release, err := s.openStream(c)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := c.Request().Clone(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del(echo.HeaderAuthorization) // the handler needs no token
	s.MCP(user).ServeHTTP(c.Response(), r)
	return nil
}
