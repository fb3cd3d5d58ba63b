package research_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/research"
	"github.com/chattray/chattray/store/storetest"
)

// Data that can be read only once have a limit, and the error names it.
func TestImportOnce(t *testing.T) {
	const limit = 2 << 20
	data := strings.Repeat("x", limit)
	once, err := research.Seekable(io.MultiReader(strings.NewReader(data)), limit)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(once); err != nil || string(got) != data {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(data))
	}
	_, err = research.Seekable(io.MultiReader(strings.NewReader(data), strings.NewReader("x")), limit)
	if seen := schemas.Visible(err); seen.Code != schemas.CodeTooLarge || !strings.Contains(seen.Message, "2 MiB") {
		t.Errorf("got %v, want too_large with the limit", err)
	}
	if _, err := research.Seekable(strings.NewReader(data+"x"), limit); err != nil {
		t.Errorf("data that can be read twice: %v", err)
	}
}

// On SQLite an import pauses after each transaction: other processes only see that the file
// is free when they try again, at most 25 ms later.
func TestImportPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data, err := store.Open(t.Context(), storetest.FreshSQLite(t), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer data.Close()
		var lines strings.Builder
		for n := range 2000 {
			fmt.Fprintf(&lines, `{"kind":"stream","stream_id":%d,"name":"n"}`+"\n", n+1)
		}
		began := time.Now()
		if _, err := data.Import(t.Context(), strings.NewReader(lines.String())); err != nil {
			t.Fatal(err)
		}
		if paused := time.Since(began); paused < 4*25*time.Millisecond { // only pauses take time here
			t.Errorf("paused for %v, want 4 pauses of more than 25 ms", paused)
		}
	})
}

// A file that cannot be read is not taken for a database that cannot be reached.
func TestImportUnreadable(t *testing.T) {
	data, err := store.Open(t.Context(), storetest.FreshSQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	folder, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if _, err := data.Import(t.Context(), folder); err == nil || errors.Is(err, record.ErrUnavailable) {
		t.Errorf("got %v, want an error that does not blame the database", err)
	}
}

// The errors of an import do not repeat long names, texts and numbers of the data.
func TestImportErrorsAreShort(t *testing.T) {
	data, err := store.Open(t.Context(), storetest.FreshSQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	long := strings.Repeat("7", 100_000)
	name := strings.ReplaceAll(long, "7", "a")
	for _, line := range []string{
		`{"kind":"stream","stream_id":` + long + `,"name":"n"}`,
		`{"kind":` + long + `}`,
		`{"kind":"` + name + `"}`,
		`{"kind":"stream","stream_id":1,"name":"n","` + name + `":1}`,
		`{"kind":"stream","` + name + `":1,"` + name + `":1}`,
		`{"kind":"stream","` + long + `":1}`,
		`{"kind":"report","report_id":1,"stream_id":1,"title":"t","created_at":"` + long + `"}`,
		`{"kind":"report","report_id":1,"stream_id":1,"title":"t","created_at":` + long + `}`,
		`{"kind":"article","article_id":1,"report_id":1,"title":"t","year":` + long + `.5}`,
		`{"kind":"stream","stream_id":1,"name":"n","schema":` + name + `}`,
	} {
		if _, err := data.Import(t.Context(), strings.NewReader(line)); err == nil || len(err.Error()) > 400 {
			t.Errorf("%.60s: an error of %d bytes, want a short one: %.200v", line, len(fmt.Sprint(err)), err)
		}
	}
}
