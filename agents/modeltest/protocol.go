package modeltest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// Dial are the options of an adapter under test. Zero fields are the adapter's
// defaults.
type Dial struct {
	BaseURL, APIKey           string
	Transport                 http.RoundTripper
	Connect, FirstToken, Idle time.Duration
}

// key is the key of every adapter under test; no error may show it.
const key = "sk-secret-0123456789"

// long is an error text of which an adapter keeps so much that a part of the key is in it.
var long = strings.Repeat("upstream says no, ", 113) + key

// maxSplits bounds how many ways a body is split in two.
const maxSplits = 120

// Protocol tests an adapter of the OpenAI streaming protocol: how it reads
// every kind of stream and fault that such servers send, however the bytes are
// split; when it retries; and what it does when the server is silent or nobody
// reads.
func Protocol(t *testing.T, dial func(t *testing.T, d Dial) agents.Model) {
	p := protocol{dial}
	t.Run("streams", p.streams)
	t.Run("tool calls", p.toolCalls)
	t.Run("oddities", p.oddities)
	t.Run("codings", p.codings)
	t.Run("errors in the stream", p.streamErrors)
	t.Run("bodies", p.bodies)
	t.Run("statuses", p.statuses)
	t.Run("retries", p.retries)
	t.Run("refused tools", p.refusedTools)
	t.Run("timers", p.timers)
	t.Run("cancel", p.cancel)
	t.Run("requests", p.requests)
}

type protocol struct {
	dial func(t *testing.T, d Dial) agents.Model
}

// ask is a small request.
var ask = agents.ModelRequest{Model: "test", Messages: []turn.Message{{Role: turn.User, Content: "hi"}}}

// model returns an adapter over up.
func (p protocol) model(t *testing.T, up *upstream.Server) agents.Model {
	return p.dial(t, Dial{BaseURL: up.URL(), APIKey: key, Transport: up.Transport()})
}

// read reads one reply with a fresh adapter.
func (p protocol) read(t *testing.T, reply upstream.Reply) (got Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		up := upstream.NewMemory()
		up.On(upstream.Any, reply)
		got = Read(t.Context(), p.model(t, up), ask)
	})
	return got
}

// row is a body and the expected result.
type row struct {
	name string
	body string
	want Result
}

// record returns the bytes that parts write.
func record(parts ...upstream.Part) string {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	for _, part := range parts {
		part(w, r)
	}
	return w.Body.String()
}

// table checks every row: whole, in small pieces, and cut in two at up to
// maxSplits places.
func (p protocol) table(t *testing.T, contentType string, rows []row) {
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			head := upstream.Head(http.StatusOK, "Content-Type", contentType)
			check(t, "whole", p.read(t, upstream.Reply{head, upstream.Bytes(row.body)}), row.want)
			if len(row.body) > 64<<10 {
				return
			}
			for _, n := range []int{1, 7, 64} {
				check(t, fmt.Sprintf("in pieces of %d", n), p.read(t, upstream.Reply{head, upstream.Split(row.body, n)}), row.want)
			}
			for i := 1; i < len(row.body); i += 1 + len(row.body)/maxSplits {
				check(t, fmt.Sprintf("split at %d", i), p.read(t, upstream.Reply{
					head, upstream.Bytes(row.body[:i]), upstream.Bytes(row.body[i:]),
				}), row.want)
			}
		})
	}
}

func check(t *testing.T, how string, got, want Result) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Result{}, "Err", "Deltas")); diff != "" {
		t.Fatalf("%s (-want +got):\n%s\nerror: %v", how, diff, got.Err)
	}
	noLeak(t, got.Err)
}

// noLeak checks that the visible part of err shows nothing of the upstream.
func noLeak(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	seen := schemas.Visible(err).Message
	for _, secret := range []string{key, "upstream says", "fp_1", "http", "<html"} {
		if strings.Contains(strings.ToLower(seen), secret) {
			t.Errorf("visible error %q shows %q", seen, secret)
		}
	}
	if strings.Contains(err.Error(), key[:9]) { // also one that is cut
		t.Errorf("error for the log shows the key: %v", err)
	}
}

