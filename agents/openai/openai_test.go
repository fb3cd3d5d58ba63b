package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/agents/openai"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

func dial(t testing.TB, d modeltest.Dial) agents.Model {
	t.Helper()
	m, err := openai.New(openai.Config{
		BaseURL: d.BaseURL, APIKey: d.APIKey, Transport: d.Transport,
		Connect: d.Connect, FirstToken: d.FirstToken, Idle: d.Idle,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestProtocol(t *testing.T) {
	modeltest.Protocol(t, func(t *testing.T, d modeltest.Dial) agents.Model { return dial(t, d) })
}

func TestNewRefusesInvalidURLs(t *testing.T) {
	for _, base := range []string{"", "localhost:8080", "ftp://host/v1", "http://", "http://a b/", "/v1"} {
		if _, err := openai.New(openai.Config{BaseURL: base}); err == nil {
			t.Errorf("New(%q) succeeded, want an error", base)
		}
	}
}

// recorder keeps the last request and answers like next.
type recorder struct {
	next http.RoundTripper
	last *http.Request
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.last = req
	return r.next.RoundTrip(req)
}

func TestBaseURLIsUsedAsGiven(t *testing.T) {
	for _, tt := range []struct{ base, url, bearer, apiKey string }{
		{"https://api.example.com/v1", "https://api.example.com/v1/chat/completions", "Bearer k", ""},
		{"https://api.example.com/v1/", "https://api.example.com/v1/chat/completions", "Bearer k", ""},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080/chat/completions", "Bearer k", ""},
		{"https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21", "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21", "", "k"},
		{"https://x.openai.azure.us/openai/deployments/d?api-version=2024-10-21", "https://x.openai.azure.us/openai/deployments/d/chat/completions?api-version=2024-10-21", "", "k"},
		{"https://azure.com.example.com/v1?a=b", "https://azure.com.example.com/v1/chat/completions?a=b", "Bearer k", ""},
	} {
		up := upstream.NewMemory()
		up.Push(upstream.Text("ok"))
		rec := &recorder{next: up.Transport()}
		m := dial(t, modeltest.Dial{BaseURL: tt.base, APIKey: "k", Transport: rec})
		if got := modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "test"}); got.Err != nil {
			t.Fatal(got.Err)
		}
		if got := rec.last.URL.String(); got != tt.url {
			t.Errorf("base %s: URL is %s, want %s", tt.base, got, tt.url)
		}
		if b, k := rec.last.Header.Get("Authorization"), rec.last.Header.Get("Api-Key"); b != tt.bearer || k != tt.apiKey {
			t.Errorf("base %s: Authorization %q and Api-Key %q, want %q and %q", tt.base, b, k, tt.bearer, tt.apiKey)
		}
	}
}

func TestLimits(t *testing.T) {
	long := strings.Repeat("x", 300)
	call := `{"tool_calls":[{"index":%d,"id":"%d","function":{"name":"f","arguments":"{}"}}]}`
	for _, tt := range []struct {
		name  string
		reply upstream.Reply
		text  int // bytes of text that come before the limit
	}{
		{"line", upstream.Stream(upstream.Bytes("data: " + strings.Repeat("y", 20<<10))), 0},
		{"comment", upstream.Stream(upstream.Bytes(": " + strings.Repeat("y", 20<<10))), 0},
		{"text", upstream.Stream(upstream.Say(long, long, long, long, long), upstream.Finish("stop")), 900},
		{"body", upstream.Body("application/json", `{"choices":[{"message":{"content":"`+long+long+long+long+`"},"finish_reason":"stop"}]}`), 0},
		{"body on many lines", upstream.Body("application/json", "{\n"+strings.Repeat(`"a":"`+long+"\",\n", 5)+`"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`), 0},
		{"chunk on many lines", upstream.Stream(upstream.Bytes(`data: {"choices":[{"index":0,"delta":{"content":"x"}}],`+"\n"+
			strings.Repeat(`data: "a":"`+long+"\",\n", 40)+"data: \"b\":1}\n\n"), upstream.Finish("stop")), 0},
		{"arguments", upstream.Stream(upstream.Call(0, "a", "f", long, long), upstream.Finish("tool_calls")), 0},
		{"calls", upstream.Stream(
			upstream.Data(upstream.Chunk(fmt.Sprintf(call, 0, 0), "null")), upstream.Data(upstream.Chunk(fmt.Sprintf(call, 1, 1), "null")),
			upstream.Data(upstream.Chunk(fmt.Sprintf(call, 2, 2), "null")), upstream.Finish("tool_calls")), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			up := upstream.NewMemory()
			up.Push(tt.reply)
			m, err := openai.New(openai.Config{
				BaseURL: up.URL(), Transport: up.Transport(),
				Limits: openai.Limits{Line: 8 << 10, Reply: 1000, Arguments: 500, Calls: 2},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "test"})
			if got.Code != schemas.CodeUpstreamError || len(got.Text) != tt.text || got.Broken != "" {
				t.Errorf("code %s after %d bytes of text (%s), want upstream_error after %d", got.Code, len(got.Text), got.Broken, tt.text)
			}
			if up.Calls() != 1 {
				t.Errorf("%d calls, want 1", up.Calls())
			}
		})
	}
}

