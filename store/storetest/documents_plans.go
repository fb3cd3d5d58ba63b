package storetest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

func testDocumentPages(f *fixture) {
	var want []string
	for range 5 {
		want = append(want, f.doc())
	}
	slices.Reverse(want)
	written := want[0]
	f.write(written, newID(), "text")
	f.anotherUser().doc()
	for _, limit := range []int{1, 2, 5, 0} {
		var got []string
		q := record.DocumentQuery{Limit: limit}
		for range 6 {
			list, err := f.store.Documents(f.ctx, f.owner, q)
			must(f, err)
			for _, d := range list.Items {
				got = append(got, d.ID)
				want := f.document(d.ID) // with the owner and the times
				want.Blocks, want.Pending = nil, nil
				equal(f, "listed", d, want)
				equal(f, "owner", d.Owner, f.owner)
				equal(f, "changed", d.UpdatedAt.After(d.CreatedAt), d.ID == written)
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
	equal(f, "made", d, schemas.Document{ID: id, Title: "T", Owner: f.owner, Revision: 1, CreatedAt: start, UpdatedAt: start, Blocks: []schemas.Block{}})
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
	fails(f, "after an unknown block", err, schemas.ErrNotFound)
	_, err = f.store.AddBlock(f.ctx, f.owner, other, record.NewBlock{ID: newID(), Type: "md", After: &block}, nil)
	fails(f, "after a block of another document", err, schemas.ErrNotFound)
	_, err = f.store.WriteBlock(f.ctx, f.owner, unknown, record.BlockWrite{NewBlock: record.NewBlock{ID: newID()}})
	fails(f, "no document", err, schemas.ErrNotFound)

	// The same ids of another user are different documents and blocks.
	bob := f.anotherUser()
	_, err = bob.store.Document(f.ctx, bob.owner, id)
	fails(f, "another user's document", err, schemas.ErrNotFound)
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
	untimed(f, "renamed", d, schemas.Document{ID: id, Title: "New", Owner: f.owner, Revision: 3})
	equal(f, "renamed and read", d.UpdatedAt, f.document(id).UpdatedAt)
	d, err = f.store.RenameDocument(f.ctx, f.owner, id, "New", nil)
	must(f, err)
	equal(f, "renamed again", d.Revision, 3)
	d, err = f.store.RenameDocument(f.ctx, f.owner, id, "New", record.Match{2}) // the answer was lost
	must(f, err)
	equal(f, "repeated", d.Revision, 3)
	_, err = f.store.RenameDocument(f.ctx, f.owner, id, "x", record.Match{2})
	fails(f, "stale", err, schemas.ErrStale)
	_, err = f.store.RenameDocument(f.ctx, f.anotherUser().owner, id, "x", nil)
	fails(f, "foreign", err, schemas.ErrNotFound)
	fails(f, "stale", f.store.DeleteDocument(f.ctx, f.owner, id, record.Match{2}), schemas.ErrStale)
	fails(f, "foreign", f.store.DeleteDocument(f.ctx, f.anotherUser().owner, id, nil), schemas.ErrNotFound)
	block := f.document(id).Blocks[0].ID
	must(f, f.store.DeleteDocument(f.ctx, f.owner, id, record.Match{3}))
	fails(f, "again", f.store.DeleteDocument(f.ctx, f.owner, id, nil), schemas.ErrNotFound)
	_, err = f.store.Block(f.ctx, f.owner, block)
	fails(f, "its block", err, schemas.ErrNotFound)
}

// untimed compares documents without the times of their changes.
func untimed(f *fixture, what string, got, want schemas.Document) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(schemas.Document{}, "CreatedAt", "UpdatedAt")); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// plan is a plan of blocks with these ids.
func plan(title string, ids ...string) record.Plan {
	p := record.Plan{Title: title}
	for _, id := range ids {
		p.Blocks = append(p.Blocks, record.NewBlock{ID: id, Type: "md", Meta: json.RawMessage(`{"plan":{"heading":"H"}}`)})
	}
	return p
}

// untouched compares what a user sees of a document, without its revisions.
func untouched(f *fixture, what string, got, want schemas.Document) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(schemas.Document{}, "Revision", "UpdatedAt"), cmpopts.IgnoreFields(schemas.Block{}, "Revision")); diff != "" {
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
}

// testPlanUndone plans twice over pending changes: each revert undoes one plan,
// and the last revert drops the changes.
func testPlanUndone(f *fixture) {
	one, two, three, four := "1"+newID(), "2"+newID(), "3"+newID(), "4"+newID()
	id := f.doc(one, two, three)
	clean := f.document(id)
	f.write(id, one, "edit")
	f.write(id, four, "added")
	_, err := f.store.ProposeMove(f.ctx, f.owner, id, two, nil)
	must(f, err)
	_, err = f.store.ProposeDelete(f.ctx, f.owner, id, three)
	must(f, err)
	drafts := f.document(id)
	planned, err := f.store.PlanDocument(f.ctx, f.owner, id, plan("Five", "5"+newID()))
	must(f, err)
	equal(f, "planned over drafts", shape(planned), "1 delete +edit, 2 delete moving, 3 delete, 4 delete +added, 5 new +")
	_, err = f.store.WriteBlock(f.ctx, f.owner, id, record.BlockWrite{NewBlock: record.NewBlock{ID: four, Content: "x"}, Only: true})
	failsWith(f, "a write over a hidden draft", err, schemas.CodeConflict)
	fails(f, "a piece for a hidden draft", f.store.AppendBlock(f.ctx, f.owner, id, four, "x"), schemas.ErrNotFound)
	f.write(id, three, "shown again")
	over := f.document(id)
	_, err = f.store.PlanDocument(f.ctx, f.owner, id, plan("Six", "6"+newID()))
	must(f, err)

	revert := func(what string, want schemas.Document) {
		f.Helper()
		got, err := f.store.SettleDocument(f.ctx, f.owner, id, record.Revert, nil)
		must(f, err)
		untouched(f, what, got, want)
		var pending []string
		for _, b := range got.Blocks {
			if b.State != schemas.BlockClean {
				pending = append(pending, b.ID)
			}
		}
		equal(f, what+": pending", got.Pending, pending)
	}
	revert("the second plan is taken back", over)
	drafts.Blocks[2].State, drafts.Pending = schemas.BlockClean, slices.Delete(slices.Clone(drafts.Pending), 2, 3) // it was written since then
	revert("the first plan is taken back", drafts)
	revert("the drafts are dropped", clean)
	revert("nothing is left", clean)

	// The user can also decide about a single hidden block. A plan of which
	// nothing is left is skipped.
	f.write(id, one, "edit")
	_, err = f.store.PlanDocument(f.ctx, f.owner, id, plan("", "7"+newID()))
	must(f, err)
	settled, err := f.store.SettleBlock(f.ctx, f.owner, one, record.Revert, nil)
	must(f, err)
	equal(f, "given back", []any{settled.Block.State, *settled.Block.New, settled.Gone}, []any{schemas.BlockPendingEdit, "edit", false})
	for _, b := range f.document(id).Blocks[1:] {
		_, err := f.store.SettleBlock(f.ctx, f.owner, b.ID, record.Revert, nil)
		must(f, err)
	}
	revert("all of it", clean)

	// What such a block had before the plan is dropped after the plan.
	f.write(id, one, "edit")
	before := f.document(id)
	_, err = f.store.PlanDocument(f.ctx, f.owner, id, plan("", "9"+newID()))
	must(f, err)
	_, err = f.store.SettleBlock(f.ctx, f.owner, one, record.Revert, nil)
	must(f, err)
	_, err = f.store.SettleBlock(f.ctx, f.owner, two, record.Revert, nil)
	must(f, err)
	f.write(id, two, "since the plan")
	revert("the plan around the block", before)
	revert("the block itself", clean)
	must(f, f.store.DeleteBlock(f.ctx, f.owner, three, nil))
	_, err = f.store.PlanDocument(f.ctx, f.owner, id, plan("", "8"+newID()))
	must(f, err)
	_, err = f.store.SettleDocument(f.ctx, f.owner, id, record.Accept, nil)
	must(f, err)
	equal(f, "accepted", shape(f.document(id)), "8 new +")
	_, err = f.store.SettleDocument(f.ctx, f.owner, id, record.Revert, nil)
	must(f, err)
	equal(f, "an accepted plan is not taken back", shape(f.document(id)), "")
}

func testPlanAccepted(f *fixture) {
	one, two, three := "1"+newID(), "2"+newID(), "3"+newID()
	id := f.doc(one)
	_, err := f.store.PlanDocument(f.ctx, f.owner, id, plan("Planned", two, three))
	must(f, err)
	f.write(id, three, "three")
	accepted, err := f.store.SettleDocument(f.ctx, f.owner, id, record.Accept, nil)
	must(f, err)
	equal(f, "accepted", shape(accepted), "2 new +, 3 three")
	equal(f, "title", []string{accepted.Title, accepted.NewTitle}, []string{"Planned", ""})
	again, err := f.store.SettleDocument(f.ctx, f.owner, id, record.Accept, nil)
	must(f, err)
	equal(f, "accepted again", again, accepted)
	items, _ := f.versions(id)
	_, err = f.store.RestoreDocument(f.ctx, f.owner, id, items[0].Revision, nil)
	must(f, err)
	equal(f, "restored although a block is planned", shape(f.document(id)), "1")

	// A plan may create its document, and each of its blocks can be accepted by
	// itself.
	fresh := newID()
	p := plan("Fresh", "5"+newID(), "6"+newID())
	p.Create = &record.NewDocument{ID: fresh, Title: "Untitled", CreatedAt: start}
	d, err := f.store.PlanDocument(f.ctx, f.owner, fresh, p)
	must(f, err)
	equal(f, "made by a plan", shape(d), "5 new +, 6 new +")
	_, err = f.store.SettleBlock(f.ctx, f.owner, p.Blocks[1].ID, record.Accept, nil)
	must(f, err)
	equal(f, "one accepted", shape(f.document(fresh)), "5 new +, 6 new +")
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
	must(f, f.store.DeleteBlock(f.ctx, f.owner, p.Blocks[1].ID, nil))
	fourth, err := f.store.PlanDocument(f.ctx, f.owner, id, p)
	must(f, err)
	equal(f, "repeated when one is deleted", shape(fourth), "1 delete, 2 new +filled")
	must(f, f.store.DeleteBlock(f.ctx, f.owner, p.Blocks[0].ID, nil))
	must(f, f.store.DeleteBlock(f.ctx, f.owner, first.Blocks[0].ID, nil))
	f.write(id, "4"+newID(), "later")
	fifth, err := f.store.PlanDocument(f.ctx, f.owner, id, p)
	must(f, err)
	equal(f, "repeated when all are deleted", shape(fifth), "4 new +later")
	p = plan("Planned", "5"+newID())
	_, err = f.store.PlanDocument(f.ctx, f.owner, id, p)
	must(f, err)
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

	// A block without accepted content takes another type, unless its type is kept.
	table := newID()
	_, err = f.store.WriteBlock(f.ctx, f.owner, id, record.BlockWrite{NewBlock: record.NewBlock{ID: table, Type: "csv"}})
	must(f, err)
	answer := record.BlockWrite{NewBlock: record.NewBlock{ID: table, Type: "md", Content: "text"}, Only: true, KeepsType: true}
	_, err = f.store.WriteBlock(f.ctx, f.owner, id, answer)
	failsWith(f, "another type of a planned block", err, schemas.CodeInvalid)
	answer.KeepsType = false
	retyped, err := f.store.WriteBlock(f.ctx, f.owner, id, answer)
	must(f, err)
	equal(f, "its type", retyped.Type, "md")
	equal(f, "type", first.Type, "csv")
	_, err = f.store.WriteBlock(f.ctx, f.owner, id, record.BlockWrite{NewBlock: record.NewBlock{ID: "3" + newID()}, Match: record.Match{1}})
	fails(f, "a block added at a stale revision", err, schemas.ErrStale)

	// Without Only the revision is the document's, also when the block exists.
	again := record.BlockWrite{NewBlock: record.NewBlock{ID: first.ID, Type: first.Type, Content: "again"}}
	first = f.write(id, first.ID, "before")
	f.write(id, newID(), "another block")
	for _, tt := range []struct {
		what     string
		only     bool
		revision int64
		stale    bool
	}{
		{"only the block, at the document's revision", true, f.document(id).Revision, true},
		{"at the block's revision", false, first.Revision, true},
		{"at the document's revision", false, f.document(id).Revision, false},
	} {
		again.Only, again.Match = tt.only, record.Match{tt.revision}
		if _, err := f.store.WriteBlock(f.ctx, f.owner, id, again); tt.stale {
			fails(f, tt.what, err, schemas.ErrStale)
		} else if err != nil {
			f.Errorf("%s: %v", tt.what, err)
		}
	}
}
