package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/api/limits"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/text"
)

// maxLogged bounds each text of a request in the access log, in bytes.
const maxLogged = 300

// accessLog gives the request an id, answers its error and logs the outcome. An answer that
// has begun when the error comes is cut: its clean end would look like success. So is one to
// a client that has disconnected: if it has only stopped sending, it would get an empty 200.
// Bodies and query strings are never logged.
func (s *server) accessLog(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start, cut := time.Now(), false
		setRequestID(c)
		if err := next(c); err != nil {
			begun := c.Response().Committed
			c.Error(err)
			cut = begun || c.Response().Status == statusGone
		}
		s.logAccess(c, start)
		if cut {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
}

// setRequestID gives the request the client's id or a new one. It and logAccess
// are functions of their own to keep the caller's stack frame small, which
// lasts as long as a stream.
//
//go:noinline
func setRequestID(c echo.Context) {
	id := c.Request().Header.Get(echo.HeaderXRequestID)
	if !text.IsID(id) {
		id = uuid.Must(uuid.NewV7()).String()
	}
	c.Response().Header().Set(echo.HeaderXRequestID, id)
}

//go:noinline
func (s *server) logAccess(c echo.Context, start time.Time) {
	took, level := time.Since(start), slog.LevelInfo
	_, id := identityOf(c)
	if id.User.ID == "" && c.Response().Status < http.StatusBadRequest {
		level = slog.LevelDebug // probes, scrapes and files of the page
	}
	attrs := []slog.Attr{
		slog.String("request_id", requestID(c)), slog.String("method", text.Bytes(c.Request().Method, maxLogged)),
		slog.String("path", text.Bytes(c.Request().URL.Path, maxLogged)), slog.String("route", text.Bytes(c.Path(), maxLogged)), slog.Int("status", c.Response().Status),
		slog.Int64("bytes", c.Response().Size), slog.Int64("duration_ms", took.Milliseconds()),
	}
	if id.User.ID != "" {
		attrs = append(attrs, slog.String("user", id.User.ID))
	}
	if run := c.Response().Header().Get("X-Run-Id"); run != "" {
		attrs = append(attrs, slog.String("run_id", run))
	}
	if why, ok := c.Get(refusedKey).(error); ok {
		attrs = append(attrs, slog.String("refused", text.Bytes(why.Error(), maxLogged)))
	}
	if f, ok := c.Get(failureKey).(failure); ok {
		level, attrs = f.level, append(attrs, f.attrs...)
	}
	s.Log.LogAttrs(c.Request().Context(), level, "request", attrs...)
}

// failure is what the log says of a request that the service could not answer, under
// failureKey.
type failure struct {
	level slog.Level
	attrs []slog.Attr
}

const failureKey = "failure"

func requestID(c echo.Context) string { return c.Response().Header().Get(echo.HeaderXRequestID) }

// recoverPanics turns a panic into an error that names the place, without the
// stack.
func (s *server) recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler:
				panic(v)
			default:
				text := fmt.Sprint(v)
				err = fmt.Errorf("panic at %s: %.*s", concurrent.PanicPlace(), concurrent.MaxPanicText, text)
			}
		}()
		return next(c)
	}
}

// securityHeaders sets the headers that every answer carries.
func securityHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set(echo.HeaderXContentTypeOptions, "nosniff")
		h.Set(echo.HeaderReferrerPolicy, "no-referrer")
		return next(c)
	}
}

// guard does what a route's row in the table asks for. Public routes take no body and do
// not wait for one.
func (s *server) guard(r route) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !r.public {
			if err := s.admit(c, r); err != nil {
				return err
			}
			defer dropBody(c)
		}
		if r.public || r.stream {
			return r.handle(c)
		}
		return s.answerWhole(c, r)
	}
}

// admit finds the user, counts the request, and takes its body.
func (s *server) admit(c echo.Context, r route) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	// A foreign page must not use up the limits of the one user that everybody is.
	if s.LocalHosts != nil && !s.mayCall(c.Request()) {
		return errOrigin
	}
	if err := s.authenticate(c, r); err != nil {
		return err
	}
	if err := readable(c.Request().URL); err != nil {
		return err
	}
	_, user := caller(c)
	rate := s.others
	if r.starts {
		rate = s.rate
	}
	if err := rate.Allow(user.ID); err != nil {
		return err
	}
	return s.takeBody(c, r.body)
}