// TestReasoningModels calls models whose names make go-openai itself refuse
// parameters.
func TestReasoningModels(t *testing.T) {
	for _, model := range []string{"o1", "o3-mini", "gpt-5", "gpt-6-sol", goopenai.GPT6Astra, goopenai.GPT6Dot1Sol} {
		up := upstream.NewMemory()
		up.On(upstream.Any, upstream.Text("ok"))
		m := dial(t, modeltest.Dial{BaseURL: up.URL(), Transport: up.Transport()})
		got := modeltest.Read(t.Context(), m, agents.ModelRequest{
			Model: model, Temperature: 0.3, MaxTokens: 50, Tools: []turn.Tool{{Name: "f"}},
		})
		if got.Err != nil || got.Text != "ok" {
			t.Errorf("%s: %q, %v; want ok", model, got.Text, got.Err)
		}
		if up.Calls() != 1 || !strings.Contains(string(up.Requests()[0].Body), `"max_completion_tokens":50`) || !strings.Contains(string(up.Requests()[0].Body), `"model":"`+model+`"`) {
			t.Errorf("%s: %d calls, want 1 with the model and max_completion_tokens", model, up.Calls())
		}
	}
}

// A model whose prompt begins its reasoning, such as DeepSeek-R1 or QwQ through vLLM, only
// writes the tag that ends it. Its first reply shows that; the others have their reasoning.
func TestReasoningThatThePromptBegins(t *testing.T) {
	up := upstream.NewMemory()
	up.On(upstream.Any, upstream.Text("Hm.", "\n</think>\n\n", "Yes."))
	m := dial(t, modeltest.Dial{BaseURL: up.URL(), Transport: up.Transport()})
	_ = modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "r1"})
	if got := modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "r1"}); got.Text != "Yes." || got.Thinking != "Hm.\n" {
		t.Errorf("text %q, reasoning %q, %v; want Yes. after Hm.", got.Text, got.Thinking, got.Err)
	}
	up.Push(upstream.Open(upstream.Say("Hm, a"), upstream.Finish("content_filter"), upstream.Done()))
	if got := modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "r1"}); got.Text != "" || got.Thinking != "Hm, a" {
		t.Errorf("a reply that was cut: text %q, reasoning %q, %v; want only reasoning", got.Text, got.Thinking, got.Err)
	}
	if got := modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "other"}); got.Thinking != "" {
		t.Errorf("another model has the reasoning %q", got.Thinking)
	}
}

