package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/chattray/chattray/tools"
)

// maxName is the longest function name that model servers accept; hashSize is
// the length of the hash at the end of changed names.
const (
	maxName  = 64
	hashSize = 8
)

// modelName returns SERVER__TOOL in the characters that model servers accept. A
// changed name ends with a part of its hash: it depends only on the original
// name, and two names do not collide.
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
