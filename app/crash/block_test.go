package crash

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/app/apptest/chunks"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// The program is killed while a block is being written, by a tool or as the
// answer. The next process finishes it: the block is emptied, written again,
// and ends. The document has the whole block, and what the user had accepted.
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

// The program is killed while an answer in a chat is written again, before its first text.
// The attempt of the next process is cancelled: the earlier answer is the current one.
func TestKilledInAChatBlock(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			const secret = "secret-of-32-bytes-for-this-test"
			up := upstream.New()
			t.Cleanup(up.Close)
			up.Push(upstream.Text("The old answer."))
			up.Push(upstream.Open(upstream.Hang()))
			up.Push(upstream.Open(upstream.Hang()))
			settings := []string{
				"DATABASE_URL=" + d.Fresh(t), "JWT_SECRET=" + secret, "OPENAI_BASE_URL=" + up.URL(), "OPENAI_API_KEY=key",
			}
			p := apptest.StartProcess(t, settings...)
			token, err := auth.SignToken(secret, "", schemas.User{Name: "ann"}, time.Now(), time.Now().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			one := &apptest.Client{T: t, URL: p.URL, Tokens: map[string]string{"ann": token}}
			c := one.Dial("ann")
			c.Send(`{"name":"message","message":{"content":"First"},"block_id":"z","chat_id":"chat"}`)
			c.Until(apptest.IsRunEnd)
			c.Send(`{"name":"message","message":{"content":"Again"},"block_id":"z","chat_id":"chat"}`)
			list := c.Until(func(c schemas.Chunk) bool { return c.Type == schemas.ChunkReset })
			run := list[0].RunID
			p.Kill()

			one.URL = apptest.StartProcess(t, settings...).URL
			back := one.Dial("ann")
			back.Send(`{"name":"resume","run_id":"` + run + `","after":2}`)
			one.Must("POST", "/api/chat/runs/"+run+"/cancel", nil)
			list = back.Until(apptest.IsRunEnd)
			if got := apptest.JoinContent(list, "z"); got != "The old answer." {
				t.Errorf("the block gets %q, want the old answer, of\n%s", got, apptest.ListChunks(list))
			}
			if b := apptest.Decode[schemas.Block](t, one.Must("GET", "/api/blocks/z", nil)); b.Current == nil || *b.Current != "The old answer." {
				t.Errorf("the block is %+v, want the old answer", b)
			}
		})
	}
}

// The program is killed while one answer writes a block and another, of another chat,
// waits for it. The next process keeps that order: the text of the later question stays.
func TestKilledWhileAWriterWaits(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			const secret, pairs = "secret-of-32-bytes-for-this-test", 4
			up := upstream.New()
			t.Cleanup(up.Close)
			asks := func(question string) func(upstream.Request) bool {
				return func(r upstream.Request) bool { return strings.Contains(r.Last("user").Text(), question) }
			}
			half := upstream.Open(upstream.Say("Half of"), upstream.Hang())
			up.On(asks("First"), append(slices.Repeat([]upstream.Reply{half}, pairs), upstream.Text("The first."))...)
			up.On(asks("Second"), upstream.Text("The second."))
			settings := []string{"DATABASE_URL=" + d.Fresh(t), "JWT_SECRET=" + secret, "OPENAI_BASE_URL=" + up.URL(), "OPENAI_API_KEY=key"}
			p := apptest.StartProcess(t, settings...)
			token, err := auth.SignToken(secret, "", schemas.User{Name: "ann"}, time.Now(), time.Now().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			one := &apptest.Client{T: t, URL: p.URL, Tokens: map[string]string{"ann": token}}
			for n := range pairs {
				c := one.Dial("ann")
				c.Send(fmt.Sprintf(`{"name":"message","message":{"content":"First"},"document_id":"doc%d","block_id":"b%d","chat_id":"a%d"}`, n, n, n))
				c.Until(apptest.IsContent)
				c.Send(fmt.Sprintf(`{"name":"message","id":"e%d","message":{"content":"Second"},"document_id":"doc%d","block_id":"b%d","chat_id":"b%d"}`, n, n, n, n))
				c.Until(func(c schemas.Chunk) bool { return c.Type == schemas.ChunkAck })
			}
			p.Kill()

			one.URL = apptest.StartProcess(t, settings...).URL
			apptest.Eventually(t, "all runs end", func() bool {
				list := apptest.Decode[schemas.ChatList](t, one.Must("GET", "/api/chats", nil))
				return len(list.Items) == 2*pairs && !slices.ContainsFunc(list.Items, func(c schemas.Chat) bool { return c.ActiveRunID != "" })
			})
			for n := range pairs {
				b := apptest.Decode[schemas.Block](t, one.Must("GET", fmt.Sprintf("/api/blocks/b%d", n), nil))
				if b.New == nil || *b.New != "The second." {
					t.Errorf("the block is %+v, want the text of the second question", b)
				}
			}
		})
	}
}

