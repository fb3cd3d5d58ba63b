package sockets

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents/demo"
	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// specEvent is the sample frame of the websocket; %s is the caller's own id.
const specEvent = `{
  "name" : "chat_message",
  "message": {
      "content" : "Hi, I would like to create a research report about gold please",
      "role": "user"
  },
  "model":"claude sonnet 3.7 thinking",
  "mode":"chat",
  "block_id":"234234234AWEFAWEF",
  "document_id":"AWEFAWE3453453453",
  "chat_id":"34234DFAWFA",
  "user_id":%q
}`

func TestSocketSpecSample(t *testing.T) {
	client, up := apptest.ServeScripted(t)
	up.Push(upstream.Text("# Gold", "\n\nIt is", " good."))
	me := apptest.Decode[schemas.User](t, client.Must("GET", "/api/me", nil))
	c := client.Dial("ann")
	c.Send(fmt.Sprintf(specEvent, me.ID))
	list := c.Until(apptest.IsRunEnd)
	if got := apptest.JoinContent(list, "234234234AWEFAWEF"); got != "# Gold\n\nIt is good." {
		t.Errorf("the block gets %q, want %q, of\n%s", got, "# Gold\n\nIt is good.", apptest.ListChunks(list))
	}
	first, last, end := list[0], list[len(list)-1], list[len(list)-2]
	if first.RunID == "" || first.ChatID != "34234DFAWFA" || first.ConversationID == 0 || first.Seq == 0 {
		t.Errorf("the first chunk is %s, want one with run, chat, conversation and sequence", apptest.ListChunks(list[:1]))
	}
	if last.Status != schemas.RunCompleted || last.RunID != first.RunID || !end.End || end.Content == nil || *end.Content != "" || end.DocumentID != "AWEFAWE3453453453" {
		t.Errorf("the last chunks are %s, want the end of the block and of the completed run", apptest.ListChunks(list[len(list)-2:]))
	}
	doc := apptest.Decode[schemas.Document](t, client.Must("GET", "/api/documents/AWEFAWE3453453453", nil))
	if len(doc.Blocks) != 1 || doc.Blocks[0].State != schemas.BlockPendingNew || *doc.Blocks[0].New != "# Gold\n\nIt is good." {
		t.Errorf("the document is %+v, want one new block with the answer", doc)
	}
	accepted := apptest.Decode[schemas.Block](t, client.Must("POST", "/api/blocks/234234234AWEFAWEF/accept", nil))
	if accepted.State != schemas.BlockClean {
		t.Errorf("the accepted block is %+v, want it clean", accepted)
	}
}

// TestSocketSpecSampleWithTheDemoModel has the sample's question answered with
// nothing configured: the report alone is written into the block.
func TestSocketSpecSampleWithTheDemoModel(t *testing.T) {
	client := apptest.Serve(t)
	me := apptest.Decode[schemas.User](t, client.Must("GET", "/api/me", nil))
	c := client.Dial("ann")
	c.Send(strings.Replace(fmt.Sprintf(specEvent, me.ID), "claude sonnet 3.7 thinking", demo.Name, 1))
	got := apptest.JoinContent(c.Until(apptest.IsRunEnd), "234234234AWEFAWEF")
	if want := "# Research report: gold\n"; !strings.HasPrefix(got, want) {
		t.Errorf("the block begins with %.100q, want %q", got, want)
	}
	if !strings.Contains(got, "\n## Sources\n\n1. ") || strings.Contains(got, "demo model") || strings.Contains(got, "Document page") {
		t.Errorf("the block is %s, want the report with its sources and nothing else", got)
	}
}

