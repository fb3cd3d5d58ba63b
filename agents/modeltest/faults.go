package modeltest

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

func (p protocol) streamErrors(t *testing.T) {
	so := record(upstream.Say("So"))
	shapes := []struct {
		name, body string
		code       schemas.Code
	}{
		{"error first", `data: {"error":{"message":"upstream says no","type":"server_error","code":null}}`, schemas.CodeUpstreamError},
		{"space before error", `data: { "error": {"message":"upstream says no"}}`, schemas.CodeUpstreamError},
		{"error not first", `data: {"id":"x","error":{"message":"upstream says no","code":500}}`, schemas.CodeUpstreamUnavailable},
		{"error beside choices", `data: {"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"upstream says no"}}`, schemas.CodeUpstreamUnavailable},
		{"object error", `data: {"object":"error","message":"upstream says no","type":"BadRequestError","code":400}`, schemas.CodeUpstreamError},
		{"error is a string", `data: {"error":"upstream says no"}`, schemas.CodeUpstreamError},
		{"error is odd", `data: {"error":{"message":["upstream says no"],"code":{"x":1},"param":7}}`, schemas.CodeUpstreamError},
		{"detail", `data: {"detail":"upstream says no"}`, schemas.CodeUpstreamError},
		{"in a list", `data: [{"error":{"code":503,"message":"upstream says no"}}]`, schemas.CodeUpstreamUnavailable},
		{"without data:", `{"error":{"message":"upstream says no"}}`, schemas.CodeUpstreamError},
		{"without data:, on many lines", "{\n  \"error\": {\n    \"message\": \"upstream says no\"\n  }\n}", schemas.CodeUpstreamError},
		{"error:", `error: {"message":"upstream says no"}`, schemas.CodeUpstreamError},
		{"error: text", `error: upstream says no`, schemas.CodeUpstreamError},
		{"event: error", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"upstream says no\"}}", schemas.CodeUpstreamUnavailable},
		{"event: error with text", "event: error\ndata: upstream says no", schemas.CodeUpstreamError},
		{"after a comment", ": hm\n\ndata: {\"error\":{\"message\":\"upstream says no\"}}", schemas.CodeUpstreamError},
		{"rate limit", `data: {"error":{"message":"upstream says no","type":"rate_limit_error"}}`, schemas.CodeRateLimited},
		{"key", `data: {"error":{"message":"upstream says no: ` + key + `","code":"invalid_api_key"}}`, schemas.CodeUpstreamAuth},
		{"long, with the key", `data: {"error":{"message":"` + long + `"}}`, schemas.CodeUpstreamError},
		{"long text with the key", `error: ` + long, schemas.CodeUpstreamError},
		{"context length", `data: {"error":{"message":"upstream says: maximum context length is 10","code":"context_length_exceeded"}}`, schemas.CodeContextTooLong},
	}
	var rows []row
	for _, s := range shapes {
		rows = append(
			rows,
			row{s.name + ", before text", s.body + "\n\n", Result{Code: s.code}},
			row{s.name + ", after text", so + s.body + "\n\n", Result{Text: "So", Code: s.code}},
			row{s.name + ", without newline", so + s.body, Result{Text: "So", Code: s.code}},
			row{s.name + ", then more", so + s.body + "\n\ndata: [DONE]\n\n", Result{Text: "So", Code: s.code}},
		)
	}
	p.table(t, "text/event-stream", rows)
}

