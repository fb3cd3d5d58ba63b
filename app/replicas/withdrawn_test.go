package replicas

import (
	"net/http"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/app/apptest/chunks"
	"github.com/chattray/chattray/schemas"
)

// The user reverts or deletes a document at one process while the run that plans it works
// at another one, which may die then. Nothing that was withdrawn comes back: what every
// viewer folds is what is stored.
func TestPlanWithdrawnOverTwo(t *testing.T) {
	for name, kill := range map[string]bool{"and both live": false, "and the one that plans is killed": true} {
		for does, deletes := range map[string]bool{"reverted": false, "deleted": true} {
			t.Run(does+" "+name, func(t *testing.T) {
				onPostgres(t, func(t *testing.T, system *apptest.System) { withdrawPlan(t, system, kill, deletes) })
			})
		}
	}
}

func withdrawPlan(t *testing.T, system *apptest.System, kill, deletes bool) {
	t.Helper()
	p := pair{T: t, system: system, owner: system.StartReplica(apptest.TakerLease, nil), b: system.StartReplica(apptest.TakerLease, nil)}
	p.send(p.owner, http.MethodPost, "/api/documents", map[string]any{"id": "d", "title": "D"}, http.StatusOK, nil)
	p.send(p.owner, http.MethodPost, "/api/documents/d/blocks", map[string]any{"id": "old", "type": "md", "content": "Old"}, http.StatusOK, nil)
	gate := make(chan struct{})
	more := []upstream.Part{upstream.Call(0, "call_3", "write_block", `{"content":"Two."}`), upstream.Finish("tool_calls"), upstream.Usage(10, 2), upstream.Done()}
	system.Model.Push(upstream.Stream(upstream.Call(0, "call_1", "plan_document", `{"title":"Gold","blocks":[{"type":"md","heading":"Mines"}]}`), upstream.Finish("tool_calls")))
	system.Model.Push(upstream.Stream(upstream.Call(0, "call_2", "write_block", `{"content":"One."}`), upstream.Finish("tool_calls")))
	if kill {
		system.Model.Push(upstream.Open(upstream.Hang()))
	}
	system.Model.Push(upstream.Open(append([]upstream.Part{upstream.Wait(gate)}, more...)...))
	system.Model.Push(upstream.Text("I see."))

	asks, watches := apptest.Client{T: t, URL: p.owner.URL}, apptest.Client{T: t, URL: p.b.URL}
	asker := asks.Dial("")
	asker.Send(`{"name":"message","message":{"content":"Plan"},"mode":"agent","document_id":"d","chat_id":"c"}`)
	begun := asker.Until(func(c schemas.Chunk) bool {
		return c.Type == schemas.ChunkTool && c.ToolUseID == "call_2" && c.Event == schemas.ToolCompletes
	})
	run := begun[0].RunID
	watcher := watches.Dial("")
	watcher.Send(`{"name":"resume","chat_id":"c","run_id":"` + run + `"}`)
	live := watcher.Until(func(c schemas.Chunk) bool {
		return c.Type == schemas.ChunkTool && c.ToolUseID == "call_2" && c.Event == schemas.ToolCompletes
	})
	if deletes {
		p.send(p.b, http.MethodDelete, "/api/documents/d", nil, http.StatusNoContent, nil)
	} else {
		p.send(p.b, http.MethodPost, "/api/documents/d/revert", nil, http.StatusOK, nil)
	}
	if kill {
		p.owner.Kill()
		system.OnlyUse(p.b)
	}
	close(gate)
	live = append(live, watcher.Until(apptest.IsRunEnd)...)
	late := watches.Dial("")
	late.Send(`{"name":"resume","run_id":"` + run + `"}`)
	views := map[string][]schemas.Chunk{"the viewer at work": live, "a later viewer": late.Until(apptest.IsRunEnd)}

	var stored schemas.Document
	if deletes {
		p.send(p.b, http.MethodGet, "/api/documents/d", nil, http.StatusNotFound, nil)
	} else if p.send(p.b, http.MethodGet, "/api/documents/d", nil, http.StatusOK, &stored); len(stored.Blocks) != 1 || stored.Blocks[0].State != schemas.BlockClean || *stored.Blocks[0].Current != "Old" || stored.Title != "D" {
		t.Errorf("the document is %s, want what it was before the plan", apptest.JSON(stored))
	}
	for name, list := range views {
		for id, b := range chunks.Of(list...).Blocks {
			if b.DocumentID == "d" && b.State != "withdrawn" && b.Content != "" {
				t.Errorf("%s sees %q in the block %s, want it withdrawn, of\n%s", name, b.Content, id, apptest.ListChunks(list))
			}
		}
		if end := list[len(list)-1]; end.Status != schemas.RunCompleted {
			t.Errorf("%s sees the run end as %s, want completed", name, end.Status)
		}
	}
	if n := system.Number("SELECT COUNT(*) FROM claims"); n != 0 {
		t.Errorf("%d claims are left, want none", n)
	}
}

