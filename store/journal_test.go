package store_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/packed"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/storetest"
)

// The journal is tidied when a megabyte of it, and at least half, is of runs that have
// ended, and in any case at 8 MiB: what runs have in it that have not ended is moved.
func TestJournalGrown(t *testing.T) {
	const mb = 1 << 20
	for name, c := range map[string]struct {
		commits []store.Noted
		want    []bool
	}{
		"runs that end":          {[]store.Noted{{Runs: map[string]int{"a": mb / 2, "b": mb / 2}, Ended: []string{"a"}}, {Ended: []string{"b"}}}, []bool{false, true}},
		"runs that do not end":   {[]store.Noted{{Runs: map[string]int{"a": 7 * mb}}, {Runs: map[string]int{"b": mb - 1}}, {Runs: map[string]int{"b": 1}}}, []bool{false, false, true}},
		"most has not ended":     {[]store.Noted{{Runs: map[string]int{"a": 2 * mb, "b": mb}, Ended: []string{"b"}}, {Runs: map[string]int{"c": mb}, Ended: []string{"c"}}}, []bool{false, true}},
		"was moved before":       {[]store.Noted{{Runs: map[string]int{"a": 8 * mb}}, {Ended: []string{"a"}}}, []bool{true, false}},
		"ended without a word":   {[]store.Noted{{Ended: []string{"a"}}, {Runs: map[string]int{"b": mb}}}, []bool{false, false}},
		"continues after it was": {[]store.Noted{{Runs: map[string]int{"a": 8 * mb}}, {Runs: map[string]int{"a": mb}, Ended: []string{"a"}}}, []bool{true, true}},
	} {
		if got := store.Grown(c.commits); !slices.Equal(got, c.want) {
			t.Errorf("%s: tidied after %v, want %v", name, got, c.want)
		}
	}
}

// A journal that could not be tidied is tidied by the next commit, and the log says so at
// most once a minute. A cancel that could not be stored keeps no later one from it.
func TestStoreThatFails(t *testing.T) {
	var logged bytes.Buffer
	s, err := store.Open(t.Context(), storetest.FreshSQLite(t), store.Options{Database: sqldb.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Tidy(t.Context(), []string{"a"}); err == nil {
		t.Error("a closed store is tidied")
	}
	if got := s.ToTidy(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the next commit tidies %v, want a", got)
	}
	for range 3 {
		_ = s.Tidy(t.Context(), []string{"a"})
		if err := s.Commit(t.Context(), []*record.Write{{RunID: "r"}}); err == nil {
			t.Error("a closed store has committed")
		}
	}
	if lines := strings.Count(logged.String(), "level=WARN"); lines != 1 {
		t.Errorf("%d warnings, want 1:\n%s", lines, &logged)
	}
	if err := s.RequestCancel(t.Context(), "r"); err == nil {
		t.Error("a closed store has stored a cancel")
	}
	if s.CancelsWait() {
		t.Error("later cancels wait for one that could not be stored")
	}
}

// What a run writes in the commit that ends it is not in the journal: the log has it.
func TestJournalWithoutWhatEnds(t *testing.T) {
	s, err := store.Open(t.Context(), storetest.FreshSQLite(t), store.Options{Database: sqldb.Options{Logger: slog.New(slog.DiscardHandler)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var begins, writes []*record.Write
	for _, run := range []string{"ends", "continues"} {
		begins = append(begins, &record.Write{RunID: run, Attempt: 1, Begin: &record.Begin{
			ChatKey: run, Run: record.Run{ID: run, Owner: schemas.User{ID: "u"}, Request: []byte("{}"), MessageID: "answer of " + run, CreatedAt: time.Now()},
		}})
		writes = append(writes, &record.Write{
			RunID: run, Attempt: 1, Segment: &record.Segment{First: 1, Last: 1, Data: []byte("events")}, Checkpoint: &record.Checkpoint{N: 1, Data: []byte("{}")},
		})
	}
	writes = append(writes, &record.Write{RunID: "ends", Attempt: 1, Finish: &record.Finish{State: schemas.RunCancelled, EndedAt: time.Now()}})
	for _, commit := range [][]*record.Write{begins, writes} {
		if err := s.Commit(t.Context(), commit); err != nil {
			t.Fatal(err)
		}
		for _, w := range commit {
			if w.Err != nil {
				t.Fatal(w.Err)
			}
		}
	}
	rows, err := s.Plan("", "SELECT data FROM journal")
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %d rows (%v), want 1", len(rows), err)
	}
	data, _ := rows[0]["data"].([]byte)
	entries, err := packed.Entries(data)
	if err != nil || len(entries) != 1 || entries[0].Run != "continues" {
		t.Errorf("got entries %+v (%v), want only what continues", entries, err)
	}
}
