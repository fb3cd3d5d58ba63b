package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

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
)

// rawBody is where guard leaves the body, a *heldBody, for decode.
const rawBody = "body"

// boundBody gives the request's body a deadline. An answer to a request whose body has not
// been read does not wait for it. The server would read it first if it did not close the
// connection.
func (s *server) boundBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !hasBody(c.Request()) {
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
	body := &arrivingBody{ReadCloser: c.Request().Body, arrived: func() { arrived = true }}
	c.SetRequest(withBody(c.Request(), body))
	c.Response().Before(func() {
		if !arrived {
			c.Response().Header().Set(echo.HeaderConnection, "close")
			_ = wire.SetReadDeadline(time.Now().Add(min(s.BodyWait, lingerWait)))
		}
	})
	return func() {
		whole := c.Response().Header().Get(echo.HeaderContentLength) != ""
		waits := c.Request().Header.Get("Expect") != "" // the client sends no body before it is asked to
		if !arrived && whole && !waits && http.NewResponseController(c.Response().Writer).Flush() == nil {
			_, _ = io.CopyN(io.Discard, body, maxUnread)
		}
	}
}

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// takeBody checks the type and size of the body and reads it.
func (s *server) takeBody(c echo.Context, kind body) error {
	r := c.Request()
	if kind == noBody && !hasBody(r) {
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
	case jsonBody:
	}
	if err := checkType(r.Header); err != nil {
		return err
	}
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	_, user := caller(c)
	body, err := s.bodies.read(user.ID, r.Body, r.ContentLength, limit)
	if err != nil {
		return s.unread(err, limit)
	}
	if kind == filesBody {
		body.withoutFiles = s.Limits.Body
	}
	c.Set(rawBody, body)
	return nil
}

// discard reads the body of a route that takes none.
func (s *server) discard(r *http.Request) error {
	if r.ContentLength > maxNoBody {
		return tooLarge(maxNoBody)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxNoBody+1))
	if err == nil && n > maxNoBody {
		err = errOverLimit
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
	case errors.Is(err, errOverLimit):
		return tooLarge(limit)
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
	held, _ := c.Get(rawBody).(*heldBody)
	return held.bytes()
}

// dropBody releases the request's body.
func dropBody(c echo.Context) {
	held, _ := c.Get(rawBody).(*heldBody)
	held.release()
}

func tooLarge(limit int64) error {
	return schemas.NewError(schemas.CodeTooLarge, "the body is larger than "+sizeText(limit))
}

// checkType accepts application/json in UTF-8 without a content encoding.
func checkType(h http.Header) error {
	kind, params, err := mime.ParseMediaType(h.Get(echo.HeaderContentType))
	charset, given := params["charset"]
	if err != nil || kind != echo.MIMEApplicationJSON || given && !strings.EqualFold(charset, "utf-8") {
		return schemas.NewError(schemas.CodeUnsupportedMedia, "the body must be application/json")
	}
	if enc := h.Get(echo.HeaderContentEncoding); enc != "" && !strings.EqualFold(enc, "identity") {
		return schemas.NewError(schemas.CodeUnsupportedMedia, "the body must not be compressed")
	}
	return nil
}

// decode puts the request's body into v, a pointer. A body that is not JSON of
// v's shape is bad_request; a value that is not allowed is invalid. Both name
// the place by JSON pointer.
func (s *server) decode(c echo.Context, v any) error {
	held, _ := c.Get(rawBody).(*heldBody)
	in := inspect(held.bytes(), reflect.TypeOf(v).Elem())
	if held.over() && !in.files {
		return tooLarge(held.withoutFiles)
	}
	return in.unmarshal(v, s.check)
}

// parse decodes and checks a body as decode does, wherever it comes from.
func parse[T any](raw []byte, check func(any) []schemas.FieldError) (v T, err error) {
	err = inspect(raw, reflect.TypeFor[T]()).unmarshal(&v, check)
	return v, err
}

// unmarshal decodes a body that was inspected for its type into v.
func (in *inspector) unmarshal(v any, check func(any) []schemas.FieldError) error {
	switch {
	case in.failed:
		return malformed(in.raw)
	case len(in.wrong) > 0:
		return fieldsError(schemas.CodeBadRequest, "the body does not have the shape of this request", in.wrong)
	case len(in.refused) > 0:
		return fieldsError(schemas.CodeInvalid, "the body has values that are not allowed", in.refused)
	}
	if err := json.Unmarshal(in.raw, v); err != nil {
		return schemas.NewError(schemas.CodeBadRequest, "the body does not have the shape of this request").Because(err)
	}
	dropNulls(reflect.ValueOf(v))
	if refused := check(v); len(refused) > 0 {
		return fieldsError(schemas.CodeInvalid, "the body has values that are not allowed", refused)
	}
	return nil
}

func fieldsError(code schemas.Code, message string, fields []schemas.FieldError) error {
	e := schemas.NewError(code, message)
	e.Fields = fields[:min(len(fields), maxFieldErrors)]
	return e
}

// malformed returns why raw is not one JSON value in UTF-8.
func malformed(raw []byte) error {
	bad := func(message string) error { return schemas.NewError(schemas.CodeBadRequest, message) }
	if len(bytes.TrimSpace(raw)) == 0 {
		return bad("the body is empty")
	}
	if !utf8.Valid(raw) {
		return bad("the body is not valid UTF-8")
	}
	var first json.RawMessage
	switch err := json.NewDecoder(bytes.NewReader(raw)).Decode(&first); {
	case err == nil:
		return bad("there is something after the end of the JSON value")
	case strings.HasSuffix(err.Error(), "exceeded max depth"):
		return bad("the body is nested too deep")
	}
	return bad("the body is not valid JSON")
}
