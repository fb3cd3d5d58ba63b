package storetest

import (
	"context"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

func init() { //nolint:gochecknoinits // the list of the suite, continued beside what it lists
	sharedTests["withdrawn documents"] = testWithdrawn
}

// testWithdrawn reverts a run's plan, and deletes a document, while the run is unfinished:
// the run changes the document no more, others do.
func testWithdrawn(f *fixture) {
	run, other := f.begin("plans"), f.begin("writes")
	f.mustCommit(run, other)
	as := func(w *record.Write) context.Context {
		return record.WithFence(f.ctx, record.Fence{RunID: w.RunID, Attempt: 1})
	}
	doc, own := f.doc("old"+newID()), &record.NewDocument{Title: "Again"}
	plan := func(ctx context.Context, id string) error {
		own.ID = id
		_, err := f.store.PlanDocument(ctx, f.owner, id, record.Plan{Title: "Plan", Blocks: []record.NewBlock{{ID: newID(), Type: "md"}}, Create: own})
		return err
	}
	write := func(ctx context.Context, id string) error {
		own.ID = id
		_, err := f.store.WriteBlock(ctx, f.owner, id, record.BlockWrite{NewBlock: record.NewBlock{ID: newID(), Content: "text"}, Create: own})
		return err
	}
	revert := func(id string) {
		f.Helper()
		_, err := f.store.SettleDocument(f.ctx, f.owner, id, record.Revert, nil)
		must(f, err)
	}
	withdrawn := func(w *record.Write, want ...record.Withdrawal) {
		f.Helper()
		got, err := f.store.Withdrawn(f.ctx, []string{w.RunID, newID()})
		must(f, err)
		equal(f, "withdrawn", got, want)
	}
	must(f, write(as(other), doc))
	must(f, plan(as(run), doc))
	must(f, write(as(run), doc))
	withdrawn(run)
	revert(doc)
	equal(f, "pending after the revert", len(f.document(doc).Pending), 1)
	withdrawn(run, record.Withdrawal{Run: run.RunID, Document: doc})
	withdrawn(other)
	fails(f, "a plan of the reverted run", plan(as(run), doc), record.ErrWithdrawn)
	fails(f, "a block of the reverted run", write(as(run), doc), record.ErrWithdrawn)
	must(f, write(as(other), doc))
	must(f, write(as(run), f.doc()))

	accepted := f.doc() // what is accepted is no longer a plan
	must(f, plan(as(other), accepted))
	_, err := f.store.SettleDocument(f.ctx, f.owner, accepted, record.Accept, nil)
	must(f, err)
	revert(accepted)
	must(f, write(as(other), accepted))

	deleted := f.doc()
	must(f, f.store.DeleteDocument(f.ctx, f.owner, deleted, nil))
	fails(f, "a block of a deleted document", write(as(other), deleted), record.ErrWithdrawn)
	_, err = f.store.Document(f.ctx, f.owner, deleted)
	fails(f, "the deleted document", err, schemas.ErrNotFound)
	later := f.begin("is asked later")
	f.mustCommit(later, f.finish(other, "done"))
	must(f, write(as(later), deleted))
	must(f, f.store.DeleteDocument(f.ctx, f.owner, deleted, nil))
	withdrawn(other) // it has ended
}
