package documents

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/fences"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/text"
)

// Plan proposes a new structure for a document; it creates the document if it
// does not exist. The caller gives the blocks their ids; the same plan may be
// repeated. What the run has planned before and not written is withdrawn.
func (d *Documents) Plan(ctx context.Context, user schemas.User, id, title string, blocks []record.NewBlock) (schemas.Document, error) {
	if len(blocks) > record.MaxPlanned {
		return schemas.Document{}, schemas.NewError(schemas.CodeInvalid, "a plan has at most "+strconv.Itoa(record.MaxPlanned)+" blocks")
	}
	for i := range blocks {
		if err := checkWrite(&blocks[i]); err != nil {
			return schemas.Document{}, err
		}
	}
	o, unlock, err := d.own(ctx, user.ID)
	if err != nil {
		return schemas.Document{}, err
	}
	defer unlock()
	planned, err := d.plans.PlanDocument(ctx, user.ID, id, record.Plan{Title: text.Ellipsis(title, maxPlannedTitle), Blocks: blocks, Create: d.made(id, title)})
	if err == nil {
		o.withdrawShown(ctx, id)
	}
	return planned, err
}

// DropPlanned removes the blocks of a document that a run has planned and not written, when
// the run ends without its answer. It waits for the database as long as ctx says. They are
// withdrawn, and so is what the run has shown and an earlier try or attempt has removed.
func (d *Documents) DropPlanned(ctx context.Context, user schemas.User, document string, run *Watch) error {
	_, err := persist(ctx, d, user.ID, func(o owned) (struct{}, error) { return struct{}{}, o.dropPlanned(ctx, document, run) })
	return err
}

func (o owned) dropPlanned(ctx context.Context, document string, run *Watch) error {
	dropped, err := o.docs.plans.DropPlanned(ctx, o.owner, document, run.run)
	if err != nil && !errors.Is(err, schemas.ErrNotFound) && !errors.Is(err, record.ErrWithdrawn) { // the user has deleted the document or reverted the plan
		return err
	}
	for _, b := range dropped {
		reset := &runlog.BlockReset{Place: runlog.Place{DocumentID: document, BlockIDs: b.ID, Type: b.Type}, End: true, Revision: b.Revision}
		run.Note(reset)
		run.withdrawn(reset)
	}
	for _, id := range run.blocks(document) {
		_, err := o.docs.blocks.Block(ctx, o.owner, id)
		switch {
		case errors.Is(err, schemas.ErrNotFound):
			o.compare(run, id, nil)
		case err != nil:
			return err
		}
	}
	return nil
}

// made returns the document that a message creates, with the message's first
// words as title.
func (d *Documents) made(id, words string) *record.NewDocument {
	return &record.NewDocument{ID: id, Title: cmp.Or(text.Line(words, maxMadeTitle), untitled), CreatedAt: d.now()}
}

// checkKey is the key of a context's check.
type checkKey struct{}

// WithCheck returns a context for Write, which first calls check: an error prevents the
// write. The user decides about no block between the two.
func WithCheck(ctx context.Context, check func(ctx context.Context) error) context.Context {
	return context.WithValue(ctx, checkKey{}, check)
}

// Write proposes content for a block of a document, in place of its pending
// content, or adds a pending block; with w.Only it does not add one. The
// document is created if it does not exist and a block may be added. A code fence
// around the content of a table or a chart is removed.
func (d *Documents) Write(ctx context.Context, user schemas.User, document string, w record.BlockWrite) (schemas.Block, error) {
	o, unlock, err := d.own(ctx, user.ID)
	if err != nil {
		return schemas.Block{}, err
	}
	defer unlock()
	if check, ok := ctx.Value(checkKey{}).(func(context.Context) error); ok {
		if err := check(ctx); err != nil {
			return schemas.Block{}, err
		}
	}
	kind, err := o.typeFor(ctx, &w)
	if err != nil {
		return schemas.Block{}, err
	}
	w.Content = fences.Whole(kind, w.Content)
	return o.write(ctx, document, w)
}

// write checks and proposes what is to be written into a block.
func (o owned) write(ctx context.Context, document string, w record.BlockWrite) (schemas.Block, error) {
	if err := o.check(ctx, &w); err != nil {
		return schemas.Block{}, err
	}
	if !w.Only {
		w.Create = o.docs.made(document, w.Title)
	}
	return o.docs.proposals.WriteBlock(ctx, o.owner, document, w)
}

// check checks what is to be written into a block.
func (o owned) check(ctx context.Context, w *record.BlockWrite) error {
	if err := checkWrite(&w.NewBlock); err != nil {
		return err
	}
	kind, err := o.typeFor(ctx, w)
	if err != nil {
		return err
	}
	return checkContent(kind, w.Content, w.Meta)
}

// typeFor returns the type of what is to be written into a block.
func (o owned) typeFor(ctx context.Context, w *record.BlockWrite) (string, error) {
	if w.Type != "" {
		return BlockType(w.Type), nil
	}
	b, err := o.docs.blocks.Block(ctx, o.owner, w.ID)
	if errors.Is(err, schemas.ErrNotFound) {
		return "", nil
	}
	return b.Type, err
}

// Move proposes that a block of a document goes after another one, to the front
// ("") or to the end (nil).
func (d *Documents) Move(ctx context.Context, user schemas.User, document, id string, after *string) (schemas.Block, error) {
	return d.proposals.ProposeMove(ctx, user.ID, document, id, after)
}

// Remove proposes to remove a block of a document.
func (d *Documents) Remove(ctx context.Context, user schemas.User, document, id string) (record.Settled, error) {
	_, unlock, err := d.own(ctx, user.ID)
	if err != nil {
		return record.Settled{}, err
	}
	defer unlock()
	return d.proposals.ProposeDelete(ctx, user.ID, document, id)
}
