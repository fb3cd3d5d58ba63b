package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// Draft is content that is being written into the pending content of a block.
// One goroutine writes it; the user may withdraw it meanwhile.
type Draft struct {
	docs            *Documents
	run, owner      string
	document, block string
	withdrawn       func()
	before          *schemas.Block // the block before a call wrote it, nil for a new one
	undone          *string        // what the block has if the user rejects what a call writes, nil for no block

	mu       sync.Mutex // held while content is shown and stored, and while it is withdrawn
	held     strings.Builder
	size     int  // stored bytes
	unsure   bool // some of the held content may be stored: the answer to the last try was lost
	storedAt time.Time
	err      error
	late     *record.BlockWrite // the block, if nothing is stored before End

	discarding bool // Discard may have removed what was stored; the user has not
}

// A draft is stored in pieces: when it holds draftPiece bytes or an eighth of
// what is stored, or with the first piece after draftWait.
const (
	draftPiece = 32 << 10
	draftPart  = 8
	draftWait  = time.Second
)

// errWithdrawn is the error of a draft that the user has rejected or deleted.
var errWithdrawn = errors.New("the user has withdrawn the block")

// Draft begins content that is written in pieces: it writes w, whose content
// may be empty, and Write appends to the block's pending content. A reader of
// the document sees what is stored. The run must hold the claim c to the block. Until
// End the user cannot accept the block; if they reject or delete it, or its
// document, the draft is withdrawn: withdrawn is called once, from another
// goroutine, before anything more is written.
func (d *Documents) Draft(ctx context.Context, c Claim, w record.BlockWrite, withdrawn func()) (*Draft, schemas.Block, error) {
	o, unlock, err := d.own(ctx, c.Owner)
	if err != nil {
		return nil, schemas.Block{}, err
	}
	defer unlock()
	return o.begin(ctx, &Draft{run: c.Run, document: c.Document, withdrawn: withdrawn}, w)
}

// begin begins a draft. Unless its text is held, w is written.
func (o owned) begin(ctx context.Context, p *Draft, w record.BlockWrite) (*Draft, schemas.Block, error) {
	p.docs, p.owner, p.block = o.docs, o.owner, w.ID
	if err := o.docs.shared.setWriting(ctx, p.run, p.block, true); err != nil { // before the text can be seen
		return nil, schemas.Block{}, err
	}
	write := o.write
	if p.late != nil {
		write = o.touch
	}
	b, err := write(ctx, p.document, w)
	if err != nil {
		_ = o.docs.shared.setWriting(ctx, p.run, p.block, false) // it ends with the run at the latest
		return nil, schemas.Block{}, err
	}
	p.size, p.storedAt = len(*cmp.Or(b.New, &w.Content)), o.docs.now()
	o.docs.writing.add(p)
	return p, b, nil
}

// Block is the id of the block that the draft writes into.
func (p *Draft) Block() string { return p.block }

// Undone reports whether content, with nothing pending, is what the block of a call has if
// the user rejects what the call writes.
func (p *Draft) Undone(content *string) bool {
	return content == nil || p.undone != nil && *content == *p.undone
}

// Withdrawn reports whether the user has rejected or deleted the block while it
// was written.
func (p *Draft) Withdrawn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Is(p.err, errWithdrawn)
}

// Show calls show, unless the draft has been withdrawn. What show shows comes
// before anything that the withdrawal shows.
func (p *Draft) Show(show func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return false
	}
	show()
	return true
}

// Write takes a piece, calls show and stores the held pieces when it is time.
// After an error (the draft was withdrawn, or the block is full) it only
// returns the same error again.
func (p *Draft) Write(ctx context.Context, piece string, show func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	if show != nil {
		show()
	}
	p.held.WriteString(strings.ReplaceAll(piece, "\x00", "")) // as it is stored: see append
	if p.held.Len() >= max(draftPiece, p.size/draftPart) || p.docs.now().Sub(p.storedAt) >= draftWait*time.Duration(1+p.size>>20) {
		return p.flush(ctx)
	}
	return nil
}

