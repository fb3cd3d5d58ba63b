package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
)

func testDocumentPages(f *fixture) {
	var want []string
	for range 5 {
		want = append(want, f.doc())
	}
	slices.Reverse(want)
	f.write(want[0], newID(), "text")
	f.somebody().doc()
	for _, limit := range []int{1, 2, 5, 0} {
		var got []string
		q := record.DocumentQuery{Limit: limit}
		for range 6 {
			list, err := f.store.Documents(f.ctx, f.owner, q)
			must(f, err)
			for _, d := range list.Items {
				got = append(got, d.ID)
				equal(f, "revision", d.Revision, f.document(d.ID).Revision)
			}
			if q.Cursor = list.NextCursor; q.Cursor == "" {
				break
			}
		}
		equal(f, fmt.Sprint("documents at limit ", limit), got, want)
	}
	_, err := f.store.Documents(f.ctx, f.owner, record.DocumentQuery{Cursor: "x"})
	failsWith(f, "bad cursor", err, schemas.CodeBadRequest)
}

func testDocumentIDs(f *fixture) {
	id, block := newID(), newID()
	d, err := f.store.CreateDocument(f.ctx, f.owner, record.NewDocument{ID: id, Title: "T\x00", CreatedAt: start})
	must(f, err)
	equal(f, "made", d, schemas.Document{ID: id, Title: "T", Revision: 1, Blocks: []schemas.Block{}})
	equal(f, "read", f.document(id), d)
	_, err = f.store.CreateDocument(f.ctx, f.owner, record.NewDocument{ID: id, Title: "T"})
	fails(f, "id in use", err, schemas.ErrTaken)
	_, err = f.store.AddBlock(f.ctx, f.owner, id, record.NewBlock{ID: block, Type: "md"}, nil)
	must(f, err)
	other := f.doc()
	_, err = f.store.AddBlock(f.ctx, f.owner, other, record.NewBlock{ID: block, Type: "md"}, nil)
	fails(f, "block's id in use", err, schemas.ErrTaken)
	_, err = f.store.WriteBlock(f.ctx, f.owner, other, record.BlockWrite{NewBlock: record.NewBlock{ID: block}})
	fails(f, "block of another document", err, schemas.ErrTaken)
	_, err = f.store.WriteBlock(f.ctx, f.owner, other, record.BlockWrite{NewBlock: record.NewBlock{ID: newID()}, Only: true})
	fails(f, "unknown block", err, schemas.ErrNotFound)
	unknown := newID()
	_, err = f.store.AddBlock(f.ctx, f.owner, other, record.NewBlock{ID: newID(), Type: "md", After: &unknown}, nil)
	fails(f, "behind an unknown block", err, schemas.ErrNotFound)
	_, err = f.store.AddBlock(f.ctx, f.owner, other, record.NewBlock{ID: newID(), Type: "md", After: &block}, nil)
	fails(f, "behind a block of another document", err, schemas.ErrNotFound)
	_, err = f.store.WriteBlock(f.ctx, f.owner, unknown, record.BlockWrite{NewBlock: record.NewBlock{ID: newID()}})
	fails(f, "no document", err, schemas.ErrNotFound)

	// The same ids of somebody else are other things.
	bob := f.somebody()
	_, err = bob.store.Document(f.ctx, bob.owner, id)
	fails(f, "somebody else's document", err, schemas.ErrNotFound)
	create := &record.NewDocument{ID: id, Title: "Bob's", CreatedAt: start}
	for range 2 {
		_, err = f.store.WriteBlock(f.ctx, bob.owner, id, record.BlockWrite{NewBlock: record.NewBlock{ID: block, Content: "b"}, Create: create})
		must(f, err)
	}
	equal(f, "Bob's", shape(bob.document(id)), block[:1]+" new +b")
	equal(f, "Ann's", f.document(id).Title, "T")
}

