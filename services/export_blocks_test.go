package services

import "encoding/json"

// ReadArguments feeds pieces of a call's arguments.
func ReadArguments(pieces ...string) (content string, head map[string]json.RawMessage, ended bool) {
	var a argStream
	for _, piece := range pieces {
		content += a.feed(piece)
	}
	return content, a.head, a.ended
}
