package app

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/app/telemetry"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// benchService is the whole service, with its database and log, over a model
// that writes n tokens.
func benchService(b *testing.B, n int) *Service {
	b.Helper()
	up := upstream.NewMemory()
	b.Cleanup(up.Close)
	return serviceOver(b, up, "token ", n, settings.Limits{})
}

// serviceOver is the service over a model that writes a piece of text n times.
func serviceOver(b testing.TB, up *upstream.Server, piece string, n int, limits settings.Limits) *Service {
	b.Helper()
	chunk := "data: " + upstream.Chunk(`{"content":"`+piece+`"}`, "null") + "\n\n"
	// As many chunks as fit into one write of a server that does not wait.
	body := strings.Repeat(chunk, n)
	up.On(upstream.Any, upstream.Open(upstream.Split(body, 4096), upstream.Finish("stop"), upstream.Done()))
	return serviceWith(b, up, up.Transport(), limits)
}

// serviceWith returns the service over a model server, which is reached through
// models, and a database of its own.
func serviceWith(b testing.TB, up *upstream.Server, models http.RoundTripper, limits settings.Limits) *Service {
	b.Helper()
	return serviceAt(b, filepath.Join(b.TempDir(), "bench.db"), up, models, limits)
}

// serviceAt returns the service with a SQLite database at the path.
func serviceAt(b testing.TB, path string, up *upstream.Server, models http.RoundTripper, limits settings.Limits) *Service {
	b.Helper()
	return serviceOn(b, "sqlite:"+path, up, models, limits)
}

// serviceOn returns the service on a database.
func serviceOn(b testing.TB, url string, up *upstream.Server, models http.RoundTripper, limits settings.Limits) *Service {
	b.Helper()
	watch, err := telemetry.New(b.Context(), telemetry.Options{})
	if err != nil {
		b.Fatal(err)
	}
	config := settings.Config{
		DatabaseURL: url, OpenAI: settings.OpenAI{BaseURL: up.URL(), APIKey: "key"},
		Model: "m", Models: []settings.Model{{Name: "m"}}, MaxTokens: 4096, MaxIterations: 5, Limits: limits,
	}
	s, err := Build(b.Context(), config, Options{Models: models}, watch, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		s.runs.Shutdown(b.Context())
		if err := s.store.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// counter is a client that reads everything.
type counter struct {
	header http.Header
	tokens int
}

func (c *counter) Header() http.Header { return c.header }
func (c *counter) WriteHeader(int)     {}
func (c *counter) Flush()              {}
func (c *counter) Write(p []byte) (int, error) {
	c.tokens += strings.Count(string(p), "token ")
	return len(p), nil
}

// BenchmarkHotPath measures a token from the line of the model's server,
// through event and log, to the frame that is written. ns/op and allocs/op are
// per token and include the whole cost of the run. The dialect messages and the wires
// may cost 1.3 times as much as chat, responses 1.6 times.
func BenchmarkHotPath(b *testing.B) {
	for _, test := range []struct{ name, path, body string }{
		{"chat", "/api/chat/stream?dialect=chat", `{"message":"go"}`},
		{"messages", "/api/chat/stream?dialect=messages", `{"message":"go"}`},
		{"ui", "/api/ui", `{"id":"k","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"go"}]}]}`},
		{"completions", "/v1/chat/completions", `{"model":"chattray","stream":true,"messages":[{"role":"user","content":"go"}]}`},
		{"responses", "/v1/responses", `{"model":"chattray","stream":true,"input":"go"}`},
		{"agui", "/api/agui", `{"threadId":"k","runId":"r","messages":[{"id":"m","role":"user","content":"go"}]}`},
	} {
		b.Run(test.name, func(b *testing.B) { hotPath(b, test.path, test.body) })
	}
}

func hotPath(b *testing.B, path, body string) {
	s := benchService(b, b.N)
	request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(body))
	request.Host = "localhost"
	request.Header.Set("Content-Type", "application/json")
	client := &counter{header: http.Header{}}
	b.ReportAllocs()
	b.ResetTimer()
	s.handler.ServeHTTP(client, request)
	b.StopTimer()
	if client.tokens < b.N {
		b.Fatalf("got %d tokens, want %d", client.tokens, b.N)
	}
}

// BenchmarkReplay reads a stored run of 2,000 events from the start, as a
// reader does that comes after the run's end.
func BenchmarkReplay(b *testing.B) {
	const tokens = 2000
	s := benchService(b, tokens)
	user := schemas.User{ID: "local|dev"}
	run, err := s.runs.Start(b.Context(), user, &schemas.ChatRequest{Message: "go"}, record.StartOptions{})
	if err != nil {
		b.Fatal(err)
	}
	request := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/api/chat/runs/"+run.RunID+"/stream", nil)
	request.Host = "localhost"
	read := func() (n int) {
		client := &counter{header: http.Header{}}
		s.handler.ServeHTTP(client, request)
		return client.tokens
	}
	for isLive(b, s, user, run.ChatID) { // to the end; from then on it is read from the store
		read()
	}
	want := read()
	if want < tokens {
		b.Fatalf("read %d tokens, want %d", want, tokens)
	}
	runtime.GC()
	b.ReportAllocs()
	for b.Loop() {
		if got := read(); got != want {
			b.Fatalf("read %d tokens, want %d", got, want)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/tokens, "µs/event")
}

// BenchmarkWholeRun measures a run from its request to the last byte of its
// answer: one of 2,000 tokens, and one of 20 tokens after one round with a
// tool. Model and client are included.
func BenchmarkWholeRun(b *testing.B) {
	for _, test := range []struct {
		name   string
		tokens int
		tool   bool
	}{{"tokens=2000", 2000, false}, {"tokens=20 tools=1", 20, true}} {
		b.Run(test.name, func(b *testing.B) { wholeRun(b, test.tokens, test.tool) })
	}
}

func wholeRun(b *testing.B, tokens int, tool bool) {
	up := upstream.NewMemory()
	b.Cleanup(up.Close)
	s := serviceOver(b, up, "token ", tokens, settings.Limits{})
	b.ReportAllocs()
	for b.Loop() {
		if tool {
			up.Push(upstream.Stream(upstream.Call(0, "call_0", "search_articles", `{"query":"treatment"}`), upstream.Finish("tool_calls")))
		}
		request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "http://localhost/api/chat/stream", strings.NewReader(`{"message":"go"}`))
		request.Host = "localhost"
		request.Header.Set("Content-Type", "application/json")
		client := &counter{header: http.Header{}}
		s.handler.ServeHTTP(client, request)
		if client.tokens < tokens {
			b.Fatalf("got %d tokens, want %d", client.tokens, tokens)
		}
	}
}

// isLive reports whether a chat has a run that has not ended.
func isLive(b testing.TB, s *Service, user schemas.User, chat string) bool {
	b.Helper()
	live, err := s.runs.Live(b.Context(), user, chat)
	if err != nil {
		b.Fatal(err)
	}
	return len(live) > 0
}