// The program is killed while an answer is written into a document's block, and the
// answer is cancelled: in the database only, so that the next process ends the run at
// once, or in the next process, before the model says anything. What a viewer folds is
// what the document stores.
func TestKilledAndCancelledInABlock(t *testing.T) {
	for _, d := range apptest.Databases() {
		for _, stored := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stored %v", d.Name, stored), func(t *testing.T) {
				t.Parallel()
				cancelInABlock(t, d.Fresh(t), stored)
			})
		}
	}
}

func cancelInABlock(t *testing.T, database string, stored bool) {
	t.Helper()
	const secret = "secret-of-32-bytes-for-this-test"
	up := upstream.New()
	t.Cleanup(up.Close)
	up.Push(upstream.Open(upstream.Say("Half of"), upstream.Hang()))
	up.Push(upstream.Open(upstream.Hang()))
	settings := []string{"DATABASE_URL=" + database, "JWT_SECRET=" + secret, "OPENAI_BASE_URL=" + up.URL(), "OPENAI_API_KEY=key"}
	p := apptest.StartProcess(t, settings...)
	token, err := auth.SignToken(secret, "", schemas.User{Name: "ann"}, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	one := &apptest.Client{T: t, URL: p.URL, Tokens: map[string]string{"ann": token}}
	one.Must("POST", "/api/documents", map[string]any{"id": "doc", "title": "Killed"})
	one.Must("POST", "/api/documents/doc/blocks", map[string]any{"id": "mine", "type": "md", "content": "Old"})
	c := one.Dial("ann")
	c.Send(`{"name":"message","message":{"content":"Write"},"document_id":"doc","block_id":"mine","chat_id":"chat"}`)
	run := c.Until(apptest.IsContent)[0].RunID
	p.Kill()

	if stored {
		if _, err := apptest.Open(t, database).ExecContext(t.Context(), "UPDATE runs SET cancel_requested = TRUE"); err != nil {
			t.Fatal(err)
		}
	}
	one.URL = apptest.StartProcess(t, settings...).URL
	if !stored {
		one.Must("POST", "/api/chat/runs/"+run+"/cancel", nil)
	}
	apptest.Eventually(t, "the run is cancelled", func() bool {
		return apptest.Decode[schemas.Run](t, one.Must("GET", "/api/chat/runs/"+run, nil)).State == schemas.RunCancelled
	})
	back := one.Dial("ann")
	back.Send(`{"name":"resume","run_id":"` + run + `"}`)
	list := back.Until(apptest.IsRunEnd)
	folded := ""
	for _, c := range list {
		switch {
		case c.BlockIDs == "mine" && c.Type == schemas.ChunkReset:
			folded = ""
		case apptest.IsContent(c):
			folded += *c.Content
		}
	}
	b := apptest.Decode[schemas.Block](t, one.Must("GET", "/api/blocks/mine", nil))
	if got := *cmp.Or(b.New, b.Current); got != folded {
		t.Errorf("the block stores %q and a viewer folds %q, of\n%s", got, folded, apptest.ListChunks(list))
	}
}

// The program is killed once it has planned a document, and the answer is cancelled in the
// database only, so that the next process ends the run at once: what was planned is gone.
func TestKilledAndCancelledAfterAPlan(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			const secret = "secret-of-32-bytes-for-this-test"
			up := upstream.New()
			t.Cleanup(up.Close)
			up.Push(upstream.Stream(upstream.Call(0, "p", "plan_document", `{"title":"Gold","blocks":[{"type":"md","heading":"Mines"}]}`), upstream.Finish("tool_calls")))
			up.Push(upstream.Open(upstream.Hang()))
			database := d.Fresh(t)
			settings := []string{"DATABASE_URL=" + database, "JWT_SECRET=" + secret, "OPENAI_BASE_URL=" + up.URL(), "OPENAI_API_KEY=key"}
			p := apptest.StartProcess(t, settings...)
			token, err := auth.SignToken(secret, "", schemas.User{Name: "ann"}, time.Now(), time.Now().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			one := &apptest.Client{T: t, URL: p.URL, Tokens: map[string]string{"ann": token}}
			one.Must("POST", "/api/documents", map[string]any{"id": "doc", "title": "Old"})
			c := one.Dial("ann")
			c.Send(`{"name":"message","message":{"content":"Plan"},"mode":"agent","document_id":"doc","chat_id":"chat"}`)
			run := c.Until(func(c schemas.Chunk) bool { return c.NewDoc })[0].RunID
			p.Kill()

			if _, err := apptest.Open(t, database).ExecContext(t.Context(), "UPDATE runs SET cancel_requested = TRUE"); err != nil {
				t.Fatal(err)
			}
			one.URL = apptest.StartProcess(t, settings...).URL
			back := one.Dial("ann")
			back.Send(`{"name":"resume","run_id":"` + run + `"}`)
			list := back.Until(apptest.IsRunEnd)
			planned := turn.BlockID(run, 0, "plan_document", 0)
			if got := chunks.Of(list...).Blocks[planned].State; got != "withdrawn" {
				t.Errorf("a viewer sees the planned block as %q, want it withdrawn, of\n%s", got, apptest.ListChunks(list))
			}
			if doc := apptest.Decode[schemas.Document](t, one.Must("POST", "/api/documents/doc/accept", nil)); len(doc.Blocks) > 0 || doc.Title != "Old" {
				t.Errorf("the accepted document is %s, want it as before the plan", apptest.JSON(doc))
			}
		})
	}
}

