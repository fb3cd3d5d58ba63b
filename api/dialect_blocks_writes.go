package api

import (
	"maps"
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

// withdrawn reports whether the user has withdrawn all blocks of an answer.
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

// newestWrites are, for each block, the revision at which the newest write
// began that a client has seen in any of its runs. Runs are shown side by side,
// so what one wrote into a block may arrive after the next one has begun to
// write it.
type newestWrites map[string]int64

// keep removes the blocks of a chunk that a later run already writes, and
// reports whether anything is left to send. Since are the revisions at which
// the chunk's run began to write its blocks.
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

// openWrites are the blocks that a client sees runs write, each with its run.
type openWrites map[string]string

// note notes what a chunk of a run begins or ends.
func (w openWrites) note(run string, c *schemas.Chunk) {
	switch {
	case c.Type == schemas.ChunkRunEnd:
		maps.DeleteFunc(w, func(_, by string) bool { return by == run })
	case c.BlockIDs == "", c.Type == schemas.ChunkStatus, c.Type == schemas.ChunkTool, c.NewDoc:
	default:
		for id := range strings.SplitSeq(c.BlockIDs, ",") {
			if c.End {
				delete(w, id)
			} else {
				w[id] = run
			}
		}
	}
}

// any reports whether a run writes one of the blocks.
func (w openWrites) any(blocks []string) bool {
	return slices.ContainsFunc(blocks, func(id string) bool { return w[id] != "" })
}