func testDocumentRename(f *fixture) {
	id := f.doc(newID())
	d, err := f.store.RenameDocument(f.ctx, f.owner, id, "New", record.Match{2})
	must(f, err)
	equal(f, "renamed", d, schemas.Document{ID: id, Title: "New", Revision: 3})
	d, err = f.store.RenameDocument(f.ctx, f.owner, id, "New", nil)
	must(f, err)
	equal(f, "renamed again", d.Revision, 3)
	_, err = f.store.RenameDocument(f.ctx, f.owner, id, "x", record.Match{2})
	fails(f, "stale", err, schemas.ErrStale)
	_, err = f.store.RenameDocument(f.ctx, f.somebody().owner, id, "x", nil)
	fails(f, "foreign", err, schemas.ErrNotFound)
	fails(f, "stale", f.store.DeleteDocument(f.ctx, f.owner, id, record.Match{2}), schemas.ErrStale)
	fails(f, "foreign", f.store.DeleteDocument(f.ctx, f.somebody().owner, id, nil), schemas.ErrNotFound)
	block := f.document(id).Blocks[0].ID
	must(f, f.store.DeleteDocument(f.ctx, f.owner, id, record.Match{3}))
	fails(f, "again", f.store.DeleteDocument(f.ctx, f.owner, id, nil), schemas.ErrNotFound)
	_, err = f.store.Block(f.ctx, f.owner, block)
	fails(f, "its block", err, schemas.ErrNotFound)
}

// plan is a plan of blocks with these ids.
func plan(title string, ids ...string) record.Plan {
	p := record.Plan{Title: title}
	for _, id := range ids {
		p.Blocks = append(p.Blocks, record.NewBlock{ID: id, Type: "md", Meta: json.RawMessage(`{"plan":{"heading":"H"}}`)})
	}
	return p
}

// untouched compares what a user sees of a document, revisions aside.
func untouched(f *fixture, what string, got, want schemas.Document) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(schemas.Document{}, "Revision"), cmpopts.IgnoreFields(schemas.Block{}, "Revision")); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func testPlanReverted(f *fixture) {
	one, two, three := "1"+newID(), "2"+newID(), "3"+newID()
	id := f.doc(one, two)
	before := f.document(id)
	planned, err := f.store.PlanDocument(f.ctx, f.owner, id, plan("Planned", three))
	must(f, err)
	equal(f, "planned", shape(planned), "1 delete, 2 delete, 3 new +")
	equal(f, "title", []string{planned.Title, planned.NewTitle}, []string{"Title", "Planned"})
	equal(f, "stored", f.document(id), planned)
	f.write(id, three, "three")
	equal(f, "filled", f.document(id).Blocks[2].Meta, nil)
	reverted, err := f.store.SettleDocument(f.ctx, f.owner, id, record.Revert, nil)
	must(f, err)
	untouched(f, "the reverted plan differs from the document before", reverted, before)
	if reverted.Revision <= planned.Revision {
		f.Errorf("revision %d after %d", reverted.Revision, planned.Revision)
	}

	// What was pending of the old document went with the plan, and no more.
	f.write(id, one, "edit")
	f.write(id, "4"+newID(), "added")
	_, err = f.store.ProposeMove(f.ctx, f.owner, id, two, &front)
	must(f, err)
	_, err = f.store.PlanDocument(f.ctx, f.owner, id, plan("", three))
	must(f, err)
	equal(f, "planned over pending", shape(f.document(id)), "1 delete, 2 delete, 3 new +")
	reverted, err = f.store.SettleDocument(f.ctx, f.owner, id, record.Revert, nil)
	must(f, err)
	untouched(f, "the second reverted plan differs", reverted, before)
}