func (p protocol) bodies(t *testing.T) {
	whole := `{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`
	pretty := "{\n  \"choices\": [\n    {\n      \"message\": {\"content\": \"Hello\"},\n      \"finish_reason\": \"stop\"\n    }\n  ],\n" +
		"  \"usage\": {\"prompt_tokens\": 10, \"completion_tokens\": 2}\n}\n"
	asks := `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	hello := Result{Text: "Hello", Full: true, Stop: schemas.EndTurn, Usage: counted}
	refused := Result{Code: schemas.CodeUpstreamError}
	rows := []row{
		{"completion", whole, hello},
		{"completion, with newline", whole + "\n", hello},
		{"completion on many lines", pretty, hello},
		{"completion with calls", asks, Result{Calls: []turn.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}, Stop: schemas.EndTurn}},
		{"completion without finish_reason", `{"choices":[{"message":{"content":"Hello"}}]}`, Result{Text: "Hello", Full: true, Code: schemas.CodeUpstreamTruncated}},
		{"completion cut off", whole[:len(whole)-9], refused},
		{"error", `{"error":{"message":"upstream says no"}}`, refused},
		{"other JSON", `{"hello":"world"}`, refused},
		{"choices without message", `{"choices":[]}`, refused},
		{"list", `[1,2]`, refused},
		{"markup", "<html><body>upstream says no</body></html>", refused},
		{"markup with the key", "<html><body>upstream says " + key + "</body></html>", refused},
		{"text", "upstream says no", refused},
		{"nothing", "", refused},
		{"blank lines", "\n\n\n", refused},
		{"comments only", ": hm\n\n: hm\n\n", refused},
	}
	for _, kind := range []string{"application/json", "text/event-stream", "text/plain"} {
		t.Run(kind, func(t *testing.T) { p.table(t, kind, rows) })
	}
	t.Run("a stream that is called JSON", func(t *testing.T) {
		body := record(upstream.Say("Hello"), upstream.Finish("stop"), upstream.Usage(10, 2), upstream.Done())
		check(t, "stream", p.read(t, upstream.Body("application/json", body)), Result{Text: "Hello", Stop: schemas.EndTurn, Usage: counted})
	})
	t.Run("HTML", func(t *testing.T) {
		check(t, "HTML", p.read(t, upstream.Body("text/html; charset=utf-8", "<html>upstream says no</html>")), refused)
	})
	t.Run("connection cut after text", func(t *testing.T) {
		check(t, "cut", p.read(t, upstream.Open(upstream.Say("So"), upstream.Bytes("data: {"), upstream.Abort())),
			Result{Text: "So", Code: schemas.CodeUpstreamTruncated})
	})
	t.Run("stream left open after finish_reason", func(t *testing.T) {
		check(t, "open", p.read(t, upstream.Open(upstream.Say("Hello"), upstream.Finish("stop"), upstream.Hang())),
			Result{Text: "Hello", Stop: schemas.EndTurn})
	})
	t.Run("error on an open stream", func(t *testing.T) {
		check(t, "open", p.read(t, upstream.Open(upstream.Say("So"), upstream.Bytes(`{"error":{"message":"upstream says no"}}`+"\n"), upstream.Hang())),
			Result{Text: "So", Code: schemas.CodeUpstreamError})
	})
	t.Run("stream left open after [DONE]", func(t *testing.T) {
		reply := upstream.Text("Hello").Then(upstream.Hang())
		check(t, "open", p.read(t, reply), Result{Text: "Hello", Stop: schemas.EndTurn, Usage: counted})
	})
}

func (p protocol) statuses(t *testing.T) {
	errorBody := func(code string) string {
		return `{"error":{"message":"upstream says ` + key + `","type":"x","code":"` + code + `"}}`
	}
	for _, tt := range []struct {
		name   string
		status int
		body   string
		code   schemas.Code
		calls  int
	}{
		{"bad request", 400, errorBody(""), schemas.CodeUpstreamError, 1},
		{"too long", 400, errorBody("context_length_exceeded"), schemas.CodeContextTooLong, 1},
		{"too long, in words", 400, `{"message":"This model's maximum context length is 4096 tokens"}`, schemas.CodeContextTooLong, 1},
		{"too long for Gemini", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, schemas.CodeContextTooLong, 1},
		{"too long for xAI", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, schemas.CodeContextTooLong, 1},
		{"too long for Kimi", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192","type":"invalid_request_error"}}`, schemas.CodeContextTooLong, 1},
		{"too long for a server behind a gateway", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"message\":\"This model's maximum context length is 4096 tokens\"}","provider_name":"P"}}}`, schemas.CodeContextTooLong, 1},
		{"too long for vLLM", 400, `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 100. This model's maximum context length is 4096 tokens and your request has 4090 input tokens"}}`, schemas.CodeContextTooLong, 1},
		{"too large", 413, "", schemas.CodeContextTooLong, 1},
		{"filtered", 400, errorBody("content_filter"), schemas.CodeContentFilter, 1},
		{"no key", 401, errorBody("invalid_api_key"), schemas.CodeUpstreamAuth, 1},
		{"not allowed", 403, "<html>upstream says no</html>", schemas.CodeUpstreamAuth, 1},
		{"unknown model", 404, errorBody("model_not_found"), schemas.CodeUpstreamError, 1},
		{"redirect", 307, "", schemas.CodeUpstreamError, 1},
		{"busy", 429, errorBody("rate_limit_exceeded"), schemas.CodeRateLimited, 3},
		{"no money", 429, errorBody("insufficient_quota"), schemas.CodeRateLimited, 1},
		{"no money, by its type", 429, `{"error":{"message":"upstream says no","type":"insufficient_quota"}}`, schemas.CodeRateLimited, 1},
		{"no credit", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, schemas.CodeRateLimited, 1},
		{"a long error with the key", 400, `{"error":{"message":"` + long + `"}}`, schemas.CodeUpstreamError, 1},
		{"a long text with the key", 400, long, schemas.CodeUpstreamError, 1},
		{"broken", 500, "upstream says no", schemas.CodeUpstreamUnavailable, 3},
		{"bad gateway", 502, "<html>upstream says no</html>", schemas.CodeUpstreamUnavailable, 3},
		{"away", 503, "", schemas.CodeUpstreamUnavailable, 3},
		{"overloaded", 529, errorBody("overloaded_error"), schemas.CodeUpstreamUnavailable, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := upstream.NewMemory()
				up.On(upstream.Any, upstream.Status(tt.status, tt.body, "X-Secret", key, "Location", "/v1/other"))
				check(t, tt.name, Read(t.Context(), p.model(t, up), ask), Result{Code: tt.code})
				if up.Calls() != tt.calls {
					t.Errorf("%d calls, want %d", up.Calls(), tt.calls)
				}
			})
		})
	}
}

