package storetest

import (
	"cmp"

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

// A run has one plan of a document, which it may make again: one revert gives the document
// back as it was before the first, whatever the run has written in between. If nothing of
// the later plan is written, only that one is undone when the run ends.
func testPlanMadeAgain(f *fixture) {
	begun := f.begin("plans again")
	f.mustCommit(begun)
	run := record.WithFence(f.ctx, record.Fence{RunID: begun.RunID, Attempt: 1})
	type script struct {
		*fixture
		doc            string
		one, two, made string
	}
	planned := func(s *script, id string) {
		_, err := s.store.PlanDocument(run, s.owner, s.doc, plan("Plan "+id[:1], id))
		must(s.fixture, err)
	}
	write := func(s *script, id, content string) {
		_, err := s.store.WriteBlock(run, s.owner, s.doc, record.BlockWrite{NewBlock: record.NewBlock{ID: id, Content: content}})
		must(s.fixture, err)
	}
	settle := func(s *script, id string, decision record.Settle) {
		_, err := s.store.SettleBlock(s.ctx, s.owner, id, decision, nil)
		must(s.fixture, err)
	}
	for _, tt := range []struct {
		what             string
		between          func(s *script) // the two plans of a document with the block 1 and the draft 2
		after            func(s *script)
		failed, reverted string // the document when the run ends with nothing written, and after one revert
		title            string // that waits when the run ends with nothing written, "Plan 3" if empty
	}{
		{what: "a planned block is written", between: func(s *script) { write(s, s.made, "w") }, failed: "1 delete, 2 delete +draft, 3 new +w", reverted: "1, 2 edit +draft"},
		{what: "another block is written", between: func(s *script) { write(s, "5"+newID(), "w") }, failed: "1 delete, 2 delete +draft, 5 new +w", reverted: "1, 2 edit +draft"},
		{what: "an old block is written", between: func(s *script) { write(s, s.one, "w") }, failed: "1 edit +w, 2 delete +draft", reverted: "1, 2 edit +draft"},
		{
			what: "the user has shown the draft", between: func(s *script) { write(s, s.made, "w"); settle(s, s.two, record.Revert) },
			failed: "1 delete, 2 edit +draft, 3 new +w", reverted: "1, 2 edit +draft",
		},
		{
			what: "the user has accepted what is written", between: func(s *script) { write(s, s.made, "w"); settle(s, s.made, record.Accept) },
			failed: "1 delete, 2 delete +draft, 3 w", reverted: "1, 2 edit +draft, 3 w",
		},
		{
			what: "the user has added a block", between: func(s *script) {
				write(s, s.made, "w")
				_, err := s.store.AddBlock(s.ctx, s.owner, s.doc, record.NewBlock{ID: "6" + newID(), Type: "md", Content: "mine"}, nil)
				must(s.fixture, err)
			},
			failed: "1 delete, 2 delete +draft, 3 new +w, 6 mine", reverted: "1, 2 edit +draft, 6 mine",
		},
		{
			what: "the user shows what was written", between: func(s *script) { write(s, s.made, "w") }, after: func(s *script) { settle(s, s.made, record.Revert) },
			failed: "1 delete, 2 delete +draft, 3 new +w", reverted: "1, 2 edit +draft",
		},
		{
			what: "the user shows and drops what was written", between: func(s *script) { write(s, s.made, "w") },
			after:  func(s *script) { settle(s, s.made, record.Revert); settle(s, s.made, record.Revert) },
			failed: "1, 2 edit +draft", reverted: "1, 2 edit +draft",
		},
		{
			what: "planned and written a third time", between: func(s *script) { write(s, s.made, "w") },
			after: func(s *script) {
				planned(s, "7"+newID())
				write(s, s.document(s.doc).Blocks[3].ID, "x")
				planned(s, "8"+newID())
			},
			failed: "1 delete, 2 delete +draft, 3 delete +w, 7 new +x", title: "Plan 7", reverted: "1, 2 edit +draft",
		},
	} {
		for _, fails := range []bool{false, true} {
			s := &script{fixture: f, one: "1" + newID(), two: "2" + newID(), made: "3" + newID()}
			s.doc = f.doc(s.one, s.two)
			f.write(s.doc, s.two, "draft")
			before := f.document(s.doc)
			planned(s, s.made)
			tt.between(s)
			planned(s, "4"+newID())
			if tt.after != nil {
				tt.after(s)
			}
			if fails {
				_, err := f.store.DropPlanned(f.ctx, f.owner, s.doc, begun.RunID)
				must(f, err)
				failed := f.document(s.doc)
				equal(f, tt.what+", and the run fails", shape(failed), tt.failed)
				if tt.failed != tt.reverted {
					equal(f, tt.what+", and the title of the failed run", failed.NewTitle, cmp.Or(tt.title, "Plan 3"))
				}
			}
			d, err := f.store.SettleDocument(f.ctx, f.owner, s.doc, record.Revert, nil)
			must(f, err)
			if fails && tt.failed == tt.reverted {
				continue // the plan was undone
			}
			equal(f, tt.what+", and all is reverted", shape(d), tt.reverted)
			equal(f, tt.what+", and its title", d.NewTitle, "")
			if tt.reverted == shape(before) {
				untouched(f, tt.what+", and all is reverted", d, before)
			}
		}
	}
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