func testPlanAccepted(f *fixture) {
	one, two, three := "1"+newID(), "2"+newID(), "3"+newID()
	id := f.doc(one)
	_, err := f.store.PlanDocument(f.ctx, f.owner, id, plan("Planned", two, three))
	must(f, err)
	f.write(id, three, "three")
	accepted, err := f.store.SettleDocument(f.ctx, f.owner, id, record.Accept, nil)
	must(f, err)
	equal(f, "accepted", shape(accepted), "2 , 3 three")
	equal(f, "title", []string{accepted.Title, accepted.NewTitle}, []string{"Planned", ""})
	again, err := f.store.SettleDocument(f.ctx, f.owner, id, record.Accept, nil)
	must(f, err)
	equal(f, "accepted again", again, accepted)

	// A plan may make its document, and take in one block at a time.
	fresh := newID()
	p := plan("Fresh", "5"+newID(), "6"+newID())
	p.Create = &record.NewDocument{ID: fresh, Title: "Untitled", CreatedAt: start}
	d, err := f.store.PlanDocument(f.ctx, f.owner, fresh, p)
	must(f, err)
	equal(f, "made by a plan", shape(d), "5 new +, 6 new +")
	_, err = f.store.SettleBlock(f.ctx, f.owner, p.Blocks[1].ID, record.Accept, nil)
	must(f, err)
	equal(f, "one accepted", shape(f.document(fresh)), "5 new +, 6 ")
}

func testPlanRepeated(f *fixture) {
	id := f.doc("1" + newID())
	p := plan("Planned", "2"+newID(), "3"+newID())
	first, err := f.store.PlanDocument(f.ctx, f.owner, id, p)
	must(f, err)
	second, err := f.store.PlanDocument(f.ctx, f.owner, id, p)
	must(f, err)
	equal(f, "repeated", second, first)
	f.write(id, p.Blocks[0].ID, "filled")
	third, err := f.store.PlanDocument(f.ctx, f.owner, id, p)
	must(f, err)
	equal(f, "repeated when filled", shape(third), "1 delete, 2 new +filled, 3 new +")
	foreign := f.doc()
	_, err = f.store.PlanDocument(f.ctx, f.owner, foreign, p)
	fails(f, "ids of another document", err, schemas.ErrTaken)
	equal(f, "and nothing planned", f.document(foreign).NewTitle, "")
}

func testWritesRepeated(f *fixture) {
	id := f.doc("1" + newID())
	x := "2" + newID()
	w := record.BlockWrite{NewBlock: record.NewBlock{ID: x, Type: "csv", Content: "a,b", Meta: json.RawMessage(`{"m":1}`), After: &front}}
	first, err := f.store.WriteBlock(f.ctx, f.owner, id, w)
	must(f, err)
	for name, between := range map[string]func(){
		"at once":  func() {},
		"accepted": func() { _, err := f.store.SettleBlock(f.ctx, f.owner, x, record.Accept, nil); must(f, err) },
	} {
		between()
		before := f.document(id)
		_, err := f.store.WriteBlock(f.ctx, f.owner, id, w)
		must(f, err)
		equal(f, "repeated "+name, f.document(id), before)
	}
	_, err = f.store.SettleBlock(f.ctx, f.owner, x, record.Accept, nil)
	must(f, err)
	w.Type = "md"
	_, err = f.store.WriteBlock(f.ctx, f.owner, id, w)
	failsWith(f, "another type", err, schemas.CodeInvalid)
	equal(f, "type", first.Type, "csv")
	_, err = f.store.WriteBlock(f.ctx, f.owner, id, record.BlockWrite{NewBlock: record.NewBlock{ID: "3" + newID()}, Match: record.Match{1}})
	fails(f, "a block added at a stale revision", err, schemas.ErrStale)
}