// The user rejects or deletes a block at one process while a run of another one writes
// into it, or has written it and goes on, and its model is silent: every viewer is told at
// once, and nothing of the text is left. A text that replaces a pending one is stored only
// at its end.
func TestBlockWithdrawnOverTwo(t *testing.T) {
	for does, request := range map[string][2]string{
		"rejected": {http.MethodPost, "/api/blocks/b/revert"}, "deleted": {http.MethodDelete, "/api/blocks/b"},
		"rejected with all others": {http.MethodPost, "/api/documents/d/revert"},
	} {
		for _, what := range []string{"a clean block", "a pending block", "a block that is written"} {
			t.Run(does+" "+what, func(t *testing.T) {
				onPostgres(t, func(t *testing.T, system *apptest.System) {
					withdrawBlock(t, system, request[0], request[1], what == "a pending block", what == "a block that is written")
				})
			})
		}
	}
}

func withdrawBlock(t *testing.T, system *apptest.System, method, path string, pending, written bool) {
	t.Helper()
	p := pair{T: t, system: system, owner: system.StartReplica(apptest.TakerLease, nil), b: system.StartReplica(apptest.TakerLease, nil)}
	p.send(p.owner, http.MethodPost, "/api/documents", map[string]any{"id": "d", "title": "D"}, http.StatusOK, nil)
	p.send(p.owner, http.MethodPost, "/api/documents/d/blocks", map[string]any{"id": "b", "type": "md", "content": "Old"}, http.StatusOK, nil)
	asks, watches := apptest.Client{T: t, URL: p.owner.URL}, apptest.Client{T: t, URL: p.b.URL}
	asker := asks.Dial("")
	if pending {
		system.Model.Push(upstream.Text("Before."))
		asker.Send(`{"name":"message","message":{"content":"Write"},"document_id":"d","block_id":"b","chat_id":"c"}`)
		asker.Until(apptest.IsRunEnd)
	}
	writes := func(c schemas.Chunk) bool { return c.BlockIDs == "b" && c.Content != nil && *c.Content == "One " }
	if written {
		system.Model.Push(upstream.Stream(upstream.Call(0, "w", "write_block", `{"block_id":"b","content":"One "}`), upstream.Finish("tool_calls")))
		system.Model.Push(upstream.Open(upstream.Hang()))
		writes = func(c schemas.Chunk) bool {
			return c.Type == schemas.ChunkTool && c.ToolUseID == "w" && c.Event == schemas.ToolCompletes
		}
	} else {
		system.Model.Push(upstream.Open(
			upstream.Data(upstream.Chunk(`{"tool_calls":[{"index":0,"id":"w","type":"function","function":{"name":"write_block","arguments":"{\"block_id\":\"b\",\"content\":\"One "}}]}`, "null")),
			upstream.Hang()))
	}
	asker.Send(`{"name":"message","message":{"content":"Write"},"mode":"agent","document_id":"d","chat_id":"c"}`)
	begun := asker.Until(writes)
	run := begun[0].RunID
	watcher := watches.Dial("")
	watcher.Send(`{"name":"resume","chat_id":"c","run_id":"` + run + `"}`)
	watcher.Until(writes)

	deletes := method == http.MethodDelete
	if deletes {
		p.send(p.b, method, path, nil, http.StatusNoContent, nil)
	} else {
		p.send(p.b, method, path, nil, http.StatusOK, nil)
	}
	withdrawn := func(c schemas.Chunk) bool { return c.Type == schemas.ChunkReset && c.BlockIDs == "b" && c.End }
	asker.Until(withdrawn)
	watcher.Until(withdrawn)
	p.send(p.b, http.MethodPost, "/api/chat/runs/"+run+"/cancel", nil, http.StatusOK, nil)
	asker.Until(apptest.IsRunEnd)
	watcher.Until(apptest.IsRunEnd)
	for _, seen := range [][]schemas.Chunk{asker.Seen, watcher.Seen} {
		if b := chunks.Of(seen...).Blocks["b"]; b.Content != "" || b.State != "withdrawn" {
			t.Errorf("a viewer sees %+v, want the block withdrawn", b)
		}
	}
	var stored schemas.Block
	if deletes {
		p.send(p.b, http.MethodGet, "/api/blocks/b", nil, http.StatusNotFound, nil)
	} else if p.send(p.b, http.MethodGet, "/api/blocks/b", nil, http.StatusOK, &stored); stored.State != schemas.BlockClean || *stored.Current != "Old" {
		t.Errorf("the block is %s, want what it was before", apptest.JSON(stored))
	}
}

