package endtoend

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/demo"
	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/meters"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sample"
	"github.com/chattray/chattray/tools/builtin"
)

func TestDocumentsOverHTTP(t *testing.T) {
	client := apptest.Serve(t)
	client.Must("POST", "/api/documents", map[string]any{"id": "doc1", "title": "Gold"})
	if got := client.Ask("ann", "POST", "/api/documents", "", map[string]any{"id": "doc1", "title": "Gold"}); got.Status != http.StatusConflict {
		t.Errorf("creating a document with a used id: status %d, want 409: %s", got.Status, got.Body)
	}
	client.Must("POST", "/api/documents/doc1/blocks", map[string]any{"id": "b2", "type": "md", "content": "Second"})
	first := client.Must("POST", "/api/documents/doc1/blocks", map[string]any{"id": "b1", "type": "md", "content": "First", "after_block_id": ""})

	stale := first.Header.Get("ETag")
	client.Must("PATCH", "/api/blocks/b1", map[string]any{"content": "First, changed"})
	changes := []struct {
		method, path string
		body         any
	}{
		{"PATCH", "/api/blocks/b1", map[string]any{"content": "x"}},
		{"POST", "/api/blocks/b1/accept", nil},
		{"POST", "/api/blocks/b1/revert", nil},
		{"POST", "/api/blocks/b1/reject", nil},
		{"DELETE", "/api/blocks/b1", nil},
		{"POST", "/api/documents/doc1/blocks", map[string]any{"type": "md"}},
		{"PATCH", "/api/documents/doc1", map[string]any{"title": "x"}},
		{"POST", "/api/documents/doc1/accept", nil},
		{"POST", "/api/documents/doc1/revert", nil},
		{"POST", "/api/documents/doc1/reject", nil},
		{"DELETE", "/api/documents/doc1", nil},
	}
	before := client.Must("GET", "/api/documents/doc1", nil)
	for _, c := range changes {
		if got := client.Ask("ann", c.method, c.path, stale, c.body); got.Status != http.StatusPreconditionFailed {
			t.Errorf("%s %s at a stale revision: status %d, want 412: %s", c.method, c.path, got.Status, got.Body)
		}
		if got := client.Ask("bob", c.method, c.path, "", c.body); got.Status != http.StatusNotFound {
			t.Errorf("%s %s by another user: status %d, want 404: %s", c.method, c.path, got.Status, got.Body)
		}
	}
	for _, path := range []string{"/api/documents/doc1", "/api/documents/doc1/export"} {
		if got := client.Ask("bob", "GET", path, "", nil); got.Status != http.StatusNotFound {
			t.Errorf("GET %s by another user: status %d, want 404", path, got.Status)
		}
	}
	if after := client.Must("GET", "/api/documents/doc1", nil); after.Body != before.Body {
		t.Errorf("after refused changes the document is %s, want %s", after.Body, before.Body)
	}
	tag := before.Header.Get("ETag")
	if got := client.Ask("ann", "POST", "/api/documents/doc1/accept", tag, nil); got.Status != http.StatusOK || got.Header.Get("ETag") != tag {
		t.Errorf("accepting nothing: status %d, tag %s, want 200 and %s", got.Status, got.Header.Get("ETag"), tag)
	}
	if got := client.Must("GET", "/api/documents/doc1/export", nil); got.Body != "First, changed\n\nSecond\n" {
		t.Errorf("the export is %q, want %q", got.Body, "First, changed\n\nSecond\n")
	}
	client.Must("DELETE", "/api/blocks/b2", nil)
	if got := client.Ask("ann", "DELETE", "/api/blocks/b2", "", nil); got.Status != http.StatusNotFound {
		t.Errorf("deleting a block twice: status %d, want 404", got.Status)
	}
	if got := apptest.Decode[schemas.DocumentList](t, client.Must("GET", "/api/documents", nil)); len(got.Items) != 1 || got.Items[0].Title != "Gold" {
		t.Errorf("the list is %+v, want the document Gold", got)
	}
}

