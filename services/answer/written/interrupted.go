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
	calls := lastWrites(void)
	ctx, done := a.Storing()
	defer done()
	for _, c := range calls {
		c.all = a
		id := c.place.BlockIDs
		holder, err := record.Persist(ctx, func() (string, error) { return a.Drafts.Claim(ctx, a.claimOf(id)) })
		if holder != "" || err != nil {
			continue // the holder shows it
		}
		b, found, err := a.Drafts.FindStored(ctx, a.Owner, id)
		switch {
		case err != nil:
			a.Logger.Warn("could not read a block that was being written", "run_id", a.Run, "error", err)
		case !found:
			c.restore(nil)
		case b.New == nil || *b.New != c.held:
			c.since = b.Revision
			c.restore(&b)
		}
	}
}

// Earlier takes the log of earlier attempts.
func (a *Calls) Earlier(events []runlog.Event) {
	a.earlier, a.planned, a.shown = lastWrites(events), make(map[string]bool), make(map[int]bool)
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
	at := slices.IndexFunc(a.earlier, func(c *call) bool { return c.index == index })
	if at < 0 {
		return
	}
	c := a.earlier[at]
	c.all = a
	ctx, done := a.Storing()
	defer done()
	id := c.place.BlockIDs
	b, found, err := a.Drafts.FindStored(ctx, a.Owner, id)
	if err == nil && (!found || b.New == nil || *b.New != c.held) {
		return
	}
	var stored *schemas.Block
	if err == nil && b.Current == nil && a.planned[id] {
		b, err = record.Persist(ctx, func() (schemas.Block, error) {
			return a.Drafts.Write(ctx, a.Owner, c.place.DocumentID, record.BlockWrite{Only: true, NewBlock: record.NewBlock{ID: id, Type: b.Type}})
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
	c.since = b.Revision
	c.restore(stored)
}

// lastWrites returns for each block that calls write in the events the last one of them,
// with the text that it has shown, without those whose end has been shown as withdrawn.
func lastWrites(events []runlog.Event) []*call {
	var calls []*call
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
		at := slices.IndexFunc(calls, func(c *call) bool { return c.place.BlockIDs == place.BlockIDs })
		if at >= 0 && empties {
			calls = slices.Delete(calls, at, at+1)
			at = -1
		}
		switch {
		case ends:
		case at < 0:
			calls = append(calls, &call{index: by.Index, name: by.Tool, callID: by.ToolUseID, place: place, by: by, ended: true, held: content})
		default:
			calls[at].held += content
		}
	}
	return calls
}
