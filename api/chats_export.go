package api

import (
	"iter"
	"net/http"

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

// sendPieces sends an export while it is read; it counts as one of the user's streams. If
// reading fails, it aborts the connection, so that nobody takes the export for complete.
func (s *server) sendPieces(c echo.Context, pieces iter.Seq2[[]byte, error]) error {
	release, err := s.openStream(c)
	if err != nil {
		return notAFile(c, err)
	}
	defer release()
	for piece, err := range pieces {
		if err != nil && !c.Response().Committed {
			return notAFile(c, err)
		}
		if err != nil {
			s.Log.WarnContext(c.Request().Context(), "an export broke off", "path", c.Request().URL.Path, "error", err)
			panic(http.ErrAbortHandler)
		}
		if _, err := c.Response().Write(piece); err != nil {
			return nil //nolint:nilerr // the client has gone
		}
	}
	return nil
}

// notAFile returns err, which is answered instead of a file.
func notAFile(c echo.Context, err error) error {
	c.Response().Header().Del(echo.HeaderContentDisposition)
	return err
}
