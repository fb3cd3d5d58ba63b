package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"strings"
	"unicode"

	"github.com/chattray/chattray/tools"
)

// maxName is the longest name of a function that model servers take; hashSize
// is the length of what tells apart names that had to be changed.
const (
	maxName  = 64
	hashSize = 8
)

// modelName is SERVER__TOOL in the letters that a model server takes. A name
// that has to be changed ends with a part of its hash, so that it depends on
// nothing but itself, and two of them do not meet.
func modelName(server, tool string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, tool)
	prefix := server + tools.GroupSeparator
	if clean == tool && len(prefix)+len(clean) <= maxName {
		return prefix + clean
	}
	sum := sha256.Sum256([]byte(tool))
	room := maxName - len(prefix) - hashSize - 1
	return prefix + clean[:min(len(clean), room)] + "_" + hex.EncodeToString(sum[:])[:hashSize]
}

// plainText is a text of somebody else's as it may be shown: without control
// and formatting characters, which hide what it says, of at most limit
// characters.
func plainText(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
		case !unicode.IsPrint(r):
			continue
		}
		if n == limit {
			return strings.TrimSpace(b.String())
		}
		b.WriteRune(r)
		n++
	}
	return strings.TrimSpace(b.String())
}

// maxReason bounds an error in the log, in characters.
const maxReason = 300

// reason is an error for the log. A URL, which may hold a key, is left out.
func reason(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return plainText(err.Error(), maxReason)
}
