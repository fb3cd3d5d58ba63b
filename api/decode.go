package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
)

const (
	bodyWait  = 30 * time.Second // for the whole body to come in
	maxNoBody = 64 << 10         // bytes of a body that nobody wants
	maxUnread = 32 << 20         // bytes of a refused body that are thrown away
)

// rawBody is where guard leaves the body for decode.
const rawBody = "body"

// takeBody checks the type and size of the body and reads it. The reading has a
// deadline; after a body that was not read to its end the deadline stays, so
// that the server does not wait for the rest either. What is left of a refused
// body is thrown away: many clients look for the answer only when they have
// sent all, and to close on them before would take it from them.
func (s *server) takeBody(c echo.Context, kind body) error {
	r, limit := c.Request(), int64(maxNoBody)
	switch kind {
	case noBody:
		if r.Body == nil || r.Body == http.NoBody {
			return nil
		}
	case jsonBody:
		limit = s.Limits.Body
	case filesBody, blockBody:
		limit = s.Limits.FilesBody
	}
	wire := http.NewResponseController(c.Response())
	_ = wire.SetReadDeadline(time.Now().Add(bodyWait)) // not every writer in a test has one
	err := s.readBody(c, kind, limit)
	if err != nil {
		c.Response().Header().Set(echo.HeaderConnection, "close")
		if r.Header.Get("Expect") == "" { // such a client waits for the answer
			_, _ = io.CopyN(io.Discard, r.Body, maxUnread)
		}
		return err
	}
	_ = wire.SetReadDeadline(time.Time{})
	return nil
}

func (s *server) readBody(c echo.Context, kind body, limit int64) error {
	r := c.Request()
	if kind != noBody {
		if err := checkType(r.Header); err != nil {
			return err
		}
	}
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	raw, err := io.ReadAll(http.MaxBytesReader(c.Response().Writer, r.Body, limit))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return tooLarge(limit)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return schemas.NewError(schemas.CodeRequestTimeout, "the body did not come in within 30 seconds")
	case err != nil:
		return schemas.NewError(schemas.CodeBadRequest, "the body could not be read").Because(err)
	case kind == filesBody && int64(len(raw)) > s.Limits.Body && !sendsFiles(raw):
		return tooLarge(s.Limits.Body)
	}
	c.Set(rawBody, raw)
	return nil
}

func tooLarge(limit int64) error {
	return schemas.NewError(schemas.CodeTooLarge, "the body is larger than "+sizeText(limit))
}

// checkType lets application/json in UTF-8 through, in no encoding.
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

// sendsFiles says whether a body may be as large as attachments are.
func sendsFiles(raw []byte) bool {
	var b struct {
		Attachments []json.RawMessage `json:"attachments"`
	}
	return json.Unmarshal(raw, &b) == nil && len(b.Attachments) > 0
}

// decode returns the request's body as a T, and as it came. What is no JSON of
// T's shape is bad_request; what is well-formed but not allowed is invalid;
// both say where, by JSON pointer (2-protocol, "Shapes").
func decode[T any](s *server, c echo.Context) (T, []byte, error) {
	raw, _ := c.Get(rawBody).([]byte)
	v, err := parse[T](raw, s.check)
	return v, raw, err
}

func parse[T any](raw []byte, check func(any) []schemas.FieldError) (T, error) {
	var v T
	if err := wellFormed(raw); err != nil {
		return v, err
	}
	wrong, refused := inspect[T](raw)
	if len(wrong) > 0 {
		return v, fieldsError(schemas.CodeBadRequest, "the body does not have the shape of this request", wrong)
	}
	if len(refused) > 0 {
		return v, fieldsError(schemas.CodeInvalid, "the body has values that are not allowed", refused)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, schemas.NewError(schemas.CodeBadRequest, "the body does not have the shape of this request").Because(err)
	}
	if refused := check(&v); len(refused) > 0 {
		return v, fieldsError(schemas.CodeInvalid, "the body has values that are not allowed", refused)
	}
	return v, nil
}

func fieldsError(code schemas.Code, message string, fields []schemas.FieldError) error {
	e := schemas.NewError(code, message)
	e.Fields = fields[:min(len(fields), maxFieldErrors)]
	return e
}

// wellFormed says why raw is not one JSON value in UTF-8.
func wellFormed(raw []byte) error {
	bad := func(message string) error { return schemas.NewError(schemas.CodeBadRequest, message) }
	if len(bytes.TrimSpace(raw)) == 0 {
		return bad("the body is empty")
	}
	if !utf8.Valid(raw) {
		return bad("the body is not valid UTF-8")
	}
	if json.Valid(raw) {
		return nil
	}
	var first json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(raw))
	if dec.Decode(&first) == nil {
		return bad("there is something after the end of the JSON value")
	}
	return bad("the body is not valid JSON")
}