// End stores the held pieces, ends the draft and calls show; the user may then decide about
// the block. What show shows comes before anything that a later decision shows: the owner's
// lock is held until then. It is not called if the draft was withdrawn or not all is stored.
// A withdrawn draft is not an error. After record.ErrUnavailable the draft goes on: End may be
// called again, or Leave.
func (p *Draft) End(ctx context.Context, show func()) error {
	o, unlock, err := p.docs.own(ctx, p.owner)
	if err != nil { // what holds the lock waits for the database
		return fmt.Errorf("%w: %w", record.ErrUnavailable, err)
	}
	defer unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err = o.storeLate(ctx, p); err == nil {
		err = p.flush(ctx)
	}
	if errors.Is(err, record.ErrUnavailable) {
		return err
	}
	p.Leave(ctx)
	if show != nil && err == nil {
		show()
	}
	if errors.Is(err, errWithdrawn) {
		return nil
	}
	return err
}

// Leave ends the writing: the user may decide about the block.
func (p *Draft) Leave(ctx context.Context) {
	p.docs.writing.remove(p)
	_ = p.docs.shared.setWriting(ctx, p.run, p.block, false) // it ends with the run at the latest
}

// flush stores the held pieces. If the database is not available, they are
// stored with the next piece.
func (p *Draft) flush(ctx context.Context) error {
	if p.err != nil || p.held.Len() == 0 || p.late != nil {
		return p.err
	}
	err := p.append(ctx)
	if err == nil {
		p.size += p.held.Len()
		p.held.Reset()
		p.storedAt = p.docs.now()
		return nil
	}
	p.unsure = true
	switch code := schemas.Visible(err).Code; {
	case code == schemas.CodeNotFound, errors.Is(err, record.ErrWithdrawn): // through another process
		p.withdraw()
		return p.err
	case code == schemas.CodeTooLarge, code == schemas.CodeQuota:
		p.err = err
		p.held.Reset()
	}
	return err
}

// append stores the held pieces. Those that an earlier try has stored, whose answer was
// lost, are no longer held.
func (p *Draft) append(ctx context.Context) error {
	if p.unsure {
		b, err := p.docs.proposals.TouchBlock(ctx, p.owner, p.document, p.block) // waits until that try has ended
		if errors.Is(err, record.ErrUnavailable) {
			return err
		}
		if held := p.held.String(); err == nil && b.New != nil {
			n := min(max(0, len(*b.New)-p.size), len(held))
			if strings.HasSuffix(*b.New, held[:n]) {
				p.size += n
				p.held.Reset()
				p.held.WriteString(held[n:])
			}
		}
		p.unsure = false
		if p.held.Len() == 0 {
			return nil
		}
	}
	return p.docs.proposals.AppendBlock(ctx, p.owner, p.document, p.block, p.held.String())
}

// withdraw ends the draft for the user; the caller has p.mu.
func (p *Draft) withdraw() {
	if p.err != nil {
		return
	}
	p.err = errWithdrawn
	p.held.Reset()
	p.docs.writing.remove(p)
	if p.withdrawn != nil {
		p.withdrawn()
	}
}

// drafts are the unfinished drafts, by block. It is safe for concurrent use.
type drafts struct {
	mu  sync.Mutex
	all map[place]*Draft
}

func (l *drafts) add(p *Draft) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[place{p.owner, p.block}] = p
}

func (l *drafts) remove(p *Draft) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := (place{p.owner, p.block}); l.all[at] == p {
		delete(l.all, at)
	}
}

// runs returns the runs that are writing drafts.
func (l *drafts) runs() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := make(map[string]bool)
	for _, p := range l.all {
		found[p.run] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// drop forgets the drafts of a run.
func (l *drafts) drop(run string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, p := range l.all {
		if p.run == run {
			delete(l.all, at)
		}
	}
}

// into returns the draft of a block, if there is one.
func (l *drafts) into(owner, block string) (list []*Draft) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.all[place{owner, block}]; p != nil {
		list = append(list, p)
	}
	return list
}

// in returns the drafts of a document's blocks, in order.
func (l *drafts) in(owner, document string) (list []*Draft) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.all {
		if p.owner == owner && p.document == document {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *Draft) int { return strings.Compare(a.block, b.block) })
	return list
}

// withdrawing calls change, which reverts or deletes what is written, and
// withdraws the drafts if it succeeds.
func withdrawing[T any](list []*Draft, change func() (T, error)) (T, error) {
	for _, p := range list {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	v, err := change()
	if err == nil {
		for _, p := range list {
			p.withdraw()
		}
	}
	return v, err
}
