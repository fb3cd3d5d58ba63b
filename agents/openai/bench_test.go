package openai_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/agents/modeltest/upstream"
)

// canned answers every request with the same body.
type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(c)), Request: r,
	}, nil
}

// BenchmarkStream measures one token on its way from the upstream's line to the
// delta: chunks that differ in their text only, chunks that differ in more, and
// chunks for the decoder.
func BenchmarkStream(b *testing.B) {
	const tokens = 2000
	plain := "data: " + upstream.Chunk(`{"content":"tok~ "}`, "null") + "\n\n"
	end := "data: " + upstream.Chunk(`{}`, `"stop"`) + "\n\ndata: [DONE]\n\n"
	for _, bb := range []struct{ name, lines string }{
		{"plain", strings.Repeat(plain, tokens)},
		{"changing", strings.Repeat(strings.Replace(plain, `"usage"`, `"obfuscation":"x","usage"`, 1)+strings.Replace(plain, `"usage"`, `"obfuscation":"yy","usage"`, 1), tokens/2)},
		{"reasoning", strings.Repeat(strings.Replace(plain, `"content"`, `"reasoning_content"`, 1), tokens)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			m := dial(b, modeltest.Dial{BaseURL: "http://upstream.test/v1", Transport: canned(bb.lines + end)})
			req := agents.ModelRequest{Model: "test"}
			b.ReportAllocs()
			got := 0
			for got < b.N {
				for d, err := range m.Stream(b.Context(), req) {
					if err != nil {
						b.Fatal(err)
					}
					if d.Text != "" || d.Thinking != "" {
						got++
					}
				}
			}
		})
	}
}
