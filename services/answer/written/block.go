package written

import (
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/documents"
)

// blockChunk bounds the content of a block in one chunk, in bytes.
const blockChunk = 32 << 10

// block is a block that a call writes, as its readers see it.
type block struct {
	all   *Calls
	by    *runlog.Caller // the call; all of it is known before the block is shown
	place runlog.Place
	since int64 // the document's revision when the block was begun
	there bool  // the page has the block already
	at    runlog.Level
	stage stage // while the draft goes on, read and written only by what the draft calls
}

// stage is how far a block is shown.
type stage uint8

const (
	hidden stage = iota
	opened       // its levels are open
	ended        // its levels are closed, also by an earlier attempt
)

// open opens the block's own thread and shows what comes before its content.
func (b *block) open(header string) {
	b.stage, b.at = opened, b.all.Levels.OpenDocument(b.by.Tool, b.place.BlockIDs, b.place.Type)
	if b.there {
		b.all.Emit(b.at, b.reset(false))
	}
	b.header(header)
}

func (b *block) header(header string) {
	if header != "" {
		b.all.Emit(b.at, &runlog.BlockHeader{Place: b.place, Header: header, Revision: b.since, By: b.by})
	}
}

// content shows a piece of the content in small chunks, however much the
// model's server sends at once.
func (b *block) content(text string) {
	for text != "" {
		n := min(len(text), blockChunk)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		b.all.Emit(b.at, &runlog.BlockContent{Place: b.place, Text: text[:n], Revision: b.since, By: b.by})
		text = text[n:]
	}
}

// done shows the end of the block.
func (b *block) done(status string) {
	if b.stage == opened {
		b.all.Emit(b.at, &runlog.BlockDone{Place: b.place, By: b.by})
		b.close(status)
	}
}

// close closes the levels of the block.
func (b *block) close(status string) {
	if b.stage == opened {
		b.stage = ended
		b.all.Levels.CloseDocument(b.at, status)
	}
}

// reset is what readers are told when the block's content no longer counts; with end,
// nothing more comes.
func (b *block) reset(end bool) *runlog.BlockReset {
	return &runlog.BlockReset{Place: b.place, End: end, Revision: b.since, By: b.by}
}

// withdrawn shows at once that the user has withdrawn the block. It is called by
// the draft, which keeps the run from showing more.
func (b *block) withdrawn() {
	switch b.stage {
	case ended:
		_ = b.all.Append(runlog.Level{}, b.reset(true)) // a full log ends the run
	case opened:
		_ = b.all.Append(b.at, b.reset(true))
	case hidden:
	}
}

// withdraw shows that what the call has written does not count; with end, nothing more
// comes.
func (b *block) withdraw(end bool) {
	reset := b.reset(end)
	reset.Refused = true
	if b.stage == ended {
		b.at = runlog.Level{}
	}
	b.all.Emit(b.at, reset)
}

// restore shows the block as it is stored, nil for no block, in place of what the call has
// shown.
func (b *block) restore(stored *schemas.Block) {
	pending := stored != nil && stored.New != nil && stored.State != schemas.BlockPendingDelete
	b.withdraw(!pending)
	b.close("partial")
	if !pending {
		return
	}
	b.place.Type = stored.Type
	b.at = b.all.Levels.OpenDocument(b.by.Tool, b.place.BlockIDs, b.place.Type)
	b.header(documents.Header(stored))
	b.content(*stored.New)
	b.all.Emit(b.at, &runlog.BlockDone{Place: b.place, By: b.by})
	b.all.Levels.CloseDocument(b.at, "completed")
}
