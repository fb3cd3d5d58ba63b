package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/builtin"
)

// desk stands in for the documents and records its calls.
type desk struct {
	document schemas.Document
	fails    error
	away     int // how many calls the database is away
	asked    []any
	id       string
	removed  string // a planned block that the user has removed
}

func (d *desk) failure() error {
	if d.away > 0 {
		d.away--
		return record.ErrUnavailable
	}
	return d.fails
}

func (d *desk) Get(_ context.Context, _ schemas.User, id string) (schemas.Document, error) {
	d.id = id
	return d.document, d.failure()
}

func (d *desk) Plan(_ context.Context, _ schemas.User, id, title string, blocks []record.NewBlock) (schemas.Document, error) {
	d.id, d.asked = id, append(d.asked, title, blocks)
	doc := d.document
	for _, b := range blocks {
		if b.ID != d.removed {
			doc.Blocks = append(doc.Blocks, schemas.Block{ID: b.ID, Type: b.Type, State: schemas.BlockPendingNew})
		}
	}
	return doc, d.failure()
}

func (d *desk) Write(_ context.Context, _ schemas.User, document string, w record.BlockWrite) (schemas.Block, error) {
	d.id, d.asked = document, append(d.asked, w)
	return schemas.Block{ID: w.ID, Type: "md", New: &w.Content, State: schemas.BlockPendingNew, Revision: 4}, d.failure()
}

func (d *desk) Move(_ context.Context, _ schemas.User, document, id string, after *string) (schemas.Block, error) {
	d.id, d.asked = document, append(d.asked, id, *after)
	return schemas.Block{ID: id, Type: "md", Current: &id, State: schemas.BlockPendingMove}, d.failure()
}

func (d *desk) Remove(_ context.Context, _ schemas.User, document, id string) (record.Settled, error) {
	d.id, d.asked = document, append(d.asked, id)
	return record.Settled{Block: schemas.Block{ID: id, Type: "md", Current: &id, State: schemas.BlockPendingDelete}, Gone: id == "new"}, d.failure()
}

func (d *desk) Removed(_ context.Context, _ schemas.User, ids []string) (map[string]int64, error) {
	if err := d.failure(); err != nil {
		return nil, err
	}
	return map[string]int64{d.removed: 3}, nil
}

// use calls a document tool as the loop does, and returns its progress too.
func (d *desk) use(t *testing.T, name, input string, change func(*turn.Call)) (turn.Result, []turn.BlockProgress, error) {
	t.Helper()
	return d.useOf(t, builtin.Documents(d), name, input, change)
}

func (d *desk) useOf(t *testing.T, all []turn.Tool, name, input string, change func(*turn.Call)) (turn.Result, []turn.BlockProgress, error) {
	t.Helper()
	tool := all[slices.IndexFunc(all, func(t turn.Tool) bool { return t.Name == name })]
	if err := tool.Check(json.RawMessage(input)); err != nil {
		t.Fatalf("%s %s: %v", name, input, err)
	}
	var progress []turn.BlockProgress
	call := &turn.Call{
		Index: 3, Name: name, Input: json.RawMessage(input), RunID: "run1", ConversationID: 7, User: schemas.User{ID: "ann"},
		Context: schemas.Object{"document_id": json.RawMessage(`"doc1"`)},
		Report: func(p turn.Progress) {
			var b turn.BlockProgress
			if err := json.Unmarshal(p.Data, &b); err != nil {
				t.Error(err)
			}
			progress = append(progress, b)
		},
	}
	if change != nil {
		change(call)
	}
	result, err := tool.Run(t.Context(), call)
	return result, progress, err
}