func testBlockMetas(f *fixture) {
	x := newID()
	id := f.doc(x)
	old := f.document(id)
	meta := json.RawMessage(`{"of": "new"}`)
	b, err := f.store.WriteBlock(f.ctx, f.owner, id, record.BlockWrite{NewBlock: record.NewBlock{ID: x, Content: x, Meta: meta}})
	must(f, err)
	equal(f, "metas", []string{string(b.State), string(b.Meta), string(b.NewMeta)}, []string{"pending_edit", `{"of":"` + x + `"}`, string(meta)})
	f.write(id, x, "more")
	reverted, err := f.store.SettleBlock(f.ctx, f.owner, x, record.Revert, nil)
	must(f, err)
	untouched(f, "reverted meta", schemas.Document{Blocks: []schemas.Block{reverted.Block}}, schemas.Document{Blocks: old.Blocks})
	_, err = f.store.WriteBlock(f.ctx, f.owner, id, record.BlockWrite{NewBlock: record.NewBlock{ID: x, Content: "n", Meta: meta}})
	must(f, err)
	accepted, err := f.store.SettleBlock(f.ctx, f.owner, x, record.Accept, nil)
	must(f, err)
	equal(f, "accepted meta", []string{string(accepted.Block.Meta), string(accepted.Block.NewMeta)}, []string{string(meta), ""})
	patched, err := f.store.PatchBlock(f.ctx, f.owner, x, schemas.BlockPatch{Meta: json.RawMessage(`{}`)}, nil)
	must(f, err)
	equal(f, "patched meta", string(patched.Meta), `{}`)
}

// order is the first letters of the document's blocks.
func order(d schemas.Document) string {
	var b strings.Builder
	for _, block := range d.Blocks {
		b.WriteString(block.ID[:1])
	}
	return b.String()
}

func testBlockOrder(f *fixture) {
	id, suffix := f.doc(), newID()
	add := func(name string, after *string) {
		_, err := f.store.AddBlock(f.ctx, f.owner, id, record.NewBlock{ID: name + suffix, Type: "md", After: after}, nil)
		must(f, err)
	}
	behind := func(name string) *string { name += suffix; return &name }
	add("b", nil)
	add("d", nil)
	add("c", behind("b"))
	add("a", &front)
	add("e", behind("d"))
	equal(f, "added", order(f.document(id)), "abcde")

	// Moves of the user and of the model, at random, like those of a slice.
	model := strings.Split("abcde", "")
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		from := random.IntN(len(model))
		name := model[from]
		model = slices.Delete(model, from, from+1)
		to := random.IntN(len(model) + 1)
		after := &front
		if to > 0 {
			after = behind(model[to-1])
		}
		model = slices.Insert(model, to, name)
		if random.IntN(2) == 0 {
			_, err := f.store.PatchBlock(f.ctx, f.owner, name+suffix, schemas.BlockPatch{AfterBlockID: after}, nil)
			must(f, err)
		} else {
			_, err := f.store.ProposeMove(f.ctx, f.owner, id, name+suffix, after)
			must(f, err)
			_, err = f.store.SettleDocument(f.ctx, f.owner, id, record.Accept, nil)
			must(f, err)
		}
		if got := order(f.document(id)); got != strings.Join(model, "") {
			f.Fatalf("order is %s, want %s", got, strings.Join(model, ""))
		}
	}
	for name, after := range map[string]*string{"itself": behind(model[2]), "its neighbour": behind(model[1])} {
		before := f.document(id)
		_, err := f.store.PatchBlock(f.ctx, f.owner, model[2]+suffix, schemas.BlockPatch{AfterBlockID: after}, nil)
		must(f, err)
		equal(f, "moved behind "+name, f.document(id), before)
	}
}