// TestApplyOverHTTP applies an answer of the demo model to a document, accepts
// it in two requests at the same time, and makes further changes.
func TestApplyOverHTTP(t *testing.T) {
	client := apptest.Serve(t)
	answer := apptest.Decode[schemas.ChatResponsePayload](t, client.Must("POST", "/api/chat", map[string]any{"message": "long 1"}))
	client.Must("POST", "/api/documents", map[string]any{"id": "doc1", "title": "Notes"})
	path := "/api/blocks/" + answer.MessageID + "/apply"
	var added schemas.Block
	for range 2 {
		added = apptest.Decode[schemas.Block](t, client.Must("POST", path, map[string]any{"document_id": "doc1"}))
	}
	if added.State != schemas.BlockPendingNew || added.New == nil || *added.New != answer.Message {
		t.Fatalf("the applied answer is the block %+v, want it new and pending with %q", added, answer.Message)
	}
	if got := apptest.Decode[schemas.Document](t, client.Must("GET", "/api/documents/doc1", nil)); len(got.Blocks) != 1 {
		t.Errorf("applied twice the document has %d blocks, want 1", len(got.Blocks))
	}
	if got := client.Ask("bob", "POST", path, "", map[string]any{"document_id": "doc1"}); got.Status != http.StatusNotFound {
		t.Errorf("applying the answer of another user: status %d, want 404", got.Status)
	}
	var wg sync.WaitGroup
	decide := func(decision string) apptest.Reply {
		return client.Ask("ann", "POST", "/api/blocks/"+added.ID+"/"+decision, fmt.Sprintf("%q", fmt.Sprint(added.Revision)), nil)
	}
	accepted := make([]apptest.Reply, 2)
	for i := range accepted {
		wg.Go(func() { accepted[i] = decide("accept") })
	}
	wg.Wait()
	for _, got := range accepted {
		if got.Status != http.StatusOK || got.Body != accepted[0].Body {
			t.Errorf("two accepts at once: status %d: %s, want 200 and the same block for both: one has sent the other again", got.Status, got.Body)
		}
	}
	if got := decide("revert"); got.Status != http.StatusPreconditionFailed {
		t.Errorf("a revert of what was accepted at that revision: status %d, want 412", got.Status)
	}
	client.Must("POST", "/api/documents/doc1/blocks", map[string]any{"id": "own", "type": "md", "content": "Mine"})
	target := apptest.Decode[schemas.Block](t, client.Must("POST", path, map[string]any{"document_id": "doc1", "target_block_id": "own"}))
	if target.State != schemas.BlockPendingEdit || *target.Current != "Mine" || *target.New != answer.Message {
		t.Errorf("applied to a block it is %+v, want a pending edit of Mine to %q", target, answer.Message)
	}
	reverted := apptest.Decode[schemas.Block](t, client.Must("POST", "/api/blocks/own/reject", nil))
	if reverted.State != schemas.BlockClean || reverted.New != nil {
		t.Errorf("rejected the block is %+v, want it clean", reverted)
	}
	if got := apptest.Decode[schemas.Block](t, client.Must("POST", "/api/blocks/"+answer.MessageID+"/accept", nil)); got.Role != "assistant" || got.ChatID == "" {
		t.Errorf("accepting a message with nothing pending gives %+v, want the answer in its chat", got)
	}
}

func TestLargeBlocksOverHTTP(t *testing.T) {
	client := apptest.Serve(t)
	client.Must("POST", "/api/documents", map[string]any{"id": "doc1", "title": "Large"})
	content := strings.Repeat("iVBORw0KGgo+/A0K", 5<<20/16)
	for _, kind := range []string{"image/png", "csv"} {
		client.Must("POST", "/api/documents/doc1/blocks", map[string]any{"type": kind, "content": content})
	}
	for _, b := range apptest.Decode[schemas.Document](t, client.Must("GET", "/api/documents/doc1", nil)).Blocks {
		if *b.Current != content {
			t.Errorf("a block of type %s has %d bytes, want the %d that were sent", b.Type, len(*b.Current), len(content))
		}
	}
	if got := client.Must("GET", "/api/documents/doc1/export", nil); len(got.Body) < 10<<20 {
		t.Errorf("the export has %d bytes, want at least %d", len(got.Body), 10<<20)
	}
	if got := client.Ask("ann", "POST", "/api/documents/doc1/blocks", "", map[string]any{"type": "csv", "content": strings.Repeat("a", 9<<20)}); got.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("a block of 9 MiB: status %d, want 413", got.Status)
	}
}

// author is the demo model with the tools of the document page, over a store.
type author struct {
	*testing.T
	documents *documents.Documents
	loop      *agents.Agent
	tools     []turn.Tool
	user      schemas.User
	runs      int
}

