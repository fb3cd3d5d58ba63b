package ws

import (
	"github.com/chattray/chattray/api/bodies"
	"github.com/chattray/chattray/schemas"
)

// OfFrame is the error about a frame that an error about its request becomes.
var OfFrame = ofFrame

// ParseEvent decodes an event of a websocket as its socket does.
func ParseEvent(raw []byte) (schemas.SocketEvent, error) {
	return bodies.Parse[schemas.SocketEvent](raw, bodies.NewRules(100_000))
}