func TestDocumentToolsMayBeRepeated(t *testing.T) {
	all := builtin.Documents(new(desk))
	if len(all) != 6 || builtin.Documents(nil) != nil {
		t.Fatalf("there are %d tools", len(all))
	}
	if _, err := tools.NewRegistry(all...); err != nil {
		t.Fatal(err)
	}
	for _, tool := range all {
		if !tool.Idempotent || tool.Serial != (tool.Name != "read_document") || tool.Global || tool.Confirm {
			t.Errorf("%s: idempotent %v, serial %v", tool.Name, tool.Idempotent, tool.Serial)
		}
	}
	d := new(desk)
	for range 2 {
		for name, input := range map[string]string{
			"plan_document": `{"title":"T","blocks":[{"type":"md","heading":"A"},{"type":"csv","heading":"B"}]}`, "write_block": `{"content":"x"}`,
		} {
			if _, _, err := d.use(t, name, input, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	written := map[string]int{}
	for _, a := range d.asked {
		switch a := a.(type) {
		case record.BlockWrite:
			written[a.ID]++
		case []record.NewBlock:
			for _, b := range a {
				written[b.ID]++
			}
		}
	}
	for id, n := range written {
		if n != 2 || !text.IsID(id) {
			t.Errorf("the id %s was made %d times", id, n)
		}
	}
	if len(written) != 3 {
		t.Errorf("ids made: %v", written)
	}
	_, other, err := d.use(t, "write_block", `{"content":"x"}`, func(c *turn.Call) { c.Index = 4 })
	if err != nil || written[other[0].BlockID] != 0 {
		t.Errorf("another call makes %v (%v), which is there already", other, err)
	}
}

// TestContentComesLast looks at the order in which a model is told to write.
func TestContentComesLast(t *testing.T) {
	writing := 0
	for _, tool := range builtin.Documents(new(desk)) {
		if tool.Name != "write_block" && tool.Name != "edit_block" {
			continue
		}
		writing++
		order := regexp.MustCompile(`"(block_id|type|meta|after_block_id|content)":\{`).FindAllStringSubmatch(string(tool.InputSchema), -1)
		if len(order) == 0 || order[0][1] != "block_id" || order[len(order)-1][1] != "content" {
			t.Errorf("%s has its properties in the order %v:\n%s", tool.Name, order, tool.InputSchema)
		}
	}
	if writing != 2 {
		t.Errorf("%d tools write content, want 2", writing)
	}
}

func TestDocumentOfACall(t *testing.T) {
	for page, want := range map[string]string{
		`{"document_id":"doc1"}`: "doc1", `{}`: "chat-7", `{"document_id":"a b"}`: "", `{"document_id":7}`: "", `{"document_id":""}`: "chat-7", `{"document_id":null}`: "chat-7",
		`{"document_id":"` + strings.Repeat("a", 65) + `"}`: "",
	} {
		for name, input := range map[string]string{
			"read_document": `{}`, "plan_document": `{"title":"T","blocks":[{"type":"md","heading":"A"}]}`, "write_block": `{"content":"x"}`,
			"edit_block": `{"block_id":"b","content":"x"}`, "delete_block": `{"block_id":"b"}`, "move_block": `{"block_id":"b","after_block_id":""}`,
		} {
			d := new(desk)
			_, _, err := d.use(t, name, input, func(c *turn.Call) {
				if err := json.Unmarshal([]byte(page), &c.Context); err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(page, "document_id") {
					delete(c.Context, "document_id")
				}
			})
			if d.id != want || (err != nil) != (want == "") {
				t.Errorf("%s on %s is about %q, want %q (%v)", name, page, d.id, want, err)
			}
		}
	}
}

// TestAPlanThatIsRepeated repeats a plan, as after a crash, of which the user has removed a
// block in between: neither the model nor the page is told of that block.
func TestAPlanThatIsRepeated(t *testing.T) {
	d := new(desk)
	const plan = `{"title":"T","blocks":[{"type":"md","heading":"First"},{"type":"csv","heading":"Second"}]}`
	_, progress, err := d.use(t, "plan_document", plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second, _ := strings.Cut(progress[0].BlockIDs, ",")
	d.removed = first
	again, progress, err := d.use(t, "plan_document", plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]turn.BlockProgress{{BlockIDs: second, BlockTypes: "csv", DocumentID: "doc1", Type: "md", NewDoc: true}}, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if said := again.Text + string(again.Data); strings.Contains(said, first) || !strings.Contains(said, second) || !strings.Contains(said, "removed 1 of the planned blocks") {
		t.Errorf("the result is %s, want it without the block %s", said, first)
	}
}

func TestDocumentToolsSayWhatChanged(t *testing.T) {
	d := new(desk)
	planned, progress, err := d.use(t, "plan_document", `{"title":" A  title ","blocks":[{"type":"md","heading":"First","brief":"All of it"},{"type":"csv","heading":"Second"}]}`, nil)
	if _, id, _ := strings.Cut(progress[0].BlockIDs, ","); !strings.HasSuffix(string(planned.Data), `{"block_id":"`+id+`","type":"csv"}]}`) {
		t.Errorf("the data are %s, want them to end with the block %s", planned.Data, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	blocks := d.asked[1].([]record.NewBlock) //nolint:forcetypeassert // a test
	ids := blocks[0].ID + "," + blocks[1].ID
	if diff := cmp.Diff([]turn.BlockProgress{{BlockIDs: ids, BlockTypes: "md,csv", DocumentID: "doc1", Type: "md", NewDoc: true}}, progress); diff != "" {
		t.Errorf("progress of a plan (-want +got):\n%s", diff)
	}
	for _, want := range []string{"block_id: " + blocks[0].ID + " (md, planned)\nFirst (All of it)", "block_id: " + blocks[1].ID + " (csv, planned)\nSecond (no brief)"} {
		if !strings.Contains(planned.Text, want) {
			t.Errorf("the plan lacks %q:\n%s", want, planned.Text)
		}
	}
	if string(blocks[0].Meta) != `{"plan":{"brief":"All of it","heading":"First"}}` {
		t.Errorf("meta %s", blocks[0].Meta)
	}
	for _, tt := range []struct {
		name, input string
		want        turn.BlockProgress
		text        string
	}{
		{"write_block", `{"block_id":"b1","content":"# Gold"}`, turn.BlockProgress{BlockID: "b1", DocumentID: "doc1", Type: "md", State: "pending_new", Revision: 4}, "block_id: b1 (md, pending new)\n6 characters, beginning with: # Gold"},
		{"edit_block", `{"block_id":"b1","content":""}`, turn.BlockProgress{BlockID: "b1", DocumentID: "doc1", Type: "md", State: "pending_new", Revision: 4}, "0 characters, beginning with: nothing"},
		{"delete_block", `{"block_id":"b1"}`, turn.BlockProgress{BlockID: "b1", DocumentID: "doc1", Type: "md", State: "pending_delete"}, "marked as deleted"},
		{"delete_block", `{"block_id":"new"}`, turn.BlockProgress{BlockID: "new", DocumentID: "doc1", Type: "md", Gone: true}, "is gone"},
		{"move_block", `{"block_id":"b1","after_block_id":""}`, turn.BlockProgress{BlockID: "b1", DocumentID: "doc1", Type: "md", State: "pending_move"}, "to the front"},
	} {
		result, progress, err := d.use(t, tt.name, tt.input, nil)
		if err != nil || !strings.Contains(result.Text, tt.text) {
			t.Errorf("%s: %v, %q lacks %q", tt.name, err, result.Text, tt.text)
		}
		if diff := cmp.Diff([]turn.BlockProgress{tt.want}, progress); diff != "" {
			t.Errorf("progress of %s (-want +got):\n%s", tt.name, diff)
		}
	}
	d.fails = schemas.ErrNotFound
	for name, input := range map[string]string{"write_block": `{"block_id":"b","content":"x"}`, "edit_block": `{"block_id":"b","content":"x"}`, "delete_block": `{"block_id":"b"}`} {
		if _, _, err := d.use(t, name, input, nil); err == nil || !strings.Contains(schemas.Visible(err).Message, "read_document") {
			t.Errorf("%s of an unknown block: %v", name, err)
		}
	}
}

func TestWriteBlockArguments(t *testing.T) {
	front := ""
	for input, want := range map[string]record.BlockWrite{
		`{"content":"x","type":"csv","after_block_id":""}`: {NewBlock: record.NewBlock{Type: "csv", Content: "x", After: &front}},
		`{"block_id":"b","meta":{"mark":"bar"},"content":"x"}`: {
			Only: true, NewBlock: record.NewBlock{ID: "b", Content: "x", Meta: json.RawMessage(`{"mark":"bar"}`)},
		},
	} {
		d := new(desk)
		if _, _, err := d.use(t, "write_block", input, nil); err != nil {
			t.Fatal(err)
		}
		got := d.asked[0].(record.BlockWrite) //nolint:forcetypeassert // a test
		if want.ID == "" {
			want.ID = turn.BlockID("run1", 3, "write_block", 0)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", input, diff)
		}
	}
}

func TestReadDocument(t *testing.T) {
	some := func(s string) *string { return &s }
	d := &desk{document: schemas.Document{ID: "doc1", Title: "Gold", NewTitle: "Silver", Blocks: []schemas.Block{
		{ID: "b1", Type: "md", State: schemas.BlockPendingDelete, Current: some("going"), Position: "a"},
		{ID: "b2", Type: "md", State: schemas.BlockPendingEdit, Current: some("old"), New: some("# New"), Position: "b"},
		{ID: "b3", Type: "image/png", State: schemas.BlockClean, Current: some("iVBORw0K"), Position: "c"},
		{ID: "b4", Type: "interactive_chart", State: schemas.BlockPendingMove, Current: some("x,y"), Meta: json.RawMessage(`{"mark":"bar"}`), Position: "d", NewPosition: "aa"},
		{ID: "b5", Type: "md", State: schemas.BlockPendingNew, New: some(""), Meta: json.RawMessage(`{"plan":{"heading":"H","brief":"B"}}`), Position: "e"},
		{ID: "b6", Type: "md", State: schemas.BlockClean, Current: some(strings.Repeat("é", 10_000)), Position: "f"},
	}}}
	whole, progress, err := d.use(t, "read_document", `{}`, nil)
	if !strings.HasPrefix(string(whole.Data), `{"blocks":[{"block_id":"`) {
		t.Errorf("the data are %s", whole.Data)
	}
	if err != nil || len(progress) > 0 {
		t.Fatal(err, progress)
	}
	const want = `Title: Silver
Blocks: 5
Blocks marked as deleted, not shown: 1

block_id: b4 (interactive_chart, pending move)
meta: {"mark":"bar"}
x,y
(end of the block)

block_id: b2 (md, pending edit)
# New
(end of the block)

block_id: b3 (image/png, clean)
(an image of 8 bytes in base64, not shown)
(end of the block)

block_id: b5 (md, pending new)
(not written yet; planned: H; B)
(end of the block)

block_id: b6 (md, clean)
`
	head, tail, _ := strings.Cut(whole.Text, "éé")
	if diff := cmp.Diff(want, head); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	if !strings.HasSuffix(tail, "é…\n(the first 6,000 of 10,000 characters; read_document with this block_id shows them all)\n(end of the block)\n") {
		t.Errorf("the long block ends with %q", tail[max(0, len(tail)-200):])
	}
	one, _, err := d.use(t, "read_document", `{"block_id":"b6"}`, nil)
	if err != nil || strings.Count(one.Text, "é") != 10_000 {
		t.Errorf("one block has %d characters, %v", strings.Count(one.Text, "é"), err)
	}
	long := strings.Repeat("a", 11_999) + "\n" + strings.Repeat("é", 5_000)
	d.document.Blocks[5].Current = &long
	for arguments, want := range map[string]string{
		`{"block_id":"b6"}`:                long[:12_000] + "\n(Characters 0 to 12000 of 17000. To read on, call again with start 12000.)",
		`{"block_id":"b6","start":12000}`:  long[12_000:] + "\n(end of the block)",
		`{"block_id":"b6","start":170000}`: "\n(end of the block)",
	} {
		part, _, err := d.use(t, "read_document", arguments, nil)
		if want = "block_id: b6 (md, clean)\n" + want + "\n"; err != nil || part.Text != want {
			t.Errorf("%s: %d bytes, %v, want %d that end with %q", arguments, len(part.Text), err, len(want), want[max(0, len(want)-80):])
		}
	}
	if _, _, err := d.use(t, "read_document", `{"block_id":"b1"}`, nil); err == nil {
		t.Error("a block that is marked as deleted is shown, want it left out")
	}
	d.fails = schemas.ErrNotFound
	d.document = schemas.Document{}
	none, _, err := d.use(t, "read_document", `{}`, nil)
	if err != nil || !strings.Contains(none.Text, "no blocks yet") {
		t.Errorf("no document: %q, %v", none.Text, err)
	}
	d.fails = nil
	for range 2000 {
		d.document.Blocks = append(d.document.Blocks, schemas.Block{ID: "x", Type: "md", Current: some(strings.Repeat("long ", 1000))})
	}
	large, _, err := d.use(t, "read_document", `{}`, nil)
	if err != nil || len(large.Text) > 300_000 || !strings.Contains(large.Text, "more blocks, not shown)") {
		t.Errorf("a large document is %d bytes, %v", len(large.Text), err)
	}
}

// A call waits while the database is away, for a while: its text is not lost in a failover.
func TestDocumentToolsOutliveAnOutage(t *testing.T) {
	for name, input := range map[string]string{
		"read_document": `{}`,
		"plan_document": `{"title":"T","blocks":[{"type":"md","heading":"H"}]}`,
		"write_block":   `{"content":"text"}`,
		"edit_block":    `{"block_id":"b","content":"text"}`,
		"delete_block":  `{"block_id":"b"}`,
		"move_block":    `{"block_id":"b","after_block_id":""}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{away: 3}
				if _, _, err := d.use(t, name, input, nil); err != nil || d.away > 0 {
					t.Errorf("got %v, and the database would be away %d more times, want no error once it is back", err, d.away)
				}
				d.away = 1 << 20
				if _, _, err := d.use(t, name, input, nil); !errors.Is(err, record.ErrUnavailable) {
					t.Errorf("got %v, want an error while the database stays away", err)
				}
			})
		})
	}
}

// unsureDesk removes a block, and the answer to that is lost.
type unsureDesk struct {
	*desk

	tries int
}

func (d *unsureDesk) Remove(context.Context, schemas.User, string, string) (record.Settled, error) {
	if d.tries++; d.tries == 1 {
		d.removed, d.away = "b", 1
		return record.Settled{}, record.ErrUnavailable
	}
	return record.Settled{}, schemas.ErrNotFound
}

// A block whose removal had no answer is gone for the model, and for the page.
func TestRemovalWithALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(desk)
		result, progress, err := d.useOf(t, builtin.Documents(&unsureDesk{desk: d}), "delete_block", `{"block_id":"b"}`, nil)
		if want := []turn.BlockProgress{{BlockID: "b", DocumentID: "doc1", Gone: true}}; err != nil || !strings.Contains(result.Text, "The block b is gone") || !cmp.Equal(progress, want) {
			t.Errorf("got %q, %+v, %v, want that the block is gone", result.Text, progress, err)
		}
		if _, _, err := d.useOf(t, builtin.Documents(&unsureDesk{desk: d, tries: 1}), "delete_block", `{"block_id":"other"}`, nil); err == nil || !strings.Contains(err.Error(), "no such block") {
			t.Errorf("a block that never existed gets %v, want an error", err)
		}
	})
}
