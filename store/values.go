package store

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
)

// clean returns s as text that both databases hold: valid UTF-8 without
// U+0000.
func clean(s string) string {
	if plainText(s) {
		return s
	}
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), string(utf8.RuneError))
}

// plainText says whether clean would change nothing.
func plainText(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }

// micros is how a time is stored; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// moment is the time that micros was given, in UTC.
func moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// maxCursor bounds a cursor's text.
const maxCursor = 100

// errCursor is the answer to a cursor that is not ours.
var errCursor = schemas.NewError(schemas.CodeBadRequest, "the cursor is not one that this service gave")

// cursorOf makes a cursor of the place behind which the next page begins.
func cursorOf(kind byte, place ...int64) string {
	b := []byte{kind}
	for _, n := range place {
		b = strconv.AppendInt(append(b, '.'), n, 36)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// cursorPlace reads a cursor into place; it says false for the empty cursor.
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

// escapeLike makes text stand for itself in a pattern whose escape is \.
var escapeLike = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
