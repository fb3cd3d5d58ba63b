// Package target writes the text of an answer into blocks of a document, while the model
// writes it. Its caller finds out which blocks these are, and owns the run and its log.
package target

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/fences"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/documents"
)

// Options describes the run of an answer. All fields must be set for one that goes into
// blocks.
type Options struct {
	Run   string
	Owner schemas.User
	// Title is the text from which a document that is created gets its title.
	Title  string
	Drafts *documents.Documents
	Calls  Calls
	// Emit appends an event to the log; Append does so from any goroutine.
	Emit   func(at runlog.Level, b runlog.Body)
	Append func(at runlog.Level, b runlog.Body) error
	// Note notes an event as shown that others emit.
	Note func(b runlog.Body)
	Warn func(text string)
	// Withdrawn is called when the user has withdrawn all blocks.
	Withdrawn func()
	// Resumed is true in a later attempt of the run.
	Resumed bool
	Logger  *slog.Logger
}

// Calls store drafts, as written.Calls does.
type Calls interface {
	// Storing returns a context for the writes of a draft.
	Storing() (context.Context, context.CancelFunc)
	// Store ends a draft. The error is record.ErrUnavailable: it may be called again.
	Store(d *documents.Draft, show func()) (whole, failed bool, away error)
}

// Answer is the text of an answer that goes into blocks. Until Use is called it goes to the
// chat. Only the run's goroutine uses it.
type Answer struct {
	Options

	document string
	ids      []string        // of the blocks
	there    map[string]bool // the blocks that exist when the attempt begins
	kind     string          // of a table or a chart, else ""
	joiner   runlog.Joiner
	text     strings.Builder
	header   int // length of the chart's header in text
	opened   bool
	whole    bool // nothing will follow text
	drafts   []*block
	fences   *fences.Filter // of the reply under way, nil before its first text
	left     atomic.Int32   // number of blocks that the user has not withdrawn
	unstored error
}

// New returns an answer without text.
func New(o Options) *Answer { return &Answer{Options: o} }

// Use makes the answer go into blocks of a document. There are those that exist. Kind is the
// type of the first one if that is not Markdown, else "".
func (a *Answer) Use(document string, ids []string, there map[string]bool, kind string) {
	a.document, a.ids, a.there, a.kind = document, ids, there, kind
}

// Feed returns what of a piece of a reply's text goes into the answer: a table is stored
// without the code fence around it.
func (a *Answer) Feed(text string) string {
	if a.fences == nil {
		a.fences = fences.New(a.kind)
	}
	return a.fences.Feed(text)
}

// Last is Feed for the last piece of a reply's text.
func (a *Answer) Last(text string) string { return a.Feed(text) + a.fences.End() }

// EndText ends the text of a reply.
func (a *Answer) EndText() {
	if a.fences.Beside() {
		a.Warn("What the model wrote beside the " + contentName(a.kind) + " is not in the document.")
	}
	a.fences = nil
}

func contentName(kind string) string {
	if kind == schemas.BlockChart {
		return "chart"
	}
	return "table"
}

// Marker notes that the answer goes on after a tool marker.
func (a *Answer) Marker() { a.joiner.Marker() }

// Add takes visible text of the answer. It is not stored if an earlier attempt has shown it.
func (a *Answer) Add(text string, shown bool) {
	piece := a.joiner.Text(text)
	if a.document == "" || piece == "" {
		return
	}
	a.text.WriteString(piece)
	switch {
	case shown:
		return
	case !a.opened:
		a.open(false)
		return
	}
	ctx, done := a.Calls.Storing()
	defer done()
	for _, b := range a.drafts {
		if err := b.draft.Write(ctx, piece, nil); err != nil && !errors.Is(err, record.ErrUnavailable) {
			_ = b.end(ctx) // it has ended
		}
	}
}