func TestSocketTargets(t *testing.T) {
	client, up := apptest.ServeScripted(t)
	up.On(upstream.Any, upstream.Text("The ", "answer"))
	client.Must("POST", "/api/documents", map[string]any{"id": "doc1", "title": "Gold"})
	client.Must("POST", "/api/documents/doc1/blocks", map[string]any{"id": "b1", "type": "md", "content": "Old"})
	for name, tt := range map[string]struct {
		fields, blocks, document string
		reset                    bool
	}{
		"neither":               {`"chat_id":"c1"`, "", "", false},
		"nothing at all":        {`"mode":"chat"`, "", "", false},
		"a block of the chat":   {`"chat_id":"c2","block_id":"mine"`, "mine", "", false},
		"several of the chat":   {`"chat_id":"c3","block_ids":"m1,m2"`, "m1,m2", "", false},
		"a block of a document": {`"document_id":"doc1","block_id":"b1"`, "b1", "doc1", true},
		"several of a document": {`"document_id":"doc2","block_ids":"x1,x2"`, "x1,x2", "doc2", false},
		"a document":            {`"document_id":"doc3","chat_id":"c4"`, "", "doc3", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := client.Dial("ann")
			c.Send(`{"name":"message","message":{"content":"Write"},` + tt.fields + `}`)
			list := c.Until(apptest.IsRunEnd)
			var reset bool
			for _, chunk := range list {
				reset = reset || chunk.Type == schemas.ChunkReset
				if apptest.IsContent(chunk) && (tt.blocks != "" && chunk.BlockIDs != tt.blocks || chunk.BlockIDs == "" || chunk.DocumentID != tt.document) {
					t.Errorf("content goes to %s, want block %q of document %q", apptest.ListChunks([]schemas.Chunk{chunk}), tt.blocks, tt.document)
				}
			}
			if got := apptest.JoinContent(list, ""); got != "The answer" || reset != tt.reset {
				t.Errorf("the content is %q (reset: %v), want %q (reset: %v), of\n%s", got, reset, "The answer", tt.reset, apptest.ListChunks(list))
			}
			if tt.document == "" {
				return
			}
			doc := apptest.Decode[schemas.Document](t, client.Must("GET", "/api/documents/"+tt.document, nil))
			written := 0
			for _, b := range doc.Blocks {
				if b.New != nil && *b.New == "The answer" {
					written++
				}
			}
			if want := max(1, strings.Count(tt.blocks, ",")+1); written != want {
				t.Errorf("%d blocks have it, want %d: %+v", written, want, doc.Blocks)
			}
		})
	}
}