func TestConnectionIsKept(t *testing.T) {
	up := upstream.New()
	defer up.Close()
	up.On(upstream.Any, upstream.Text("Hel", "lo"))
	tr := openai.NewTransport(nil)
	defer tr.CloseIdleConnections()
	var dials atomic.Int32
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	m := dial(t, modeltest.Dial{BaseURL: up.URL(), Transport: tr})
	for range 20 {
		if got := modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "test"}); got.Text != "Hello" {
			t.Fatalf("text %q, error %v; want Hello", got.Text, got.Err)
		}
	}
	if dials.Load() != 1 {
		t.Errorf("%d connections for 20 calls, want 1", dials.Load())
	}
}

// ending is a body that says whether it was read to its end before it was
// closed.
type ending struct {
	io.Reader
	end, closed bool
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	e.end = e.end || err != nil
	return n, err
}

func (e *ending) Close() error {
	e.closed = true
	return nil
}

func (e *ending) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: e, Request: r}, nil
}

// TestBodyIsReadToItsEnd checks that a connection is kept although its last bytes
// come after [DONE].
func TestBodyIsReadToItsEnd(t *testing.T) {
	whole := "data: " + upstream.Chunk(`{"content":"ok"}`, `"stop"`) + "\n\ndata: [DONE]\n\n"
	body := &ending{Reader: io.MultiReader(strings.NewReader(whole), strings.NewReader("\n"))}
	m := dial(t, modeltest.Dial{BaseURL: "http://upstream.test/v1", Transport: body})
	if got := modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "test"}); got.Text != "ok" || got.Stop != schemas.EndTurn {
		t.Errorf("text %q, stop %s; want ok, end_turn", got.Text, got.Stop)
	}
	if !body.end || !body.closed {
		t.Errorf("end read %v, closed %v; want both", body.end, body.closed)
	}
}

func TestNothingBufferedIsShownAfterACancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stop := errors.New("the user cancelled")
	chunk := "data: " + upstream.Chunk(`{"content":"So"}`, "null") + "\n\n"
	m := dial(t, modeltest.Dial{BaseURL: "http://upstream.test/v1", Transport: canned(chunk + chunk + chunk)})
	text := ""
	var last error
	for d, err := range m.Stream(ctx, agents.ModelRequest{Model: "test"}) {
		text, last = text+d.Text, err
		cancel(stop)
	}
	if text != "So" || !errors.Is(last, stop) {
		t.Errorf("text %q, error %v; want the first delta and the cause", text, last)
	}
}

func TestCancelReachesTheServer(t *testing.T) {
	up := upstream.New()
	defer up.Close()
	up.Push(upstream.Open(upstream.Say("So"), upstream.Hang()))
	m := dial(t, modeltest.Dial{BaseURL: up.URL()})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stop := errors.New("the user cancelled")
	var last error
	for d, err := range m.Stream(ctx, agents.ModelRequest{Model: "test"}) {
		if d.Text != "" {
			cancel(stop)
		}
		last = err
	}
	if !errors.Is(last, stop) {
		t.Errorf("error is %v, want the cause", last)
	}
	<-up.Gone()
}

