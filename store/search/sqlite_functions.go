package search

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"hash/fnv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"modernc.org/sqlite"

	"github.com/chattray/chattray/store/values"
)

// SQL functions that are added to SQLite. The triggers of the search indexes use two of them.
const (
	// LowerText is the function for lower case in every script; SQLite's own lower
	// and LIKE handle only a to z.
	LowerText = "chattray_lower"
	// hasText is the function for whether a text contains another one, which is in lower
	// case. LIKE is slow if both consist of one letter: it compares all of the other one at
	// each place.
	hasText = "chattray_has"
	// OwnerMark is the function for markOf.
	OwnerMark = "chattray_mark"
)

func init() { //nolint:gochecknoinits // connections know them that are opened later
	for name, change := range map[string]func(string) string{LowerText: strings.ToLower, OwnerMark: markOf} {
		sqlite.MustRegisterDeterministicScalarFunction(name, 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			if text, ok := args[0].(string); ok {
				return change(text), nil
			}
			return args[0], nil
		})
	}
	sqlite.MustRegisterDeterministicScalarFunction(hasText, 2, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		in, _ := args[0].(string) // NULL has no text
		text, ok := args[1].(string)
		return values.Bit(ok && containsLower(in, text)), nil
	})
}

// lowered are buffers for texts in lower case.
var lowered = sync.Pool{New: func() any { return new([]byte) }}

// containsLower reports whether FoldSigma(strings.ToLower(in)) contains the text. A search
// spends most of its time on the lower case of long messages.
func containsLower(in, text string) bool {
	buf := lowered.Get().(*[]byte) //nolint:forcetypeassert // the pool has no others
	defer lowered.Put(buf)
	*buf = appendLower((*buf)[:0], in)
	if strings.Contains(text, "σ") {
		foldSigmas(*buf)
	}
	return bytes.Contains(*buf, []byte(text))
}

// foldSigmas is FoldSigma in place: both letters have two bytes.
func foldSigmas(text []byte) {
	for {
		at := bytes.Index(text, []byte("ς"))
		if at < 0 {
			return
		}
		text = text[at+copy(text[at:], "σ"):]
	}
}

// appendLower appends strings.ToLower(s) to dst. Of ASCII it changes eight characters at a
// time: the sums have the high bits of those from A on, and of those after Z.
func appendLower(dst []byte, s string) []byte {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for len(s) > 0 {
		if len(s) >= 8 {
			if word := binary.LittleEndian.Uint64([]byte(s[:8])); word&high == 0 {
				upper := (word + (0x80-'A')*each) &^ (word + (0x7f-'Z')*each) & high
				dst = binary.LittleEndian.AppendUint64(dst, word|upper>>2)
				s = s[8:]
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(s)
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
		s = s[n:]
	}
	return dst
}

// markOf returns TermLength characters that name an owner in a search index. They are a
// hash, so two owners may have the same characters. They are stored, so the hash never
// changes. They are in Unicode's private use area.
func markOf(owner string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(owner)) // it never fails
	sum := h.Sum64()
	var mark [TermLength]rune
	for i := range mark {
		const area, bits = 0xe000, 11
		mark[i] = area + rune(sum>>(64-bits*(i+1))&(1<<bits-1))
	}
	return string(mark[:])
}
