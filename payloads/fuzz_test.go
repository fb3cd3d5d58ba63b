package payloads_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/payloads"
)

// words is what random replies are made of: everything the filter looks at.
var words = []string{
	"SCHEMA_PROPOSAL:", "NOTES:", "NOTE:", "SUGGESTED_VALUES:", "SUGGESTED_ACTIONS:", "SUGG", "S", "NOT", ":", "NOTES",
	"{", "}", "[", "]", `"`, `\`, ",", "1", `"a"`, `{"changes": {}}`, "[1, 2]", `["a", "b"]`, "[[tool:", "0]]", "[[",
	"*", "**", "_", "`", "``", "```", "~~~", "~", "````", "json", "\n", "\n\n", "\r\n", " ", "  ", "\t", "- ", "> ", "1. ",
	"word", "é", "🧬", "測", ".", "x", strings.Repeat(" ", 130), strings.Repeat("`", 130), "NOTES: [1]", "\nNOTES: ",
}

func randomReply(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(30) {
		b.WriteString(words[r.IntN(len(words))])
	}
	return b.String()
}

// randomPieces splits text anywhere, empty pieces included.
func randomPieces(r *rand.Rand, text string) []string {
	var pieces []string
	for size := 2 + r.IntN(8); text != ""; {
		n := min(r.IntN(size), len(text))
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

// checkReply holds the filter's promises about any reply: every split gives the
// same, what is shown is never taken back, the model writes no tool marker, and
// a reply without a marker stays as it is.
func checkReply(t *testing.T, f *payloads.Filter, r *rand.Rand, text string, truncated bool) {
	t.Helper()
	visible := f.Feed(text)
	rest, found := f.End(truncated)
	whole := result{visible + rest, found}
	split := feed(t, f, truncated, whole.Visible, randomPieces(r, text)...)
	if diff := cmp.Diff(whole, split); diff != "" {
		t.Fatalf("%q (-whole +split):\n%s", text, diff)
	}
	if strings.Contains(whole.Visible, "[[tool:") {
		t.Errorf("%q: got visible text %q, want no tool marker in it", text, whole.Visible)
	}
	if !strings.ContainsAny(text, "SN") {
		want := result{Visible: strings.ReplaceAll(text, "[[tool:", `[\[tool:`)}
		if diff := cmp.Diff(want, whole); diff != "" {
			t.Errorf("%q has no marker (-want +got):\n%s", text, diff)
		}
	}
}

func TestFilterRandomReplies(t *testing.T) {
	_, newFilter := readTable(t)
	f := newFilter()
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		checkReply(t, f, r, randomReply(r), r.IntN(2) == 0)
	}
}

func FuzzFilter(f *testing.F) {
	tab, newFilter := readTable(f)
	for i, row := range tab.Rows {
		f.Add(row.Text, row.Truncated, uint64(i))
	}
	f.Fuzz(func(t *testing.T, text string, truncated bool, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		filter := newFilter()
		checkReply(t, filter, r, text, truncated)
		checkReply(t, filter, r, randomReply(r)+text+randomReply(r), truncated)
	})
}
