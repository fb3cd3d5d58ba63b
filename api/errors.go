package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// statusGone is the status in the access log for a client that disconnected
// before its answer; it is never sent.
const statusGone = 499

// answer is the HTTP status of an error code. retry is the Retry-After in seconds
// if the error itself has none.
type answer struct {
	status int
	retry  int
}

// statusByCode is the one table from error code to status. POST /api/chat answers
// with the code of a failed run.
var statusByCode = map[schemas.Code]answer{
	schemas.CodeBadRequest:       {status: http.StatusBadRequest},
	schemas.CodeInvalid:          {status: http.StatusUnprocessableEntity},
	schemas.CodeUnauthorized:     {status: http.StatusUnauthorized},
	schemas.CodeForbidden:        {status: http.StatusForbidden},
	schemas.CodeNotFound:         {status: http.StatusNotFound},
	schemas.CodeMethodNotAllowed: {status: http.StatusMethodNotAllowed},
	schemas.CodeRequestTimeout:   {status: http.StatusRequestTimeout},
	schemas.CodeBusy:             {status: http.StatusConflict},
	schemas.CodeCancelled:        {status: http.StatusConflict},
	schemas.CodeConflict:         {status: http.StatusConflict},
	schemas.CodeBeingWritten:     {status: http.StatusConflict},
	schemas.CodePrecondition:     {status: http.StatusPreconditionFailed},
	schemas.CodeKeyRequired:      {status: http.StatusPreconditionRequired},
	schemas.CodeTooLarge:         {status: http.StatusRequestEntityTooLarge},
	schemas.CodeUnsupportedMedia: {status: http.StatusUnsupportedMediaType},
	schemas.CodeQuota:            {status: http.StatusRequestEntityTooLarge},
	schemas.CodeMisdirected:      {status: http.StatusMisdirectedRequest},
	schemas.CodeTooManyRuns:      {status: http.StatusTooManyRequests, retry: 5},
	schemas.CodeTooManyStreams:   {status: http.StatusTooManyRequests, retry: 5},
	schemas.CodeTooManyRequests:  {status: http.StatusTooManyRequests, retry: 1},
	schemas.CodeBudget:           {status: http.StatusTooManyRequests},
	schemas.CodeShuttingDown:     {status: http.StatusServiceUnavailable, retry: 5},
	schemas.CodeAuthUnavailable:  {status: http.StatusServiceUnavailable, retry: 5},

	schemas.CodeRateLimited:         {status: http.StatusBadGateway},
	schemas.CodeUpstreamAuth:        {status: http.StatusBadGateway},
	schemas.CodeUpstreamTimeout:     {status: http.StatusBadGateway},
	schemas.CodeUpstreamUnavailable: {status: http.StatusBadGateway},
	schemas.CodeUpstreamTruncated:   {status: http.StatusBadGateway},
	schemas.CodeUpstreamError:       {status: http.StatusBadGateway},
	schemas.CodeEffectUnknown:       {status: http.StatusBadGateway},
	schemas.CodeContextTooLong:      {status: http.StatusBadGateway},
	schemas.CodeContentFilter:       {status: http.StatusBadGateway},
	schemas.CodeStoreUnavailable:    {status: http.StatusServiceUnavailable, retry: 5},
	schemas.CodeInterrupted:         {status: http.StatusServiceUnavailable, retry: 1},
	schemas.CodeRunTimeout:          {status: http.StatusServiceUnavailable, retry: 1},
	schemas.CodeInternal:            {status: http.StatusInternalServerError},
}

var (
	errNoRoute  = schemas.NewError(schemas.CodeNotFound, "there is nothing at this path")
	errNoMethod = schemas.NewError(schemas.CodeMethodNotAllowed, "this path does not allow the method; see the Allow header")
)

