package api

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/api/bodies"
	"github.com/chattray/chattray/api/connections"
	"github.com/chattray/chattray/schemas"
)

const (
	// defaultBodyWait is the time in which a whole body or websocket frame has
	// to arrive.
	defaultBodyWait = 30 * time.Second

	// lingerWait is how long the server reads a body after an answer that has not waited
	// for it. A client that sends its body before it reads has to find the answer.
	lingerWait = 5 * time.Second

	maxNoBody = 64 << 10 // bytes of a body on a route that takes none
	maxUnread = 32 << 20 // bytes of a refused body that are discarded
	maxKey    = 255      // bytes of an Idempotency-Key
)

// rawBody is where guard leaves the body, a *bodies.Held, for decode.
const rawBody = "body"

// boundBody gives the request's body a deadline. An answer to a request whose body has not
// been read does not wait for it. The server would read it first if it did not close the
// connection.
func (s *server) boundBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !connections.HasBody(c.Request()) {
			return next(c)
		}
		discard := s.watchBody(c)
		err := next(c)
		discard()
		return err
	}
}

// watchBody is a function of its own to keep the caller's stack frame small, which lasts as
// long as a stream. Discard sends a whole answer on its way and discards what is left of the
// body, until its deadline: many clients read the answer only after they have sent
// everything, and would lose it if the connection closed before.
//
//go:noinline
func (s *server) watchBody(c echo.Context) (discard func()) {
	wire, arrived := http.NewResponseController(c.Response()), false
	_ = wire.SetReadDeadline(time.Now().Add(s.BodyWait)) // not every writer in a test has one
	r := connections.OnArrival(c.Request(), func() { arrived = true })
	c.SetRequest(r)
	c.Response().Before(func() {
		if !arrived {
			c.Response().Header().Set(echo.HeaderConnection, "close")
			_ = wire.SetReadDeadline(time.Now().Add(min(s.BodyWait, lingerWait)))
		}
	})
	return func() {
		whole := c.Response().Header().Get(echo.HeaderContentLength) != ""
		waits := r.Header.Get("Expect") != "" // the client sends no body before it is asked to
		if !arrived && whole && !waits && http.NewResponseController(c.Response().Writer).Flush() == nil {
			_, _ = io.CopyN(io.Discard, r.Body, maxUnread)
		}
	}
}

// takeBody checks the type and size of the body and reads it.
func (s *server) takeBody(c echo.Context, kind body) error {
	r := c.Request()
	if (kind == noBody || kind == anyBody) && !connections.HasBody(r) {
		return nil
	}
	if err := s.readBody(c, kind); err != nil {
		return err
	}
	_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Time{}) // the body has arrived
	return nil
}

func (s *server) readBody(c echo.Context, kind body) error {
	r, limit := c.Request(), s.Limits.Body
	switch kind {
	case noBody:
		return s.discard(r)
	case filesBody, blockBody:
		limit = s.Limits.FilesBody
	case jsonBody, anyBody:
	}
	if err := cmp.Or(checkType(r.Header), checkKeys(r.Header)); err != nil {
		return err
	}
	if r.ContentLength > limit {
		return bodies.TooLarge(limit)
	}
	_, user := caller(c)
	body, err := s.bodies.Read(user.ID, r.Body, r.ContentLength, limit)
	if err != nil {
		return s.unread(err, limit)
	}
	if kind == filesBody {
		body.WithoutFiles = s.Limits.Body
	}
	c.Set(rawBody, body)
	return nil
}

// discard reads the body of a route that takes none.
func (s *server) discard(r *http.Request) error {
	if r.ContentLength > maxNoBody {
		return bodies.TooLarge(maxNoBody)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxNoBody+1))
	if err == nil && n > maxNoBody {
		err = bodies.ErrOverLimit
	}
	if err != nil {
		return s.unread(err, maxNoBody)
	}
	return nil
}

// unread returns the error for a body that could not be read.
func (s *server) unread(err error, limit int64) error {
	_, told := errors.AsType[*schemas.Error](err)
	switch {
	case told:
		return err
	case errors.Is(err, bodies.ErrOverLimit):
		return bodies.TooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlowBody(s.BodyWait)
	default:
		return schemas.NewError(schemas.CodeBadRequest, "the body could not be read").Because(err)
	}
}

func errSlowBody(wait time.Duration) error {
	return schemas.NewError(schemas.CodeRequestTimeout, fmt.Sprintf("the body did not arrive within %g seconds", wait.Seconds()))
}

// bodyOf returns the request's body; nil after dropBody.
func bodyOf(c echo.Context) []byte {
	held, _ := c.Get(rawBody).(*bodies.Held)
	return held.Bytes()
}

// dropBody releases the request's body.
func dropBody(c echo.Context) {
	held, _ := c.Get(rawBody).(*bodies.Held)
	held.Release()
}

// checkKeys refuses keys that cannot be stored, and several: a request under one of them could
// be found under the others.
func checkKeys(h http.Header) error {
	keys := h.Values("Idempotency-Key")
	switch {
	case slices.ContainsFunc(keys, func(key string) bool { return key != keys[0] }):
		return schemas.NewError(schemas.CodeBadRequest, "there is more than one Idempotency-Key")
	case len(keys) > 0 && len(keys[0]) > maxKey:
		return schemas.NewError(schemas.CodeBadRequest, "the Idempotency-Key is longer than 255 bytes")
	case len(keys) > 0 && !utf8.ValidString(keys[0]):
		return schemas.NewError(schemas.CodeBadRequest, "the Idempotency-Key is not text in UTF-8")
	}
	return nil
}

// checkType accepts application/json in UTF-8 without a content encoding. Some clients call
// the charset utf8.
func checkType(h http.Header) error {
	kind, params, err := mime.ParseMediaType(h.Get(echo.HeaderContentType))
	if err != nil || kind != echo.MIMEApplicationJSON {
		return schemas.NewError(schemas.CodeUnsupportedMedia, "the body must be application/json")
	}
	if charset, given := params["charset"]; given && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "utf8") {
		return schemas.NewError(schemas.CodeUnsupportedMedia, "the body must be in UTF-8; its charset is another one")
	}
	if enc := h.Get(echo.HeaderContentEncoding); enc != "" && !strings.EqualFold(enc, "identity") {
		return schemas.NewError(schemas.CodeUnsupportedMedia, "the body must not be compressed")
	}
	return nil
}

// decode puts the request's body into v, a pointer.
func (s *server) decode(c echo.Context, v any) error {
	held, _ := c.Get(rawBody).(*bodies.Held)
	return s.rules.Decode(held, v)
}
