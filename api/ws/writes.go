package ws

import (
	"maps"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
)

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
