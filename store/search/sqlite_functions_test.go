package search

import (
	"strings"
	"testing"
)

// The lower case of a search is the one of its index.
func TestLower(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, text := range []string{
		"", "A", "ABCDEFGH", "ABCDEFGHI", "@AZ[`az{", "ABCDEFÜH and MORE", "Straße, ÇA, ΣΊΣΥΦΟΣ, \u212a, \u0130", "東京都 ABCDEFGHIJ 東", string(every), strings.Repeat(string(every[:128]), 3),
	} {
		for i := range len(text) {
			if got, want := string(appendLower(nil, text[i:])), strings.ToLower(text[i:]); got != want {
				t.Errorf("the lower case of %q is %q; want %q", text[i:], got, want)
			}
		}
	}
}

// BenchmarkHasText looks through a long message.
func BenchmarkHasText(b *testing.B) {
	for name, words := range map[string]string{"ascii": "A message of Many words that are looked through. ", "mixed": "Eine Nachricht über Vieles, »völlig« durchsucht. ", "cjk": "東京都の長い文章"} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(words, 100_000/len(words))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if containsLower(text, "a text it does not have") {
					b.Fatal("found")
				}
			}
		})
	}
}
