package documents

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// Draft is content on its way into the new of a block. One goroutine writes it;
// the user may withdraw it meanwhile.
type Draft struct {
	docs            *Documents
	run, owner      string
	document, block string
	withdrawn       func()

	mu       sync.Mutex // held while content is shown and stored, and while it is withdrawn
	held     strings.Builder
	size     int // what is stored
	storedAt time.Time
	err      error
}

// The pieces in which a draft is stored: when it holds draftPiece bytes or an
// eighth of what is stored, or with the first piece after draftWait.
const (
	draftPiece = 32 << 10
	draftPart  = 8
	draftWait  = time.Second
)

// errWithdrawn is the error of a draft that the user has rejected or deleted.
var errWithdrawn = errors.New("the user has withdrawn the block")

// errBeingWritten refuses a decision about half a block.
var errBeingWritten = schemas.NewError(schemas.CodeBeingWritten, "this is being written; decide about it when it is complete, or reject it now")

// Draft begins content in pieces: w, whose content may be empty, is written, and
// what Write is given follows it in the block's new. A reader of the document
// sees what is stored. The run must have claimed the block. Until End the user
// cannot accept the block; when they reject or delete it, or its document, the
// draft is withdrawn: that is told once, from another goroutine, before anything
// more is written.
func (d *Documents) Draft(ctx context.Context, user schemas.User, document string, w record.BlockWrite, run string, withdrawn func()) (*Draft, schemas.Block, error) {
	unlock, err := d.locks.lock(ctx, user.ID)
	if err != nil {
		return nil, schemas.Block{}, err
	}
	defer unlock()
	b, err := d.write(ctx, user, document, w)
	if err != nil {
		return nil, schemas.Block{}, err
	}
	p := &Draft{
		docs: d, run: run, owner: user.ID, document: document, block: w.ID, withdrawn: withdrawn, size: len(w.Content), storedAt: d.now(),
	}
	d.writing.add(p)
	return p, b, nil
}

// Block is the id of the block that the draft writes into.
func (p *Draft) Block() string { return p.block }

// Withdrawn reports whether the user has rejected or deleted the block while it
// was written.
func (p *Draft) Withdrawn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Is(p.err, errWithdrawn)
}

// Show calls show, unless the draft has been withdrawn: what it shows comes before
// anything that the withdrawal shows.
func (p *Draft) Show(show func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return false
	}
	show()
	return true
}

// Write takes a piece, calls show and stores what is held when it is time. After
// an error it does nothing but return it again: that the draft was withdrawn, or
// that the block is full.
func (p *Draft) Write(ctx context.Context, piece string, show func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	if show != nil {
		show()
	}
	p.held.WriteString(piece)
	if p.held.Len() >= max(draftPiece, p.size/draftPart) || p.docs.now().Sub(p.storedAt) >= draftWait*time.Duration(1+p.size>>20) {
		return p.flush(ctx)
	}
	return nil
}

// End stores what is held and ends the draft: the user may decide about the block.
// That it was withdrawn is no error.
func (p *Draft) End(ctx context.Context) error {
	p.mu.Lock()
	err := p.flush(ctx)
	p.mu.Unlock()
	p.docs.writing.remove(p)
	if errors.Is(err, errWithdrawn) {
		return nil
	}
	return err
}

// flush stores what is held. The database being away is no lasting error: the
// piece is stored with the next.
func (p *Draft) flush(ctx context.Context) error {
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
	switch schemas.Visible(err).Code {
	case schemas.CodeNotFound: // by another process
		p.withdraw()
		return p.err
	case schemas.CodeTooLarge, schemas.CodeQuota:
		p.err = err
		p.held.Reset()
	default:
	}
	return err
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

// drafts are those under way, by block. It is safe for concurrent use.
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

// of returns the drafts of a block, or of all blocks of a document, in order.
func (l *drafts) of(owner, document, block string) []*Draft {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*Draft
	for at, p := range l.all {
		if at.owner == owner && (block != "" && at.id == block || document != "" && p.document == document) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *Draft) int { return strings.Compare(a.block, b.block) })
	return list
}

// withdrawing calls change, which takes back or deletes what is written, and
// withdraws the drafts of it when it has.
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

// locks let one change of an owner's documents in at a time, so that what a
// decision finds written is what it decides about. It is safe for concurrent use.
type locks struct {
	mu  sync.Mutex
	all map[string]*ownerLock
}

type ownerLock struct {
	token chan struct{}
	users int
}

func (l *locks) lock(ctx context.Context, owner string) (unlock func(), err error) {
	l.mu.Lock()
	o := l.all[owner]
	if o == nil {
		o = &ownerLock{token: make(chan struct{}, 1)}
		l.all[owner] = o
	}
	o.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if o.users--; o.users == 0 {
			delete(l.all, owner)
		}
	}
	select {
	case o.token <- struct{}{}:
		return func() { <-o.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
