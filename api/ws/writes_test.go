package ws_test

import (
	"testing"

	"github.com/chattray/chattray/api/ws"
	"github.com/chattray/chattray/schemas"
)

// What a run writes into a block is not shown after what a later run has written there.
func TestBlocksThatALaterRunWrites(t *testing.T) {
	seen := ws.NewestWrites{}
	for _, tt := range []struct {
		name  string
		since map[string]int64
		chunk schemas.Chunk
		want  string // the blocks that are left
		kept  bool
	}{
		{"the first run", map[string]int64{"b": 1}, schemas.Chunk{Type: "md", BlockIDs: "b"}, "b", true},
		{"a later one", map[string]int64{"b": 2}, schemas.Chunk{Type: "md", BlockIDs: "b"}, "b", true},
		{"the later one goes on", map[string]int64{"b": 2}, schemas.Chunk{Type: "md", BlockIDs: "b"}, "b", true},
		{"the first one goes on", map[string]int64{"b": 1}, schemas.Chunk{Type: "md", BlockIDs: "b"}, "", false},
		{"one of two blocks", map[string]int64{"a": 1, "b": 1}, schemas.Chunk{Type: "md", BlockIDs: "a,b"}, "a", true},
		{"a run that has not begun to write", nil, schemas.Chunk{Type: "md", BlockIDs: "b"}, "", false},
		{"the end of the first", map[string]int64{"b": 1}, schemas.Chunk{Type: "md", BlockIDs: "b", End: true}, "", false},
		{"an error of the first", map[string]int64{"b": 1}, schemas.Chunk{Type: schemas.ChunkError, BlockIDs: "b"}, "", true},
		{"a line", nil, schemas.Chunk{Type: schemas.ChunkStatus, BlockIDs: "b"}, "b", true},
		{"a call", nil, schemas.Chunk{Type: schemas.ChunkTool, BlockIDs: "b"}, "b", true},
		{"the structure of a document", nil, schemas.Chunk{Type: "md", BlockIDs: "b", NewDoc: true}, "b", true},
	} {
		if kept := seen.Keep(tt.since, &tt.chunk); kept != tt.kept || tt.chunk.BlockIDs != tt.want {
			t.Errorf("%s: the chunk is shown: %t, with the blocks %q, want %t and %q", tt.name, kept, tt.chunk.BlockIDs, tt.kept, tt.want)
		}
	}
}

// A run writes a block from its first chunk to the block's end, or to the run's.
func TestBlocksThatRunsWrite(t *testing.T) {
	open := ws.OpenWrites{}
	note := func(run string, c schemas.Chunk, want string) {
		t.Helper()
		open.Note(run, &c)
		got := ""
		for _, block := range []string{"a", "b", "c"} {
			if open.Any(block) {
				got += block
			}
		}
		if got != want {
			t.Errorf("after %+v of %s the blocks %q are written, want %q", c, run, got, want)
		}
	}
	note("r1", schemas.Chunk{Type: "md", BlockIDs: "a,b"}, "ab")
	note("r2", schemas.Chunk{Type: schemas.ChunkStatus, BlockIDs: "c"}, "ab")
	note("r2", schemas.Chunk{Type: schemas.ChunkTool, BlockIDs: "c"}, "ab")
	note("r2", schemas.Chunk{Type: "md", BlockIDs: "c", NewDoc: true}, "ab")
	note("r2", schemas.Chunk{Type: "md", BlockIDs: "c"}, "abc")
	note("r1", schemas.Chunk{Type: "md", BlockIDs: "a", End: true}, "bc")
	note("r1", schemas.Chunk{Type: schemas.ChunkRunEnd}, "c")
	note("r2", schemas.Chunk{Type: schemas.ChunkRunEnd}, "")
	if open.Any() {
		t.Error("a run writes one of no blocks")
	}
}
