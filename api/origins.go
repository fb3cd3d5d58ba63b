package api

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// preflightWait is how long a browser caches a preflight's answer, in seconds.
const preflightWait = 600

// cors lets pages of the configured origins call; without any it does nothing.
// Origins are compared as a whole. Cookies are not used. Clients of wires and of MCP send
// headers of their own: there every header is allowed.
func (s *server) cors() echo.MiddlewareFunc {
	if len(s.CORSOrigins) == 0 {
		return func(next echo.HandlerFunc) echo.HandlerFunc { return next }
	}
	anyone := slices.Contains(s.CORSOrigins, anyOrigin)
	config := middleware.CORSConfig{
		AllowOriginFunc: func(origin string) (bool, error) {
			return anyone || slices.Contains(s.CORSOrigins, origin), nil
		},
		AllowMethods: []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		ExposeHeaders: []string{
			"Content-Location", etag, echo.HeaderRetryAfter, echo.HeaderWWWAuthenticate, echo.HeaderXRequestID, "X-Run-Id", "X-Error-Code", "X-Should-Retry",
		},
		MaxAge: preflightWait,
	}
	others := middleware.CORSWithConfig(config) // the headers that the preflight asks for
	config.AllowHeaders = []string{
		echo.HeaderAuthorization, echo.HeaderContentType, "Idempotency-Key", ifMatch, "Last-Event-ID", echo.HeaderXRequestID,
		"Traceparent", "Tracestate", "Baggage",
	}
	own := middleware.CORSWithConfig(config)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		own, others := own(next), others(next)
		return func(c echo.Context) error {
			if path := c.Request().URL.Path; path == mcpPath || s.wireOf(path) != nil {
				return others(c)
			}
			return own(c)
		}
	}
}

// anyOrigin in CORSOrigins lets the pages of every origin call.
const anyOrigin = "*"

var (
	errMisdirected = schemas.NewError(schemas.CodeMisdirected, "without authentication the service answers only under localhost, a loopback address and the configured one")
	errOrigin      = schemas.NewError(schemas.CodeForbidden, "pages of this origin may not call; the service's setting cors_origins names those that may")
)

// guardOrigins refuses requests that a browser sends for a page that may not
// call. It runs before everything else, so no route can be forgotten.
//
// A service without authentication answers only under its own names: a page
// whose name was made to resolve to this machine sends that name as Host. Every
// unsafe method, and every websocket, must come from a page of the service itself
// or of a configured origin, whatever the authentication; clients that are not
// browsers send neither Origin nor Sec-Fetch-Site and are let through.
func (s *server) guardOrigins(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		switch {
		case s.LocalHosts != nil && !s.localHost(r.Host):
			return errMisdirected
		case (!safe(r.Method) || preflight(r) || c.Path() == socketPath && upgrade(r)) && !s.mayCall(r):
			// A page cannot read why, and a preflight is no call that the log has.
			origin := text.Bytes(r.Header.Get("Origin"), maxLogged)
			s.refused.About(r.Context(), origin, s.Log, slog.LevelWarn, "pages of an origin that is not in cors_origins may not call", slog.String("origin", origin))
			if !preflight(r) {
				return errOrigin
			}
		}
		return next(c)
	}
}

// preflight reports whether a browser asks what another page may send.
func preflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// upgrade reports whether a request opens a websocket, if it is one to socketPath: some
// proxies send the header with every request, also with those of links on other sites.
func upgrade(r *http.Request) bool { return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") }

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// newOriginCheck returns the check for CORSOrigins; nil lets every page call.
func newOriginCheck(trusted []string) *http.CrossOriginProtection {
	if slices.Contains(trusted, anyOrigin) {
		return nil
	}
	check := http.NewCrossOriginProtection()
	for _, origin := range trusted {
		_ = check.AddTrustedOrigin(origin) // a value that is not an origin matches no page
	}
	return check
}

// mayCall reports whether a request comes from no page, from a page of the
// service or from one of a configured origin. It ignores the method, because a
// websocket is opened with GET.
func (s *server) mayCall(r *http.Request) bool {
	if s.origins == nil {
		return true
	}
	unsafe := &http.Request{Method: http.MethodPost, URL: r.URL, Host: r.Host, Header: r.Header}
	return s.origins.Check(unsafe) == nil
}

// localHost reports whether a Host header names this machine or one of
// LocalHosts; it ignores ports.
func (s *server) localHost(host string) bool {
	name, ok := hostName(host)
	if !ok {
		return false
	}
	if name == "localhost" || slices.ContainsFunc(s.LocalHosts, func(own string) bool {
		own, ok := hostName(own)
		return ok && own == name
	}) {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}

// hostName returns the name or address of a Host header in lower case, without
// its port, brackets and trailing dot.
func hostName(host string) (string, bool) {
	name := host
	if h, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil && port != "" {
			return "", false
		}
		name = h
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		if name, ok = strings.CutSuffix(inner, "]"); !ok {
			return "", false
		}
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return name, name != ""
}
