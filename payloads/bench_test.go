package payloads_test

import (
	"strings"
	"testing"
)

func BenchmarkFeed(b *testing.B) {
	_, newFilter := readTable(b)
	for name, token := range map[string]string{"lower": " word", "upper": " Word", "candidate": " Sure", "break": "end.\n", "long": strings.Repeat("lorem ipsum ", 20)} {
		b.Run(name, func(b *testing.B) {
			f := newFilter()
			f.Feed("The answer")
			b.SetBytes(int64(len(token)))
			b.ReportAllocs()
			for b.Loop() {
				f.Feed(token)
			}
		})
	}
}

func BenchmarkPayload(b *testing.B) {
	_, newFilter := readTable(b)
	f := newFilter()
	text := "Here.\n\nSCHEMA_PROPOSAL: {\"changes\": {\"a\": \"" + strings.Repeat("lorem ipsum ", 80) + "\"}}\n"
	b.ReportAllocs()
	for b.Loop() {
		for i := 0; i < len(text); i += 5 {
			f.Feed(text[i:min(i+5, len(text))])
		}
		f.End(false)
	}
}
