package wires

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas/text"
)

// ChatKey returns the chat_id of a client's thread: the thread's id if it is a valid
// chat_id, else an id made from its digest.
func ChatKey(thread string) string {
	if text.IsID(thread) {
		return thread
	}
	sum := sha256.Sum256([]byte(thread))
	return "w-" + hex.EncodeToString(sum[:])[:40]
}

// CallID is the id of a call, of its approval and of its interrupt on every wire. The
// model's own ids are not unique.
func CallID(run string, index int) string { return run + "-" + strconv.Itoa(index) }

// ParseCall returns the run and the index of a call's id.
func ParseCall(id string) (run string, index int, ok bool) {
	at := strings.LastIndexByte(id, '-')
	if at < 0 || !text.IsID(id[:at]) {
		return "", 0, false
	}
	index, err := strconv.Atoi(id[at+1:])
	if err != nil || index < 0 || id != CallID(id[:at], index) {
		return "", 0, false
	}
	return id[:at], index, true
}
