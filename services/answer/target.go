package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/fences"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/eventlog"
)

// answerDraft is the text of an answer that goes into blocks of a document. Its zero
// value is for an answer that goes to the chat.
type answerDraft struct {
	target   runlog.Target
	document string
	blocks   []string
	joiner   runlog.Joiner
	text     strings.Builder
	header   int             // length of the chart's header in text
	there    map[string]bool // the blocks that exist when the attempt begins
	opened   bool
	whole    bool // nothing will follow text
	drafts   []*targetDraft
	fences   *fences.Filter // of the reply under way, nil before its first text
	left     atomic.Int32   // number of blocks that the user has not withdrawn
}

// Target finds out where the answer of a run goes. In the chat, the answer's
// message has the id of the first block. A run whose blocks cannot be read is stopped (see
// Unread): it would take a table for text, or bring a rejected block back.
func (wr *Writer) Target(ctx context.Context) runlog.Target {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), eventlog.CommitWait)
	defer done()
	wr.lookForRejected(ctx)
	document, blocks := turn.Answer(wr.run.Request.Context)
	t := runlog.Target{Place: runlog.Place{DocumentID: document}, MessageID: wr.run.MessageID, Awaited: document != "" && len(blocks) > 0}
	if document == "" {
		if i := slices.Index(blocks, wr.run.MessageID); i >= 0 {
			t.Awaited = true
			blocks = slices.DeleteFunc(blocks[i+1:], func(id string) bool {
				document, chat, err := wr.deps.Drafts.Place(ctx, wr.run.Owner, id) // an answer in the chat does not go elsewhere
				wr.stopUnread(err)
				return err != nil || document != "" || wr.deps.Drafts != nil && chat != wr.run.ChatKey
			})
		} else {
			blocks = nil
		}
		blocks = append([]string{wr.run.MessageID}, blocks...)
	}
	if len(blocks) == 0 {
		blocks = []string{turn.AnswerBlock(wr.run.ID)}
	}
	t.BlockIDs = strings.Join(blocks, ",")
	if document != "" && wr.deps.Drafts != nil {
		blocks = wr.run.Earlier.Wanted(blocks)
		wr.answer.document, wr.answer.blocks = document, blocks
		if len(blocks) == 0 { // the user has withdrawn them all
			wr.deps.Stop(ErrWithdrawn)
		}
		wr.answer.there = make(map[string]bool)
		for i, id := range blocks {
			b, found, err := wr.deps.Drafts.Find(ctx, wr.run.Owner, id)
			wr.stopUnread(err)
			wr.answer.there[id] = found && b.DocumentID == document
			if i == 0 && found && b.Type != schemas.BlockMarkdown {
				t.Type, t.Header = b.Type, documents.Header(&b)
			}
		}
	}
	wr.answer.target = t
	return t
}

func (wr *Writer) stopUnread(err error) {
	if err != nil {
		wr.unread = err
		wr.deps.Stop(err)
	}
}

// Unread returns why Target could not read the blocks of the answer, nil if it has.
func (wr *Writer) Unread() error { return wr.unread }

// clear clears the blocks of an answer in the chat that pages may show already: an
// earlier answer, or a block that was removed. The answer counts as later than those.
func (wr *Writer) clear(t *runlog.Target) {
	replaces, replaced := wr.run.Replaces, []string{t.BlockIDs}
	if t.DocumentID == "" && t.Awaited { // the client has chosen the ids
		replaced = strings.Split(t.BlockIDs, ",")
		removed, err := wr.deps.Drafts.Removed(wr.ctx, wr.run.Owner, replaced)
		replaces = replaces || err != nil && wr.ctx.Err() == nil // a run that was cancelled while it waited writes nothing
		replaced = slices.DeleteFunc(replaced, func(id string) bool {
			last, reused := removed[id]
			if reused {
				wr.emit(runlog.Level{}, &runlog.BlockReset{Place: runlog.Place{BlockIDs: id}, Revision: last + 1})
			}
			return reused
		})
	}
	if replaces && len(replaced) > 0 {
		wr.emit(runlog.Level{}, &runlog.BlockReset{Place: runlog.Place{BlockIDs: strings.Join(replaced, ",")}})
	}
}

