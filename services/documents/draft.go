package documents

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// Draft is content on its way into the new of a block. One goroutine uses it.
type Draft struct {
	docs            *Documents
	owner           string
	document, block string
	held            strings.Builder
	size            int // what is stored
	storedAt        time.Time
	err             error
}

// The pieces in which a draft is stored: when it holds draftPiece bytes or an
// eighth of what is stored, or with the first piece after draftWait.
const (
	draftPiece = 32 << 10
	draftPart  = 8
	draftWait  = time.Second
)

// Draft begins content in pieces: w, whose content may be empty, is written, and
// what Write is given follows it in the block's new. A reader of the document
// sees what is stored.
func (d *Documents) Draft(ctx context.Context, user schemas.User, document string, w record.BlockWrite) (*Draft, schemas.Block, error) {
	b, err := d.Write(ctx, user, document, w)
	if err != nil {
		return nil, schemas.Block{}, err
	}
	return &Draft{docs: d, owner: user.ID, document: document, block: w.ID, size: len(w.Content), storedAt: d.now()}, b, nil
}

// Block is the id of the block that the draft writes into.
func (p *Draft) Block() string { return p.block }

// Settled reports whether the user has settled or deleted the block since, so
// that nothing more is stored.
func (p *Draft) Settled() bool { return errors.Is(p.err, schemas.ErrNotFound) }

// Write takes a piece, and stores what is held when it is time. After an error
// it does nothing but return it again: schemas.ErrNotFound when the user has
// settled or deleted the block meanwhile, too_large when it is full.
func (p *Draft) Write(ctx context.Context, piece string) error {
	if p.err != nil {
		return p.err
	}
	p.held.WriteString(piece)
	if p.held.Len() >= max(draftPiece, p.size/draftPart) || p.docs.now().Sub(p.storedAt) >= draftWait*time.Duration(1+p.size>>20) {
		return p.Flush(ctx)
	}
	return nil
}

// Flush stores what is held. The database being away is no lasting error: the
// piece is stored with the next.
func (p *Draft) Flush(ctx context.Context) error {
	if p.err != nil || p.held.Len() == 0 {
		return p.err
	}
	err := p.docs.proposals.AppendBlock(ctx, p.owner, p.document, p.block, p.held.String())
	if err == nil {
		p.size += p.held.Len()
		p.held.Reset()
		p.storedAt = p.docs.now()
		return nil
	}
	if code := schemas.Visible(err).Code; code == schemas.CodeNotFound || code == schemas.CodeTooLarge || code == schemas.CodeQuota {
		p.err = err
		p.held.Reset()
	}
	return err
}
