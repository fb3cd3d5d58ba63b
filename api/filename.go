package api

import (
	"mime"
	"strings"
	"unicode"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas/text"
)

// maxFileName is the length of an export's name in bytes, without its ending.
const maxFileName = 100

// Zero-width characters that words of some languages and emoji need.
const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'

// asFile makes the answer a file to save, with a name from a title, or the name other if
// the title gives none.
func asFile(c echo.Context, title, other, ending string) {
	c.Response().Header().Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": baseName(title, other) + ending}))
}

// baseName makes the name of a file, without its ending, from a title. It has no character
// that a file system refuses, and none that is not shown or changes the order of the others:
// the name must not look as if it had another ending.
func baseName(title, other string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == zeroWidthJoiner || r == zeroWidthNonJoiner:
			return r
		case !unicode.IsPrint(r) || strings.ContainsRune(`/\:*?"<>|`, r):
			return ' '
		}
		return r
	}, title)
	name = strings.Trim(text.Bytes(strings.TrimSpace(name), maxFileName), ". ")
	if name == "" {
		return other
	}
	return name
}
