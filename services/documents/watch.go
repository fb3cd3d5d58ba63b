package documents

import (
	"context"
	"errors"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// seed is the seed of the hashes of texts.
var seed = maphash.MakeSeed()

// Watch knows what a run has shown in blocks of documents. When the user reverts or
// deletes a block or a document, the blocks that no longer have the text are withdrawn:
// readers of the run are told. A nil Watch knows nothing. It is safe for concurrent use.
type Watch struct {
	docs      *Documents
	owner     schemas.User
	run       string
	withdrawn func(b *runlog.BlockReset)

	mu    sync.Mutex
	begun int                   // number of texts
	shown map[string]*shownText // by block
}

// shownText is the text that a run has shown in a block.
type shownText struct {
	reset runlog.BlockReset // that withdraws it
	place int               // in the order in which texts were begun
	sum   maphash.Hash
}

// Watch watches a run until Release; withdrawn is called, from any goroutine, for a block
// that is withdrawn after its text had been written.
func (d *Documents) Watch(owner schemas.User, run string, withdrawn func(b *runlog.BlockReset)) *Watch {
	w := &Watch{docs: d, owner: owner, run: run, withdrawn: withdrawn, shown: make(map[string]*shownText)}
	d.watched.add(w)
	return w
}

// Note takes an event of the run, in order. Events about other things than blocks change
// nothing.
func (w *Watch) Note(b runlog.Body) {
	if w == nil {
		return
	}
	switch b := b.(type) {
	case *runlog.BlockReset:
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.shown, b.Place.BlockIDs)
	case *runlog.ToolProgress:
		if c := b.Document; c != nil && c.NewDoc && c.BlockIDs != "" {
			for id := range strings.SplitSeq(c.BlockIDs, ",") { // readers show them empty
				w.note(runlog.Place{BlockIDs: id, DocumentID: c.DocumentID}, 0, "")
			}
		}
	case *runlog.BlockHeader:
		w.note(b.Place, b.Revision, "")
	case *runlog.BlockContent:
		w.note(b.Place, b.Revision, b.Text)
	default:
	}
}

func (w *Watch) note(p runlog.Place, revision int64, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.shown[p.BlockIDs]
	if t == nil {
		w.begun++
		t = &shownText{reset: runlog.BlockReset{Place: p, End: true, Revision: revision}, place: w.begun}
		t.sum.SetSeed(seed)
		w.shown[p.BlockIDs] = t
	}
	_, _ = t.sum.WriteString(text) // it never fails
}

// Look withdraws what the run has shown of blocks and documents that were withdrawn from
// it, also through another process.
func (w *Watch) Look(ctx context.Context) error {
	return w.docs.look(ctx, []*Watch{w})
}

// LookForWithdrawals does what Watch.Look does, for all watched runs, and withdraws what
// they are writing into blocks that the user has rejected or deleted through another
// process. A nil Documents has none.
func (d *Documents) LookForWithdrawals(ctx context.Context) error {
	if d == nil {
		return nil
	}
	return errors.Join(d.look(ctx, d.watched.where(func(*Watch) bool { return true })), d.lookForRejected(ctx))
}

func (d *Documents) look(ctx context.Context, list []*Watch) error {
	byRun := make(map[string]*Watch)
	for _, w := range list {
		if len(w.blocks("")) > 0 {
			byRun[w.run] = w
		}
	}
	if len(byRun) == 0 {
		return nil
	}
	found, err := d.versions.Withdrawn(ctx, slices.Collect(maps.Keys(byRun)))
	for _, f := range found {
		if w := byRun[f.Run]; w != nil {
			err = errors.Join(err, d.withdrawFrom(ctx, w, f))
		}
	}
	return err
}

// withdrawFrom withdraws what a run has written, or is writing, into a document, or what
// it has written into a block.
func (d *Documents) withdrawFrom(ctx context.Context, w *Watch, f record.Withdrawal) error {
	o, unlock, err := d.own(ctx, w.owner.ID)
	if err != nil {
		return err
	}
	defer unlock()
	if f.Block != "" {
		o.compareStored(ctx, w, f.Block)
		return nil
	}
	for _, p := range d.writing.in(w.owner.ID, f.Document) {
		if p.run == w.run {
			p.mu.Lock()
			p.withdraw()
			p.mu.Unlock()
		}
	}
	o.compareAll(ctx, w, f.Document)
	return nil
}

// withdrawShown withdraws what runs have shown in blocks of a document and the
// document no longer has.
func (o owned) withdrawShown(ctx context.Context, document string) {
	for _, w := range o.docs.watched.where(o.has) {
		o.compareAll(context.WithoutCancel(ctx), w, document)
	}
}

// withdrawBlock withdraws what runs have shown in a block that no longer has it; b is nil
// if the block no longer exists.
func (o owned) withdrawBlock(id string, b *schemas.Block) {
	for _, w := range o.docs.watched.where(o.has) {
		o.compare(w, id, b)
	}
}

// blocks returns the shown blocks of a document in order; of all documents if it is empty.
func (w *Watch) blocks(document string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []string
	for id, t := range w.shown {
		if document == "" || t.reset.Place.DocumentID == document {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return w.shown[a].place - w.shown[b].place })
	return ids
}

// has reports whether the run is the owner's.
func (o owned) has(w *Watch) bool { return w.owner.ID == o.owner }

// compareAll withdraws the shown blocks of a document that no longer have the shown text.
func (o owned) compareAll(ctx context.Context, w *Watch, document string) {
	for _, id := range w.blocks(document) {
		o.compareStored(ctx, w, id)
	}
}

// compareStored withdraws a shown block that no longer has the shown text.
func (o owned) compareStored(ctx context.Context, w *Watch, id string) {
	if !w.shows(id) {
		return
	}
	b, err := o.docs.blocks.Block(ctx, o.owner, id)
	switch {
	case errors.Is(err, schemas.ErrNotFound):
		o.compare(w, id, nil)
	case err == nil:
		o.compare(w, id, &b)
	default: // the next Look decides
	}
}

// compare withdraws a shown block if b, which is stored now, no longer has the shown text;
// nil is no block. A block that is being written is left to its draft.
func (o owned) compare(w *Watch, id string, b *schemas.Block) {
	if len(o.docs.writing.into(o.owner, id)) > 0 {
		return
	}
	w.mu.Lock()
	t := w.shown[id]
	gone := t != nil && (b == nil || b.DocumentID != t.reset.Place.DocumentID || !t.equals(b))
	if gone {
		delete(w.shown, id)
	}
	w.mu.Unlock()
	if gone {
		w.withdrawn(&t.reset)
	}
}

// shows reports whether the run has shown text in the block.
func (w *Watch) shows(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shown[id] != nil
}

// equals reports whether the block has the shown text, pending or accepted.
func (t *shownText) equals(b *schemas.Block) bool {
	text := ""
	switch {
	case b.New != nil:
		text = *b.New
	case b.Current != nil:
		text = *b.Current
	}
	return maphash.String(seed, text) == t.sum.Sum64()
}

// watched has the watches of unfinished runs. It is safe for concurrent use.
type watched struct {
	mu  sync.Mutex
	all map[string]*Watch
}

func (l *watched) add(w *Watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = make(map[string]*Watch)
	}
	l.all[w.run] = w
}

func (l *watched) drop(run string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, run)
}

// where returns the watches for which keep is true, by run.
func (l *watched) where(keep func(*Watch) bool) []*Watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*Watch
	for _, run := range slices.Sorted(maps.Keys(l.all)) {
		if w := l.all[run]; keep(w) {
			list = append(list, w)
		}
	}
	return list
}