// open begins the blocks with all the text so far, a chart once its header is
// whole. The page is told to clear a block that it already shows. If the database is away
// for long, the run has not ended with its answer, see Unstored.
func (a *Answer) open(ended bool) {
	content, meta := a.text.String(), json.RawMessage(nil)
	if a.kind == schemas.BlockChart {
		header, n, whole := schemas.ChartHeader(content, ended)
		if !whole {
			return
		}
		if content, a.header = content[n:], n; header != "" {
			meta = json.RawMessage(header)
		} else if n > 0 {
			a.Warn("The chart keeps its header: the one in the answer is not a Vega-Lite specification without data.")
		}
	}
	a.opened = true
	ctx, done := a.Calls.Storing()
	defer done()
	for _, id := range a.ids {
		a.begin(ctx, record.NewBlock{ID: id, Type: a.blockType(), Content: content, Meta: meta})
	}
}

// begin begins one of the blocks.
func (a *Answer) begin(ctx context.Context, begun record.NewBlock) {
	known, _ := record.Persist(ctx, func() (known bool, err error) {
		_, known, err = a.Drafts.Known(ctx, a.Owner, begun.ID)
		return known, err
	})
	b := &block{all: a, id: begun.ID}
	w := record.BlockWrite{Title: a.Title, Only: a.there[b.id], KeepsType: true, NewBlock: begun}
	claim := documents.Claim{Run: a.Run, Owner: a.Owner.ID, Document: a.document, Blocks: []string{b.id}}
	var written schemas.Block
	draft, err := record.Persist(ctx, func() (d *documents.Draft, err error) {
		d, written, err = a.Drafts.Draft(ctx, claim, w, b.withdrawn)
		return d, err
	})
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, record.ErrUnavailable) {
			a.unstored = fmt.Errorf("%w: %w", record.ErrUnavailable, err)
		}
		a.Warn("The answer could not be written into the block " + b.id + ": " + a.refusal(ctx, b.id, begun.Content, err) + ".")
		a.Emit(runlog.Level{}, &runlog.BlockReset{Place: runlog.Place{BlockIDs: b.id, DocumentID: a.document}, End: true})
		return
	}
	b.draft = draft
	a.left.Add(1)
	draft.Show(func() {
		b.place = runlog.Place{BlockIDs: b.id, DocumentID: a.document, Type: written.Type}
		b.since = written.Revision
		a.Emit(runlog.Level{}, &runlog.BlockReset{Place: b.place, Revision: b.since, New: !known})
	})
	a.drafts = append(a.drafts, b)
}

// blockType returns the type of the blocks.
func (a *Answer) blockType() string { return cmp.Or(a.kind, schemas.BlockMarkdown) }

// refusal says to the user why a block does not take the answer. The block may have been
// deleted, given another type, or made again, since the question was taken.
func (a *Answer) refusal(ctx context.Context, id, content string, refused error) string {
	b, err := a.Drafts.Block(ctx, a.Owner, id)
	switch {
	case errors.Is(refused, record.ErrWithdrawn):
		return "its document was deleted, or the plan of its document was rejected"
	case errors.Is(err, schemas.ErrNotFound) && a.there[id]:
		return "it was deleted"
	case err == nil && strings.HasPrefix(b.Type, "image/"):
		return "it is an image now"
	case err == nil && b.Type != a.blockType():
		return "its type is " + b.Type + " now, and the answer is " + a.blockType()
	case err == nil && b.State == schemas.BlockPendingDelete:
		return "a plan has replaced it, and it has changes that you have not decided about"
	case a.kind == schemas.BlockChart && schemas.StrayHeader(content):
		return "it begins with JSON that is not the header of a chart, one object on lines of its own"
	}
	return schemas.Visible(refused).Message
}

// EndReply begins a chart at the end of a reply, if its header may still be incomplete.
func (a *Answer) EndReply() {
	if a.document != "" && a.kind == schemas.BlockChart && !a.opened && a.text.Len() > 0 {
		a.open(true)
	}
}

// Keep replaces the text by what earlier attempts have shown of an answer that ends now.
func (a *Answer) Keep(text string) {
	a.whole = true
	a.text.Reset()
	a.text.WriteString(text)
}

// Kept begins the blocks with the text of earlier attempts, and returns that; "" if there is
// none.
func (a *Answer) Kept() string {
	if a.document == "" || a.text.Len() == 0 {
		return ""
	}
	a.open(a.whole)
	return a.text.String()
}

// Unstored returns record.ErrUnavailable if the database was away for so long that not all of
// the answer is in its blocks.
func (a *Answer) Unstored() error { return a.unstored }

