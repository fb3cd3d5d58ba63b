package documents_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/documents"
)

// exportOf returns the export of a document with one block.
func exportOf(t *testing.T, block schemas.Block) string {
	t.Helper()
	s := &fakeStore{document: schemas.Document{ID: "d", Blocks: []schemas.Block{block}}}
	_, got, err := documents.New(s, s, s, s, nil).Export(t.Context(), ann, "d")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Tables whose cells, when each row is as wide as the head, are a product of rows and
// columns are shown as CSV: nothing is lost, and nothing is multiplied.
func TestExportIsAsLongAsItsContent(t *testing.T) {
	for name, content := range map[string]string{
		"a wide head above many rows": strings.Repeat("a,", 40_000) + "\n" + strings.Repeat("x\n", 40_000),
		"commas alone":                strings.Repeat(",", 200_000) + "\n",
		"a small one":                 strings.Repeat("a,", 200) + "\n" + strings.Repeat("x\n", 200),
	} {
		for _, kind := range []string{schemas.BlockCSV, schemas.BlockChart} {
			got := exportOf(t, schemas.Block{Type: kind, Current: &content, Meta: json.RawMessage(`{"title":"T"}`)})
			if len(got) > len(content)+100 || !strings.Contains(got, "```csv\n"+content+"```\n") {
				t.Errorf("%s as %s: %d bytes are exported as %d, %.60q; want the content in a fence", name, kind, len(content), len(got), got)
			}
		}
	}
}

// A table whose rows have all their cells, or lack few, stays a table, however long it is.
func TestExportKeepsTables(t *testing.T) {
	for name, content := range map[string]string{
		"narrow":          "n\n" + strings.Repeat("1\n", 50_000),
		"wide":            strings.Repeat(strings.Repeat("1,", 1000)+"1\n", 50),
		"empty cells":     strings.Repeat(strings.Repeat(",", 9)+"\n", 5000),
		"small and short": strings.Repeat("a,", 20) + "a\n" + strings.Repeat("x\n", 40),
		"last cell short": "a,b\n" + strings.Repeat("some text\n", 5000),
	} {
		got := exportOf(t, schemas.Block{Type: schemas.BlockCSV, Current: &content})
		if rows := strings.Count(content, "\n") + 1; strings.Count(got, "\n") != rows || !strings.HasPrefix(got, "| ") {
			t.Errorf("%s: got %d lines, %.60q, want a table of %d", name, strings.Count(got, "\n"), got, rows)
		}
	}
}

// An export stops when nobody waits for it any more.
func TestExportStops(t *testing.T) {
	content := "text"
	s := &fakeStore{document: schemas.Document{ID: "d", Blocks: []schemas.Block{{Type: "md", Current: &content}}}}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGone)
	if _, _, err := documents.New(s, s, s, s, nil).Export(ctx, ann, "d"); !errors.Is(err, errGone) {
		t.Errorf("the export ends with %v, want the cause of its context", err)
	}
}

var errGone = errors.New("the client has gone")
