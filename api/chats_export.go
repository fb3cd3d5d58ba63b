package api

import (
	"errors"
	"iter"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// exportFormats are the media types and file endings of a chat's export.
var exportFormats = map[string]struct{ media, ending string }{
	"markdown": {"text/markdown; charset=utf-8", ".md"},
	"json":     {echo.MIMEApplicationJSON, ".json"},
}

// exportChat sends a chat as a file.
func (s *server) exportChat(c echo.Context) error {
	chat, err := number(c, "conversation_id", firstID)
	if err != nil {
		return err
	}
	name := c.QueryParam("format")
	if name == "" {
		name = "markdown"
	}
	format, known := exportFormats[name]
	if !known {
		return refusedQuery("format", "must be markdown or json")
	}
	ctx, user := caller(c)
	found, pieces, err := s.Chats.Export(ctx, user, chat, name)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentType, format.media)
	asFile(c, found.Title, "chat", format.ending)
	return s.sendPieces(c, pieces)
}

// An export may wait for its reader for exportWait, and for a second for each exportRate
// bytes: the user's other exports wait for it.
const exportWait, exportRate = time.Minute, 16 << 10

// errSlow is the error of an export that has waited longer.
var errSlow = errors.New("the client reads too slowly")

// sendPieces sends an export while it is read; it counts as one of the user's streams. If
// reading fails or the client is too slow, it aborts the connection, so that nobody takes
// the export for complete.
func (s *server) sendPieces(c echo.Context, pieces iter.Seq2[[]byte, error]) error {
	release, err := s.openStream(c)
	if err != nil {
		return notAFile(c, err)
	}
	defer release()
	sent, waited := 0, time.Duration(0)
	for piece, err := range pieces {
		if waited > exportWait+time.Duration(sent/exportRate)*time.Second {
			err = errSlow
		}
		if err != nil && !c.Response().Committed {
			return notAFile(c, err)
		}
		if err != nil {
			s.Log.WarnContext(c.Request().Context(), "an export broke off", "path", c.Request().URL.Path, "error", err)
			panic(http.ErrAbortHandler)
		}
		began := time.Now()
		if _, err := c.Response().Write(piece); err != nil {
			return nil //nolint:nilerr // the client has gone
		}
		sent, waited = sent+len(piece), waited+time.Since(began)
	}
	return nil
}

// notAFile returns err, which is answered instead of a file.
func notAFile(c echo.Context, err error) error {
	c.Response().Header().Del(echo.HeaderContentDisposition)
	return err
}
