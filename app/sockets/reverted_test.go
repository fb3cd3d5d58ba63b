package sockets

import (
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/app/apptest/chunks"
	"github.com/chattray/chattray/schemas"
)

// The user reverts or deletes a single block that a run has written, while the run goes
// on, or restores the document as it was before. Every socket, also one that comes later,
// shows the block withdrawn. A revert after the user has accepted the text changes nothing,
// so nothing is withdrawn.
func TestBlockRevertedWhileItsRunGoesOn(t *testing.T) {
	for name, tt := range map[string]struct {
		method, path   string
		accepted, kept bool
	}{
		"reverted":               {method: "POST", path: "/api/blocks/b/revert"},
		"deleted":                {method: "DELETE", path: "/api/blocks/b"},
		"restored":               {method: "POST", path: "/api/documents/doc/versions/3/restore", accepted: true},
		"reverted once accepted": {method: "POST", path: "/api/blocks/b/revert", accepted: true, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			d, up := apptest.ServeScripted(t)
			d.Must("POST", "/api/documents", map[string]any{"id": "doc", "title": "Gold"})
			d.Must("POST", "/api/documents/doc/blocks", map[string]any{"id": "b", "type": "md", "content": "Old"})
			gate := make(chan struct{})
			up.Push(upstream.Stream(upstream.Call(0, "w", "write_block", `{"block_id":"b","content":"New text."}`), upstream.Finish("tool_calls"), upstream.Usage(1, 1), upstream.Done()))
			up.Push(upstream.Open(upstream.Wait(gate), upstream.Say("Done."), upstream.Finish("stop"), upstream.Usage(1, 1), upstream.Done()))
			written := func(c schemas.Chunk) bool {
				return c.Type == schemas.ChunkTool && c.ToolUseID == "w" && c.Event == schemas.ToolCompletes
			}
			asker, watcher := d.Dial("ann"), d.Dial("ann")
			asker.Send(`{"name":"message","message":{"content":"Write"},"mode":"agent","document_id":"doc","chat_id":"c"}`)
			run := asker.Until(written)[0].RunID
			watcher.Send(`{"name":"resume","run_id":"` + run + `"}`)
			watcher.Until(written)

			if tt.accepted {
				d.Must("POST", "/api/documents/doc/accept", nil)
				d.Must("PATCH", "/api/blocks/b", map[string]any{"content": "Mine"})
			}
			d.Must(tt.method, tt.path, nil)
			if !tt.kept { // at once, not with the end of the run
				withdrawn := func(c schemas.Chunk) bool { return c.Type == schemas.ChunkReset && c.BlockIDs == "b" && c.End }
				asker.Until(withdrawn)
				watcher.Until(withdrawn)
			}
			close(gate)
			asker.Until(apptest.IsRunEnd)
			watcher.Until(apptest.IsRunEnd)
			late := d.Dial("ann")
			late.Send(`{"name":"resume","run_id":"` + run + `"}`)
			late.Until(apptest.IsRunEnd)
			for who, seen := range map[string][]schemas.Chunk{"the one who asks": asker.Seen, "a watcher": watcher.Seen, "a later one": late.Seen} {
				b := chunks.Of(seen...).Blocks["b"]
				if withdrawn := b.State == "withdrawn"; withdrawn == tt.kept {
					t.Errorf("%s sees %+v, want withdrawn: %v, of\n%s", who, b, !tt.kept, apptest.ListChunks(seen))
				}
			}
		})
	}
}

// A model writes the content before the id of its block. The user accepts the block that
// was added for the content before the id comes: the content is shown in the named block
// too, where the call stores it.
func TestBlockAcceptedBeforeItsIDComes(t *testing.T) {
	d, up := apptest.ServeScripted(t)
	d.Must("POST", "/api/documents", map[string]any{"id": "doc", "title": "Gold"})
	d.Must("POST", "/api/documents/doc/blocks", map[string]any{"id": "b", "type": "md", "content": "Old"})
	gate := make(chan struct{})
	id := upstream.Data(upstream.Chunk(`{"tool_calls":[{"index":0,"function":{"arguments":",\"block_id\":\"b\"}"}}]}`, "null"))
	up.Push(
		upstream.Stream(upstream.Call(0, "w", "write_block", `{"content":"New text."`), upstream.Wait(gate), id, upstream.Finish("tool_calls")),
		upstream.Text("Done."),
	)
	asker := d.Dial("ann")
	asker.Send(`{"name":"message","message":{"content":"Write"},"mode":"agent","document_id":"doc","chat_id":"c"}`)
	begun := asker.Until(func(c schemas.Chunk) bool { return c.DocumentID == "doc" && c.End })
	d.Must("POST", "/api/blocks/"+begun[len(begun)-1].BlockIDs+"/accept", nil)
	close(gate)
	asker.Until(apptest.IsRunEnd)
	stored := apptest.Decode[schemas.Block](t, d.Must("GET", "/api/blocks/b", nil))
	if shown := chunks.Of(asker.Seen...).Blocks["b"]; stored.New == nil || shown.Content != *stored.New || shown.State != "done" {
		t.Errorf("the block is shown as %+v, stored as %+v, want the same text, of\n%s", shown, stored, apptest.ListChunks(asker.Seen))
	}
}