// killInABlock kills the program once half of a block has been seen.
func killInABlock(t *testing.T, database, mode string, half upstream.Part) {
	t.Helper()
	const secret = "secret-of-32-bytes-for-this-test"
	up := upstream.New()
	t.Cleanup(up.Close)
	up.Push(upstream.Open(half, upstream.Hang()))
	settings := []string{
		"DATABASE_URL=" + database, "JWT_SECRET=" + secret, "OPENAI_BASE_URL=" + up.URL(), "OPENAI_API_KEY=key",
	}
	p := apptest.StartProcess(t, settings...)
	token, err := auth.SignToken(secret, "", schemas.User{Name: "ann"}, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	one := &apptest.Client{T: t, URL: p.URL, Tokens: map[string]string{"ann": token}}
	one.Must("POST", "/api/documents", map[string]any{"id": "doc", "title": "Killed"})
	one.Must("POST", "/api/documents/doc/blocks", map[string]any{"id": "mine", "type": "md", "content": "Old"})
	c := one.Dial("ann")
	c.Send(`{"name":"message","message":{"content":"Write"},"mode":"` + mode + `","document_id":"doc","block_id":"mine","chat_id":"chat"}`)
	run := c.Until(apptest.IsContent)[0].RunID
	p.Kill()

	if mode == "agent" {
		up.Push(upstream.Stream(upstream.Call(0, "call_1", "write_block", `{"block_id":"mine","content":"The whole."}`), upstream.Finish("tool_calls")))
	}
	up.Push(upstream.Text("The whole."))
	one.URL = apptest.StartProcess(t, settings...).URL
	apptest.Eventually(t, "the run ends", func() bool {
		return apptest.Decode[schemas.Run](t, one.Must("GET", "/api/chat/runs/"+run, nil)).State.Terminal()
	})
	back := one.Dial("ann")
	back.Send(`{"name":"resume","run_id":"` + run + `"}`)
	list := back.Until(apptest.IsRunEnd)
	reset, end := -1, -1
	for i, chunk := range list {
		if chunk.BlockIDs == "mine" && chunk.Type == schemas.ChunkReset {
			reset = i
		}
		if chunk.BlockIDs == "mine" && chunk.End {
			end = i
		}
	}
	if got := apptest.JoinContent(list[max(reset, 0):], "mine"); got != "The whole." || end < reset || list[len(list)-1].Status != schemas.RunCompleted {
		t.Errorf("the block gets %q, want %q, after a reset and with an end, of\n%s", got, "The whole.", apptest.ListChunks(list))
	}
	blocks := apptest.Decode[schemas.Document](t, one.Must("GET", "/api/documents/doc", nil)).Blocks
	if len(blocks) != 1 || *blocks[0].Current != "Old" || strings.TrimSpace(*blocks[0].New) != "The whole." || blocks[0].State != schemas.BlockPendingEdit {
		t.Errorf("the document is %+v, want one block with %q proposed for %q", blocks, "The whole.", "Old")
	}
	if got := apptest.Decode[schemas.Block](t, one.Must("POST", "/api/blocks/mine/revert", nil)); got.State != schemas.BlockClean || *got.Current != "Old" {
		t.Errorf("reverted the block is %+v, want it clean with %q", got, "Old")
	}
}
