package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Malformed returns why raw is not one JSON value in UTF-8: an error of code bad_request,
// with the place.
func Malformed(raw []byte) error {
	bad := func(message string) error { return NewError(CodeBadRequest, message) }
	if len(bytes.TrimSpace(raw)) == 0 {
		return bad("the body is empty")
	}
	if !utf8.Valid(raw) {
		return bad("the body is not valid UTF-8")
	}
	var first json.RawMessage
	err := json.NewDecoder(bytes.NewReader(raw)).Decode(&first)
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	switch {
	case err == nil:
		return bad("there is something after the end of the JSON value")
	case !ok:
		return bad("the body ends within its JSON value")
	case strings.HasSuffix(err.Error(), "exceeded max depth"):
		return bad("the body is nested too deep")
	}
	return bad("the body is not valid JSON: byte " + strconv.FormatInt(syntax.Offset, 10) + " is not expected")
}
