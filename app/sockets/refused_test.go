package sockets

import (
	"fmt"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// Refused messages that name no chat leave none that a socket watches.
func TestRefusedMessagesWatchNothing(t *testing.T) {
	d, up := apptest.ServeScripted(t)
	up.On(upstream.Any, upstream.Text("Answer."))
	s := d.Dial("ann")
	for n := range 40 {
		s.Send(fmt.Sprintf(`{"name":"message","id":"r%d","model":"no such model","message":{"content":"Go"}}`, n))
		got := s.Next()
		if got.Type != schemas.ChunkError || got.Code != schemas.CodeInvalid {
			t.Fatalf("message %d to an unknown model: %s", n, apptest.ListChunks([]schemas.Chunk{got}))
		}
	}
	s.Send(`{"name":"message","id":"good","message":{"content":"Go"}}`)
	if got := s.Next(); got.Type != schemas.ChunkAck {
		t.Errorf("a message after refused ones: %s", apptest.ListChunks([]schemas.Chunk{got}))
	}
}
