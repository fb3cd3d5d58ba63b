package written

import (
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// Interrupted shows what is stored of the blocks that calls of an earlier attempt have
// written in events that are void now, unless the events show just that. No call
// goes on with these blocks.
func (a *Calls) Interrupted(void []runlog.Event) {
	writes := a.lastWrites(void)
	ctx, done := a.Storing()
	defer done()
	for _, w := range writes {
		id := w.place.BlockIDs
		holder, err := record.Persist(ctx, func() (string, error) { return a.Drafts.Claim(ctx, a.claimOf(id)) })
		if holder != "" || err != nil {
			continue // the holder shows it
		}
		b, found, err := a.Drafts.FindStored(ctx, a.Owner, id)
		switch {
		case err != nil:
			a.Logger.Warn("could not read a block that was being written", "run_id", a.Run, "error", err)
		case !found:
			w.restore(nil)
		case b.New == nil || *b.New != w.text:
			w.since = b.Revision
			w.restore(&b)
		}
	}
}

// Earlier takes the log of earlier attempts.
func (a *Calls) Earlier(events []runlog.Event) {
	a.earlier, a.planned, a.shown = a.lastWrites(events), make(map[string]bool), make(map[int]bool)
	for i := range events {
		if b, ok := events[i].Body.(*runlog.BlockContent); ok && b.By != nil {
			a.shown[b.By.Index] = true
		}
		if b, ok := events[i].Body.(*runlog.ToolProgress); ok && b.Document != nil && b.Document.NewDoc {
			for id := range strings.SplitSeq(b.Document.BlockIDs, ",") {
				a.planned[id] = true
			}
		}
	}
}

// undo removes what a call of an earlier attempt has written into a block, if it still
// waits there: the process ended after the call had failed, or it was run again and
// failed then. A planned block is empty again.
func (a *Calls) undo(index int) {
	at := slices.IndexFunc(a.earlier, func(w *lastWrite) bool { return w.by.Index == index })
	if at < 0 {
		return
	}
	w := a.earlier[at]
	ctx, done := a.Storing()
	defer done()
	id := w.place.BlockIDs
	b, found, err := a.Drafts.FindStored(ctx, a.Owner, id)
	if err == nil && (!found || b.New == nil || *b.New != w.text) {
		return
	}
	var stored *schemas.Block
	if err == nil && b.Current == nil && a.planned[id] {
		b, err = record.Persist(ctx, func() (schemas.Block, error) {
			return a.Drafts.Write(ctx, a.Owner, w.place.DocumentID, record.BlockWrite{Only: true, NewBlock: record.NewBlock{ID: id, Type: b.Type}})
		})
		stored = &b
	} else if err == nil {
		var after record.Settled
		if after, err = a.Drafts.Drop(ctx, a.Owner, id); !after.Gone {
			stored = &after.Block
		}
	}
	if a.Fenced(err); err != nil {
		a.Logger.Warn("could not remove what a call has written", "run_id", a.Run, "error", err)
		return
	}
	w.since = b.Revision
	w.restore(stored)
}

// lastWrite is what a call of an earlier attempt has shown of a block.
type lastWrite struct {
	block
	text string
}

// lastWrites returns for each block that calls write in the events what the last one of
// them has shown, without those whose end has been shown as withdrawn.
func (a *Calls) lastWrites(events []runlog.Event) []*lastWrite {
	var writes []*lastWrite
	for i := range events {
		var place runlog.Place
		var by *runlog.Caller
		content, empties, ends := "", false, false
		switch b := events[i].Body.(type) {
		case *runlog.BlockReset:
			place, by, empties, ends = b.Place, b.By, true, b.End
		case *runlog.BlockHeader:
			place, by = b.Place, b.By
		case *runlog.BlockContent:
			place, by, content = b.Place, b.By, b.Text
		default:
		}
		if by == nil {
			continue
		}
		at := slices.IndexFunc(writes, func(w *lastWrite) bool { return w.place.BlockIDs == place.BlockIDs })
		if at >= 0 && empties {
			writes = slices.Delete(writes, at, at+1)
			at = -1
		}
		switch {
		case ends:
		case at < 0:
			writes = append(writes, &lastWrite{block{all: a, by: by, place: place, stage: ended}, content})
		default:
			writes[at].text += content
		}
	}
	return writes
}
