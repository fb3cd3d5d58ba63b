package sockets

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/app/apptest/chunks"
	"github.com/chattray/chattray/schemas"
)

// A client that was disconnected anywhere and resumes has the same state as one
// that was not: content, calls, payloads, suggestions and warnings.
func TestSocketCutAnywhereFoldsTheSame(t *testing.T) {
	d, up := apptest.ServeScripted(t)
	up.Push(
		upstream.Stream(
			upstream.Say("I write it."),
			upstream.Call(0, "w1", "write_block", `{"type":"csv","content":"year,price\n2026,`, `1\n"}`),
			upstream.Call(1, "w2", "write_block", `{"type":"interactive_chart","meta":{"mark":"bar"},"content":"x,y\n1,2\n"}`),
			upstream.Finish("tool_calls"), upstream.Usage(1, 1), upstream.Done()),
		upstream.Text("It is ", "written.\n\nSUGGESTED_VALUES: [{\"label\": \"More\", \"value\": \"Write more\"}]\n", "SUGGESTED_ACTIONS: [{\"label\": \"Close\", \"action\": \"close_chat\", \"handler\": \"client\"}]"),
	)
	c := d.Dial("ann")
	c.Send(`{"name":"message","message":{"content":"Write"},"mode":"agent","document_id":"doc","chat_id":"chat"}`)
	all := c.Until(apptest.IsRunEnd)
	want := chunks.Of(all...)
	run := want.Runs[0]
	if len(run.Tools) != 2 || len(run.Values) != 1 || len(run.Actions) != 1 || len(want.Blocks) != 3 || run.State != schemas.RunCompleted {
		t.Fatalf("the run shows %s", apptest.ListChunks(all))
	}
	doc := apptest.Decode[schemas.Document](t, d.Must("GET", "/api/documents/doc", nil))
	for _, b := range doc.Blocks {
		if b.New == nil || want.Blocks[b.ID].Content != *b.New {
			t.Errorf("block %s is %+v, folded %+v", b.ID, b, want.Blocks[b.ID])
		}
	}
	for n := 1; n < len(all); n++ {
		got := chunks.Of(all[:n]...)
		back := d.Dial("ann")
		back.Send(fmt.Sprintf(`{"name":"resume","run_id":%q,"after":%d}`, run.RunID, got.Runs[0].Last))
		for _, chunk := range back.Until(apptest.IsRunEnd) {
			got.Fold(&chunk)
		}
		_ = back.Conn.CloseNow()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cut after %d chunks (-want +got):\n%s", n, diff)
		}
	}
}

// One socket shows runs of several chats at the same time. Each chunk can be
// assigned to its run, as on a socket of its own.
func TestSocketOfSeveralChats(t *testing.T) {
	d, up := apptest.ServeScripted(t)
	const chats, pieces = 5, 20
	var turns [pieces + 1]chan struct{}
	for i := range turns {
		turns[i] = make(chan struct{})
	}
	var steps []upstream.Part
	for i := range pieces {
		steps = append(steps, upstream.Wait(turns[i]), upstream.Say(fmt.Sprintf("piece %d ", i)))
	}
	steps = append(steps, upstream.Finish("stop"), upstream.Usage(1, 1), upstream.Done())
	up.On(upstream.Any, upstream.Open(steps...))
	c := d.Dial("ann")
	for i := range chats {
		c.Send(fmt.Sprintf(`{"name":"message","id":"m%d","message":{"content":"Go"},"chat_id":"c%d"}`, i, i))
	}
	for acked := 0; acked < chats; {
		if c.Next().Type == schemas.ChunkAck {
			acked++
		}
	}
	for i := range turns {
		close(turns[i])
	}
	ends := 0
	for ends < chats {
		if apptest.IsRunEnd(c.Next()) {
			ends++
		}
	}
	got := chunks.Of(c.Seen...)
	if len(got.Runs) != chats || len(got.Blocks) != chats {
		t.Fatalf("%d runs with %d blocks in\n%s", len(got.Runs), len(got.Blocks), apptest.ListChunks(c.Seen))
	}
	for _, run := range got.Runs {
		alone := d.Dial("ann")
		alone.Send(fmt.Sprintf(`{"name":"resume","run_id":%q}`, run.RunID))
		want := chunks.Of(alone.Until(apptest.IsRunEnd)...)
		i := slices.IndexFunc(want.Runs, func(r *chunks.Run) bool { return r.RunID == run.RunID })
		if diff := cmp.Diff(want.Runs[i], run); diff != "" {
			t.Errorf("run of %s (-alone +together):\n%s", run.ChatID, diff)
		}
		if diff := cmp.Diff(want.Blocks[run.MessageID], got.Blocks[run.MessageID], cmpopts.IgnoreFields(chunks.Block{}, "Step")); diff != "" {
			t.Errorf("answer in %s (-alone +together):\n%s", run.ChatID, diff)
		}
	}
}
