package storetest

import (
	"fmt"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

func init() { //nolint:gochecknoinits // the list of the suite, continued beside what it lists
	sharedTests["ids of removed blocks"] = testRemovedIDs
	sharedTests["ids of a deleted chat's answers"] = testRemovedAnswers
	sharedTests["ids of deleted documents"] = testRemovedDocuments
}

// removed returns what the store says about the id of a removed block, 0 for nothing.
func (f *fixture) removed(id string) int64 {
	f.Helper()
	found, err := f.store.Removed(f.ctx, f.owner, []string{id, newID()})
	must(f, err)
	if _, ok := found[id]; len(found) > 1 || len(found) == 1 && !ok {
		f.Errorf("removed ids: %v, asked for %s", found, id)
	}
	return found[id]
}

// testRemovedIDs uses an id again after each way in which a block goes away. The later
// block always has a greater revision, also in another document or in one that is made
// again.
func testRemovedIDs(f *fixture) {
	id, first := newID(), f.doc()
	doc, last := first, int64(0)
	begin := func(text string) {
		f.Helper()
		b := f.write(doc, id, text)
		if b.Revision <= last {
			f.Errorf("%s: revision %d of the block, %d before it was removed", text, b.Revision, last)
		}
		equal(f, "document's revision", f.document(doc).Revision, b.Revision)
		must(f, f.store.AppendBlock(f.ctx, f.owner, doc, id, " and more"))
		b, err := f.store.Block(f.ctx, f.owner, id)
		must(f, err)
		last = b.Revision
	}
	settle := func(decision record.Settle) error {
		_, err := f.store.SettleDocument(f.ctx, f.owner, doc, decision, nil)
		return err
	}
	equal(f, "never used", f.removed(id), 0)
	for i, remove := range []func() error{
		func() error { return f.store.DeleteBlock(f.ctx, f.owner, id, nil) },
		func() error {
			_, err := f.store.SettleBlock(f.ctx, f.owner, id, record.Revert, nil)
			return err
		},
		func() error { return settle(record.Revert) },
		func() error {
			_, err := f.store.ProposeDelete(f.ctx, f.owner, doc, id)
			return err
		},
		func() error {
			must(f, settle(record.Accept))
			_, err := f.store.ProposeDelete(f.ctx, f.owner, doc, id)
			must(f, err)
			return settle(record.Accept)
		},
		func() error {
			must(f, f.store.DeleteDocument(f.ctx, f.owner, doc, nil))
			_, err := f.store.CreateDocument(f.ctx, f.owner, record.NewDocument{ID: doc, Title: "Again"})
			return err
		},
		func() error {
			err := f.store.DeleteBlock(f.ctx, f.owner, id, nil)
			doc = f.doc()
			return err
		},
	} {
		begin(fmt.Sprint("text ", i))
		must(f, remove())
		if got := f.removed(id); got < last {
			f.Errorf("way %d: the removed block counts as revision %d, it had %d", i, got, last)
		}
		equal(f, "of somebody else", f.anotherUser().removed(id), 0)
	}
	begin("at last")
	must(f, settle(record.Accept))
	versions, _ := f.versions(first)
	if len(versions) > 0 { // the restored block of another document is taken
		_, err := f.store.RestoreDocument(f.ctx, f.owner, first, versions[0].Revision, nil)
		fails(f, "restored id in use", err, schemas.ErrTaken)
	}
}

// testRemovedAnswers uses the ids of a deleted chat's answer in a document, and again in
// a chat.
func testRemovedAnswers(f *fixture) {
	g := f.turn("Question", "Answer")
	id := g.Run.MessageID
	equal(f, "answer", f.removed(id), 0)
	must(f, f.store.DeleteChat(f.ctx, f.owner, g.Run.ConversationID))
	answer := f.removed(id)
	if answer == 0 {
		f.Error("the id of a deleted answer is not known")
	}
	b := f.write(f.doc(), id, "text")
	if b.Revision <= answer {
		f.Errorf("the block has revision %d, the answer counts as %d", b.Revision, answer)
	}
	must(f, f.store.DeleteBlock(f.ctx, f.owner, id, nil))
	block := f.removed(id)
	next := f.turn("Question", "Answer", func(g *record.Begin) { g.Run.MessageID, g.Reserve = id, true })
	must(f, f.store.DeleteChat(f.ctx, f.owner, next.Run.ConversationID))
	if got := f.removed(id); got <= block {
		f.Errorf("the later answer counts as %d, the block before it as %d", got, block)
	}
}

// testRemovedDocuments makes a document again under the id of a deleted one. No revision
// of an earlier one fits the later one, however it is made.
func testRemovedDocuments(f *fixture) {
	id := newID()
	other := f.anotherUser()
	var old record.Match
	for i, create := range []func() error{
		func() error {
			d, err := f.store.CreateDocument(f.ctx, f.owner, record.NewDocument{ID: id, Title: "T", CreatedAt: f.now()})
			equal(f, "the revision that is returned", f.document(id).Revision, d.Revision)
			return err
		},
		func() error {
			_, err := f.store.WriteBlock(f.ctx, f.owner, id, record.BlockWrite{
				NewBlock: record.NewBlock{ID: newID(), Content: "text"}, Create: &record.NewDocument{ID: id, Title: "T", CreatedAt: f.now()},
			})
			return err
		},
		func() error {
			_, err := f.store.PlanDocument(f.ctx, f.owner, id, record.Plan{
				Blocks: []record.NewBlock{{ID: newID(), Type: "md"}}, Create: &record.NewDocument{ID: id, Title: "T", CreatedAt: f.now()},
			})
			return err
		},
		func() error {
			_, err := f.store.CreateDocument(f.ctx, f.owner, record.NewDocument{ID: id, Title: "T", CreatedAt: f.now()})
			return err
		},
	} {
		must(f, create())
		if i > 0 {
			_, err := f.store.RenameDocument(f.ctx, f.owner, id, "lost", old)
			fails(f, fmt.Sprint("rename with a revision of an earlier document, ", i), err, schemas.ErrStale)
			fails(f, fmt.Sprint("delete with one, ", i), f.store.DeleteDocument(f.ctx, f.owner, id, old), schemas.ErrStale)
		}
		if i == 0 {
			equal(f, "the first revision", f.document(id).Revision, 1)
		}
		old = append(old, f.document(id).Revision)
		f.write(id, newID(), "more")
		last := f.document(id).Revision
		old = append(old, last)
		must(f, f.store.DeleteDocument(f.ctx, f.owner, id, record.Match{last}))
		equal(f, "removed blocks with the document's id", f.removed(id), 0)
	}
	_, err := other.store.CreateDocument(f.ctx, other.owner, record.NewDocument{ID: id, Title: "T", CreatedAt: f.now()})
	must(f, err)
	equal(f, "the first revision of another user's", other.document(id).Revision, 1)
}
