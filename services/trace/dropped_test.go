package trace_test

import (
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/trace"
)

// TestDroppedPartsAreBounded has a run with as many refused payloads as calls.
func TestDroppedPartsAreBounded(t *testing.T) {
	var dropped trace.Dropped
	kept, size := 0, 0
	for range 600 {
		if dropped.Add(schemas.DroppedPart{Type: "mcp_result", Reason: "too many", Text: strings.Repeat("ä", 100<<10)}) {
			kept++
		}
	}
	for _, d := range dropped.All() {
		size += len(d.Text)
		if d.Reason != "too many" || strings.Trim(d.Text, "ä") != "" {
			t.Errorf("a part has the reason %q and a text that ends %q", d.Reason, d.Text[max(0, len(d.Text)-3):])
		}
	}
	if kept != 64 || len(dropped.All()) != kept || size > 2<<20 || size < 2<<20-2 {
		t.Errorf("%d parts of %d bytes are kept, want 64 of 2 MiB", kept, size)
	}
}
