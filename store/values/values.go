// Package values writes Go's values as both databases store them: text as valid UTF-8 without
// U+0000, times as microseconds, truth as 0 and 1; and it makes the cursors of lists.
package values

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
)

// Clean returns s as text that both databases can store: valid UTF-8 without
// U+0000.
func Clean(s string) string {
	if PlainText(s) {
		return s
	}
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), string(utf8.RuneError))
}

// PlainText reports whether Clean would change nothing.
func PlainText(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }

// Micros returns a time in its stored form; the zero time is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Moment reverses Micros, in UTC.
func Moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// maxCursor bounds a cursor's text.
const maxCursor = 100

// errCursor is for a cursor that the store did not make.
var errCursor = schemas.NewError(schemas.CodeBadRequest, "the cursor was not made by this service")

// CursorOf makes a cursor from the place after which the next page begins.
func CursorOf(kind byte, place ...int64) string {
	b := []byte{kind}
	for _, n := range place {
		b = strconv.AppendInt(append(b, '.'), n, 36)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// CursorPlace decodes a cursor into place; it returns false for the empty cursor.
func CursorPlace(cursor string, kind byte, place ...*int64) (bool, error) {
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

// EscapeLike escapes text for a pattern whose escape character is \.
var EscapeLike = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// PageLimit returns a limit within its bounds.
func PageLimit(limit, standard, most int) int {
	if limit <= 0 {
		return standard
	}
	return min(limit, most)
}

// Bit returns a bool as it is stored.
func Bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