// testKeysDealt puts each block right behind the first, so that the keys become
// long, at both ends of the gap.
func testKeysDealt(f *fixture) {
	const inserts = 400
	suffix := newID()
	first, last := "a"+suffix, "z"+suffix
	id := f.doc(first, last)
	after := &first
	for i := range inserts {
		name := fmt.Sprintf("%03d%s", i, suffix)
		_, err := f.store.AddBlock(f.ctx, f.owner, id, record.NewBlock{ID: name, Type: "md", After: after}, nil)
		must(f, err)
		if i >= inserts/2 {
			after = &name
		}
	}
	d := f.document(id)
	var got, want []string
	for i := range inserts {
		if i <= inserts/2 {
			want = slices.Insert(want, 0, fmt.Sprintf("%03d", i))
		} else {
			want = slices.Insert(want, i-inserts/2, fmt.Sprintf("%03d", i))
		}
	}
	for i, b := range d.Blocks {
		if len(b.Position) > 48 {
			f.Fatalf("the key of block %d has %d digits", i, len(b.Position))
		}
		if i > 0 && b.Position <= d.Blocks[i-1].Position {
			f.Fatalf("the key %s comes after %s", b.Position, d.Blocks[i-1].Position)
		}
		got = append(got, b.ID[:3])
	}
	equal(f, "order", got[1:len(got)-1], want)
}

func testKeysDealtMoving(f *fixture) {
	suffix := newID()
	a, b, z := "a"+suffix, "b"+suffix, "z"+suffix
	id := f.doc(a, b, z)
	_, err := f.store.ProposeMove(f.ctx, f.owner, id, z, &a)
	must(f, err)
	for i := range 300 {
		_, err := f.store.AddBlock(f.ctx, f.owner, id, record.NewBlock{ID: fmt.Sprintf("%03d%s", i, suffix), Type: "md", After: &a}, nil)
		must(f, err)
	}
	d := f.document(id)
	equal(f, "still moving", d.Blocks[len(d.Blocks)-1].State, schemas.BlockPendingMove)
	accepted, err := f.store.SettleDocument(f.ctx, f.owner, id, record.Accept, nil)
	must(f, err)
	got := order(accepted)
	equal(f, "order", []string{got[:1], got[len(got)-2:]}, []string{"a", "zb"})
}

func testChatBlocks(f *fixture) {
	g := f.turn("question", "answer")
	message, doc := g.Run.MessageID, f.doc()
	b, err := f.store.Block(f.ctx, f.owner, message)
	must(f, err)
	text := "answer"
	want := schemas.Block{
		ID: message, ChatID: g.Run.ChatKey, Role: "assistant", Type: "md", Current: &text, State: schemas.BlockClean, Revision: 1,
	}
	if want.ChatID == "" {
		want.ChatID = b.ChatID
	}
	equal(f, "a message as a block", b, want)
	for range 2 {
		for _, decision := range []record.Settle{record.Accept, record.Revert} {
			settled, err := f.store.SettleBlock(f.ctx, f.owner, message, decision, record.Match{1})
			must(f, err)
			equal(f, "settled message", settled, record.Settled{Block: want})
		}
	}
	_, err = f.store.SettleBlock(f.ctx, f.owner, message, record.Accept, record.Match{2})
	fails(f, "stale", err, schemas.ErrStale)
	_, err = f.store.PatchBlock(f.ctx, f.owner, message, schemas.BlockPatch{Content: &text}, nil)
	fails(f, "edit of a message", err, schemas.ErrNotFound)
	fails(f, "delete of a message", f.store.DeleteBlock(f.ctx, f.owner, message, nil), schemas.ErrNotFound)
	_, err = f.store.Block(f.ctx, f.somebody().owner, message)
	fails(f, "somebody else's message", err, schemas.ErrNotFound)
	_, err = f.store.WriteBlock(f.ctx, f.owner, doc, record.BlockWrite{NewBlock: record.NewBlock{ID: message, Content: "x"}})
	fails(f, "a message's id in a document", err, schemas.ErrTaken)
	must(f, f.store.DeleteDocument(f.ctx, f.owner, doc, nil))
	equal(f, "the chat", f.messages(g.Run.ConversationID, false), []string{"question", "answer"})
}

