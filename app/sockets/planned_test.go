package sockets

import (
	"net/http"
	"slices"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/app/apptest/chunks"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// What a run has planned and not written is gone when the run is stopped or fails: readers
// are told, and accepting all adds no empty block. A plan of which nothing is written is undone.
func TestPlannedBlocksEndWithTheirRun(t *testing.T) {
	for name, tt := range map[string]struct {
		writes, fails bool
		title, left   string // after all is accepted
	}{
		"stopped":                    {writes: true, title: "Gold", left: "One."},
		"failed":                     {writes: true, fails: true, title: "Gold", left: "One."},
		"stopped with nothing of it": {title: "D", left: "Old"},
	} {
		t.Run(name, func(t *testing.T) {
			client, up := apptest.ServeScripted(t)
			client.Must(http.MethodPost, "/api/documents", map[string]any{"id": "d", "title": "D"})
			client.Must(http.MethodPost, "/api/documents/d/blocks", map[string]any{"id": "old", "type": "md", "content": "Old"})
			gate := make(chan struct{})
			up.Push(upstream.Open(upstream.Wait(gate), upstream.Call(0, "p", "plan_document",
				`{"title":"Gold","blocks":[{"type":"md","heading":"Mines"},{"type":"csv","heading":"Prices"}]}`), upstream.Finish("tool_calls"), upstream.Done()))
			c := client.Dial("ann")
			c.Send(`{"name":"message","message":{"content":"Plan"},"mode":"agent","document_id":"d","chat_id":"c"}`)
			run := c.Until(func(c schemas.Chunk) bool { return c.RunID != "" })[0].RunID
			last, first, second := "p", turn.BlockID(run, 0, "plan_document", 0), turn.BlockID(run, 0, "plan_document", 1)
			if tt.writes {
				last = "w"
				up.Push(upstream.Stream(upstream.Call(0, "w", "write_block", `{"block_id":"`+first+`","content":"One."}`), upstream.Finish("tool_calls")))
			}
			if tt.fails {
				up.Push(upstream.Status(http.StatusBadRequest, `{"error":{"message":"no"}}`))
			} else {
				up.Push(upstream.Open(upstream.Hang()))
			}
			close(gate)
			c.Until(func(c schemas.Chunk) bool {
				return c.Type == schemas.ChunkTool && c.ToolUseID == last && c.Event == schemas.ToolCompletes
			})
			if !tt.fails {
				c.Send(`{"name":"stop","chat_id":"c"}`)
			}
			c.Until(apptest.IsRunEnd)
			late := client.Dial("ann")
			late.Send(`{"name":"resume","run_id":"` + run + `"}`)
			late.Until(apptest.IsRunEnd)
			for who, seen := range map[string][]schemas.Chunk{"the one who asks": c.Seen, "a later one": late.Seen} {
				blocks := chunks.Of(seen...).Blocks
				if one, two := blocks[first], blocks[second]; (one.State == "withdrawn") == tt.writes || two.State != "withdrawn" {
					t.Errorf("%s sees the blocks as %s and %s, want what was not written withdrawn, of\n%s", who, one.State, two.State, apptest.ListChunks(seen))
				}
			}
			accepted := apptest.Decode[schemas.Document](t, client.Must(http.MethodPost, "/api/documents/d/accept", nil))
			if len(accepted.Blocks) != 1 || accepted.Blocks[0].State != schemas.BlockClean || *accepted.Blocks[0].Current != tt.left || accepted.Title != tt.title {
				t.Errorf("the accepted document is %s, want only %q with the title %q", apptest.JSON(accepted), tt.left, tt.title)
			}
		})
	}
}

// A run that plans twice and writes nothing leaves the document as it was before both plans.
func TestBlocksPlannedTwiceEndWithTheirRun(t *testing.T) {
	client, up := apptest.ServeScripted(t)
	client.Must(http.MethodPost, "/api/documents", map[string]any{"id": "d", "title": "D"})
	client.Must(http.MethodPost, "/api/documents/d/blocks", map[string]any{"id": "old", "type": "md", "content": "Old"})
	for _, id := range []string{"p", "q"} {
		up.Push(upstream.Stream(upstream.Call(0, id, "plan_document", `{"title":"Gold","blocks":[{"type":"md","heading":"Mines"}]}`), upstream.Finish("tool_calls")))
	}
	up.Push(upstream.Status(http.StatusBadRequest, `{"error":{"message":"no"}}`))
	c := client.Dial("ann")
	c.Send(`{"name":"message","message":{"content":"Plan"},"mode":"agent","document_id":"d","chat_id":"c"}`)
	run := c.Until(apptest.IsRunEnd)[0].RunID
	blocks := chunks.Of(c.Seen...).Blocks
	for n := range 2 {
		if b := blocks[turn.BlockID(run, n, "plan_document", 0)]; b.State != "withdrawn" {
			t.Errorf("the block of plan %d is %q, want it withdrawn, of\n%s", n+1, b.State, apptest.ListChunks(c.Seen))
		}
	}
	left := apptest.Decode[schemas.Document](t, client.Must(http.MethodGet, "/api/documents/d", nil))
	if len(left.Blocks) != 1 || left.Blocks[0].State != schemas.BlockClean || left.NewTitle != "" {
		t.Errorf("the document is %s, want it as it was before the plans", apptest.JSON(left))
	}
}

// What the user does in a document while a run plans it is no part of the plan: when the run
// is stopped before it has written, the rest of the document is as before.
func TestUserActsBesideAPlan(t *testing.T) {
	for name, tt := range map[string]struct {
		edits bool // the run edits an old block
		act   func(client *apptest.Client, planned string)
		left  []string
	}{
		"applies an answer": {act: func(client *apptest.Client, _ string) {
			client.Must(http.MethodPost, "/api/blocks/said/apply", map[string]any{"document_id": "d"})
		}, left: []string{"Old", "+Gold is heavy."}},
		"rejects an edit": {edits: true, act: func(client *apptest.Client, _ string) {
			client.Must(http.MethodPost, "/api/blocks/old/revert", nil)
		}, left: []string{"Old"}},
		"rejects what is planned": {act: func(client *apptest.Client, planned string) {
			client.Must(http.MethodPost, "/api/blocks/"+planned+"/revert", nil)
		}, left: []string{"Old"}},
		"fills what is planned": {act: func(client *apptest.Client, planned string) {
			client.Must(http.MethodPatch, "/api/blocks/"+planned, map[string]any{"content": "Mine"})
		}, left: []string{"Old", "Mine"}},
	} {
		t.Run(name, func(t *testing.T) {
			client, up := apptest.ServeScripted(t)
			client.Must(http.MethodPost, "/api/documents", map[string]any{"id": "d", "title": "D"})
			client.Must(http.MethodPost, "/api/documents/d/blocks", map[string]any{"id": "old", "type": "md", "content": "Old"})
			up.Push(upstream.Text("Gold is heavy."))
			c := client.Dial("ann")
			c.Send(`{"name":"message","message":{"content":"Gold?"},"chat_id":"other","block_id":"said"}`)
			c.Until(apptest.IsRunEnd)
			up.Push(upstream.Stream(upstream.Call(0, "p", "plan_document", `{"title":"Gold","blocks":[{"type":"md","heading":"Mines"}]}`), upstream.Finish("tool_calls")))
			last := "p"
			if tt.edits {
				last = "e"
				up.Push(upstream.Stream(upstream.Call(0, "e", "edit_block", `{"block_id":"old","content":"New"}`), upstream.Finish("tool_calls")))
			}
			up.Push(upstream.Open(upstream.Hang()))
			c.Send(`{"name":"message","message":{"content":"Plan"},"mode":"agent","document_id":"d","chat_id":"c"}`)
			run := c.Until(func(c schemas.Chunk) bool { return c.RunID != "" })[0].RunID
			c.Until(func(c schemas.Chunk) bool { return c.ToolUseID == last && c.Event == schemas.ToolCompletes })
			tt.act(client, turn.BlockID(run, 0, "plan_document", 0))
			c.Send(`{"name":"stop","chat_id":"c"}`)
			c.Until(apptest.IsRunEnd)
			d := apptest.Decode[schemas.Document](t, client.Must(http.MethodGet, "/api/documents/d", nil))
			var left []string
			for _, b := range d.Blocks {
				switch {
				case b.State == schemas.BlockClean:
					left = append(left, *b.Current)
				case b.New != nil:
					left = append(left, "+"+*b.New)
				default:
					left = append(left, string(b.State))
				}
			}
			if !slices.Equal(left, tt.left) || d.NewTitle != "" {
				t.Errorf("the document is %q with the title %q waiting, want %q with none", left, d.NewTitle, tt.left)
			}
		})
	}
}
