package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/agents/openai"
	"github.com/chattray/chattray/schemas"
)

// pieces answers every request with body, read in pieces of the given sizes in
// turn.
type pieces struct {
	body  string
	sizes []byte
}

func (p pieces) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(&pieceReader{pieces: p}), Request: r,
	}, nil
}

type pieceReader struct {
	pieces
	n int
}

func (p *pieceReader) Read(b []byte) (int, error) {
	if len(p.body) == 0 {
		return 0, io.EOF
	}
	size := len(b)
	if len(p.sizes) > 0 {
		size = 1 + int(p.sizes[p.n%len(p.sizes)])
		p.n++
	}
	n := copy(b[:min(size, len(b))], p.body)
	p.body = p.body[n:]
	return n, nil
}

var fuzzLimits = openai.Limits{Line: 8 << 10, Reply: 4 << 10, Arguments: 1 << 10, Calls: 4}

func readPieces(t *testing.T, p pieces) modeltest.Result {
	t.Helper()
	m, err := openai.New(openai.Config{BaseURL: "http://upstream.test/v1", Transport: p, Attempts: 1, Limits: fuzzLimits})
	if err != nil {
		t.Fatal(err)
	}
	return modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "test"})
}

// same compares what a client gets of two replies.
func same(a, b modeltest.Result) string {
	return cmp.Diff(a, b, cmpopts.IgnoreFields(modeltest.Result{}, "Err", "Deltas"))
}

// FuzzClean reads any bytes: no panic, within the limits, one end, and the same
// result however they are split.
func FuzzClean(f *testing.F) {
	chunk := func(delta, finish string) string { return "data: " + upstream.Chunk(delta, finish) + "\n\n" }
	for _, body := range []string{
		"", "data: [DONE]", ": c\n\n", "{}", "<html>", "data: {\"error\":{\"code\":503}}\n", "event: error\ndata: x\n", "\uFEFFdata:{\"choices\":[]}\r\n\r\n",
		chunk(`{"content":"a"}`, "null") + chunk(`{"content":"\"b\\"}`, "null") + chunk(`{}`, `"stop"`) + "data: [DONE]\n\n",
		chunk(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}},{"function":{"arguments":"}"}}]}`, `"tool_calls"`),
		`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`,
		chunk(`{"content":"`+strings.Repeat("x", 5000)+`"}`, `"length"`),
		strings.Repeat("x", 20_000),
	} {
		f.Add(body, []byte{0})
		f.Add(body, []byte{2, 40, 0})
	}
	f.Fuzz(func(t *testing.T, body string, sizes []byte) {
		whole := readPieces(t, pieces{body: body})
		if whole.Broken != "" {
			t.Errorf("the reply %s", whole.Broken)
		}
		size := len(whole.Text) + len(whole.Thinking)
		for _, c := range whole.Calls {
			size += len(c.Arguments)
		}
		if size > fuzzLimits.Reply || len(whole.Calls) > fuzzLimits.Calls {
			t.Errorf("%d bytes and %d calls, beyond the limits", size, len(whole.Calls))
		}
		if diff := same(whole, readPieces(t, pieces{body, sizes})); diff != "" {
			t.Errorf("split in pieces (-whole +split):\n%s", diff)
		}
	})
}

// FuzzPlain compares how plain chunks are read with what the decoder reads,
// which an unknown key forces.
func FuzzPlain(f *testing.F) {
	for _, content := range []string{"", "tok", `a\n`, `\"`, `\`, `\\`, `"`, "\x00", "\xff", `\ud800`, `\u0000`, `","x":"`, `"},"finish_reason":"stop","delta":{"content":"`, `a"},"delta":{"role":"`, `a"}}],"choices":[{"delta":{"role":"`, `"}}],"error":{"message":"`, `TAIL,"error":{"code":503,"message":"x"},"y":[{"z":{"a":"`} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		if strings.ContainsAny(content, "\r\n") {
			return // another line
		}
		content = strings.ReplaceAll(content, "TAIL", `"},"logprobs":null,"finish_reason":null}],"usage":null`)
		first := upstream.Chunk(`{"content":"-"}`, "null")
		chunk := upstream.Chunk(`{"content":"`+content+`"}`, "null")
		stop := upstream.Chunk(`{}`, `"stop"`)
		body := func(chunk string) string {
			return "data: " + first + "\n\ndata: " + chunk + "\n\ndata: " + stop + "\n\n"
		}
		plain := readPieces(t, pieces{body: body(chunk)})
		decoded := readPieces(t, pieces{body: body(`{"unknown":1,` + chunk[1:])})
		if diff := same(decoded, plain); diff != "" {
			t.Errorf("%q (-decoded +plain):\n%s", content, diff)
		}
	})
}

// FuzzThoughts reads a text in one chunk and in two: what is text and what reasoning does not
// depend on that, and nothing but tags and white space at their ends is lost.
func FuzzThoughts(f *testing.F) {
	for _, content := range []string{"<think>hm</think>\n\nSo.", " <think>a</thin</think> ", "<thi", "</think>", "<think><think>", "\t\n", " So <think>a</think>", strings.Repeat(" ", 70) + "<think>a"} {
		f.Add(content, uint16(len(content)/2))
	}
	f.Fuzz(func(t *testing.T, content string, at uint16) {
		content = strings.ReplaceAll(strings.ToValidUTF8(content, ""), "\x00", "")
		if len(content) > 1<<10 {
			return // beyond the limits
		}
		read := func(parts ...string) modeltest.Result {
			body := ""
			for _, part := range parts {
				body += "data: " + upstream.Chunk(`{"content":`+string(schemas.AppendString(nil, part))+`}`, "null") + "\n\n"
			}
			return readPieces(t, pieces{body: body + "data: " + upstream.Chunk(`{}`, `"stop"`) + "\n\n"})
		}
		cut := min(int(at), len(content))
		for cut > 0 && cut < len(content) && !utf8.RuneStart(content[cut]) {
			cut--
		}
		whole := read(content)
		if diff := same(whole, read(content[:cut], content[cut:])); diff != "" {
			t.Errorf("%q cut at %d (-whole +cut):\n%s", content, cut, diff)
		}
		const space = " \t\r\n"
		want := modeltest.Result{Text: content}
		rest := strings.TrimLeft(content, space)
		if thought, tagged := strings.CutPrefix(rest, "<think>"); tagged && len(content)-len(rest) <= 64 {
			thought, text, _ := strings.Cut(thought, "</think>")
			want = modeltest.Result{Thinking: thought, Text: strings.TrimLeft(text, space)}
		}
		if whole.Text != want.Text || whole.Thinking != want.Thinking {
			t.Errorf("%q gives the text %q and the reasoning %q, want %q and %q", content, whole.Text, whole.Thinking, want.Text, want.Thinking)
		}
	})
}
