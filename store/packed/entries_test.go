package packed_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/packed"
)

// encode returns a row of the journal.
func encode(entries []packed.Entry) (row []byte) {
	for _, e := range entries {
		row = packed.AppendEntry(row, e)
	}
	return row
}

// Decoding a row of the journal returns the encoded entries; for a truncated
// row it returns the entries before the cut, and an error.
func TestJournalRow(t *testing.T) {
	want := []packed.Entry{
		{Run: "a", Attempt: 1, Segment: &record.Segment{First: 1, Last: 3, Data: []byte("one\x00two")}},
		{Run: "b", Attempt: 3, Checkpoint: &record.Checkpoint{N: 7, Data: json.RawMessage(`{"reply":{}}`)}},
		{
			Run: "c", Attempt: 2, Segment: &record.Segment{First: 1_000_001, Last: 1_000_001, Data: make([]byte, 300)},
			Checkpoint: &record.Checkpoint{N: 1, Data: json.RawMessage(`1`)},
		},
	}
	row := encode(want)
	got, err := packed.Entries(row)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	ends := map[int]int{0: 0}
	for n := range want {
		ends[len(encode(want[:n+1]))] = n + 1
		if size := len(encode(want[n : n+1])); size > want[n].MaxSize() {
			t.Errorf("entry %d has %d bytes, more than its greatest size %d", n, size, want[n].MaxSize())
		}
	}
	whole := 0
	for cut := range row {
		n, clean := ends[cut]
		whole = max(whole, n)
		got, err := packed.Entries(row[:cut])
		if (err == nil) != clean {
			t.Errorf("cut at %d: error %v", cut, err)
		}
		if diff := cmp.Diff(want[:whole], got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("cut at %d (-want +got):\n%s", cut, diff)
		}
	}
}

func FuzzJournalRow(f *testing.F) {
	f.Add(encode([]packed.Entry{{Run: "a", Attempt: 1, Segment: &record.Segment{First: 1, Last: 3, Data: []byte("x")}}}))
	f.Fuzz(func(t *testing.T, row []byte) {
		entries, err := packed.Entries(row)
		if err != nil {
			return
		}
		again, err := packed.Entries(encode(entries))
		if diff := cmp.Diff(entries, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%v, differs (-first +second):\n%s", err, diff)
		}
	})
}
