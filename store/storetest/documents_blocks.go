package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/documents"
)

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
	renamed := func(name string) *string { name += suffix; return &name }
	add("b", nil)
	add("d", nil)
	add("c", renamed("b"))
	add("a", &front)
	add("e", renamed("d"))
	equal(f, "added", order(f.document(id)), "abcde")
	_, err := f.store.AddBlock(f.ctx, f.owner, id, record.NewBlock{ID: "f" + suffix, Type: "md", After: renamed("x")}, nil)
	_, moved := f.store.PatchBlock(f.ctx, f.owner, "e"+suffix, schemas.BlockPatch{AfterBlockID: renamed("x")}, nil)
	for _, err := range []error{err, moved} {
		fails(f, "after an unknown block", err, schemas.ErrNotFound)
		if text := schemas.Visible(err).Message; !strings.Contains(text, strconv.Quote("x"+suffix)) {
			f.Errorf("after an unknown block: %q, want its id", text)
		}
	}

	// Random moves of the user and the model have the same result as moves in a
	// slice.
	model := strings.Split("abcde", "")
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		from := random.IntN(len(model))
		name := model[from]
		model = slices.Delete(model, from, from+1)
		to := random.IntN(len(model) + 1)
		after := &front
		if to > 0 {
			after = renamed(model[to-1])
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
	for name, after := range map[string]*string{"itself": renamed(model[2]), "its neighbour": renamed(model[1])} {
		before := f.document(id)
		_, err := f.store.PatchBlock(f.ctx, f.owner, model[2]+suffix, schemas.BlockPatch{AfterBlockID: after}, nil)
		must(f, err)
		equal(f, "moved after "+name, f.document(id), before)
	}
}

// testKeysDealt puts each block directly after the first, so that the keys at
// both ends of the gap become long.
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
	_, err = f.store.Block(f.ctx, f.anotherUser().owner, message)
	fails(f, "another user's message", err, schemas.ErrNotFound)
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
	_, err = f.store.AddBlock(f.ctx, f.owner, id, record.NewBlock{ID: newID(), Type: "csv", Content: long("a", documents.MaxBlockContent+1)}, nil)
	failsWith(f, "a block too large", err, schemas.CodeTooLarge)
	refused := 0
	for range documents.MaxDocumentSize / documents.MaxBlockContent {
		w := record.BlockWrite{NewBlock: record.NewBlock{ID: newID(), Type: "csv", Content: long("a", documents.MaxBlockContent)}}
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
	f.write(id, x, long("a", documents.MaxBlockContent-1))
	must(f, f.store.AppendBlock(f.ctx, f.owner, id, x, "b"))
	failsWith(f, "a piece too many", f.store.AppendBlock(f.ctx, f.owner, id, x, "b"), schemas.CodeTooLarge)
}

// testBlockTouched touches blocks: only their revision and that of the document change.
func testBlockTouched(f *fixture) {
	clean, edited, deleted := newID(), newID(), newID()
	id := f.doc(clean, edited, deleted)
	f.write(id, edited, "new")
	_, err := f.store.ProposeDelete(f.ctx, f.owner, id, deleted)
	must(f, err)
	read := func(block string) schemas.Block {
		b, err := f.store.Block(f.ctx, f.owner, block)
		must(f, err)
		return b
	}
	for _, block := range []string{clean, edited, deleted} {
		before, revision := read(block), f.document(id).Revision
		touched, err := f.store.TouchBlock(f.ctx, f.owner, id, block)
		must(f, err)
		equal(f, "returned", touched, read(block))
		equal(f, "revision", touched.Revision, revision+1)
		equal(f, "revision of the document", f.document(id).Revision, revision+1)
		touched.Revision = before.Revision
		equal(f, "touched", touched, before)
	}
	_, err = f.store.TouchBlock(f.ctx, newID(), id, clean)
	fails(f, "a block of another user", err, schemas.ErrNotFound)
	_, err = f.store.PlanDocument(f.ctx, f.owner, id, record.Plan{Blocks: []record.NewBlock{{ID: newID(), Type: "md"}}})
	must(f, err)
	_, err = f.store.TouchBlock(f.ctx, f.owner, id, edited)
	failsWith(f, "a draft that a plan hides", err, schemas.CodeConflict)
	_, err = f.store.TouchBlock(f.ctx, f.owner, id, clean)
	must(f, err)
	equal(f, "state of a hidden block", read(clean).State, schemas.BlockPendingDelete)
}

// testDocumentAtOnce adds and moves blocks of one document concurrently: none
// is lost, no two have the same place.
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
