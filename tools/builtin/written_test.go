package builtin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools/builtin"
)

// Only write_block without an id makes a block; a document that it makes gets its title from
// the user's message.
func TestWhatMakesABlock(t *testing.T) {
	for _, tt := range []struct {
		tool, input string
		only        bool
	}{
		{"write_block", `{"content":"x"}`, false},
		{"write_block", `{"block_id":"b","content":"x"}`, true},
		{"edit_block", `{"block_id":"b","content":"x"}`, true},
	} {
		d := &desk{}
		if _, _, err := d.use(t, tt.tool, tt.input, func(c *turn.Call) { c.Message = "Write it up" }); err != nil {
			t.Fatal(err)
		}
		w := d.asked[0].(record.BlockWrite)
		if got := []any{w.Only, w.Title}; !cmp.Equal(got, []any{tt.only, "Write it up"}) {
			t.Errorf("%s %s: only an existing block and the title are %v, want %t", tt.tool, tt.input, got, tt.only)
		}
	}
}

// A call whose page cannot be read counts as one for an address that nobody has given.
func TestAddressOfABadCall(t *testing.T) {
	fetch := builtin.FetchWebpage(builtin.FetchConfig{})[0]
	if got := fetch.Addresses([]byte(`{"url":7}`)); len(got) != 1 || got[0] != "" {
		t.Errorf("got %q, want one that no address has", got)
	}
}
