package documents

import (
	"cmp"
	"context"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// DraftCall is Draft for a call that may still be refused. If the block has changes
// that wait for the user, the text is held in memory until End, so Discard and the
// end of the process leave the block unchanged. Otherwise the text is stored while
// it is written.
func (d *Documents) DraftCall(ctx context.Context, c Claim, w record.BlockWrite, withdrawn func()) (*Draft, schemas.Block, error) {
	o, unlock, err := d.own(ctx, c.Owner)
	if err != nil {
		return nil, schemas.Block{}, err
	}
	defer unlock()
	p := &Draft{run: c.Run, document: c.Document, withdrawn: withdrawn}
	before, err := d.blocks.Block(ctx, c.Owner, w.ID)
	switch known := err == nil && before.DocumentID == c.Document; {
	case err != nil && !errors.Is(err, schemas.ErrNotFound):
		return nil, schemas.Block{}, err
	case known && before.State != schemas.BlockClean && !unfilled(&before):
		p.late, p.undone = &w, before.Current
		p.held.WriteString(w.Content)
	case known:
		p.before, p.undone = &before, before.Current
	}
	return o.begin(ctx, p, w)
}

// unfilled reports whether a block is planned and has no text yet.
func unfilled(b *schemas.Block) bool {
	return b.State == schemas.BlockPendingNew && (b.New == nil || *b.New == "")
}

// touch checks what is to be written into a block later, and returns the block as it will
// be then; its revision is later than that of all earlier drafts.
func (o owned) touch(ctx context.Context, document string, w record.BlockWrite) (schemas.Block, error) {
	if err := o.check(ctx, &w); err != nil {
		return schemas.Block{}, err
	}
	b, err := o.docs.proposals.TouchBlock(ctx, o.owner, document, w.ID)
	b.Type = cmp.Or(w.Type, b.Type)
	if w.Meta != nil {
		b.NewMeta = w.Meta
	}
	return b, err
}

// Held reports whether nothing is stored before End.
func (p *Draft) Held() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.late != nil
}

// storeLate stores the text of a draft that was held. The caller has p.mu.
func (o owned) storeLate(ctx context.Context, p *Draft) error {
	if p.err != nil || p.late == nil {
		return p.err
	}
	w := *p.late
	w.Content = p.held.String()
	if _, err := o.write(ctx, p.document, w); err != nil {
		return err
	}
	p.late, p.size = nil, len(w.Content)
	p.held.Reset()
	return nil
}

// Discard ends the draft of a call that is not run, removes what it has stored, and
// returns the block that is stored then, nil for none. It reports false, and changes
// nothing, if the user has decided about the text. It waits for the database as long as ctx
// says.
func (p *Draft) Discard(ctx context.Context) (stored *schemas.Block, discarded bool, err error) {
	defer p.Leave(ctx)
	stored, err = persist(ctx, p.docs, p.owner, func(o owned) (b *schemas.Block, err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		b, discarded, err = o.discard(ctx, p)
		p.discarding = true
		return b, err
	})
	return stored, discarded, err
}

// discard is a try of Discard for a caller that holds p.mu. Nothing of a late draft is
// stored; an earlier try, whose answer was lost, may have removed the text.
func (o owned) discard(ctx context.Context, p *Draft) (stored *schemas.Block, discarded bool, err error) {
	late, tried := p.late != nil, p.discarding
	p.held.Reset()
	if errors.Is(p.err, errWithdrawn) {
		return nil, false, nil
	}
	b, err := p.docs.blocks.Block(ctx, p.owner, p.block)
	switch {
	case errors.Is(err, schemas.ErrNotFound):
		return nil, late || tried, nil
	case err != nil, late:
		return &b, late, err
	case b.New == nil:
		return &b, tried && p.Undone(b.Current), nil
	case p.before != nil && p.before.Current == nil: // it was planned
		b, err = p.docs.proposals.WriteBlock(ctx, p.owner, p.document, record.BlockWrite{
			Only: true, NewBlock: record.NewBlock{ID: p.block, Type: p.before.Type, Meta: p.before.Meta},
		})
		return &b, err == nil, err
	}
	after, err := p.docs.blocks.SettleBlock(ctx, p.owner, p.block, record.Revert, nil)
	if errors.Is(err, schemas.ErrNotFound) { // another process has removed it
		return nil, true, nil
	}
	if err != nil || after.Gone {
		return nil, err == nil, err
	}
	return &after.Block, true, nil
}
