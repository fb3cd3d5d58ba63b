package ws

import (
	"context"

	"github.com/chattray/chattray/api/bodies"
	"github.com/chattray/chattray/schemas"
)

// OfFrame is the error about a frame that an error about its request becomes.
var OfFrame = ofFrame

// ParseEvent decodes an event of a websocket as its socket does.
func ParseEvent(raw []byte) (schemas.SocketEvent, error) {
	return bodies.Parse[schemas.SocketEvent](raw, bodies.NewRules(100_000))
}

// Listener is a socket without a connection.
type Listener struct{ k *socket }

// NewListener returns a socket of a user that watches nothing yet.
func NewListener(l *Sockets, owner string) Listener {
	return Listener{&socket{server: &Server{Sockets: l}, user: schemas.User{ID: owner}, chats: map[string]*watched{}}}
}

// Mark and Join are the steps of Listen.
func (l Listener) Mark(ctx context.Context, chat string) (int64, error) {
	return l.k.server.Sockets.mark(ctx, l.k.user.ID, chat)
}

// Join watches a chat from its mark, unless that no longer holds.
func (l Listener) Join(chat string, mark int64) (bool, error) { return l.k.join(chat, mark) }

// Listen watches a chat.
func (l Listener) Listen(ctx context.Context, chat string) error { return l.k.listen(ctx, chat) }

// Leave ends the watching of a chat.
func (l Listener) Leave(chat string) { l.k.unlisten(chat) }

// NewestWrites are, for each block, the revision of the newest write that a client has seen.
type NewestWrites = newestWrites

// Keep removes the blocks of a chunk that a later run writes.
func (w newestWrites) Keep(since map[string]int64, c *schemas.Chunk) bool { return w.keep(since, c) }

// OpenWrites are the blocks that a client sees runs write.
type OpenWrites = openWrites

// Note notes what a chunk of a run begins or ends.
func (w openWrites) Note(run string, c *schemas.Chunk) { w.note(run, c) }

// Any reports whether a run writes one of the blocks.
func (w openWrites) Any(blocks ...string) bool { return w.any(blocks) }
