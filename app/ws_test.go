package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents/modeltest/upstream"
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

func say(texts ...string) upstream.Reply {
	return upstream.Stream(upstream.Say(texts...), upstream.Finish("stop"), upstream.Usage(10, 2), upstream.Done())
}

func TestSocketSpecSample(t *testing.T) {
	d, up := newSocketDesk(t)
	up.Push(say("# Gold", "\n\nIt is", " good."))
	me := read[schemas.User](t, d.must("GET", "/api/me", nil))
	c := d.dial("ann")
	c.send(fmt.Sprintf(specEvent, me.ID))
	list := c.until(runEnd)
	if got := content(list, "234234234AWEFAWEF"); got != "# Gold\n\nIt is good." {
		t.Errorf("the block gets %q of\n%s", got, shown(list))
	}
	first, last, end := list[0], list[len(list)-1], list[len(list)-2]
	if first.RunID == "" || first.ChatID != "34234DFAWFA" || first.ConversationID == 0 || first.Seq == 0 {
		t.Errorf("the first chunk is %s", shown(list[:1]))
	}
	if last.Status != schemas.RunCompleted || last.RunID != first.RunID || !end.End || end.Content == nil || *end.Content != "" || end.DocumentID != "AWEFAWE3453453453" {
		t.Errorf("it ends with %s", shown(list[len(list)-2:]))
	}
	doc := read[schemas.Document](t, d.must("GET", "/api/documents/AWEFAWE3453453453", nil))
	if len(doc.Blocks) != 1 || doc.Blocks[0].State != schemas.BlockPendingNew || *doc.Blocks[0].New != "# Gold\n\nIt is good." {
		t.Errorf("the document is %+v", doc)
	}
	accepted := read[schemas.Block](t, d.must("POST", "/api/blocks/234234234AWEFAWEF/accept", nil))
	if accepted.State != schemas.BlockClean {
		t.Errorf("accepted it is %+v", accepted)
	}
}