func newAuthor(t *testing.T) *author {
	t.Helper()
	data, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "c.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = data.Close() })
	if _, err := data.Import(t.Context(), sample.Open()); err != nil {
		t.Fatal(err)
	}
	a := &author{T: t, documents: documents.New(data, data, data, data, data), loop: agents.New(demo.New(0), agents.Options{}), user: schemas.User{ID: "ann"}}
	list, err := builtin.Tools(builtin.Config{Research: data, Documents: a.documents})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list {
		run := tool.Run
		tool.Run = func(ctx context.Context, call *turn.Call) (turn.Result, error) {
			call.User, call.RunID = a.user, fmt.Sprint("run", a.runs)
			call.Context = schemas.Object{"document_id": json.RawMessage(`"doc1"`)}
			return run(ctx, call)
		}
		a.tools = append(a.tools, tool)
	}
	return a
}

// says asks the model and returns the progress of its document tools.
func (a *author) says(message string) []turn.BlockProgress {
	a.Helper()
	a.runs++
	var seen []turn.BlockProgress
	request := turn.Request{Messages: []turn.Message{{Role: turn.User, Content: message}}, Tools: a.tools, MaxIterations: 8}
	for event, err := range a.loop.Run(a.Context(), request) {
		if err != nil {
			a.Fatal(err)
		}
		switch e := event.(type) {
		case turn.ToolProgress:
			var p turn.BlockProgress
			if json.Unmarshal(e.Data, &p) == nil && p.DocumentID != "" {
				seen = append(seen, p)
			}
		case turn.ToolComplete:
			if e.Result.IsError {
				a.Errorf("%s gave the error %q, want none", e.Name, e.Result.Text)
			}
		default:
		}
	}
	return seen
}

func (a *author) document() schemas.Document {
	a.Helper()
	d, err := a.documents.Get(a.Context(), a.user, "doc1")
	if err != nil {
		a.Fatal(err)
	}
	return d
}

func (a *author) settle(decision record.Settle) schemas.Document {
	a.Helper()
	d, err := a.documents.SettleAll(a.Context(), a.user, "doc1", decision, nil)
	if err != nil {
		a.Fatal(err)
	}
	return d
}

// TestTheDemoModelWritesADocument plans a document, fills, accepts and changes
// it, plans it again, and reverts the second plan.
func TestTheDemoModelWritesADocument(t *testing.T) {
	a := newAuthor(t)
	seen := a.says("Hi, I would like to create a research report about gold please")
	fresh := 0
	for _, p := range seen {
		if p.NewDoc {
			fresh++
		}
	}
	written := a.document()
	if fresh != 1 || !seen[0].NewDoc || len(seen) != 1+len(written.Blocks) {
		t.Errorf("the progress is %+v, want one new structure first and then one for each of %d blocks", seen, len(written.Blocks))
	}
	kinds := map[string]int{}
	for _, b := range written.Blocks {
		kinds[b.Type]++
		if b.State != schemas.BlockPendingNew || b.New == nil || *b.New == "" {
			t.Errorf("block %s of type %s is %s with the text %v, want pending_new with text", b.ID, b.Type, b.State, b.New)
		}
	}
	if kinds["md"] == 0 || kinds["csv"] != 1 || kinds["interactive_chart"] != 1 || !strings.Contains(written.Title, "gold") {
		t.Errorf("the document %q has the blocks %v, want md, one csv and one chart under a title with gold", written.Title, kinds)
	}
	accepted := a.settle(record.Accept)
	_, markdown, err := a.documents.Export(t.Context(), a.user, "doc1")
	if err != nil || !strings.Contains(markdown, "| year | ") || !strings.Contains(accepted.Title, "gold") {
		t.Errorf("the export of %q (%v) is, want a table with years under a title with gold:\n%.500s", accepted.Title, err, markdown)
	}

	for _, change := range []struct {
		message string
		state   schemas.BlockState
	}{
		{"Shorten the summary", schemas.BlockPendingEdit}, {"Move the chart to the top", schemas.BlockPendingMove}, {"Delete the last block", schemas.BlockPendingDelete},
	} {
		a.says(change.message)
		if !slices.ContainsFunc(a.document().Blocks, func(b schemas.Block) bool { return b.State == change.state }) {
			t.Errorf("after %q the blocks are %+v, want one that is %s", change.message, a.document().Blocks, change.state)
		}
	}
	same := func(what string, got schemas.Document) {
		t.Helper()
		if diff := cmp.Diff(accepted, got, cmpopts.IgnoreFields(schemas.Document{}, "Revision", "UpdatedAt"), cmpopts.IgnoreFields(schemas.Block{}, "Revision")); diff != "" {
			t.Errorf("%s (-before +after):\n%s", what, diff)
		}
	}
	same("the reverted changes", a.settle(record.Revert))

	a.says("Create a research report about CRISPR")
	if d := a.document(); !strings.Contains(d.NewTitle, "CRISPR") || d.Blocks[0].State != schemas.BlockPendingDelete {
		t.Errorf("after a second plan the title is %q and the first block %s, want CRISPR in the title and pending_delete", d.NewTitle, d.Blocks[0].State)
	}
	same("the reverted plan", a.settle(record.Revert))
	_, again, err := a.documents.Export(t.Context(), a.user, "doc1")
	if err != nil || again != markdown {
		t.Errorf("the export after the revert (-want +got): %v\n%s", err, cmp.Diff(markdown, again))
	}
}

