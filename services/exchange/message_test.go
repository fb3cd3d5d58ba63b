package exchange

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var messages = []Message{
	{Kind: Ask, From: "0198-a", Total: 5_000_000, Items: []Item{{ID: "r", Attempt: 2, After: 1_000_005, Flags: Gap}, {ID: "q"}}},
	{Kind: Events, From: "b", Items: []Item{{ID: "r", Attempt: 1, Data: []byte{255, 1, 2}}, {ID: "s", Attempt: 3, After: 9, Flags: Stored}}},
	{Kind: Loose, From: "c"},
	{Kind: Started, From: "d", Items: []Item{{ID: "r", Data: []byte("hash of user and chat")}}},
}

// A message is read as it was written; one that is cut off, or of another version or
// kind, is refused.
func TestMessage(t *testing.T) {
	for _, want := range messages {
		raw := want.Append(nil)
		got, err := Decode(raw)
		if diff := cmp.Diff(want, got, cmp.Transformer("data", func(b []byte) string { return string(b) })); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		ends := map[int]bool{len(raw): true}
		for n := range want.Items {
			part := want
			part.Items = want.Items[:n]
			ends[len(part.Append(nil))] = true
		}
		for cut := range raw {
			if _, err := Decode(raw[:cut]); (err == nil) != ends[cut] {
				t.Errorf("%d cut at %d of %d: error %v", want.Kind, cut, len(raw), err)
			}
		}
	}
	for name, raw := range map[string][]byte{"a newer version": {2, 1, 0}, "a newer kind": {1, byte(Moved) + 1, 0}, "no kind": {1, 0, 0}} {
		if _, err := Decode(raw); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func FuzzMessage(f *testing.F) {
	for _, m := range messages {
		f.Add(m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := Decode(raw)
		if err != nil {
			return
		}
		again, err := Decode(m.Append(nil))
		if diff := cmp.Diff(m, again, cmp.Transformer("data", func(b []byte) string { return string(b) })); err != nil || diff != "" {
			t.Errorf("%v (-first +second):\n%s", err, diff)
		}
	})
}
