package store_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/storetest"
)

// Decoding a row of the journal returns the encoded entries; for a truncated
// row it returns the entries before the cut, and an error.
func TestJournalRow(t *testing.T) {
	want := []store.Entry{
		{Run: "a", Attempt: 1, Segment: &record.Segment{First: 1, Last: 3, Data: []byte("one\x00two")}},
		{Run: "b", Attempt: 3, Checkpoint: &record.Checkpoint{N: 7, Data: json.RawMessage(`{"reply":{}}`)}},
		{
			Run: "c", Attempt: 2, Segment: &record.Segment{First: 1_000_001, Last: 1_000_001, Data: make([]byte, 300)},
			Checkpoint: &record.Checkpoint{N: 1, Data: json.RawMessage(`1`)},
		},
	}
	row := store.EncodeEntries(want)
	got, err := store.DecodeEntries(row)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	ends := map[int]int{0: 0}
	for n := range want {
		ends[len(store.EncodeEntries(want[:n+1]))] = n + 1
	}
	whole := 0
	for cut := range row {
		n, clean := ends[cut]
		whole = max(whole, n)
		got, err := store.DecodeEntries(row[:cut])
		if (err == nil) != clean {
			t.Errorf("cut at %d: error %v", cut, err)
		}
		if diff := cmp.Diff(want[:whole], got); diff != "" {
			t.Errorf("cut at %d (-want +got):\n%s", cut, diff)
		}
	}
}

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

func FuzzJournalRow(f *testing.F) {
	f.Add(store.EncodeEntries([]store.Entry{{Run: "a", Attempt: 1, Segment: &record.Segment{First: 1, Last: 3, Data: []byte("x")}}}))
	f.Fuzz(func(t *testing.T, row []byte) {
		entries, err := store.DecodeEntries(row)
		if err != nil {
			return
		}
		again, err := store.DecodeEntries(store.EncodeEntries(entries))
		if diff := cmp.Diff(entries, again); diff != "" || err != nil {
			t.Errorf("%v, differs (-first +second):\n%s", err, diff)
		}
	})
}

// A journal that could not be tidied is tidied by the next commit. A cancel that could not be stored keeps no later one from it.
func TestStoreThatFails(t *testing.T) {
	s, err := store.Open(t.Context(), storetest.FreshSQLite(t), store.Options{})
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
	if err := s.RequestCancel(t.Context(), "r"); err == nil {
		t.Error("a closed store has stored a cancel")
	}
	if s.CancelsWait() {
		t.Error("later cancels wait for one that could not be stored")
	}
}
