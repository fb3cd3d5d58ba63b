package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// testRepeatedEdit repeats edits of the user whose answers were lost: with the revision from
// before they are as they are stored, and others are stale.
func testRepeatedEdit(f *fixture) {
	id := f.doc()
	x, y, text, other := newID(), newID(), "mine", "other"
	for _, block := range []string{x, y} {
		_, err := f.store.AddBlock(f.ctx, f.owner, id, record.NewBlock{ID: block, Type: "md"}, nil)
		must(f, err)
	}
	edits := []schemas.BlockPatch{{Content: &text}, {Meta: json.RawMessage(`{"a":1}`)}, {AfterBlockID: &y}}
	for _, p := range edits {
		before, err := f.store.Block(f.ctx, f.owner, x)
		must(f, err)
		match := record.Match{before.Revision}
		once, err := f.store.PatchBlock(f.ctx, f.owner, x, p, match)
		must(f, err)
		again, err := f.store.PatchBlock(f.ctx, f.owner, x, p, match)
		must(f, err)
		untouched(f, "repeated", schemas.Document{Blocks: []schemas.Block{again}}, schemas.Document{Blocks: []schemas.Block{once}})
		for _, p := range []schemas.BlockPatch{{Content: &other}, {Meta: json.RawMessage(`{"a":2}`)}, {AfterBlockID: &other}} {
			_, err = f.store.PatchBlock(f.ctx, f.owner, x, p, match)
			fails(f, "another edit", err, schemas.ErrStale)
		}
	}
}

// testRepeatedAdd adds blocks again whose answers were lost.
func testRepeatedAdd(f *fixture) {
	id := f.doc(newID())
	match := record.Match{f.document(id).Revision}
	b := record.NewBlock{ID: newID(), Type: "csv", Content: "a,b", Meta: json.RawMessage(`{"a":1}`), After: &front}
	once, err := f.store.AddBlock(f.ctx, f.owner, id, b, match)
	must(f, err)
	for _, match := range []record.Match{match, nil} {
		again, err := f.store.AddBlock(f.ctx, f.owner, id, b, match)
		must(f, err)
		equal(f, "added again", again, once)
	}
	for what, change := range map[string]func(b *record.NewBlock){
		"another text": func(b *record.NewBlock) { b.Content = "x" },
		"another type": func(b *record.NewBlock) { b.Type = "md" },
		"another meta": func(b *record.NewBlock) { b.Meta = nil },
	} {
		changed := b
		change(&changed)
		_, err := f.store.AddBlock(f.ctx, f.owner, id, changed, match)
		fails(f, what, err, schemas.ErrStale)
		_, err = f.store.AddBlock(f.ctx, f.owner, id, changed, nil)
		fails(f, what, err, schemas.ErrTaken)
	}
	proposed := record.NewBlock{ID: newID(), Type: "md", Content: "proposed"}
	f.write(id, proposed.ID, proposed.Content)
	_, err = f.store.AddBlock(f.ctx, f.owner, id, proposed, nil)
	fails(f, "what a run has proposed", err, schemas.ErrTaken)
}

// testRepeatedApply applies texts of chats again whose answers were lost.
func testRepeatedApply(f *fixture) {
	for what, to := range map[string]struct{ target, placed, accepted bool }{
		"a new block":              {},
		"a new block at its place": {placed: true},
		"a new block, accepted":    {accepted: true},
		"a target":                 {target: true},
		"a target, accepted":       {target: true, accepted: true},
	} {
		x, y := newID(), newID()
		id := f.doc(x, y)
		w := record.BlockWrite{Match: record.Match{f.document(id).Revision}, Applied: true, NewBlock: record.NewBlock{ID: newID(), Type: "md", Content: "applied"}}
		if to.target {
			w.ID, w.Only, w.KeepsType, w.Match = x, true, true, record.Match{f.document(id).Blocks[0].Revision}
		}
		if to.placed {
			w.After = &x
		}
		once, err := f.store.WriteBlock(f.ctx, f.owner, id, w)
		must(f, err)
		if to.accepted {
			done, err := f.store.SettleBlock(f.ctx, f.owner, w.ID, record.Accept, nil)
			must(f, err)
			once = done.Block
		}
		for range 2 {
			again, err := f.store.WriteBlock(f.ctx, f.owner, id, w)
			must(f, err)
			equal(f, what, again, once)
		}
		other := w
		other.Content = "another text"
		_, err = f.store.WriteBlock(f.ctx, f.owner, id, other)
		fails(f, what+", another text", err, schemas.ErrStale)
		if to.target {
			other = w
			other.Type = "csv"
			_, err = f.store.WriteBlock(f.ctx, f.owner, id, other)
			fails(f, what+", another type", err, schemas.ErrStale)
		}
		if to.placed {
			other = w
			other.After = &y
			_, err = f.store.WriteBlock(f.ctx, f.owner, id, other)
			fails(f, what+", another place", err, schemas.ErrStale)
		}
		got, err := f.store.Block(f.ctx, f.owner, w.ID)
		must(f, err)
		equal(f, what+", after what was refused", got, once)
		must(f, f.store.DeleteBlock(f.ctx, f.owner, w.ID, nil))
		want := schemas.ErrStale
		if to.target {
			want = schemas.ErrNotFound
		}
		_, err = f.store.WriteBlock(f.ctx, f.owner, id, w)
		fails(f, what+", deleted meanwhile", err, want)
	}
}

