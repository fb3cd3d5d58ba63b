package dialects

import (
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// withdraw ends a block that the user has withdrawn: nothing more of it is shown.
func (d *Blocks) withdraw(block string) {
	d.begun = slices.DeleteFunc(d.begun, func(b schemas.Chunk) bool { return b.BlockIDs == block })
	if d.answer.DocumentID == "" {
		return
	}
	ids := strings.Split(d.answer.BlockIDs, ",")
	d.answer.BlockIDs = strings.Join(slices.DeleteFunc(ids, func(id string) bool { return id == block }), ",")
}

// withdrawn reports whether the user has withdrawn all blocks of an answer.
func (d *Blocks) withdrawn() bool { return d.answer.DocumentID != "" && d.answer.BlockIDs == "" }

// Since returns, for each block that the run writes, the revision at which it began to; the
// caller must not change it.
func (d *Blocks) Since() map[string]int64 { return d.since }

// noteWrite notes when the run begins to write a block.
func (d *Blocks) noteWrite(b runlog.Body) {
	var block string
	var revision int64
	switch b := b.(type) {
	case *runlog.BlockReset:
		block, revision = b.Place.BlockIDs, b.Revision
	case *runlog.BlockHeader:
		block, revision = b.Place.BlockIDs, b.Revision
	case *runlog.BlockContent:
		block, revision = b.Place.BlockIDs, b.Revision
	default:
	}
	if revision == 0 {
		return
	}
	if d.since == nil {
		d.since = make(map[string]int64)
	}
	d.since[block] = revision
}
