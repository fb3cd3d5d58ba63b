package ws_test

import (
	"errors"
	"testing"

	"github.com/chattray/chattray/api/ws"
	"github.com/chattray/chattray/schemas"
)

// The place in an error is a member that the frame has, whatever it became in
// the request.
func TestErrorsPointIntoTheFrame(t *testing.T) {
	own := schemas.Object{"document_id": []byte(`"a b"`)}
	for _, tt := range []struct {
		sent     schemas.SocketEvent
		at, want string
	}{
		{schemas.SocketEvent{BlockID: "b"}, "/context/block_ids", "/block_id"},
		{schemas.SocketEvent{BlockID: "b,c"}, "/context/block_ids", "/block_id"},
		{schemas.SocketEvent{BlockIDs: "b"}, "/context/block_ids", "/block_ids"},
		{schemas.SocketEvent{BlockID: "b", BlockIDs: "c"}, "/context/block_ids", "/block_ids"},
		{schemas.SocketEvent{DocumentID: "d"}, "/context/document_id", "/document_id"},
		{schemas.SocketEvent{BlockID: "b"}, "/context/document_id", "/document_id"},
		{schemas.SocketEvent{DocumentID: "d", Context: own}, "/context/document_id", "/document_id"},
		{schemas.SocketEvent{Context: own}, "/context/document_id", "/context/document_id"},
		{schemas.SocketEvent{Mode: "agent"}, "/context/mode", "/mode"},
		{schemas.SocketEvent{}, "/context", "/context"},
		{schemas.SocketEvent{}, "/context/current_page", "/context/current_page"},
		{schemas.SocketEvent{}, "/message", "/message/content"},
		{schemas.SocketEvent{}, "/chat_id", "/chat_id"},
		{schemas.SocketEvent{}, "/model", "/model"},
		{schemas.SocketEvent{}, "/interaction_type", "/interaction_type"},
		{schemas.SocketEvent{}, "/action_metadata/payload_id", "/action_metadata/payload_id"},
		{schemas.SocketEvent{}, "/attachments/0/name", "/attachments/0/name"},
		{schemas.SocketEvent{}, "/client_tools/0/name", "/client_tools/0/name"},
	} {
		refused := schemas.Invalid(tt.at, "is refused")
		got, ok := errors.AsType[*schemas.Error](ws.OfFrame(refused, &tt.sent))
		if !ok || len(got.Fields) != 1 || got.Fields[0].Pointer != tt.want {
			t.Errorf("%s of %+v: %+v, want %s", tt.at, tt.sent, got, tt.want)
		}
	}
}
