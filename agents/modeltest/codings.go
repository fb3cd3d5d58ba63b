package modeltest

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/schemas"
)

// codings are the ways in which servers compress although they were not asked to.
func (p protocol) codings(t *testing.T) {
	pack := func(w io.WriteCloser, packed *bytes.Buffer, body string) string {
		_, _ = io.WriteString(w, body)
		_ = w.Close() // a buffer takes all
		return packed.String()
	}
	gzipped := func(body string) string { var b bytes.Buffer; return pack(gzip.NewWriter(&b), &b, body) }
	zipped := func(body string) string { var b bytes.Buffer; return pack(zlib.NewWriter(&b), &b, body) }
	raw := func(body string) string {
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, flate.BestCompression) // the level is known
		return pack(w, &b, body)
	}
	as := func(coding, body string) upstream.Reply {
		return upstream.Reply{upstream.Head(http.StatusOK, "Content-Type", "text/event-stream", "Content-Encoding", coding), upstream.Split(body, 5)}
	}
	whole := record(upstream.Say("Hel", "lo"), upstream.Finish("stop"), upstream.Usage(10, 2), upstream.Done())
	said := gzipped(record(upstream.Say(strings.Repeat("Hello", 100))))
	hello, failed := Result{Text: "Hello", Stop: schemas.EndTurn, Usage: counted}, Result{Code: schemas.CodeUpstreamError}
	for _, tt := range []struct {
		name  string
		reply upstream.Reply
		want  Result
	}{
		{"gzip", as("gzip", gzipped(whole)), hello},
		{"gzip in capitals", as(" GZIP", gzipped(whole)), hello},
		{"x-gzip in two members", as("x-gzip", gzipped(whole[:30])+gzipped(whole[30:])), hello},
		{"deflate", as("deflate", zipped(whole)), hello},
		{"deflate without the header of zlib", as("deflate", raw(whole)), hello},
		{"identity", as("identity", whole), hello},
		{"gzip that is none", as("gzip", whole), failed},
		{"gzip of nothing", as("gzip", ""), failed},
		{"gzip cut off in its header", as("gzip", gzipped(whole)[:5]), Result{Code: schemas.CodeUpstreamTruncated}},
		{"gzip cut off", as("gzip", said[:len(said)-4]), Result{Text: strings.Repeat("Hello", 100), Code: schemas.CodeUpstreamTruncated}},
		{"another coding", as("br", whole), failed},
		{"two codings", as("gzip, br", gzipped(whole)), failed},
		{"a line that is too long", as("gzip", gzipped("data: "+strings.Repeat("x", 16<<20))), failed},
		{
			"an error", upstream.Status(http.StatusBadRequest, gzipped(`{"error":{"message":"x","code":"context_length_exceeded"}}`), "Content-Encoding", "gzip"),
			Result{Code: schemas.CodeContextTooLong},
		},
		{"an error in another coding", upstream.Status(http.StatusUnauthorized, "upstream says no", "Content-Encoding", "zstd"), Result{Code: schemas.CodeUpstreamAuth}},
	} {
		t.Run(tt.name, func(t *testing.T) { check(t, tt.name, p.read(t, tt.reply), tt.want) })
	}
	t.Run("text comes as it is written", func(t *testing.T) {
		first, read := make(chan struct{}), make(chan struct{})
		up := upstream.NewMemory()
		up.Push(upstream.Reply{
			upstream.Head(http.StatusOK, "Content-Type", "text/event-stream", "Content-Encoding", "gzip"),
			upstream.Do(func(w http.ResponseWriter, r *http.Request) {
				z := gzip.NewWriter(w)
				defer z.Close()
				for _, part := range []upstream.Part{upstream.Say("Hel"), upstream.Wait(read), upstream.Say("lo"), upstream.Finish("stop")} {
					part(packing{w, z}, r)
				}
			}),
		})
		go func() { <-first; close(read) }()
		var got strings.Builder
		for d, err := range p.model(t, up).Stream(t.Context(), ask) {
			if err != nil {
				t.Fatal(err)
			}
			if got.WriteString(d.Text); got.String() == "Hel" {
				close(first)
			}
		}
		if got.String() != "Hello" {
			t.Errorf("got %q, want Hello", got.String())
		}
	})
}

// packing is a response that is compressed, each flush of it by itself.
type packing struct {
	http.ResponseWriter

	z *gzip.Writer
}

// Write implements io.Writer.
func (p packing) Write(b []byte) (int, error) { return p.z.Write(b) }

// Flush implements http.Flusher.
func (p packing) Flush() {
	if p.z.Flush() == nil {
		_ = http.NewResponseController(p.ResponseWriter).Flush() // the client may have gone
	}
}
