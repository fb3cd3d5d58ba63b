package app

import (
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// The program is killed while a block is being written, by a tool or as the
// answer. The next one finishes it: the block is emptied, written anew, and ends;
// the document has the whole and what the user had accepted.
func TestKilledInABlock(t *testing.T) {
	for _, d := range apptest.Databases() {
		for mode, half := range map[string]upstream.Part{
			"agent": upstream.Call(0, "call_1", "write_block", `{"block_id":"mine","content":"Half of`),
			"chat":  upstream.Say("Half of"),
		} {
			t.Run(d.Name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				killInABlock(t, d.Fresh(t), mode, half)
			})
		}
	}
}

// killInABlock kills the program once the half of a block has been seen.
func killInABlock(t *testing.T, database, mode string, half upstream.Part) {
	t.Helper()
	const secret = "secret-of-32-bytes-for-this-test"
	up := upstream.New()
	t.Cleanup(up.Close)
	up.Push(upstream.Open(half, upstream.Hang()))
	settings := []string{
		"DATABASE_URL=" + database, "JWT_SECRET=" + secret, "OPENAI_BASE_URL=" + up.URL(), "OPENAI_API_KEY=key",
	}
	p := startProcess(t, settings...)
	token, err := api.SignToken(secret, "", schemas.User{Name: "ann"}, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	one := &desk{T: t, base: p.url, tokens: map[string]string{"ann": token}}
	one.must("POST", "/api/documents", map[string]any{"id": "doc", "title": "Killed"})
	one.must("POST", "/api/documents/doc/blocks", map[string]any{"id": "mine", "type": "md", "content": "Old"})
	c := one.dial("ann")
	c.send(`{"name":"message","message":{"content":"Write"},"mode":"` + mode + `","document_id":"doc","block_id":"mine","chat_id":"chat"}`)
	run := c.until(isContent)[0].RunID
	p.kill()

	if mode == "agent" {
		up.Push(upstream.Stream(upstream.Call(0, "call_1", "write_block", `{"block_id":"mine","content":"The whole."}`), upstream.Finish("tool_calls")))
	}
	up.Push(say("The whole."))
	one.base = startProcess(t, settings...).url
	eventually(t, "the run ends", func() bool {
		return read[schemas.Run](t, one.must("GET", "/api/chat/runs/"+run, nil)).State.Terminal()
	})
	back := one.dial("ann")
	back.send(`{"name":"resume","run_id":"` + run + `"}`)
	list := back.until(runEnd)
	reset, end := -1, -1
	for i, chunk := range list {
		if chunk.BlockIDs == "mine" && chunk.Type == schemas.ChunkReset {
			reset = i
		}
		if chunk.BlockIDs == "mine" && chunk.End {
			end = i
		}
	}
	if got := content(list[max(reset, 0):], "mine"); got != "The whole." || end < reset || list[len(list)-1].Status != schemas.RunCompleted {
		t.Errorf("the block gets %q of\n%s", got, shown(list))
	}
	blocks := read[schemas.Document](t, one.must("GET", "/api/documents/doc", nil)).Blocks
	if len(blocks) != 1 || *blocks[0].Current != "Old" || strings.TrimSpace(*blocks[0].New) != "The whole." || blocks[0].State != schemas.BlockPendingEdit {
		t.Errorf("the document is %+v", blocks)
	}
	if got := read[schemas.Block](t, one.must("POST", "/api/blocks/mine/revert", nil)); got.State != schemas.BlockClean || *got.Current != "Old" {
		t.Errorf("reverted it is %+v", got)
	}
}