// heldEnds are meters that keep runs from being over once their ends are shown.
type heldEnds struct {
	meters.Runs
	gate <-chan struct{}
}

func (h heldEnds) RunEnded(outcome string, took time.Duration) {
	<-h.gate
	h.Runs.RunEnded(outcome, took)
}

// Who has read the end of an answer may ask again at once, though the service still does
// work for the run: neither its block nor its place among the user's runs is taken.
func TestAskedAgainAtTheEnd(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			gate := make(chan struct{})
			up := upstream.NewMemory()
			up.On(upstream.Any, upstream.Text("x,y\n7,8"))
			c := apptest.ServeOn(t, d, app.Options{Models: up.Transport(), Runs: func(o *runs.Options) {
				o.Metrics = heldEnds{o.Metrics, gate}
			}}, apptest.Scripted("CHATTRAY_MAX_RUNS_PER_USER=1"))
			t.Cleanup(func() { close(gate) })
			c.Ask("ann", http.MethodPost, "/api/documents", "", map[string]any{"id": "d", "title": "T"})
			c.Ask("ann", http.MethodPost, "/api/documents/d/blocks", "", map[string]any{"id": "d-csv", "type": "csv", "content": "x,y\n1,2"})
			for i := range 3 {
				r := c.Ask("ann", http.MethodPost, "/api/chat", "", map[string]any{
					"message": "More rows", "context": map[string]any{"current_page": "document", "document_id": "d", "block_ids": "d-csv", "mode": "agent"},
				})
				if r.Status != http.StatusOK {
					t.Fatalf("question %d is %d: %s", i+1, r.Status, r.Body)
				}
			}
		})
	}
}

// In the mode agent a message about a block of a document is answered in the chat. The
// model reads the block and is told that it writes it with its tools, on any page.
func TestAgentTarget(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			up := upstream.NewMemory()
			up.On(upstream.Any, upstream.Text("x,y\n7,8"))
			c := apptest.ServeOn(t, d, app.Options{Models: up.Transport()}, apptest.Scripted())
			for _, id := range []string{"d", "e"} {
				c.Ask("ann", http.MethodPost, "/api/documents", "", map[string]any{"id": id, "title": "T"})
				c.Ask("ann", http.MethodPost, "/api/documents/"+id+"/blocks", "", map[string]any{"id": id + "-csv", "type": "csv", "content": "x,y\n1,2"})
			}
			for i, page := range []string{"document", "reports"} {
				r := c.Ask("ann", http.MethodPost, "/api/chat", "", map[string]any{
					"message": "More rows", "context": map[string]any{"current_page": page, "document_id": "d", "block_ids": "d-csv", "mode": "agent"},
				})
				if r.Status != http.StatusOK {
					t.Fatalf("the message on the page %s is %d: %s", page, r.Status, r.Body)
				}
				prompt := up.Requests()[i].Messages[0].Text()
				for _, want := range []string{"about these blocks of the document: d-csv (csv). Your answer's text does not go there", `name="block d-csv, which the user's message is about"`} {
					if !strings.Contains(prompt, want) {
						t.Errorf("the prompt on the page %s lacks %q:\n%s", page, want, prompt)
					}
				}
			}
			b := apptest.Decode[schemas.Block](t, c.Ask("ann", http.MethodGet, "/api/blocks/d-csv", "", nil))
			if b.New != nil || b.Current == nil || *b.Current != "x,y\n1,2" {
				t.Errorf("the block is %+v, want it as it was", b)
			}
			r := c.Ask("ann", http.MethodPost, "/api/chat", "", map[string]any{
				"message": "More rows", "context": map[string]any{"document_id": "d", "block_ids": "e-csv", "mode": "agent"},
			})
			if r.Status != http.StatusUnprocessableEntity || !strings.Contains(string(r.Body), "the block e-csv is in another document") {
				t.Errorf("a block of another document: %d %s, want 422", r.Status, r.Body)
			}
		})
	}
}