// refusedTools has servers that refuse a request for its tools, and says so.
func (p protocol) refusedTools(t *testing.T) {
	for _, tt := range []struct {
		status  int
		message string
	}{
		{http.StatusBadRequest, "registry.ollama.ai/library/gemma2:2b does not support tools"},
		{http.StatusBadRequest, `\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`},
		{http.StatusNotFound, "No endpoints found that support tool use."},
	} {
		got := p.read(t, upstream.Status(tt.status, `{"error":{"message":"`+tt.message+`"}}`))
		if e := schemas.Visible(got.Err); e.Code != schemas.CodeUpstreamError || !strings.Contains(e.Message, "cannot call tools") {
			t.Errorf("after %q: %s %q, want upstream_error about tools", tt.message, e.Code, e.Message)
		}
	}
}

func (p protocol) retries(t *testing.T) {
	busy := func(header ...string) upstream.Reply {
		return upstream.Status(http.StatusTooManyRequests, `{"error":{"message":"upstream says wait"}}`, header...)
	}
	away := upstream.Status(http.StatusServiceUnavailable, "")
	cut := upstream.Reply{upstream.Abort()}
	noOptions := upstream.Status(http.StatusBadRequest, `{"error":{"message":"Unrecognized request argument: stream_options"}}`)
	hello := Result{Text: "Hello", Stop: schemas.EndTurn, Usage: counted}
	for _, tt := range []struct {
		name        string
		replies     []upstream.Reply
		want        Result
		calls       int
		least, most time.Duration
	}{
		{"busy once", []upstream.Reply{busy()}, hello, 2, 0, time.Second},
		{"away twice", []upstream.Reply{away, away}, hello, 3, 0, 3 * time.Second},
		{"connection cut before the answer", []upstream.Reply{cut}, hello, 2, 0, time.Second},
		{"away three times", []upstream.Reply{away, away, away}, Result{Code: schemas.CodeUpstreamUnavailable}, 3, 0, 3 * time.Second},
		{"Retry-After", []upstream.Reply{busy("Retry-After", "7")}, hello, 2, 7 * time.Second, 8 * time.Second},
		{"Retry-After as a date", []upstream.Reply{busy("Retry-After", "Sat, 01 Jan 2000 00:00:09 GMT")}, hello, 2, 9 * time.Second, 10 * time.Second},
		{"Retry-After of 30 s", []upstream.Reply{busy("Retry-After", "30")}, hello, 2, 30 * time.Second, 31 * time.Second},
		{"Retry-After too long", []upstream.Reply{busy("Retry-After", "31")}, Result{Code: schemas.CodeRateLimited}, 1, 0, 0},
		{"error in the stream before text", []upstream.Reply{upstream.Open(upstream.Data(`{"error":{"message":"x","type":"overloaded_error"}}`))}, hello, 2, 0, time.Second},
		{"no credit, told in the stream", []upstream.Reply{upstream.Open(upstream.Data(`{"error":{"code":402,"message":"This request requires more credits"}}`))}, Result{Code: schemas.CodeRateLimited}, 1, 0, 0},
		{"a call that Gemini cannot read", []upstream.Reply{upstream.Open(upstream.Finish("function_call_filter: MALFORMED_FUNCTION_CALL"))}, hello, 2, 0, time.Second},
		{"a call that Groq cannot read", []upstream.Reply{upstream.Status(http.StatusBadRequest, `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=f>"}}`)}, hello, 2, 0, time.Second},
		{"such a call, told in the stream", []upstream.Reply{upstream.Open(upstream.Bytes("event: error\n"), upstream.Data(`{"error":{"message":"Failed to call a function.","code":"tool_use_failed","status_code":400}}`))}, hello, 2, 0, time.Second},
		{"a reply that ends for lack of resources", []upstream.Reply{upstream.Open(upstream.Finish("insufficient_system_resource"))}, hello, 2, 0, time.Second},
		{"such an end after text", []upstream.Reply{upstream.Open(upstream.Say("So"), upstream.Finish("network_error"))}, Result{Text: "So", Code: schemas.CodeUpstreamUnavailable}, 1, 0, 0},
		{"such a call after text", []upstream.Reply{upstream.Open(upstream.Say("So"), upstream.Finish("function_call_filter: MALFORMED_FUNCTION_CALL"))}, Result{Text: "So", Code: schemas.CodeUpstreamError}, 1, 0, 0},
		{
			"error in the stream after text",
			[]upstream.Reply{upstream.Open(upstream.Say("So"), upstream.Data(`{"error":{"message":"x","type":"overloaded_error"}}`))},
			Result{Text: "So", Code: schemas.CodeUpstreamUnavailable},
			1, 0, 0,
		},
		{
			"error in the stream after reasoning",
			[]upstream.Reply{upstream.Open(upstream.Think("hm"), upstream.Data(`{"error":{"message":"x","type":"overloaded_error"}}`))},
			Result{Thinking: "hm", Code: schemas.CodeUpstreamUnavailable},
			1, 0, 0,
		},
		{"without stream_options", []upstream.Reply{noOptions}, hello, 2, 0, 0},
		{"without stream_options, then away twice", []upstream.Reply{noOptions, away, away}, hello, 4, 0, 3 * time.Second},
		{"max_completion_tokens", []upstream.Reply{upstream.Status(http.StatusBadRequest, `{"error":{"message":"Use 'max_completion_tokens' instead.","param":"max_tokens"}}`)}, hello, 2, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := upstream.NewMemory()
				up.Push(tt.replies...)
				up.On(upstream.Any, upstream.Text("Hel", "lo"))
				begun := time.Now()
				var told []time.Duration
				req := ask
				req.Waits = func(d time.Duration) bool { told = append(told, d); return true }
				got := Read(t.Context(), p.model(t, up), req)
				check(t, tt.name, got, tt.want)
				took, all := time.Since(begun), time.Duration(0)
				if took < tt.least || took > tt.most {
					t.Errorf("took %v, want %v to %v", took, tt.least, tt.most)
				}
				for i, d := range told {
					all += d
					if d > 0 != (i%2 == 0) {
						t.Errorf("told of the waits %v, want a wait and its end in turn", told)
					}
				}
				if all != took || len(told)%2 != 0 {
					t.Errorf("told of the waits %v, but it took %v", told, took)
				}
				if up.Calls() != tt.calls {
					t.Errorf("%d calls, want %d", up.Calls(), tt.calls)
				}
			})
		})
	}
	t.Run("a second wait is longer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			up := upstream.NewMemory()
			up.Push(away, away, upstream.Text("Hello"))
			var waits []time.Duration
			req := ask
			req.Waits = func(d time.Duration) bool { waits = append(waits, d); return true }
			Read(t.Context(), p.model(t, up), req)
			if len(waits) != 4 || waits[0] > 500*time.Millisecond || waits[2] < 500*time.Millisecond {
				t.Errorf("waited %v, want at most 500ms and then at least as long", waits)
			}
		})
	})
	t.Run("a wait that nobody needs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			up := upstream.NewMemory()
			up.Push(busy("Retry-After", "30"))
			req, begun := ask, time.Now()
			req.Waits = func(time.Duration) bool { return false }
			if got := Read(t.Context(), p.model(t, up), req); got.Err == nil || up.Calls() != 1 || time.Since(begun) > 0 {
				t.Errorf("got %+v after %d calls and %v, want an error after one and at once", got, up.Calls(), time.Since(begun))
			}
		})
	})
	t.Run("hint of a long Retry-After", func(t *testing.T) {
		for header, want := range map[string]int{"90": 90, "90.1": 91} {
			got := p.read(t, busy("Retry-After", header))
			if e := schemas.Visible(got.Err); e.RetryAfter != want {
				t.Errorf("RetryAfter is %d after %s, want %d", e.RetryAfter, header, want)
			}
		}
	})
}
