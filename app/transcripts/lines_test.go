package transcripts

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
)

// TestLinesOfWrittenBlocks checks, in what websockets have received, that a call which is
// shown by its block has no line that it runs once the block is there, and that it is
// reported as having written the block after the block's end.
func TestLinesOfWrittenBlocks(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, transcript, _ := strings.Cut(string(content), "-- transcript --\n")
		shown += checkLines(t, filepath.Base(file), transcript)
	}
	if shown < 5 {
		t.Errorf("%d calls are shown by their blocks before they run, want at least 5", shown)
	}
}

// checkLines checks a transcript. It returns how many calls were shown by their blocks
// before they ran.
func checkLines(t *testing.T, name, transcript string) (shown int) {
	t.Helper()
	var before schemas.Chunk           // the chunk before
	ended := map[string]bool{}         // blocks with content in this run
	announced := map[string][]string{} // by call with a line that it runs: the blocks at that time
	for line := range strings.SplitSeq(transcript, "\n") {
		var c schemas.Chunk
		if !strings.HasPrefix(line, `{"type":`) || json.Unmarshal([]byte(line), &c) != nil {
			continue
		}
		switch {
		case c.RunID != "":
			clear(ended)
			clear(announced)
		case c.Type == schemas.ChunkReset:
			delete(ended, c.BlockIDs)
			for call, blocks := range announced { // the block was that of an earlier call
				announced[call] = slices.DeleteFunc(blocks, func(id string) bool { return id == c.BlockIDs })
			}
		case c.Type == schemas.ChunkTool && c.Event == schemas.ToolStarts && before.StatusCode == schemas.StatusRunningTool:
			announced[c.ToolUseID] = slices.Collect(maps.Keys(ended))
		case c.Type == schemas.ChunkTool && c.Stage == "document" && c.BlockIDs != "":
			end, written := ended[c.BlockIDs]
			if written && !end {
				t.Errorf("%s: %q comes before the end of the block %s", name, c.Message, c.BlockIDs)
			}
			blocks, line := announced[c.ToolUseID]
			if line && slices.Contains(blocks, c.BlockIDs) {
				t.Errorf("%s: a line says that a call runs after its block %s", name, c.BlockIDs)
			}
			if written && !line {
				shown++
			}
		case c.Content != nil && c.Type != schemas.ChunkStatus && c.Type != schemas.ChunkWarning && c.BlockIDs != "":
			ended[c.BlockIDs] = c.End
		}
		before = c
	}
	return shown
}
