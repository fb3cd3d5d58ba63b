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
	if err == nil {
		if remark := s.Remark(); remark != "" {
			return c.String(http.StatusOK, "ok: "+remark+"\n")
		}
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

// serve leaves the answer to an http.Handler; nil means not found.
func serve(c echo.Context, h http.Handler) error {
	if h == nil {
		return errNoRoute
	}
	h.ServeHTTP(c.Response(), c.Request())
	return nil
}