// testRepeatedApplyKeeps applies a text again whose answer came late: the block was restored
// from a plan meanwhile, and what waits in it is still older than that plan.
func testRepeatedApplyKeeps(f *fixture) {
	x := newID()
	id := f.doc(x)
	w := record.BlockWrite{
		Match: record.Match{f.document(id).Blocks[0].Revision}, Only: true, KeepsType: true, Applied: true,
		NewBlock: record.NewBlock{ID: x, Type: "md", Content: "applied"},
	}
	_, err := f.store.WriteBlock(f.ctx, f.owner, id, w)
	must(f, err)
	_, err = f.store.PlanDocument(f.ctx, f.owner, id, plan("Planned", newID()))
	must(f, err)
	_, err = f.store.SettleBlock(f.ctx, f.owner, x, record.Revert, nil)
	must(f, err)
	before := f.document(id)
	_, err = f.store.WriteBlock(f.ctx, f.owner, id, w)
	must(f, err)
	equal(f, "the document after the repeated request", f.document(id), before)
	_, err = f.store.SettleDocument(f.ctx, f.owner, id, record.Revert, nil)
	must(f, err)
	b, err := f.store.Block(f.ctx, f.owner, x)
	must(f, err)
	if b.New == nil || *b.New != "applied" {
		f.Errorf("reverting the plan left %+v, want the text that was applied before it", b)
	}
}

// testRepeatedDecision decides again whose answers were lost: with the revision from before,
// the same decision changes nothing, and another one is stale.
func testRepeatedDecision(f *fixture) {
	for what, begin := range map[string]func(id, block string){
		"a draft": func(id, block string) { f.write(id, block, "draft") },
		"a draft that a plan hides": func(id, block string) {
			f.write(id, block, "draft")
			_, err := f.store.PlanDocument(f.ctx, f.owner, id, plan("Plan", newID()))
			must(f, err)
		},
	} {
		for _, decision := range []record.Settle{record.Accept, record.Revert} {
			for kind, decide := range map[string]func(id, block string, decision record.Settle, match record.Match) error{
				"document": func(id, _ string, decision record.Settle, match record.Match) error {
					_, err := f.store.SettleDocument(f.ctx, f.owner, id, decision, match)
					return err
				},
				"block": func(_, block string, decision record.Settle, match record.Match) error {
					_, err := f.store.SettleBlock(f.ctx, f.owner, block, decision, match)
					return err
				},
			} {
				what := fmt.Sprintf("%s, %s, accepted %v", what, kind, decision)
				block := newID()
				id := f.doc(block)
				begin(id, block)
				match := record.Match{f.document(id).Revision} // of the block too
				must(f, decide(id, block, decision, match))
				decided := f.document(id)
				if len(decided.Blocks) == 0 || kind == "block" && decided.Blocks[0].ID != block { // it was deleted
					continue
				}
				for range 2 {
					fails(f, what+", again", decide(id, block, decision, match), record.ErrDecided)
				}
				fails(f, what+", the other decision", decide(id, block, !decision, match), schemas.ErrStale)
				fails(f, what+", an earlier revision", decide(id, block, decision, record.Match{match[0] - 1}), schemas.ErrStale)
				fails(f, what+", no revision", decide(id, block, decision, record.Match{0, -match[0]}), schemas.ErrStale)
				equal(f, what+", again", f.document(id), decided)
				f.write(id, block, "later")
				fails(f, what+", with a later draft", decide(id, block, decision, match), record.ErrDecided)
				must(f, decide(id, block, !decision, record.Match{f.document(id).Revision}))
				fails(f, what+", with a later decision", decide(id, block, decision, match), schemas.ErrStale)
			}
		}
	}
	testUndoneByRun(f)
}

// testUndoneByRun lets a run undo what it has done, which is no decision of the user.
func testUndoneByRun(f *fixture) {
	begun := f.begin("undoes what it does")
	f.mustCommit(begun)
	run := record.WithFence(f.ctx, record.Fence{RunID: begun.RunID, Attempt: 1})
	planned := func(id, _ string) {
		_, err := f.store.PlanDocument(run, f.owner, id, plan("Plan", newID()))
		must(f, err)
	}
	for what, script := range map[string][]func(id, block string){
		"planned, and planned again": {planned, planned},
		"written, dropped and written again": {
			func(id, block string) { f.write(id, block, "draft") },
			func(id, block string) {
				_, err := f.store.SettleBlock(run, f.owner, block, record.Revert, nil)
				must(f, err)
				f.write(id, block, "draft")
			},
		},
	} {
		block := newID()
		id := f.doc(block)
		script[0](id, block)
		match := record.Match{f.document(id).Blocks[0].Revision}
		script[1](id, block)
		_, err := f.store.SettleBlock(f.ctx, f.owner, block, record.Revert, match)
		fails(f, what, err, schemas.ErrStale)
	}
}