func testLargeBlocks(f *fixture) {
	const large = 5 << 20
	id := f.doc()
	image, table := newID(), newID()
	content := long("iVBORw0KGgo+/AB", large)
	_, err := f.store.AddBlock(f.ctx, f.owner, id, record.NewBlock{ID: image, Type: "image/png", Content: content, Meta: json.RawMessage(`{"mime":"image/png"}`)}, nil)
	must(f, err)
	rows := "year,price\n" + long("2024,1800.50\n", large)
	_, err = f.store.WriteBlock(f.ctx, f.owner, id, record.BlockWrite{NewBlock: record.NewBlock{ID: table, Type: "csv", Content: rows}})
	must(f, err)
	d, err := f.store.SettleDocument(f.ctx, f.owner, id, record.Accept, nil)
	must(f, err)
	if *d.Blocks[0].Current != content || *d.Blocks[1].Current != rows {
		f.Error("large blocks differ from what was stored")
	}
	_, err = f.store.AddBlock(f.ctx, f.owner, id, record.NewBlock{ID: newID(), Type: "csv", Content: long("a", store.MaxBlockContent+1)}, nil)
	failsWith(f, "a block too large", err, schemas.CodeTooLarge)
	refused := 0
	for range store.MaxDocumentSize / store.MaxBlockContent {
		w := record.BlockWrite{NewBlock: record.NewBlock{ID: newID(), Type: "csv", Content: long("a", store.MaxBlockContent)}}
		if _, err = f.store.WriteBlock(f.ctx, f.owner, id, w); err != nil {
			failsWith(f, "a document too large", err, schemas.CodeTooLarge)
			refused++
		}
	}
	equal(f, "refused", refused, 2)
	must(f, f.store.DeleteDocument(f.ctx, f.owner, id, nil))
}

func testBlockPieces(f *fixture) {
	x := newID()
	id := f.doc(x)
	f.write(id, x, "")
	var want strings.Builder
	for i := range 50 {
		piece := fmt.Sprintf("piece %d, é\n", i)
		want.WriteString(piece)
		must(f, f.store.AppendBlock(f.ctx, f.owner, id, x, piece))
	}
	b, err := f.store.Block(f.ctx, f.owner, x)
	must(f, err)
	equal(f, "pieces", *b.New, want.String())
	equal(f, "current", *b.Current, x)
	_, err = f.store.SettleBlock(f.ctx, f.owner, x, record.Revert, nil)
	must(f, err)
	fails(f, "a piece after the revert", f.store.AppendBlock(f.ctx, f.owner, id, x, "p"), schemas.ErrNotFound)
	f.write(id, x, long("a", store.MaxBlockContent-1))
	must(f, f.store.AppendBlock(f.ctx, f.owner, id, x, "b"))
	failsWith(f, "a piece too many", f.store.AppendBlock(f.ctx, f.owner, id, x, "b"), schemas.CodeTooLarge)
}

// testDocumentAtOnce adds and moves blocks of one document from many sides: none
// is lost, no two have one place.
func testDocumentAtOnce(f *fixture) {
	const writers, blocks = 6, 6
	id := f.doc("a"+newID(), "z"+newID())
	first := f.document(id).Blocks[0].ID
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range blocks {
				b := record.NewBlock{ID: fmt.Sprintf("%d%d%s", w, i, newID()), Type: "md", Content: "x", After: &first}
				if _, err := f.store.WriteBlock(f.ctx, f.owner, id, record.BlockWrite{NewBlock: b}); err != nil {
					f.Errorf("write: %v", err)
				}
				if _, err := f.store.SettleBlock(f.ctx, f.owner, b.ID, record.Accept, nil); err != nil {
					f.Errorf("accept: %v", err)
				}
			}
		})
	}
	wg.Wait()
	d := f.document(id)
	equal(f, "blocks", len(d.Blocks), writers*blocks+2)
	equal(f, "revision", d.Revision, int64(2*writers*blocks+3))
	for i := 1; i < len(d.Blocks); i++ {
		if d.Blocks[i-1].Position >= d.Blocks[i].Position {
			f.Errorf("positions %s and %s", d.Blocks[i-1].Position, d.Blocks[i].Position)
		}
	}
}