// visible returns what a client may see of err.
func visible(err error) *schemas.Error {
	if he, ok := errors.AsType[*echo.HTTPError](err); ok {
		switch he.Code {
		case http.StatusNotFound:
			return errNoRoute
		case http.StatusMethodNotAllowed:
			return errNoMethod
		}
	}
	seen, ok := errors.AsType[*schemas.Error](err)
	switch {
	case !ok && errors.Is(err, record.ErrUnavailable):
		return schemas.Visible(schemas.Unavailable(err))
	case !ok:
		return schemas.Visible(err)
	case seen.Code == schemas.CodeNotFound && seen != errNoRoute:
		// Unknown and foreign must look the same, whatever layer reports it.
		same := *schemas.ErrNotFound
		same.Fields = seen.Fields
		return &same
	}
	return seen
}

// fail answers a request with the visible part of err as problem+json, or in the form of
// the path's wire. It writes nothing if the answer has begun or the client has disconnected.
func (s *server) fail(err error, c echo.Context) {
	seen := visible(err)
	a, known := statusByCode[seen.Code]
	if !known {
		a = answer{status: http.StatusInternalServerError}
	}
	// The context also ends when a body does not arrive, of which the client is still told.
	failed := a.status >= http.StatusInternalServerError
	gone := failed && c.Request().Context().Err() != nil
	if failed && !gone {
		level := slog.LevelError
		if seen.Code == schemas.CodeShuttingDown || seen.Code == schemas.CodeInterrupted { // of each planned restart
			level = slog.LevelInfo
		}
		attrs := []slog.Attr{slog.String("code", string(seen.Code)), slog.Any("error", err)}
		if seen.Code == schemas.CodeAuthUnavailable { // anybody may send tokens, and any number of them
			s.unchecked.Write(c.Request().Context(), s.Log, level, "tokens could not be checked", append(attrs, slog.String("request_id", requestID(c)))...)
		} else {
			c.Set(failureKey, failure{level, attrs})
		}
	}
	switch {
	case c.Response().Committed:
	case gone:
		c.Response().Status = statusGone
	default:
		s.sendProblem(c, a, seen)
	}
}

func (s *server) sendProblem(c echo.Context, a answer, seen *schemas.Error) {
	h := c.Response().Header()
	h.Set(echo.HeaderCacheControl, "no-store")
	if retry := cmp.Or(seen.RetryAfter, a.retry); retry > 0 {
		h.Set(echo.HeaderRetryAfter, strconv.Itoa(retry))
	}
	if a.status == http.StatusUnauthorized && h.Get(echo.HeaderWWWAuthenticate) == "" { // the token was valid
		h.Set(echo.HeaderWWWAuthenticate, s.challenge(c.Request(), true))
	}
	held := &wholeAnswer{ResponseWriter: c.Response(), status: a.status}
	var err error
	if w := s.wireOf(c.Request().URL.Path); w != nil {
		w.Fail(held, a.status, seen)
	} else {
		h.Set(echo.HeaderContentType, "application/problem+json")
		err = json.NewEncoder(held).Encode(schemas.Problem{
			Type: "about:blank", Title: http.StatusText(a.status), Status: a.status, Detail: seen.Message, Code: seen.Code,
			RequestID: requestID(c), RunID: seen.RunID, Errors: seen.Fields,
		})
	}
	if err = errors.Join(err, held.send()); err != nil {
		s.Log.LogAttrs(c.Request().Context(), slog.LevelDebug, "problem not sent", slog.Any("error", err))
	}
}

// wholeAnswer keeps an answer until send, which sends it with its length.
type wholeAnswer struct {
	http.ResponseWriter
	status int
	body   []byte
}

// WriteHeader implements http.ResponseWriter.
func (w *wholeAnswer) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *wholeAnswer) Write(p []byte) (int, error) {
	w.body = append(w.body, p...)
	return len(p), nil
}

func (w *wholeAnswer) send() error {
	w.Header().Set(echo.HeaderContentLength, strconv.Itoa(len(w.body)))
	w.ResponseWriter.WriteHeader(w.status)
	_, err := w.ResponseWriter.Write(w.body)
	return err
}