var counted = schemas.Usage{InputTokens: 10, OutputTokens: 2, TotalTokens: 12}

func (p protocol) streams(t *testing.T) {
	chunk := func(delta, finish string) string { return "data: " + upstream.Chunk(delta, finish) + "\n\n" }
	hello := Result{Text: "Hello", Stop: schemas.EndTurn, Usage: counted}
	bare := Result{Text: "Hello", Stop: schemas.EndTurn}
	hel, lo, stop := chunk(`{"content":"Hel"}`, "null"), chunk(`{"content":"lo"}`, "null"), chunk(`{}`, `"stop"`)
	whole := record(upstream.Say("Hel", "lo"), upstream.Finish("stop"), upstream.Usage(10, 2), upstream.Done())
	obfuscated := `data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}],"obfuscation":"a{}"}` + "\n\n" +
		`data: {"id":"1","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}],"obfuscation":"]]\"x"}` + "\n\n"
	long := strings.Repeat("long ", 300_000)
	truncated := Result{Text: "Hello", Code: schemas.CodeUpstreamTruncated}
	p.table(t, "text/event-stream", []row{
		{"plain", chunk(`{"role":"assistant","content":"","refusal":null}`, "null") + whole, hello},
		{"CRLF", strings.ReplaceAll(whole, "\n", "\r\n"), hello},
		{"no space after data:", strings.ReplaceAll(whole, "data: ", "data:"), hello},
		{"no blank lines", strings.ReplaceAll(whole, "\n\n", "\n"), hello},
		{"byte order mark", "\uFEFF" + whole, hello},
		{"comments", ": hi\n\n" + strings.ReplaceAll(whole, "\n\n", "\n\n: keep-alive\n\n:\n"), hello},
		{"many comments", strings.Repeat(": wait\n\n", 2000) + whole, hello},
		{"other fields", strings.ReplaceAll(whole, "data: ", "event: message\nid: 7\nretry: 100\ndata: "), hello},
		{"empty data and blank lines", "\n\n\ndata:\ndata: \n" + whole, hello},
		{"empty choices", `data: {"choices":[],"prompt_filter_results":[]}` + "\n\n" + whole, hello},
		{"unknown chunk", `data: {"type":"ping"}` + "\n\n" + whole, hello},
		{"error null in a chunk", `data: {"error":null,"choices":[{"delta":{"content":"Hel"}}]}` + "\n\n" + lo + stop, bare},
		{"no usage, no [DONE]", hel + lo + stop, bare},
		{"last line without newline", strings.TrimSuffix(hel+lo+stop, "\n\n"), bare},
		{"[DONE] without newline", strings.TrimSuffix(whole, "\n\n"), hello},
		{"finish with the last text", hel + chunk(`{"content":"lo"}`, `"stop"`), bare},
		{"usage in every chunk", strings.ReplaceAll(whole, `"usage":null`, `"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":0}`), hello},
		{"usage of zeros after it", hel + lo + stop + record(upstream.Usage(10, 2), upstream.Usage(0, 0), upstream.Done()), hello},
		{"usage without total", hel + lo + stop + `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}` + "\n\n", hello},
		{"changing chunks", obfuscated + stop, bare},
		{"another choice beside it", `data: {"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"Hello"}}]}` + "\n\n" + stop, bare},
		{"reply after [DONE]", whole + hel, hello},
		{"error after [DONE]", whole + `data: {"error":{"message":"late"}}` + "\n\n", hello},
		{"escapes", chunk(`{"content":"a\n\"b\"\\ \u00e9\ud83d\ude00 \/ é😀"}`, "null") + stop, Result{Text: "a\n\"b\"\\ é😀 / é😀", Stop: schemas.EndTurn}},
		{"lone surrogate and NUL", chunk(`{"content":"a\ud83d b\u0000"}`, "null") + stop, Result{Text: "a\uFFFD b\uFFFD", Stop: schemas.EndTurn}},
		{"broken UTF-8", chunk("{\"content\":\"a\xffb\"}", "null") + stop, Result{Text: "a\uFFFDb", Stop: schemas.EndTurn}},
		{
			"markers of the format as text", chunk(`{"content":"data: [DONE]\n\n"}`, "null") + chunk(`{"content":"\"}}]}"}`, "null") + stop,
			Result{Text: "data: [DONE]\n\n\"}}]}", Stop: schemas.EndTurn},
		},
		{"very long line", chunk(`{"content":"`+long+`"}`, "null") + stop, Result{Text: long, Stop: schemas.EndTurn}},
		{"reasoning_content", chunk(`{"reasoning_content":"hm"}`, "null") + hel + lo + stop, Result{Thinking: "hm", Text: "Hello", Stop: schemas.EndTurn}},
		{"reasoning", chunk(`{"reasoning":"hm","content":""}`, "null") + hel + lo + stop, Result{Thinking: "hm", Text: "Hello", Stop: schemas.EndTurn}},
		{"both reasonings", chunk(`{"reasoning":"hm","reasoning_content":"hm"}`, "null") + hel + lo + stop, Result{Thinking: "hm", Text: "Hello", Stop: schemas.EndTurn}},
		{
			"content in parts", chunk(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"Hello"}]}`, "null") + stop,
			Result{Thinking: "hm", Text: "Hello", Stop: schemas.EndTurn},
		},
		{"length", hel + lo + chunk(`{}`, `"length"`), Result{Text: "Hello", Stop: schemas.MaxTokens}},
		{"finish_reason in capitals", hel + lo + chunk(`{}`, `"MAX_TOKENS"`), Result{Text: "Hello", Stop: schemas.MaxTokens}},
		{"content_filter", hel + lo + chunk(`{}`, `"content_filter"`), Result{Text: "Hello", Stop: schemas.ContentFilter}},
		{"refusal", chunk(`{"refusal":"I "}`, "null") + chunk(`{"refusal":"won't."}`, "null") + stop, Result{Text: "I won't.", Stop: schemas.Refusal}},
		{"unknown finish_reason", hel + lo + chunk(`{}`, `"bored"`), Result{Text: "Hello", Code: schemas.CodeUpstreamError}},
		{"empty finish_reason", hel + lo + chunk(`{}`, `""`) + stop, bare},
		{"no finish_reason", hel + lo, truncated},
		{"[DONE] without finish_reason", hel + lo + "data: [DONE]\n\n", truncated},
		{"last line cut off", hel + lo + stop[:len(stop)/2], truncated},
		{"last line cut off after a brace", hel + lo + stop[:strings.Index(stop, "}")+1], truncated},
		{"chunk that is not JSON", hel + lo + "data: {nonsense}\n\n", Result{Text: "Hello", Code: schemas.CodeUpstreamError}},
		{"text for a chunk", hel + lo + "data: upstream says no\n\n", Result{Text: "Hello", Code: schemas.CodeUpstreamError}},
	})
}

func (p protocol) toolCalls(t *testing.T) {
	chunk := func(calls string) string {
		return "data: " + upstream.Chunk(`{"tool_calls":[`+calls+`]}`, "null") + "\n\n"
	}
	end := record(upstream.Finish("tool_calls"), upstream.Usage(10, 2), upstream.Done())
	want := func(calls ...turn.ToolCall) Result {
		return Result{Calls: calls, Stop: schemas.EndTurn, Usage: counted}
	}
	a, b := turn.ToolCall{ID: "a", Name: "f", Arguments: `{"x":1}`}, turn.ToolCall{ID: "b", Name: "g", Arguments: `{"y":2}`}
	anon := func(c turn.ToolCall) turn.ToolCall { c.ID = ""; return c }
	signed := func(c turn.ToolCall) turn.ToolCall {
		c.Extra = `{"google":{"thought_signature":"s"}}`
		return c
	}
	named := func(c turn.ToolCall, name string) turn.ToolCall { c.Name = name; return c }
	none := turn.ToolCall{ID: "a", Name: "f"}
	p.table(t, "text/event-stream", []row{
		{"one call", record(upstream.Call(0, "a", "f", `{"x"`, `:1}`)) + end, want(a)},
		{"two calls", record(upstream.Call(0, "a", "f", `{"x":1}`), upstream.Call(1, "b", "g", `{"y"`, `:2}`)) + end, want(a, b)},
		{
			"text first", record(upstream.Say("So."), upstream.Call(0, "a", "f", `{"x":1}`)) + end,
			Result{Text: "So.", Calls: []turn.ToolCall{a}, Stop: schemas.EndTurn, Usage: counted},
		},
		{"interleaved", chunk(`{"index":0,"id":"a","function":{"name":"f"}},{"index":1,"id":"b","function":{"name":"g"}}`) +
			chunk(`{"index":1,"function":{"arguments":"{\"y\":"}},{"index":0,"function":{"arguments":"{\"x\":"}}`) +
			chunk(`{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"arguments":"2}"}}`) + end, want(a, b)},
		{"indices from 1", record(upstream.Call(1, "a", "f", `{"x":1}`), upstream.Call(2, "b", "g", `{"y":2}`)) + end, want(a, b)},
		{"no index, whole, in one chunk", chunk(`{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`) + end, want(a, b)},
		{"no index, no id, whole, in one chunk", chunk(`{"function":{"name":"f","arguments":"{\"x\":1}"}},{"function":{"name":"g","arguments":"{\"y\":2}"}}`) + end, want(anon(a), anon(b))},
		{"no index, no id, the same call twice", chunk(`{"function":{"name":"f","arguments":"{\"x\":1}"}}`) + chunk(`{"function":{"name":"f","arguments":"{\"x\":1}"}}`) + end, want(anon(a), anon(a))},
		{"no index, fragments without id", chunk(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`) + chunk(`{"function":{"arguments":":1}"}}`) +
			chunk(`{"id":"b","function":{"name":"g","arguments":"{\"y\""}}`) + chunk(`{"function":{"arguments":":2}"}}`) + end, want(a, b)},
		{"no index, fragments with id", chunk(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`) + chunk(`{"id":"a","function":{"arguments":":1}"}}`) + end, want(a)},
		{"no index, id changes on the way", chunk(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`) + chunk(`{"id":"z","function":{"arguments":":1}"}}`) + end, want(a)},
		{"no index, name repeated", chunk(`{"function":{"name":"f","arguments":"{\"x\""}}`) + chunk(`{"function":{"name":"f","arguments":":1}"}}`) + end, want(anon(a))},
		{"extra content of a call", chunk(`{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"f","arguments":"{\"x\":1}"}}`) + end, want(signed(a))},
		{"extra content, id a number", chunk(`{"index":0,"id":7,"extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"f","arguments":"{\"x\":1}"}}`) +
			end, want(signed(turn.ToolCall{ID: "7", Name: "f", Arguments: `{"x":1}`}))},
		{"extra content late", record(upstream.Call(0, "a", "f", `{"x":1}`)) + chunk(`{"index":0,"extra_content":{"google":{"thought_signature":"s"}}}`) + end, want(signed(a))},
		{"extra content beside a long call", chunk(`{"index":0,"id":"a","extra_content":"`+strings.Repeat("s", 1<<20)+`","function":{"name":"f","arguments":""}}`) +
			strings.Repeat(chunk(`{"index":0,"function":{"arguments":" "}}`), 8) + chunk(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`) +
			end, want(turn.ToolCall{ID: "a", Name: "f", Arguments: strings.Repeat(" ", 8) + `{"x":1}`, Extra: `"` + strings.Repeat("s", 1<<20) + `"`})},
		{"empty arguments", chunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`) + chunk(`{"index":0,"function":{"arguments":" "}}`) +
			record(upstream.Call(1, "b", "g", "{}")) + end, want(turn.ToolCall{ID: "a", Name: "f", Arguments: "{}"}, turn.ToolCall{ID: "b", Name: "g", Arguments: "{}"})},
		{"empty arguments before the real ones", chunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`) +
			chunk(`{"index":0,"function":{"arguments":"{\"x\""}}`) + chunk(`{"index":0,"function":{"arguments":":1}"}}`) + end, want(a)},
		{"empty arguments, as an object, before the real ones and the name", chunk(`{"index":0,"id":"a","function":{"arguments":{}}}`) +
			chunk(`{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}`) + end, want(a)},
		{"no id", chunk(`{"index":0,"function":{"name":"f","arguments":"{\"x\""}}`) + chunk(`{"index":0,"function":{"arguments":":1}"}}`) + end, want(anon(a))},
		{"index null, id null", strings.ReplaceAll(chunk(`{"index":null,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`), `"type"`, `"t"`) + end, want(a)},
		{"every call has index 0", chunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`) + chunk(`{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`) + end, want(a, b)},
		{"id changes on the way", chunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`) + chunk(`{"index":0,"id":"z","function":{"arguments":":1}"}}`) + end, want(a)},
		{"id and name on every fragment", chunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`) + chunk(`{"index":0,"id":"z","function":{"name":"f","arguments":":1}"}}`) + end, want(a)},
		{"id late", chunk(`{"index":0,"function":{"name":"f","arguments":""}}`) + chunk(`{"index":0,"id":"a","function":{"arguments":"{\"x\":1}"}}`) + end, want(a)},
		{"id after the arguments", chunk(`{"index":0,"function":{"name":"f","arguments":"{\"x\":"}}`) + chunk(`{"index":0,"id":"a","function":{"arguments":"1}"}}`) + end, want(anon(a))},
		{"name late", chunk(`{"index":0,"id":"a","function":{"arguments":"{\"x\":"}}`) + chunk(`{"index":0,"function":{"name":"f","arguments":"1}"}}`) + end, want(a)},
		{"name in pieces", chunk(`{"index":0,"id":"a","function":{"name":"find_"}}`) + chunk(`{"index":0,"function":{"name":"articles","arguments":""}}`) +
			chunk(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`) + end, want(named(a, "find_articles"))},
		{"names in pieces, without arguments", chunk(`{"index":0,"id":"a","function":{"name":"find_"}}`) + chunk(`{"index":0,"function":{"name":"articles"}}`) +
			chunk(`{"index":1,"id":"b","function":{"name":"list_"}}`) + chunk(`{"index":1,"function":{"name":"reports"}}`) + end, want(named(none, "find_articles"), turn.ToolCall{ID: "b", Name: "list_reports"})},
		{"name repeated before the arguments", chunk(`{"index":0,"id":"a","function":{"name":"f"}}`) + chunk(`{"index":0,"function":{"name":"f"}}`) +
			chunk(`{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}`) + end, want(a)},
		{"name never", chunk(`{"index":0,"id":"a","function":{"arguments":"{}"}}`) + end, want(turn.ToolCall{ID: "a", Arguments: "{}"})},
		{"arguments empty", record(upstream.Call(0, "a", "f")) + end, want(none)},
		{"arguments null", chunk(`{"index":0,"id":"a","function":{"name":"f","arguments":null}}`) + end, want(none)},
		{"arguments an object", chunk(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}`) + end, want(a)},
		{"function_call", "data: " + upstream.Chunk(`{"function_call":{"name":"f","arguments":"{\"x\""}}`, "null") + "\n\n" +
			"data: " + upstream.Chunk(`{"function_call":{"arguments":":1}"}}`, "null") + "\n\n" + strings.ReplaceAll(end, "tool_calls", "function_call"), want(anon(a))},
		{"finish_reason stop", record(upstream.Call(0, "a", "f", `{"x":1}`)) + strings.ReplaceAll(end, "tool_calls", "stop"), want(a)},
		{
			"cut off in the arguments", record(upstream.Call(0, "a", "f", `{"x"`)),
			Result{Calls: []turn.ToolCall{{ID: "a", Name: "f", Arguments: `{"x"`}}, Code: schemas.CodeUpstreamTruncated},
		},
		{
			"length in the arguments", record(upstream.Call(0, "a", "f", `{"x"`), upstream.Finish("length")),
			Result{Calls: []turn.ToolCall{{ID: "a", Name: "f", Arguments: `{"x"`}}, Stop: schemas.MaxTokens},
		},
	})
}
