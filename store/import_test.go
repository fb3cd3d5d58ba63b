package store_test

import (
	"io"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store"
)

// Data that can be read only once have a limit, and the error names it.
func TestImportOnce(t *testing.T) {
	const limit = 2 << 20
	data := strings.Repeat("x", limit)
	once, err := store.Seekable(io.MultiReader(strings.NewReader(data)), limit)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(once); err != nil || string(got) != data {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(data))
	}
	_, err = store.Seekable(io.MultiReader(strings.NewReader(data), strings.NewReader("x")), limit)
	if seen := schemas.Visible(err); seen.Code != schemas.CodeTooLarge || !strings.Contains(seen.Message, "2 MiB") {
		t.Errorf("got %v, want too_large with the limit", err)
	}
	if _, err := store.Seekable(strings.NewReader(data+"x"), limit); err != nil {
		t.Errorf("data that can be read twice: %v", err)
	}
}
