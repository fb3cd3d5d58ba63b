package sockets

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// No block has a type by which a reader would take its content for something else: neither
// one of the user nor one that the model writes or plans.
func TestBlocksHaveNoTypesOfChunks(t *testing.T) {
	d, up := apptest.ServeScripted(t)
	d.Must("POST", "/api/documents", map[string]any{"id": "doc1", "title": "Gold"})
	call := func(tool, arguments string) upstream.Reply {
		return upstream.Stream(upstream.Call(0, "call_1", tool, arguments), upstream.Finish("tool_calls"), upstream.Usage(1, 1), upstream.Done())
	}
	c := d.Dial("ann")
	for _, kind := range []string{
		"status", "reset", "error", "run_end", "tool", "approval_request", "approval_resolved", "client_tool_call", "payload", "suggestions", "warning", "ack",
	} {
		got := d.Ask("ann", "POST", "/api/documents/doc1/blocks", "", map[string]any{"type": kind, "content": "text"})
		if got.Status != http.StatusUnprocessableEntity || !strings.Contains(string(got.Body), `"/type"`) {
			t.Errorf("a block of the type %s: status %d, want 422 at /type: %s", kind, got.Status, got.Body)
		}
		up.Push(
			call("write_block", fmt.Sprintf(`{"type":%q,"content":"written"}`, kind)),
			call("plan_document", fmt.Sprintf(`{"title":"T","blocks":[{"type":%q,"heading":"planned"}]}`, kind)),
			upstream.Text("Done."),
		)
		c.Send(`{"name":"message","message":{"content":"Write"},"mode":"agent","document_id":"doc1","chat_id":"c1"}`)
		failed := 0
		for _, chunk := range c.Until(apptest.IsRunEnd) {
			if chunk.Type == schemas.ChunkTool && chunk.IsError {
				failed++
			}
			if chunk.DocumentID != "" {
				t.Errorf("%s: a reader gets %s", kind, apptest.ListChunks([]schemas.Chunk{chunk}))
			}
		}
		if failed != 2 {
			t.Errorf("%s: %d calls have failed, want 2", kind, failed)
		}
	}
	if doc := apptest.Decode[schemas.Document](t, d.Must("GET", "/api/documents/doc1", nil)); len(doc.Blocks) > 0 {
		t.Errorf("the document has %d blocks, the first of the type %s", len(doc.Blocks), doc.Blocks[0].Type)
	}
}
