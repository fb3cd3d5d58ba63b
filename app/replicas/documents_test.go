package replicas

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// into is a question whose answer goes into a block of the document doc.
func (p pair) into(block, chat, ifBusy string, gate <-chan struct{}) *apptest.Conversation {
	c := p.question(chat, ifBusy, gate)
	c.Body["context"] = map[string]any{"current_page": "lab", "document_id": "doc", "block_ids": block, "mode": "chat"}
	return c
}

// A block of a document is written by one run at a time, whichever processes work on the
// runs, and its user cannot accept it anywhere meanwhile. The next run begins when the
// first one has ended, also if the process of the first one dies.
func TestOneWriterOverTwo(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		p := pair{T: t, system: system, owner: system.StartReplica(apptest.TakerLease, nil), b: system.StartReplica(apptest.TakerLease, nil)}
		gate := make(chan struct{})
		first := p.into("block", "first", "queue", gate)
		p.begin(p.owner, first)
		apptest.Eventually(t, "the block is being written", func() bool {
			return system.Number("SELECT COUNT(*) FROM claims WHERE writing") == 1
		})
		second := p.into("block,another", "second", "queue", nil)
		p.begin(p.b, second)
		p.is(second, "queued")
		var problem schemas.Problem
		p.send(p.b, http.MethodPost, "/api/chat/stream", p.into("block", "third", "reject", nil).Body, http.StatusConflict, &problem)
		if problem.Code != schemas.CodeBusy || problem.RunID != first.RunID {
			t.Errorf("a third writer is refused with %s and run %s, want busy and run %s", problem.Code, problem.RunID, first.RunID)
		}
		other := p.into("free", "other", "queue", nil)
		p.begin(p.b, other)
		p.ends("completed", other)
		for _, at := range []*apptest.Process{p.owner, p.b} {
			for _, path := range []string{"/api/blocks/block/accept", "/api/documents/doc/accept"} {
				p.send(at, http.MethodPost, path, nil, http.StatusConflict, &problem)
				if problem.Code != schemas.CodeBeingWritten {
					t.Errorf("%s while it is written: %s, want being_written", path, problem.Code)
				}
			}
		}
		p.is(second, "queued")
		p.owner.Kill()
		p.owner = p.b
		close(gate)
		p.ends("completed", first)
		p.ends("completed", second)
		if n := attempt(system, first); n != 2 {
			t.Errorf("the first run is at attempt %d, want 2", n)
		}
		var block schemas.Block
		p.send(p.b, http.MethodGet, "/api/blocks/block", nil, http.StatusOK, &block)
		if block.New == nil || !strings.Contains(*block.New, second.Turns[0].Text) || strings.Contains(*block.New, first.Question) {
			t.Errorf("the block has %s, want the text of the second answer alone", apptest.JSON(block))
		}
		p.send(p.b, http.MethodPost, "/api/documents/doc/accept", nil, http.StatusOK, nil)
		if n := system.Number("SELECT COUNT(*) FROM claims"); n != 0 {
			t.Errorf("%d claims are left, want none", n)
		}
		apptest.CheckInvariants(t, system)
		system.CheckScripted()
	})
}

// A model names a block by something that is no id, and that the database cannot store.
// Nobody else writes there, so its call does not wait for another answer.
func TestNoIDOverTwo(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		client := apptest.Client{T: t, URL: system.StartReplica(apptest.TakerLease, nil).URL}
		client.Must(http.MethodPost, "/api/documents", map[string]any{"id": "d", "title": "D"})
		for _, id := range []string{`a\u0000b`, strings.Repeat("a long one ", 1000)} {
			system.Model.Push(upstream.Stream(upstream.Call(0, "w", "edit_block", `{"block_id":"`+id+`","content":"New"}`), upstream.Finish("tool_calls")))
			system.Model.Push(upstream.Text("It has no such block."))
			socket := client.Dial("")
			socket.Send(`{"name":"message","message":{"content":"Write"},"mode":"agent","document_id":"d"}`)
			for _, c := range socket.Until(apptest.IsRunEnd) {
				if c.StatusCode == schemas.StatusWaitingForAnswer {
					t.Errorf("the call for the block %.20s waits for another answer", id)
				}
			}
		}
	})
}