func TestSocketTargets(t *testing.T) {
	d, up := newSocketDesk(t)
	up.On(upstream.Any, say("The ", "answer"))
	d.must("POST", "/api/documents", map[string]any{"id": "doc1", "title": "Gold"})
	d.must("POST", "/api/documents/doc1/blocks", map[string]any{"id": "b1", "type": "md", "content": "Old"})
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
			c := d.dial("ann")
			c.send(`{"name":"message","message":{"content":"Write"},` + tt.fields + `}`)
			list := c.until(runEnd)
			var reset bool
			for _, chunk := range list {
				reset = reset || chunk.Type == schemas.ChunkReset
				if isContent(chunk) && (tt.blocks != "" && chunk.BlockIDs != tt.blocks || chunk.BlockIDs == "" || chunk.DocumentID != tt.document) {
					t.Errorf("content goes to %s", shown([]schemas.Chunk{chunk}))
				}
			}
			if got := content(list, ""); got != "The answer" || reset != tt.reset {
				t.Errorf("the content is %q (reset: %v) of\n%s", got, reset, shown(list))
			}
			if tt.document == "" {
				return
			}
			doc := read[schemas.Document](t, d.must("GET", "/api/documents/"+tt.document, nil))
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

// TestSocketShowsArgumentsAsTheyCome has a model that goes on only when its first
// words have been seen.
func TestSocketShowsArgumentsAsTheyCome(t *testing.T) {
	d, up := newSocketDesk(t)
	seen := make(chan struct{})
	up.Push(
		upstream.Stream(upstream.Call(0, "call_1", "plan_document", `{"title":"Gold","blocks":[{"type":"csv","heading":"Prices"}]}`), upstream.Finish("tool_calls"), upstream.Usage(1, 1), upstream.Done()),
		upstream.Stream(
			upstream.Call(0, "call_2", "write_block", `{"block_id":"`, `mine","type":"interac`, `tive_chart","meta":{"mark":"bar"},"content":"year,pri`),
			upstream.Wait(seen),
			upstream.Data(upstream.Chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"ce\\n2026,\\u0034\\u00e4\"}"}}]}`, "null")),
			upstream.Finish("tool_calls"), upstream.Usage(1, 1), upstream.Done()),
		say("Done."),
	)
	d.must("POST", "/api/documents", map[string]any{"id": "doc1", "title": "Gold"})
	d.must("POST", "/api/documents/doc1/blocks", map[string]any{"id": "mine", "type": "interactive_chart", "content": "year,price\n"})
	c := d.dial("ann")
	c.send(`{"name":"message","message":{"content":"Write"},"mode":"agent","document_id":"doc1","chat_id":"c1"}`)
	list := c.until(func(c schemas.Chunk) bool { return isContent(c) && strings.HasPrefix(*c.Content, "year") })
	close(seen)
	var plans []schemas.Chunk
	for _, chunk := range list {
		if chunk.NewDoc {
			plans = append(plans, chunk)
		}
	}
	if len(plans) != 1 || plans[0].DocumentID != "doc1" || plans[0].BlockIDs == "" || plans[0].Content == nil || *plans[0].Content != "" {
		t.Errorf("the plan is shown as %s", shown(plans))
	}
	list = append(list, c.until(runEnd)...)
	if got, want := content(list, "mine"), `{"mark":"bar"}`+"year,price\n2026,4ä"; got != want {
		t.Errorf("the chart gets %q, want %q", got, want)
	}
	var end int
	for _, chunk := range list {
		if chunk.BlockIDs == "mine" && chunk.End {
			end++
		}
	}
	doc := read[schemas.Document](t, d.must("GET", "/api/documents/doc1", nil))
	for _, b := range doc.Blocks {
		if b.ID == "mine" && (b.New == nil || *b.New != "year,price\n2026,4ä" || string(b.NewMeta) != `{"mark":"bar"}`) {
			t.Errorf("the block is %+v", b)
		}
	}
	if end != 1 {
		t.Errorf("the block ends %d times in\n%s", end, shown(list))
	}
}

func TestSocketStopAndPause(t *testing.T) {
	for _, name := range []string{"stop", "pause"} {
		t.Run(name, func(t *testing.T) {
			d, up := newSocketDesk(t)
			up.Push(upstream.Open(upstream.Say("Half an "), upstream.Hang()))
			c := d.dial("ann")
			c.send(`{"name":"message","message":{"content":"First"},"chat_id":"c1","document_id":"doc1","block_id":"b1"}`)
			c.until(isContent)
			if name == "pause" {
				c.send(`{"name":"message","message":{"content":"Second"},"chat_id":"c1"}`)
				up.Push(say("Whole."))
			}
			began := time.Now()
			c.send(`{"name":"` + name + `","chat_id":"c1"}`)
			list := c.until(runEnd)
			if took := time.Since(began); took > time.Second {
				t.Errorf("it took %v", took)
			}
			<-up.Gone()
			n := len(list)
			if list[n-1].Status != schemas.RunCancelled || !list[n-2].End || list[n-2].BlockIDs != "b1" {
				t.Errorf("it ends with %s", shown(list))
			}
			doc := read[schemas.Document](t, d.must("GET", "/api/documents/doc1", nil))
			if len(doc.Blocks) != 1 || *doc.Blocks[0].New != "Half an " {
				t.Errorf("the document keeps %+v", doc.Blocks)
			}
			if name == "stop" {
				up.Push(say("Again."))
				c.send(`{"name":"message","message":{"content":"Second"},"chat_id":"c1"}`)
				if got := content(c.until(runEnd), ""); got != "Again." {
					t.Errorf("after a stop the chat goes on with %q", got)
				}
				return
			}
			if got := content(c.until(runEnd), ""); got != "Whole." {
				t.Errorf("the message that waited is answered %q", got)
			}
			if requests := up.Requests(); !strings.Contains(string(requests[len(requests)-1].Body), "Half an") {
				t.Errorf("the partial answer is not in the history: %s", requests[len(requests)-1].Body)
			}
		})
	}
}

// TestSocketsSeeTheSame has two sockets on a chat, one that comes back, and a run
// that was started over HTTP.
func TestSocketsSeeTheSame(t *testing.T) {
	d, up := newSocketDesk(t)
	more := make(chan struct{})
	up.Push(upstream.Open(upstream.Say("One ", "two "), upstream.Wait(more), upstream.Say("three ", "four"), upstream.Finish("stop"), upstream.Usage(1, 1), upstream.Done()))
	a, b := d.dial("ann"), d.dial("ann")
	a.send(`{"name":"message","message":{"content":"Count"},"chat_id":"c1"}`)
	before := a.until(func(c schemas.Chunk) bool { return isContent(c) && *c.Content == "two " })
	b.send(`{"name":"resume","chat_id":"c1"}`)
	b.until(isContent)
	_ = a.conn.CloseNow()
	close(more)
	b.until(runEnd)
	back := d.dial("ann")
	back.send(fmt.Sprintf(`{"name":"resume","chat_id":"c1","run_id":%q,"after":%d}`, before[0].RunID, before[len(before)-1].Seq))
	after := back.until(runEnd)
	after[0].RunID, after[0].ChatID, after[0].ConversationID, after[0].MessageID = "", "", 0, ""
	if diff := cmp.Diff(shown(b.seen), shown(append(before, after...))); diff != "" {
		t.Errorf("the second socket (-) and the one that came back (+) differ:\n%s", diff)
	}
	back.send(fmt.Sprintf(`{"name":"resume","run_id":%q,"after":%d}`, before[0].RunID, after[len(after)-1].Seq))
	if again := back.until(runEnd); len(again) != 2 || !again[0].End || *again[0].Content != "" || again[1].Status != schemas.RunCompleted {
		t.Errorf("past its end the run is %s", shown(again))
	}
	up.Push(say("Over HTTP."))
	d.must("POST", "/api/chat", map[string]any{"message": "Go on", "chat_id": "c1"})
	if got := content(b.until(runEnd), ""); got != "Over HTTP." {
		t.Errorf("of a run over HTTP the socket shows %q", got)
	}
}

func TestSocketHostileFrames(t *testing.T) {
	d, up := newSocketDesk(t)
	other := d.dial("bob")
	c := d.dial("ann")
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
		c.send(tt.frame)
		if got := c.next(); got.Type != schemas.ChunkError || got.Code != tt.code || !got.End || got.Content == nil || *got.Content == "" {
			t.Errorf("%s: got %s, want %s", name, shown([]schemas.Chunk{got}), tt.code)
		}
	}
	if err := c.conn.Write(t.Context(), websocket.MessageBinary, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got := c.next(); !isError(got) {
		t.Errorf("a binary frame: %s", shown([]schemas.Chunk{got}))
	}
	up.Push(say("Still here."))
	c.send(`{"name":"message","message":{"content":"Are you?"},"chat_id":"c1"}`)
	list := c.until(runEnd)
	if got := content(list, ""); got != "Still here." {
		t.Errorf("then it says %q", got)
	}
	other.send(fmt.Sprintf(`{"name":"resume","run_id":%q}`, list[0].RunID))
	if got := other.next(); got.Code != schemas.CodeNotFound {
		t.Errorf("the run of another user: %s", shown([]schemas.Chunk{got}))
	}
}

func TestSocketClosesOn(t *testing.T) {
	d, _ := newSocketDesk(t)
	quiet := d.dial("bob")
	large := d.dial("ann")
	_ = large.conn.Write(t.Context(), websocket.MessageText, []byte(`{"name":"`+strings.Repeat("x", 10<<20)+`"}`))
	if code := ends(large); code != websocket.StatusMessageTooBig {
		t.Errorf("10 MiB close with %d", code)
	}
	flood := d.dial("ann")
	go func() {
		for range 1000 {
			if flood.conn.Write(t.Context(), websocket.MessageText, []byte(`{"name":"stop","chat_id":"c"}`)) != nil {
				return
			}
		}
	}()
	if code := ends(flood); code != websocket.StatusPolicyViolation {
		t.Errorf("1,000 frames at once close with %d", code)
	}
	quiet.send(`{"name":"stop","chat_id":"c"}`)
	if got := quiet.next(); got.Type != schemas.ChunkStatus {
		t.Errorf("the other one gets %s", shown([]schemas.Chunk{got}))
	}
}

// ends reads until the socket is closed, and says how.
func ends(c *client) websocket.StatusCode {
	for {
		if _, _, err := c.conn.Read(c.Context()); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func TestSocketTicketsAndOrigins(t *testing.T) {
	d, _ := newSocketDesk(t)
	ticket := read[schemas.Ticket](t, d.must("POST", "/api/ws/ticket", nil))
	for _, tt := range []struct {
		name, query, origin, token string
		want                       int
	}{
		{"nothing", "", "", "", http.StatusUnauthorized},
		{"a ticket", "?ticket=" + ticket.Ticket, "", "", http.StatusSwitchingProtocols},
		{"the ticket again", "?ticket=" + ticket.Ticket, "", "", http.StatusUnauthorized},
		{"a made up ticket", "?ticket=x", "", "", http.StatusUnauthorized},
		{"a token in the query", "?ticket=" + d.tokens["ann"], "", "", http.StatusUnauthorized},
		{"another origin", "", "https://evil.example", d.tokens["ann"], http.StatusForbidden},
		{"no real origin", "", "null", d.tokens["ann"], http.StatusForbidden},
		{"a configured origin", "", "https://app.example", d.tokens["ann"], http.StatusSwitchingProtocols},
		{"its own origin", "", d.base, d.tokens["ann"], http.StatusSwitchingProtocols},
	} {
		head := http.Header{}
		if tt.origin != "" {
			head.Set("Origin", tt.origin)
		}
		if tt.token != "" {
			head.Set("Authorization", "Bearer "+tt.token)
		}
		conn, answer, err := websocket.Dial(t.Context(), d.base+"/api/ws"+tt.query, &websocket.DialOptions{HTTPHeader: head})
		if answer == nil || answer.StatusCode != tt.want {
			t.Errorf("%s: got %+v (%v), want %d", tt.name, answer, err, tt.want)
		}
		if conn != nil {
			_ = conn.CloseNow()
		}
	}
	if got := d.ask("ann", "GET", "/api/ws", "", nil); got.status != http.StatusBadRequest || !json.Valid(got.body) {
		t.Errorf("without an upgrade: %d %s", got.status, got.body)
	}
}