// End stores the held text. If that cannot be stored now, a later attempt writes all blocks of
// an answer that is complete again; another answer says what is missing.
func (a *Answer) End(complete bool) {
	switch {
	case a.opened:
	case a.text.Len() > 0:
		a.open(true)
	case a.Resumed:
		a.showStored()
	}
	waiting, done := a.Calls.Storing()
	defer done()
	for _, b := range a.drafts {
		switch err := b.end(waiting); {
		case err == nil:
		case complete:
			a.unstored = err
			return
		default:
			a.Warn("The end of the answer is not in the block " + b.id + ": the database was away.")
		}
	}
}

// showStored shows the blocks as they are stored. A process that was killed may have
// stored more of a block than its log has, and this attempt writes nothing.
func (a *Answer) showStored() {
	ctx, done := a.Calls.Storing()
	defer done()
	for _, id := range a.ids {
		b, found, err := a.Drafts.FindStored(ctx, a.Owner, id)
		if err != nil {
			a.Logger.Warn("could not read a block of an interrupted answer", "run_id", a.Run, "error", err)
		}
		stored := cmp.Or(b.New, b.Current)
		if !found || b.DocumentID != a.document || stored == nil {
			continue
		}
		place := runlog.Place{BlockIDs: id, DocumentID: a.document, Type: b.Type}
		a.Emit(runlog.Level{}, &runlog.BlockReset{Place: place, Revision: b.Revision})
		if header := documents.Header(&b); header != "" {
			a.Emit(runlog.Level{}, &runlog.BlockHeader{Place: place, Header: header, Revision: b.Revision})
		}
		if *stored != "" {
			a.Emit(runlog.Level{}, &runlog.BlockContent{Place: place, Text: *stored, Revision: b.Revision})
		}
	}
}

// block is one of the blocks that an answer goes into.
type block struct {
	all   *Answer
	id    string
	draft *documents.Draft
	place runlog.Place // empty before it is shown
	since int64        // the document's revision when the block was begun
	ended bool
}

// withdrawn shows at once that the user has withdrawn the block. An answer
// without another block is stopped.
func (b *block) withdrawn() {
	if b.place != (runlog.Place{}) {
		_ = b.all.Append(runlog.Level{}, &runlog.BlockReset{Place: b.place, End: true, Revision: b.since}) // a full log ends the run
	}
	if b.all.left.Add(-1) == 0 {
		b.all.Withdrawn()
	}
}

// storeAgain is the pause before the rest of an answer is stored again.
const storeAgain = 100 * time.Millisecond

// end stores the held text, once. If not all of it could be stored, the user is
// told. The error is record.ErrUnavailable if the database was away until waiting ended.
func (b *block) end(waiting context.Context) error {
	if b.ended {
		return nil
	}
	b.ended = true
	// From now on it is withdrawn like what calls have written.
	shown := func() {
		b.all.Note(&runlog.BlockContent{Place: b.place, Revision: b.since, Text: b.all.text.String()[b.all.header:]})
	}
	whole, failed, err := b.all.Calls.Store(b.draft, shown)
	for err != nil && concurrent.Pause(waiting, storeAgain) == nil {
		whole, failed, err = b.all.Calls.Store(b.draft, shown)
	}
	if failed {
		b.drop()
	}
	switch {
	case err != nil, whole:
	case b.draft.Withdrawn():
		b.all.Warn("The block " + b.id + " was rejected or deleted while the answer was written into it.")
	default:
		b.all.Warn("The answer could not be written into the block " + b.id + ": there is no room for it.")
	}
	return err
}

// drop removes the block, of which not all could be stored, from the document. Readers are
// told, so that they see what is stored.
func (b *block) drop() {
	ctx, done := b.all.Calls.Storing()
	defer done()
	if _, err := b.all.Drafts.Drop(ctx, b.all.Owner, b.id); err != nil {
		b.all.Logger.Warn("could not remove an incomplete block", "run_id", b.all.Run, "error", err)
	}
	b.all.Emit(runlog.Level{}, &runlog.BlockReset{Place: b.place, End: true, Revision: b.since})
}
