package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
)

// readyWait bounds the check whether the service is ready.
const readyWait = 2 * time.Second

// healthy is the body of a successful probe; that of readyz may say more after a colon.
const healthy = "ok\n"

func (s *server) healthz(c echo.Context) error { return c.String(http.StatusOK, healthy) }

// readyz answers 503 while the database is not available and once the service
// is about to stop.
func (s *server) readyz(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), readyWait)
	defer cancel()
	err := s.Ready(ctx)
	if err == nil && s.Remark != nil {
		if remark := s.Remark(); remark != "" {
			return c.String(http.StatusOK, "ok: "+remark+"\n")
		}
	}
	if err == nil {
		return c.String(http.StatusOK, healthy)
	}
	if _, ok := errors.AsType[*schemas.Error](err); !ok {
		err = schemas.NewError(schemas.CodeStoreUnavailable, "the database is not available").Because(err)
	}
	return err
}

func (s *server) metrics(c echo.Context) error { return serve(c, s.Metrics) }

func (s *server) openapi(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", s.OpenAPI)
}

// page serves the web page under a strict policy: it loads only its own files.
func (s *server) page(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderContentSecurityPolicy, pagePolicy)
	if s.Web == nil {
		return errNoRoute
	}
	w := &pageWriter{ResponseWriter: c.Response()}
	s.Web.ServeHTTP(w, c.Request())
	if w.refused == 0 {
		return nil
	}
	h := c.Response().Header()
	for _, name := range []string{echo.HeaderContentLength, echo.HeaderContentEncoding, etag} { // of the file
		h.Del(name)
	}
	if w.refused == http.StatusPreconditionFailed {
		return errOtherPage
	}
	return errNoRoute
}

// errOtherPage refuses a request for a file with an If-Match that does not match.
var errOtherPage = schemas.NewError(schemas.CodePrecondition, "the file has another entity tag")

// pageWriter keeps the answers that are errors, so that they become problems.
type pageWriter struct {
	http.ResponseWriter
	refused int // the status of an error
}

// WriteHeader implements http.ResponseWriter.
func (w *pageWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.refused = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *pageWriter) Write(p []byte) (int, error) {
	if w.refused != 0 {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// serve leaves the answer to an http.Handler; nil means not found.
func serve(c echo.Context, h http.Handler) error {
	if h == nil {
		return errNoRoute
	}
	h.ServeHTTP(c.Response(), c.Request())
	return nil
}
