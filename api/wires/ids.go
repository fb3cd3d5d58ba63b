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
	return digest(thread)
}

// MessageKey returns the id of a user's message whose client's id is not valid, or is that
// of a message in another chat: many clients count the messages of each thread. It depends
// only on the chat and on the client's id, so that later requests find the message.
func MessageKey(chat, id string) string { return digest(chat + "\n" + id) }

// messageIDs returns the ids that a client's message may have in a chat, the preferred one
// first; none if the client's id is empty.
func messageIDs(chat, id string) []string {
	switch {
	case id == "":
		return nil
	case text.IsID(id):
		return []string{id, MessageKey(chat, id)}
	}
	return []string{MessageKey(chat, id)}
}

// digest returns a valid id that is made from a text.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
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
