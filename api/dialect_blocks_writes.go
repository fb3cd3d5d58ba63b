package api

import (
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// withdraw ends a block that the user has withdrawn: nothing more of it is shown.
func (d *blocksDialect) withdraw(block string) {
	d.begun = slices.DeleteFunc(d.begun, func(b schemas.Chunk) bool { return b.BlockIDs == block })
	if d.answer.DocumentID == "" {
		return
	}
	ids := strings.Split(d.answer.BlockIDs, ",")
	d.answer.BlockIDs = strings.Join(slices.DeleteFunc(ids, func(id string) bool { return id == block }), ",")
}

// withdrawn says that the user has withdrawn all blocks of an answer.
func (d *blocksDialect) withdrawn() bool { return d.answer.DocumentID != "" && d.answer.BlockIDs == "" }

// noteWrite notes when the run begins to write a block.
func (d *blocksDialect) noteWrite(b runlog.Body) {
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

// newestWrites are the revisions at which the newest writes of blocks began that a
// client has seen, of all of its runs. Runs are shown side by side, so what one wrote
// into a block may come after the beginning of what the next one writes.
type newestWrites map[string]int64

// keep leaves out the blocks of a chunk into which a later run writes already, and
// says whether there is anything left to send. Since is when the chunk's run began.
func (w newestWrites) keep(since map[string]int64, c *schemas.Chunk) bool {
	if c.BlockIDs == "" || c.Type == schemas.ChunkStatus || c.Type == schemas.ChunkTool || c.NewDoc {
		return true
	}
	ids := strings.Split(c.BlockIDs, ",")
	ids = slices.DeleteFunc(ids, func(id string) bool { return w[id] > since[id] })
	for _, id := range ids {
		if since[id] > 0 {
			w[id] = since[id]
		}
	}
	c.BlockIDs = strings.Join(ids, ",")
	return len(ids) > 0 || c.Type == schemas.ChunkError
}
