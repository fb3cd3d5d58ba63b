package store

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
)

// clean returns s as text that both databases can store: valid UTF-8 without
// U+0000.
func clean(s string) string {
	if plainText(s) {
		return s
	}
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), string(utf8.RuneError))
}

// plainText reports whether clean would change nothing.
func plainText(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }

// micros returns a time in its stored form; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// moment reverses micros, in UTC.
func moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// maxCursor bounds a cursor's text.
const maxCursor = 100

// errCursor is for a cursor that the store did not make.
var errCursor = schemas.NewError(schemas.CodeBadRequest, "the cursor was not made by this service")

// cursorOf makes a cursor from the place after which the next page begins.
func cursorOf(kind byte, place ...int64) string {
	b := []byte{kind}
	for _, n := range place {
		b = strconv.AppendInt(append(b, '.'), n, 36)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// cursorPlace decodes a cursor into place; it returns false for the empty cursor.
func cursorPlace(cursor string, kind byte, place ...*int64) (bool, error) {
	if cursor == "" {
		return false, nil
	}
	if len(cursor) > maxCursor {
		return false, errCursor
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return false, errCursor
	}
	parts := strings.Split(string(text), ".")
	if len(parts) != len(place)+1 || parts[0] != string(kind) {
		return false, errCursor
	}
	for i, p := range place {
		if *p, err = strconv.ParseInt(parts[i+1], 36, 64); err != nil {
			return false, errCursor
		}
	}
	return true, nil
}

// escapeLike escapes text for a pattern whose escape character is \.
var escapeLike = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// pageLimit returns a limit within its bounds.
func pageLimit(limit, standard, most int) int {
	if limit <= 0 {
		return standard
	}
	return min(limit, most)
}

// bit returns a bool as it is stored.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