// A server that repeats the path of the request in its error shows no key that is in its query,
// however it writes it. What is too short for a key, and not named like one, stays, and so does a key that is a letter.
func TestKeyInTheQueryIsNotLogged(t *testing.T) {
	const written, plain, named, version = "c2VjcmV0LWNvZGUtb2Yt%2BYQ%3D%3D", "c2VjcmV0LWNvZGUtb2Yt+YQ==", "hunter2", "2024-10-01-preview"
	for name, reply := range map[string]upstream.Reply{
		"as it was sent":             upstream.Status(404, "Cannot POST /v1/chat/completions?api-version="+version+"&code="+written),
		"named like a key":           upstream.Status(404, "Cannot POST /v1/chat/completions?api-version="+version+"&Api_Key="+named),
		"in a redirect":              upstream.Status(308, "", "Location", "https://upstream.test/v1/?api-version="+version+"&code="+written),
		"decoded":                    upstream.Status(404, `{"error":{"message":"no route api-version=`+version+` code=`+plain+`"}}`),
		"in the stream":              upstream.Stream(upstream.Bytes("error: no route " + version + " " + written + "\n\n")),
		"where a page is cut off":    upstream.Stream(upstream.Bytes("<p>no route " + version + strings.Repeat(" ", 150) + written + "</p>\n\n")),
		"where an object is cut off": upstream.Stream(upstream.Bytes(`{"path":"` + version + strings.Repeat(" ", 150) + written + `"}`)),
	} {
		t.Run(name, func(t *testing.T) {
			up := upstream.NewMemory()
			up.Push(reply)
			m := dial(t, modeltest.Dial{BaseURL: "http://upstream.test/v1?api-version=" + version + "&code=" + written + "&Api_Key=" + named, APIKey: "e", Transport: up.Transport()})
			err := fmt.Sprint(modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "test"}).Err)
			if strings.Contains(err, written[:len(written)/4]) || strings.Contains(err, plain[:len(plain)/4]) || strings.Contains(err, named) || !strings.Contains(err, version) {
				t.Errorf("the error for the log is %q, want it without the keys, and with the version", err)
			}
		})
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	up := upstream.New()
	base := up.URL()
	up.Close()
	m, err := openai.New(openai.Config{BaseURL: base, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "test"})
	if got.Code != schemas.CodeUpstreamUnavailable || strings.Contains(schemas.Visible(got.Err).Message, "127.0.0.1") {
		t.Errorf("error is %v, want upstream_unavailable without an address", got.Err)
	}
}

func ExampleNew() {
	up := upstream.New() // instead of a model server
	defer up.Close()
	up.Push(upstream.Text("Hello", " there"))
	m, err := openai.New(openai.Config{BaseURL: up.URL(), APIKey: "key"})
	if err != nil {
		panic(err)
	}
	req := agents.ModelRequest{Model: "small", Messages: []turn.Message{{Role: turn.User, Content: "Hi"}}}
	for d, err := range m.Stream(context.Background(), req) {
		fmt.Printf("%q %s %v\n", d.Text, d.Stop, err)
	}
	// Output:
	// "Hello"  <nil>
	// " there"  <nil>
	// "" end_turn <nil>
}

func TestContract(t *testing.T) {
	text := agents.ModelRequest{Model: "test", Messages: []turn.Message{{Role: turn.User, Content: "say"}}}
	calls := agents.ModelRequest{
		Model: "test", Messages: []turn.Message{{Role: turn.User, Content: "look"}},
		Tools: []turn.Tool{{Name: "f"}},
	}
	forbidden := func(r upstream.Request) bool { return string(r.ToolChoice) == `"none"` }
	modeltest.Contract(t, func(t *testing.T) agents.Model {
		up := upstream.NewMemory()
		up.On(forbidden, upstream.Text("I ", "may not."))
		up.On(upstream.LastUser("look").After(0), upstream.Stream(upstream.Call(0, "a", "f", "{}"), upstream.Finish("tool_calls")))
		up.On(upstream.Any, upstream.Text("Hel", "lo"))
		return dial(t, modeltest.Dial{BaseURL: up.URL(), Transport: up.Transport()})
	}, text, calls)
}