// The user rejects or deletes a block after the process that wrote an answer into it has
// died, and before another one continues the run: nothing of the answer comes back.
func TestBlockWithdrawnAfterAKill(t *testing.T) {
	for does, deletes := range map[string]bool{"rejected": false, "deleted": true} {
		t.Run(does, func(t *testing.T) {
			onPostgres(t, func(t *testing.T, system *apptest.System) { withdrawAfterKill(t, system, deletes) })
		})
	}
}

func withdrawAfterKill(t *testing.T, system *apptest.System, deletes bool) {
	t.Helper()
	p := pair{T: t, system: system, owner: system.StartReplica(apptest.TakerLease, nil), b: system.StartReplica(apptest.TakerLease, nil)}
	p.send(p.owner, http.MethodPost, "/api/documents", map[string]any{"id": "d", "title": "D"}, http.StatusOK, nil)
	p.send(p.owner, http.MethodPost, "/api/documents/d/blocks", map[string]any{"id": "b", "type": "md", "content": "Old"}, http.StatusOK, nil)
	system.Model.Push(upstream.Open(upstream.Say("One "), upstream.Hang()))
	system.Model.On(upstream.Any, upstream.Text("One two."))
	asks, watches := apptest.Client{T: t, URL: p.owner.URL}, apptest.Client{T: t, URL: p.b.URL}
	asker, watcher := asks.Dial(""), watches.Dial("")
	asker.Send(`{"name":"message","message":{"content":"Write"},"document_id":"d","block_id":"b","chat_id":"c"}`)
	writes := func(c schemas.Chunk) bool { return c.BlockIDs == "b" && c.Content != nil && *c.Content == "One " }
	run := asker.Until(writes)[0].RunID
	watcher.Send(`{"name":"resume","chat_id":"c","run_id":"` + run + `"}`)
	watcher.Until(writes)

	p.owner.Kill()
	system.OnlyUse(p.b)
	if deletes {
		p.send(p.b, http.MethodDelete, "/api/blocks/b", nil, http.StatusNoContent, nil)
	} else {
		p.send(p.b, http.MethodPost, "/api/blocks/b/revert", nil, http.StatusOK, nil)
	}
	seen := watcher.Until(apptest.IsRunEnd)
	if end := seen[len(seen)-1]; end.Status != schemas.RunCancelled {
		t.Errorf("the run ends as %s, want cancelled", end.Status)
	}
	late := watches.Dial("")
	late.Send(`{"name":"resume","run_id":"` + run + `"}`)
	late.Until(apptest.IsRunEnd)
	for _, seen := range [][]schemas.Chunk{watcher.Seen, late.Seen} {
		if b := chunks.Of(seen...).Blocks["b"]; b.Content != "" || b.State != "withdrawn" {
			t.Errorf("a viewer sees %+v, want the block withdrawn, of\n%s", b, apptest.ListChunks(seen))
		}
	}
	var stored schemas.Block
	if deletes {
		p.send(p.b, http.MethodGet, "/api/blocks/b", nil, http.StatusNotFound, nil)
	} else if p.send(p.b, http.MethodGet, "/api/blocks/b", nil, http.StatusOK, &stored); stored.State != schemas.BlockClean || *stored.Current != "Old" {
		t.Errorf("the block is %s, want what it was before", apptest.JSON(stored))
	}
}