// TestSocketShowsArgumentsAsTheyCome has a model that continues only when its
// first words have been seen.
func TestSocketShowsArgumentsAsTheyCome(t *testing.T) {
	client, up := apptest.ServeScripted(t)
	seen := make(chan struct{})
	up.Push(
		upstream.Stream(upstream.Call(0, "call_1", "plan_document", `{"title":"Gold","blocks":[{"type":"csv","heading":"Prices"}]}`), upstream.Finish("tool_calls"), upstream.Usage(1, 1), upstream.Done()),
		upstream.Stream(
			upstream.Call(0, "call_2", "write_block", `{"block_id":"`, `mine","type":"interac`, `tive_chart","meta":{"mark":"bar"},"content":"year,price\n20`),
			upstream.Wait(seen),
			upstream.Data(upstream.Chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"26,\\u0034\\u00e4\"}"}}]}`, "null")),
			upstream.Finish("tool_calls"), upstream.Usage(1, 1), upstream.Done()),
		upstream.Text("Done."),
	)
	client.Must("POST", "/api/documents", map[string]any{"id": "doc1", "title": "Gold"})
	client.Must("POST", "/api/documents/doc1/blocks", map[string]any{"id": "mine", "type": "interactive_chart", "content": "year,price\n"})
	c := client.Dial("ann")
	c.Send(`{"name":"message","message":{"content":"Write"},"mode":"agent","document_id":"doc1","chat_id":"c1"}`)
	list := c.Until(func(c schemas.Chunk) bool { return apptest.IsContent(c) && strings.HasPrefix(*c.Content, "year") })
	close(seen)
	var plans []schemas.Chunk
	for _, chunk := range list {
		if chunk.NewDoc {
			plans = append(plans, chunk)
		}
	}
	if len(plans) != 1 || plans[0].DocumentID != "doc1" || plans[0].BlockIDs == "" || plans[0].Content == nil || *plans[0].Content != "" {
		t.Errorf("the plan is shown as %s, want one empty chunk with the blocks of doc1", apptest.ListChunks(plans))
	}
	list = append(list, c.Until(apptest.IsRunEnd)...)
	if got, want := apptest.JoinContent(list, "mine"), `{"mark":"bar"}`+"year,price\n2026,4ä"; got != want {
		t.Errorf("the chart gets %q, want %q", got, want)
	}
	var end int
	for _, chunk := range list {
		if chunk.BlockIDs == "mine" && chunk.End {
			end++
		}
	}
	doc := apptest.Decode[schemas.Document](t, client.Must("GET", "/api/documents/doc1", nil))
	for _, b := range doc.Blocks {
		if b.ID == "mine" && (b.New == nil || *b.New != "year,price\n2026,4ä" || string(b.NewMeta) != `{"mark":"bar"}`) {
			t.Errorf("the block is %+v, want the table with the mark bar", b)
		}
	}
	if end != 1 {
		t.Errorf("the block ends %d times, want once, in\n%s", end, apptest.ListChunks(list))
	}
}

func TestSocketStopAndPause(t *testing.T) {
	for _, name := range []string{"stop", "pause"} {
		t.Run(name, func(t *testing.T) {
			client, up := apptest.ServeScripted(t)
			up.Push(upstream.Open(upstream.Say("Half an "), upstream.Hang()))
			c := client.Dial("ann")
			c.Send(`{"name":"message","message":{"content":"First"},"chat_id":"c1","document_id":"doc1","block_id":"b1"}`)
			c.Until(apptest.IsContent)
			if name == "pause" {
				c.Send(`{"name":"message","message":{"content":"Second"},"chat_id":"c1"}`)
				up.Push(upstream.Text("Whole."))
			}
			c.Send(`{"name":"` + name + `","chat_id":"c1"}`)
			list := c.Until(apptest.IsRunEnd)
			<-up.Gone()
			n := len(list)
			if list[n-1].Status != schemas.RunCancelled || !list[n-2].End || list[n-2].BlockIDs != "b1" {
				t.Errorf("the stream does not end with the ends of b1 and of the cancelled run:\n%s", apptest.ListChunks(list))
			}
			doc := apptest.Decode[schemas.Document](t, client.Must("GET", "/api/documents/doc1", nil))
			if len(doc.Blocks) != 1 || *doc.Blocks[0].New != "Half an " {
				t.Errorf("the document keeps %+v, want one block with %q", doc.Blocks, "Half an ")
			}
			if name == "stop" {
				up.Push(upstream.Text("Again."))
				c.Send(`{"name":"message","message":{"content":"Second"},"chat_id":"c1"}`)
				if got := apptest.JoinContent(c.Until(apptest.IsRunEnd), ""); got != "Again." {
					t.Errorf("after a stop the next answer is %q, want %q", got, "Again.")
				}
				return
			}
			if got := apptest.JoinContent(c.Until(apptest.IsRunEnd), ""); got != "Whole." {
				t.Errorf("the message that waited is answered %q, want %q", got, "Whole.")
			}
			if requests := up.Requests(); !strings.Contains(string(requests[len(requests)-1].Body), "Half an") {
				t.Errorf("the history is %s, want the partial answer in it", requests[len(requests)-1].Body)
			}
		})
	}
}

// TestSocketsSeeTheSame has two sockets in a chat, one of which reconnects, and
// a run that was started over HTTP.
func TestSocketsSeeTheSame(t *testing.T) {
	client, up := apptest.ServeScripted(t)
	more := make(chan struct{})
	up.Push(upstream.Open(upstream.Say("One ", "two "), upstream.Wait(more), upstream.Say("three ", "four"), upstream.Finish("stop"), upstream.Usage(1, 1), upstream.Done()))
	a, b := client.Dial("ann"), client.Dial("ann")
	a.Send(`{"name":"message","message":{"content":"Count"},"chat_id":"c1"}`)
	before := a.Until(func(c schemas.Chunk) bool { return apptest.IsContent(c) && *c.Content == "two " })
	b.Send(`{"name":"resume","chat_id":"c1"}`)
	b.Until(apptest.IsContent)
	_ = a.Conn.CloseNow()
	close(more)
	b.Until(apptest.IsRunEnd)
	back := client.Dial("ann")
	back.Send(fmt.Sprintf(`{"name":"resume","chat_id":"c1","run_id":%q,"after":%d}`, before[0].RunID, before[len(before)-1].Seq))
	after := back.Until(apptest.IsRunEnd)
	after[0].RunID, after[0].ChatID, after[0].ConversationID, after[0].MessageID = "", "", 0, ""
	if diff := cmp.Diff(apptest.ListChunks(b.Seen), apptest.ListChunks(append(before, after...))); diff != "" {
		t.Errorf("chunks of the resumed socket (-other socket +resumed):\n%s", diff)
	}
	back.Send(fmt.Sprintf(`{"name":"resume","run_id":%q,"after":%d}`, before[0].RunID, after[len(after)-1].Seq))
	if again := back.Until(apptest.IsRunEnd); len(again) != 2 || !again[0].End || *again[0].Content != "" || again[1].Status != schemas.RunCompleted {
		t.Errorf("resuming at the end gives %s, want only the ends of block and run", apptest.ListChunks(again))
	}
	up.Push(upstream.Text("Over HTTP."))
	client.Must("POST", "/api/chat", map[string]any{"message": "Go on", "chat_id": "c1"})
	if got := apptest.JoinContent(b.Until(apptest.IsRunEnd), ""); got != "Over HTTP." {
		t.Errorf("the socket shows %q of a run over HTTP, want %q", got, "Over HTTP.")
	}
}

func TestSocketHostileFrames(t *testing.T) {
	client, up := apptest.ServeScripted(t)
	other := client.Dial("bob")
	c := client.Dial("ann")
	for name, tt := range map[string]struct {
		frame string
		code  schemas.Code
	}{
		"not JSON":           {`{"name":`, schemas.CodeBadRequest},
		"empty":              {``, schemas.CodeBadRequest},
		"a list":             {`[]`, schemas.CodeBadRequest},
		"wrong type":         {`{"name":7}`, schemas.CodeBadRequest},
		"unknown field":      {`{"name":"stop","x":1}`, schemas.CodeBadRequest},
		"unknown name":       {`{"name":"shout"}`, schemas.CodeInvalid},
		"unknown mode":       {`{"name":"message","mode":"x","message":{"content":"x"}}`, schemas.CodeInvalid},
		"no message":         {`{"name":"message"}`, schemas.CodeInvalid},
		"unknown model":      {`{"name":"message","model":"x","message":{"content":"x"}}`, schemas.CodeInvalid},
		"bad block":          {`{"name":"message","block_id":"a/b","message":{"content":"x"}}`, schemas.CodeInvalid},
		"bad chat":           {`{"name":"message","chat_id":"a b","message":{"content":"x"}}`, schemas.CodeInvalid},
		"another user":       {`{"name":"message","user_id":"bob","message":{"content":"x"}}`, schemas.CodeForbidden},
		"stop what?":         {`{"name":"stop"}`, schemas.CodeInvalid},
		"resume what?":       {`{"name":"resume"}`, schemas.CodeInvalid},
		"resume no run":      {`{"name":"resume","chat_id":"c","after":3}`, schemas.CodeInvalid},
		"resume unknown run": {`{"name":"resume","run_id":"nope"}`, schemas.CodeNotFound},
	} {
		c.Send(tt.frame)
		if got := c.Next(); got.Type != schemas.ChunkError || got.Code != tt.code || !got.End || got.Content == nil || *got.Content == "" {
			t.Errorf("%s: got %s, want %s", name, apptest.ListChunks([]schemas.Chunk{got}), tt.code)
		}
	}
	if err := c.Conn.Write(t.Context(), websocket.MessageBinary, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got := c.Next(); !apptest.IsError(got) {
		t.Errorf("a binary frame is answered with %s, want an error", apptest.ListChunks([]schemas.Chunk{got}))
	}
	up.Push(upstream.Text("Still here."))
	c.Send(`{"name":"message","message":{"content":"Are you?"},"chat_id":"c1"}`)
	list := c.Until(apptest.IsRunEnd)
	if got := apptest.JoinContent(list, ""); got != "Still here." {
		t.Errorf("after wrong frames the answer is %q, want %q", got, "Still here.")
	}
	other.Send(fmt.Sprintf(`{"name":"resume","run_id":%q}`, list[0].RunID))
	if got := other.Next(); got.Code != schemas.CodeNotFound {
		t.Errorf("resuming the run of another user gives %s, want not_found", apptest.ListChunks([]schemas.Chunk{got}))
	}
}

func TestSocketClosesOn(t *testing.T) {
	client, _ := apptest.ServeScripted(t)
	quiet := client.Dial("bob")
	large := client.Dial("ann")
	_ = large.Conn.Write(t.Context(), websocket.MessageText, []byte(`{"name":"`+strings.Repeat("x", 10<<20)+`"}`))
	if code := ends(large); code != websocket.StatusMessageTooBig {
		t.Errorf("a frame of 10 MiB closes the socket with %d, want %d", code, websocket.StatusMessageTooBig)
	}
	flood := client.Dial("ann")
	go func() {
		for range 1000 {
			if flood.Conn.Write(t.Context(), websocket.MessageText, []byte(`{"name":"stop","chat_id":"c"}`)) != nil {
				return
			}
		}
	}()
	if code := ends(flood); code != websocket.StatusPolicyViolation {
		t.Errorf("1,000 frames at once close the socket with %d, want %d", code, websocket.StatusPolicyViolation)
	}
	quiet.Send(`{"name":"stop","chat_id":"c"}`)
	if got := quiet.Next(); got.Type != schemas.ChunkStatus {
		t.Errorf("the other socket gets %s, want a status", apptest.ListChunks([]schemas.Chunk{got}))
	}
}

// ends reads until the socket is closed, and returns how.
func ends(c *apptest.Socket) websocket.StatusCode {
	for {
		if _, _, err := c.Conn.Read(c.Context()); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func TestSocketTicketsAndOrigins(t *testing.T) {
	client, _ := apptest.ServeScripted(t)
	ticket := apptest.Decode[schemas.Ticket](t, client.Must("POST", "/api/ws/ticket", nil))
	for _, tt := range []struct {
		name, query, origin, token string
		want                       int
	}{
		{"nothing", "", "", "", http.StatusUnauthorized},
		{"a ticket", "?ticket=" + ticket.Ticket, "", "", http.StatusSwitchingProtocols},
		{"the ticket again", "?ticket=" + ticket.Ticket, "", "", http.StatusUnauthorized},
		{"a made up ticket", "?ticket=x", "", "", http.StatusUnauthorized},
		{"a token in the query", "?ticket=" + client.Tokens["ann"], "", "", http.StatusUnauthorized},
		{"another origin", "", "https://evil.example", client.Tokens["ann"], http.StatusForbidden},
		{"no real origin", "", "null", client.Tokens["ann"], http.StatusForbidden},
		{"a configured origin", "", "https://app.example", client.Tokens["ann"], http.StatusSwitchingProtocols},
		{"its own origin", "", client.URL, client.Tokens["ann"], http.StatusSwitchingProtocols},
	} {
		head := http.Header{}
		if tt.origin != "" {
			head.Set("Origin", tt.origin)
		}
		if tt.token != "" {
			head.Set("Authorization", "Bearer "+tt.token)
		}
		conn, answer, err := websocket.Dial(t.Context(), client.URL+"/api/ws"+tt.query, &websocket.DialOptions{HTTPHeader: head})
		if answer == nil || answer.StatusCode != tt.want {
			t.Errorf("%s: got %+v (%v), want %d", tt.name, answer, err, tt.want)
		}
		if conn != nil {
			_ = conn.CloseNow()
		}
	}
	if got := client.Ask("ann", "GET", "/api/ws", "", nil); got.Status != http.StatusBadRequest || !json.Valid([]byte(got.Body)) {
		t.Errorf("a GET without an upgrade: status %d, want 400 with JSON: %s", got.Status, got.Body)
	}
}