// A call that may no longer be made when its connection is ready sends nothing.
func TestNothingIsSentAfterBefore(t *testing.T) {
	server := upstream.New()
	t.Cleanup(server.Close)
	late := errors.New("the lease has expired")
	calls := 0
	m, err := openai.New(openai.Config{BaseURL: server.URL(), APIKey: "k", Attempts: 1, Before: func(context.Context) error {
		if calls++; calls > 1 {
			return late
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range m.Stream(t.Context(), agents.ModelRequest{Model: "test"}) {
		if err != nil {
			break
		}
	}
	if !errors.Is(err, late) {
		t.Errorf("the call ends with %v, want an error with %v", err, late)
	}
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d requests were sent, want none", n)
	}
}

// idler is a body that has nothing to read for many reads in a row.
type idler struct {
	io.Reader
	empty int
}

func (b *idler) Read(p []byte) (int, error) {
	if b.empty--; b.empty >= 0 {
		return 0, nil
	}
	return b.Reader.Read(p)
}

// A body whose reads return nothing, again and again, ends the call.
func TestEmptyReadsAreBounded(t *testing.T) {
	for empty, want := range map[int]string{50: "ok", 1000: ""} {
		whole := "data: " + upstream.Chunk(`{"content":"ok"}`, `"stop"`) + "\n\ndata: [DONE]\n\n"
		body := &ending{Reader: &idler{strings.NewReader(whole), empty}}
		m := dial(t, modeltest.Dial{BaseURL: "http://upstream.test/v1", Transport: body})
		if got := modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "test"}); got.Text != want || (got.Err == nil) != (want != "") {
			t.Errorf("after %d empty reads: %q, %v; want %q", empty, got.Text, got.Err, want)
		}
	}
}

// A total that is impossible is replaced by the sum.
func TestImpossibleTotal(t *testing.T) {
	up := upstream.NewMemory()
	up.Push(upstream.Stream(upstream.Say("ok"), upstream.Finish("stop"),
		upstream.Data(`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":1e30}}`)))
	got := modeltest.Read(t.Context(), dial(t, modeltest.Dial{BaseURL: up.URL(), Transport: up.Transport()}), agents.ModelRequest{Model: "test"})
	if want := (schemas.Usage{InputTokens: 10, OutputTokens: 2, TotalTokens: 12}); got.Usage != want || got.Err != nil {
		t.Errorf("used %+v (%v), want %+v", got.Usage, got.Err, want)
	}
}

// A server that knows the older protocol writes an empty function_call beside each text: it
// asks for no call.
func TestEmptyFunctionCall(t *testing.T) {
	got := readPieces(t, pieces{body: "data: " + upstream.Chunk(`{"content":"Hello","function_call":{}}`, "null") + "\n\ndata: " + upstream.Chunk(`{"function_call":{}}`, `"stop"`) + "\n\n"})
	if got.Err != nil || got.Text != "Hello" || len(got.Calls) > 0 {
		t.Errorf("got %q, %d calls and %v; want Hello alone", got.Text, len(got.Calls), got.Err)
	}
}

// Some servers write a whole message beside the delta or after the deltas: it repeats what
// they have said, and holds the rest of the reply.
func TestMessageBesideDelta(t *testing.T) {
	both := func(delta, message, finish string) string {
		return `{"choices":[{"index":0,"delta":` + delta + `,"message":{"role":"assistant","content":"` + message + `"},"finish_reason":` + finish + `}]}`
	}
	for name, body := range map[string]string{
		"a whole body":                  both(`{"role":"assistant","content":""}`, "Hello.", `"stop"`),
		"a whole body, null":            both(`null`, "Hello.", `"stop"`),
		"each chunk":                    "data: " + both(`{"content":"Hel"}`, "Hel", "null") + "\n\ndata: " + both(`{"content":"lo."}`, "Hello.", "null") + "\n\ndata: " + both(`{"content":""}`, "Hello.", `"stop"`) + "\n\n",
		"the last chunk":                "data: " + upstream.Chunk(`{"content":"Hello."}`, "null") + "\n\ndata: " + both(`{}`, "Hello.", `"stop"`) + "\n\n",
		"after a role":                  "data: " + upstream.Chunk(`{"role":"assistant","content":""}`, "null") + "\n\ndata: " + both(`{}`, "Hello.", `"stop"`) + "\n\n",
		"after reasoning":               "data: " + upstream.Chunk(`{"reasoning_content":"A greeting."}`, "null") + "\n\ndata: " + both(`null`, "Hello.", `"stop"`) + "\n\n",
		"chunks with messages as parts": "data: " + both(`{}`, "Hel", "null") + "\n\ndata: " + both(`{}`, "lo.", `"stop"`) + "\n\n",
	} {
		if got := readPieces(t, pieces{body: body}); got.Err != nil || got.Text != "Hello." {
			t.Errorf("%s: got %q and %v, want %q", name, got.Text, got.Err, "Hello.")
		}
	}
}
