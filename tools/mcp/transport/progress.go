package transport

import (
	"bytes"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxNotice is the largest progress notification that is read, in bytes.
const maxNotice = 64 << 10

// progressMethod is the method of a progress notification.
const progressMethod = "notifications/progress"

// The library queues notifications but delivers an answer at once, so an answer
// would overtake earlier progress. Here notifications are taken where the
// connection is read, before the library gets the answer.

// notice passes the progress notification of a message to take. Other messages and
// those that are too large are left to the library, which ignores progress.
func notice(message []byte, take func(*sdk.ProgressNotificationParams)) {
	if len(message) > maxNotice || !bytes.Contains(message, []byte(progressMethod)) {
		return
	}
	type notification struct {
		Method string                          `json:"method"`
		Params *sdk.ProgressNotificationParams `json:"params"`
	}
	var list []notification
	if text := bytes.TrimLeft(message, " \t\r"); len(text) > 0 && text[0] == '[' {
		if json.Unmarshal(message, &list) != nil {
			return
		}
	} else {
		list = make([]notification, 1)
		if json.Unmarshal(message, &list[0]) != nil {
			return
		}
	}
	for _, n := range list {
		if n.Method == progressMethod && n.Params != nil {
			take(n.Params)
		}
	}
}
