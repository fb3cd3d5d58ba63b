package store

import (
	"database/sql/driver"
	"hash/fnv"
	"strings"

	"modernc.org/sqlite"
)

// SQL functions that are added to SQLite. The triggers of the search indexes use them.
const (
	// lowerText is the function for lower case in every script; SQLite's own lower
	// and LIKE handle only a to z.
	lowerText = "chattray_lower"
	// ownerMark is the function for markOf.
	ownerMark = "chattray_mark"
)

func init() { //nolint:gochecknoinits // connections know them that are opened later
	for name, change := range map[string]func(string) string{lowerText: strings.ToLower, ownerMark: markOf} {
		sqlite.MustRegisterDeterministicScalarFunction(name, 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			if text, ok := args[0].(string); ok {
				return change(text), nil
			}
			return args[0], nil
		})
	}
}

// markOf returns termLength characters that name an owner in a search index. They are a
// hash, so two owners may have the same characters. They are stored, so the hash never
// changes. They are in Unicode's private use area.
func markOf(owner string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(owner)) // it never fails
	sum := h.Sum64()
	var mark [termLength]rune
	for i := range mark {
		const area, bits = 0xe000, 11
		mark[i] = area + rune(sum>>(64-bits*(i+1))&(1<<bits-1))
	}
	return string(mark[:])
}