// answerWhole answers with what is made in memory, which counts until the client has it.
func (s *server) answerWhole(c echo.Context, r route) (err error) {
	ctx, user := caller(c)
	var answer *limits.Answer
	if r.large {
		answer, err = s.answers.BeginLarge(ctx, user.ID)
	} else {
		answer, err = s.answers.Begin(user.ID)
	}
	if err != nil {
		return err
	}
	defer answer.Release()
	c.Set(answerKey, answer)
	return r.handle(c)
}

// readable refuses a query of which a part cannot be read or stored. Without that part, such
// as a filter, the answer would be to another question.
func readable(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	_, escape := errors.AsType[url.EscapeError](err)
	var says string
	switch {
	case escape:
		says = "the query has a % without two hexadecimal digits; write it as %25"
	case err != nil && strings.Contains(u.RawQuery, ";"):
		says = "the query has a semicolon; write it as %3B"
	case err != nil:
		says = "the query has too many parameters"
	case slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(query))...), noText):
		says = "the query has a value that is not text in UTF-8"
	case noText(u.Path):
		return schemas.ErrNotFound
	default:
		return nil
	}
	return schemas.NewError(schemas.CodeBadRequest, says).Because(err)
}

// noText reports whether a text cannot be stored.
func noText(s string) bool { return !utf8.ValidString(s) || strings.ContainsRune(s, 0) }

// identityKey is the key of an auth.Identity in a request's context.
type identityKey struct{}

func identityOf(c echo.Context) (context.Context, auth.Identity) {
	ctx := c.Request().Context()
	id, _ := ctx.Value(identityKey{}).(auth.Identity)
	return ctx, id
}

// caller returns the request's context and user; the route must be private.
func caller(c echo.Context) (context.Context, schemas.User) {
	ctx, id := identityOf(c)
	return ctx, id.User
}

// withToken returns the context of a request's stream, which ends when its token expires.
func withToken(ctx context.Context) (context.Context, context.CancelFunc) {
	if id, _ := ctx.Value(identityKey{}).(auth.Identity); !id.Expires.IsZero() {
		return context.WithDeadline(ctx, id.Expires)
	}
	return ctx, func() {}
}

// authenticate puts the user into the request's context. Only the Authorization
// header counts and, on some routes, a ticket if the header has no token: a proxy with
// a login of its own has another scheme. An error without a code means an invalid token.
func (s *server) authenticate(c echo.Context, r route) error {
	ctx := c.Request().Context()
	token, sent := bearer(c.Request().Header)
	if key := c.QueryParam("ticket"); r.ticket && !sent && key != "" {
		id, err := s.tickets.Take(ctx, key, pathText(c, "run_id"))
		if err != nil {
			return err
		}
		c.SetRequest(c.Request().WithContext(context.WithValue(ctx, identityKey{}, id)))
		return nil
	}
	user, expires, err := s.Auth.Authenticate(ctx, token)
	if err == nil {
		c.SetRequest(c.Request().WithContext(context.WithValue(ctx, identityKey{}, auth.Identity{User: user, Expires: expires})))
		return nil
	}
	seen := visible(err)
	if seen.Code == schemas.CodeInternal {
		seen = schemas.NewError(schemas.CodeUnauthorized, "the token is missing or not valid")
		err = seen.Because(err)
	}
	if seen.Code == schemas.CodeUnauthorized {
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, s.challenge(c.Request(), sent))
		c.Set(refusedKey, err)
	}
	return err
}

// refusedKey has why a request's token was refused, which only the operator may know.
const refusedKey = "refused"

// bearer returns the token of the one Authorization header; several headers are no token that
// is valid, and another scheme is none that was sent (RFC 6750, 3.1).
func bearer(h http.Header) (token string, sent bool) {
	values := h.Values(echo.HeaderAuthorization)
	if len(values) != 1 {
		return "", len(values) > 0
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
}