// unfenced returns what of a reply's text goes into the answer: a table is stored without
// the code fence around it.
func (a *answerDraft) unfenced(text string) string {
	if a.fences == nil {
		a.fences = fences.New(a.target.Type)
	}
	return a.fences.Feed(text)
}

// showLast shows the end of a reply's text.
func (wr *Writer) showLast(rest string) {
	a := &wr.answer
	wr.show(a.unfenced(rest) + a.fences.End())
	if a.fences.Beside() {
		wr.warn("What the model wrote beside the " + contentName(a.target.Type) + " is not in the document.")
	}
	a.fences = nil
}

func contentName(kind string) string {
	if kind == schemas.BlockChart {
		return "chart"
	}
	return "table"
}

// add takes visible text of the answer.
func (a *answerDraft) add(wr *Writer, text string) {
	piece := a.joiner.Text(text)
	if a.document == "" || piece == "" {
		return
	}
	a.text.WriteString(piece)
	if wr.silent {
		return
	}
	if !a.opened {
		a.open(wr, false)
		return
	}
	ctx, done := wr.written.Storing()
	defer done()
	for _, b := range a.drafts {
		if err := b.draft.Write(ctx, piece, nil); err != nil && !errors.Is(err, record.ErrUnavailable) {
			_ = b.end(ctx, wr) // it has ended
		}
	}
}

// open begins the blocks with all the text so far, a chart once its header is
// whole. The page is told to clear a block that it already shows. If the database is away
// for long, the run has not ended with its answer, see Unstored.
func (a *answerDraft) open(wr *Writer, ended bool) {
	content, meta := a.text.String(), json.RawMessage(nil)
	if a.target.Type == schemas.BlockChart {
		header, n, whole := schemas.ChartHeader(content, ended)
		if !whole {
			return
		}
		if content, a.header = content[n:], n; header != "" {
			meta = json.RawMessage(header)
		} else if n > 0 {
			wr.warn("The chart keeps its header: the one in the answer is not a Vega-Lite specification without data.")
		}
	}
	a.opened = true
	ctx, done := wr.written.Storing()
	defer done()
	for _, id := range a.blocks {
		_, known := wr.deps.Drafts.Known(ctx, wr.run.Owner, id)
		b := &targetDraft{answer: a, id: id}
		w := record.BlockWrite{Title: wr.run.Request.Message, Only: a.there[id], KeepsType: true}
		w.NewBlock = record.NewBlock{ID: id, Type: a.kind(), Content: content, Meta: meta}
		var written schemas.Block
		draft, err := record.Persist(ctx, func() (d *documents.Draft, err error) {
			d, written, err = wr.deps.Drafts.Draft(ctx, wr.run.Owner, a.document, w, wr.run.ID, func() { b.withdrawn(wr) })
			return d, err
		})
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, record.ErrUnavailable) {
				wr.unstored = fmt.Errorf("%w: %w", record.ErrUnavailable, err)
			}
			wr.warn("The answer could not be written into the block " + id + ": " + a.refusal(ctx, wr, id, content, err) + ".")
			wr.emit(runlog.Level{}, &runlog.BlockReset{Place: runlog.Place{BlockIDs: id, DocumentID: a.document}, End: true})
			continue
		}
		b.draft = draft
		a.left.Add(1)
		draft.Show(func() {
			b.place = runlog.Place{BlockIDs: id, DocumentID: a.document, Type: written.Type}
			b.since = written.Revision
			wr.emit(runlog.Level{}, &runlog.BlockReset{Place: b.place, Revision: b.since, New: !known})
		})
		a.drafts = append(a.drafts, b)
	}
}

// kind returns the type of the answer's text, and so of its blocks.
func (a *answerDraft) kind() string { return cmp.Or(a.target.Type, schemas.BlockMarkdown) }

// refusal says to the user why a block does not take the answer. The block may have been
// deleted, given another type, or made again, since the question was taken.
func (a *answerDraft) refusal(ctx context.Context, wr *Writer, id, content string, refused error) string {
	b, err := wr.deps.Drafts.Block(ctx, wr.run.Owner, id)
	switch {
	case errors.Is(refused, record.ErrWithdrawn):
		return "its document was deleted, or the plan of its document was rejected"
	case errors.Is(err, schemas.ErrNotFound) && a.there[id]:
		return "it was deleted"
	case err == nil && strings.HasPrefix(b.Type, "image/"):
		return "it is an image now"
	case err == nil && b.Type != a.kind():
		return "its type is " + b.Type + " now, and the answer is " + a.kind()
	case err == nil && b.State == schemas.BlockPendingDelete:
		return "a plan has replaced it, and it has changes that you have not decided about"
	case a.target.Type == schemas.BlockChart && schemas.StrayHeader(content):
		return "it begins with JSON that is not the header of a chart, one object on lines of its own"
	}
	return schemas.Visible(refused).Message
}

