package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
)

// pagePolicy is the Content-Security-Policy of the web page.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// webPage serves the web page under a strict policy: it loads only its own files.
func (s *server) webPage(c echo.Context) error {
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
