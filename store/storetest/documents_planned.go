package storetest

import (
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// The end of a run removes what it has planned and not written. A plan of which nothing is
// left is undone, with its title and what it has hidden.
func testPlanDropped(f *fixture) {
	begun := f.begin("plans")
	f.mustCommit(begun)
	run := begun.RunID
	planned := func(id string, blocks ...string) {
		f.Helper()
		_, err := f.store.PlanDocument(record.WithFence(f.ctx, record.Fence{RunID: run, Attempt: 1}), f.owner, id, plan("Planned", blocks...))
		must(f, err)
	}
	drop := func(id, by string) (ids []string) {
		f.Helper()
		dropped, err := f.store.DropPlanned(f.ctx, f.owner, id, by)
		must(f, err)
		for _, b := range dropped {
			ids = append(ids, b.ID)
		}
		return ids
	}
	one, two, three, four := "1"+newID(), "2"+newID(), "3"+newID(), "4"+newID()
	id := f.doc(one)
	planned(id, two, three, four)
	f.write(id, three, "three")
	equal(f, "dropped by another run", drop(id, newID()), nil)
	equal(f, "dropped", drop(id, run), []string{two, four})
	equal(f, "what was written stays", shape(f.document(id)), "1 delete, 3 new +three")
	equal(f, "dropped again", drop(id, run), nil)

	id = f.doc("5"+newID(), "6"+newID())
	f.write(id, f.document(id).Blocks[1].ID, "draft")
	before, seven := f.document(id), "7"+newID()
	planned(id, seven)
	equal(f, "dropped whole", drop(id, run), []string{seven})
	after := f.document(id)
	untouched(f, "the plan is undone", after, before)
	if after.Revision <= before.Revision {
		f.Errorf("revision %d after %d", after.Revision, before.Revision)
	}
	_, err := f.store.DropPlanned(f.ctx, f.owner, newID(), run)
	fails(f, "without a document", err, schemas.ErrNotFound)

	// A later plan of the run takes the place of one of which nothing is written.
	eight, nine := "8"+newID(), "9"+newID()
	planned(id, eight)
	planned(id, nine)
	equal(f, "planned twice", shape(f.document(id)), "5 delete, 6 delete +draft, 9 new +")
	planned(id, nine)
	equal(f, "dropped whole after two plans", drop(id, run), []string{nine})
	untouched(f, "both plans are undone", f.document(id), before)

	// What the user has restored is older than the plan, and not a part of it.
	id = f.doc("1"+newID(), "2"+newID())
	_, err = f.store.PlanDocument(f.ctx, f.owner, id, plan("Earlier", "3"+newID()))
	must(f, err)
	before = f.document(id)
	planned(id, "4"+newID())
	_, err = f.store.SettleBlock(f.ctx, f.owner, before.Blocks[2].ID, record.Revert, nil)
	must(f, err)
	equal(f, "restored by the user", shape(f.document(id)), "1 delete, 2 delete, 3 new +, 4 new +")
	equal(f, "dropped beside what is restored", len(drop(id, run)), 1)
	untouched(f, "the plan around it is undone", f.document(id), before)
	_, err = f.store.SettleDocument(f.ctx, f.owner, id, record.Revert, nil)
	must(f, err)
	planned(id, "5"+newID())
	one = f.document(id).Blocks[0].ID
	_, err = f.store.SettleBlock(f.ctx, f.owner, one, record.Revert, nil)
	must(f, err)
	equal(f, "dropped beside a clean one", len(drop(id, run)), 1)
	equal(f, "the plan around a clean one is undone", shape(f.document(id)), "1, 2")

	// What the user has accepted of the plan is a part of it.
	five := "5" + newID()
	planned(id, five, "6"+newID())
	f.write(id, five, "five")
	_, err = f.store.SettleBlock(f.ctx, f.owner, five, record.Accept, nil)
	must(f, err)
	equal(f, "dropped beside what is accepted", len(drop(id, run)), 1)
	equal(f, "a plan that is accepted in part stays", shape(f.document(id)), "1 delete, 2 delete, 5 five")
	planned(id, "7"+newID(), "8"+newID())
	_, err = f.store.SettleDocument(f.ctx, f.owner, id, record.Accept, nil)
	must(f, err)
	equal(f, "accepted while nothing is written", shape(f.document(id)), "7 new +, 8 new +")
	equal(f, "dropped after that", len(drop(id, run)), 2)
	equal(f, "nothing is left", shape(f.document(id)), "")

	// What the user does by hand meanwhile is not.
	one, two, three = "1"+newID(), "2"+newID(), "3"+newID()
	id = f.doc(one, two)
	planned(id, "4"+newID())
	_, err = f.store.AddBlock(f.ctx, f.owner, id, record.NewBlock{ID: three, Type: "md", Content: three}, nil)
	must(f, err)
	_, err = f.store.SettleBlock(f.ctx, f.owner, one, record.Revert, nil)
	must(f, err)
	mine := "mine"
	_, err = f.store.PatchBlock(f.ctx, f.owner, one, schemas.BlockPatch{Content: &mine}, nil)
	must(f, err)
	equal(f, "changed by hand", shape(f.document(id)), "1 mine, 2 delete, 4 new +, 3")
	equal(f, "dropped beside what the user has written", len(drop(id, run)), 1)
	equal(f, "the plan around it is undone", shape(f.document(id)), "1 mine, 2, 3")
	f.write(id, one, "proposed")
	planned(id, "4"+newID())
	for _, decision := range []record.Settle{record.Revert, record.Accept} { // of the plan, then of what is older
		_, err = f.store.SettleBlock(f.ctx, f.owner, one, decision, nil)
		must(f, err)
	}
	equal(f, "dropped beside an older proposal", len(drop(id, run)), 1)
	equal(f, "the plan around that is undone", shape(f.document(id)), "1 proposed, 2, 3")
}

// A planned block that the user fills before the model does is the user's: accepting the
// document does not empty it. What the model writes later is a proposal.
func testPlanFilledByUser(f *fixture) {
	id, x, y := f.doc(), newID(), newID()
	_, err := f.store.PlanDocument(f.ctx, f.owner, id, record.Plan{Title: "Plan", Blocks: []record.NewBlock{{ID: x, Type: "md"}, {ID: y, Type: "md"}}})
	must(f, err)
	text := "The user's text."
	filled, err := f.store.PatchBlock(f.ctx, f.owner, x, schemas.BlockPatch{Content: &text}, nil)
	must(f, err)
	equal(f, "state", filled.State, schemas.BlockClean)
	_, err = f.store.PatchBlock(f.ctx, f.owner, y, schemas.BlockPatch{Content: &text}, nil)
	must(f, err)
	f.write(id, y, "The model's text.")
	for _, b := range f.document(id).Blocks {
		equal(f, "current text of "+b.ID, *b.Current, text)
		equal(f, "a proposal in "+b.ID, b.New != nil, b.ID == y)
	}
}