// replied begins a chart at the end of a reply, if its header may still be incomplete.
func (a *answerDraft) replied(wr *Writer) {
	if a.document != "" && a.target.Type == schemas.BlockChart && !a.opened && !wr.silent && a.text.Len() > 0 {
		a.open(wr, true)
	}
}

// end stores the held text. If that cannot be stored now, a later attempt writes all blocks of
// an answer that is complete again; another answer says what is missing.
func (a *answerDraft) end(wr *Writer, complete bool) {
	switch {
	case a.opened:
	case a.text.Len() > 0:
		a.open(wr, true)
	case wr.run.Earlier != nil:
		a.showStored(wr)
	}
	waiting, done := wr.written.Storing()
	defer done()
	for _, b := range a.drafts {
		switch err := b.end(waiting, wr); {
		case err == nil:
		case complete:
			wr.unstored = err
			return
		default:
			wr.warn("The end of the answer is not in the block " + b.id + ": the database was away.")
		}
	}
}

// showStored shows the blocks as they are stored. A process that was killed may have
// stored more of a block than its log has, and this attempt writes nothing.
func (a *answerDraft) showStored(wr *Writer) {
	ctx, done := wr.written.Storing()
	defer done()
	for _, id := range a.blocks {
		b, found, err := wr.deps.Drafts.FindStored(ctx, wr.run.Owner, id)
		if err != nil {
			wr.deps.Logger.Warn("could not read a block of an interrupted answer", "run_id", wr.run.ID, "error", err)
		}
		stored := cmp.Or(b.New, b.Current)
		if !found || b.DocumentID != a.document || stored == nil {
			continue
		}
		place := runlog.Place{BlockIDs: id, DocumentID: a.document, Type: b.Type}
		wr.emit(runlog.Level{}, &runlog.BlockReset{Place: place, Revision: b.Revision})
		if header := documents.Header(&b); header != "" {
			wr.emit(runlog.Level{}, &runlog.BlockHeader{Place: place, Header: header, Revision: b.Revision})
		}
		if *stored != "" {
			wr.emit(runlog.Level{}, &runlog.BlockContent{Place: place, Text: *stored, Revision: b.Revision})
		}
	}
}

// targetDraft is one of the blocks that an answer goes to.
type targetDraft struct {
	answer *answerDraft
	id     string
	draft  *documents.Draft
	place  runlog.Place // empty before it is shown
	since  int64        // the document's revision when the block was begun
	ended  bool
}

// withdrawn shows at once that the user has withdrawn the block. An answer
// without another block is stopped.
func (b *targetDraft) withdrawn(wr *Writer) {
	if b.place != (runlog.Place{}) {
		_ = wr.deps.Log.Append(runlog.Level{}, &runlog.BlockReset{Place: b.place, End: true, Revision: b.since}) // a full log ends the run
	}
	if b.answer.left.Add(-1) == 0 {
		wr.deps.Stop(ErrWithdrawn)
	}
}

// end stores the held text, once. If not all of it could be stored, the user is
// told. The error is record.ErrUnavailable if the database was away until waiting ended.
func (b *targetDraft) end(waiting context.Context, wr *Writer) error {
	if b.ended {
		return nil
	}
	b.ended = true
	// From now on it is withdrawn like what calls have written.
	shown := func() {
		wr.watch.Note(&runlog.BlockContent{Place: b.place, Revision: b.since, Text: b.answer.text.String()[b.answer.header:]})
	}
	whole, err := wr.written.EndDraft(waiting, b.draft, shown, &runlog.BlockReset{Place: b.place, End: true, Revision: b.since})
	switch {
	case err != nil, whole:
	case b.draft.Withdrawn():
		wr.warn("The block " + b.id + " was rejected or deleted while the answer was written into it.")
	default:
		wr.warn("The answer could not be written into the block " + b.id + ": there is no room for it.")
	}
	return err
}
