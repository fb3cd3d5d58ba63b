package modeltest

import (
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// oddities are what servers send that only resembles the protocol. What is clear
// is read, the rest is an error; no answer is lost in silence.
func (p protocol) oddities(t *testing.T) {
	chunk := func(delta, finish string) string { return "data: " + upstream.Chunk(delta, finish) + "\n\n" }
	calls := func(calls string) string { return chunk(`{"tool_calls":`+calls+`}`, "null") }
	old := func(text, finish string) string {
		return `data: {"object":"text_completion","choices":[{"index":0,"text":"` + text + `","logprobs":null,"finish_reason":` + finish + "}]}\n\n"
	}
	usage := func(usage string) string { return `data: {"choices":[],"usage":` + usage + "}\n\n" }
	hel, lo, stop := chunk(`{"content":"Hel"}`, "null"), chunk(`{"content":"lo"}`, "null"), chunk(`{}`, `"stop"`)
	whole := hel + lo + stop
	broken := func(text string) Result { return Result{Text: text, Code: schemas.CodeUpstreamError} }
	hello := Result{Text: "Hello", Stop: schemas.EndTurn}
	paid := Result{Text: "Hello", Stop: schemas.EndTurn, Usage: counted}
	said := func(text string) Result { return Result{Text: text, Stop: schemas.EndTurn} }
	thought := func(thinking, text string) Result {
		return Result{Thinking: thinking, Text: text, Stop: schemas.EndTurn}
	}
	called := func(id string) Result {
		return Result{Stop: schemas.EndTurn, Calls: []turn.ToolCall{{ID: id, Name: "f", Arguments: `{"x":1}`}}}
	}
	lines := func(body string) string { // one event over several lines, as of an indented object
		return strings.NewReplacer(`{"id"`, "{\ndata: \"id\"", `"choices":[`, "\ndata:   \"choices\":[\ndata: ", `],"usage"`, "],\ndata: \"usage\"").Replace(body)
	}
	p.table(t, "text/event-stream", []row{
		{"usage of floats", whole + usage(`{"prompt_tokens":10.0,"completion_tokens":2.0,"total_tokens":12.0}`), paid},
		{"usage of strings", whole + usage(`{"prompt_tokens":"10","completion_tokens":"2","total_tokens":null}`), paid},
		{"impossible usage", whole + usage(`{"prompt_tokens":1e300,"completion_tokens":2,"total_tokens":12}`) + usage(`{"prompt_tokens":10,"completion_tokens":1e12}`), hello},
		{"an impossible total", whole + usage(`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":1e300}`), paid},
		{"usage a list", whole + usage(`[]`) + usage(`[{"prompt_tokens":10}]`), hello},
		{"usage null, false, a word", whole + usage(`null`) + usage(`false`) + usage(`"none"`), hello},
		{"usage a list beside text", strings.ReplaceAll(whole, `"usage":null`, `"usage":[]`), hello},
		{"ids are numbers", strings.ReplaceAll(whole, `"id":"chatcmpl-1"`, `"id":17`), hello},
		{"created is a string", strings.ReplaceAll(whole, `"created":1760000000`, `"created":"2026-01-01"`), hello},
		{"created is a float", strings.ReplaceAll(whole, `"created":1760000000`, `"created":1.76e9`), hello},
		{"index of a choice is a float", strings.ReplaceAll(whole, `"index":0`, `"index":0.0`), hello},
		{"index of a choice is a string", strings.ReplaceAll(whole, `"index":0`, `"index":"0"`), hello},
		{"another choice with such an index", strings.ReplaceAll(hel, `"index":0`, `"index":"1"`) + whole, hello},
		{"choices an object", strings.NewReplacer(`[{"index"`, `{"index"`, `}],`, `},`).Replace(whole), hello},
		{"choices a word", hel + `data: {"choices":"` + key + `"}` + "\n\n", broken("Hel")},
		{"names in another case", strings.NewReplacer(`"choices"`, `"Choices"`, `"delta"`, `"DELTA"`, `"content"`, `"Content"`).Replace(whole), hello},
		{"names with escapes", strings.NewReplacer(`"choices"`, `"\u0063hoices"`, `"delta"`, `"De\u006Cta"`, `"content"`, `"conten\u0074"`).Replace(whole), hello},
		{"delta an empty list", hel + lo + chunk(`[]`, `"stop"`), hello},
		{"delta a word", hel + chunk(`"lo"`, "null"), broken("Hel")},
		{"content a number", chunk(`{"content":5}`, "null") + stop, said("5")},
		{"half a character in each of two texts", chunk(`{"content":"a\ud83d"}`, "null") + chunk(`{"content":"\ude00b"}`, "null") + stop, said("a\U0001F600b")},
		{"half a character alone", chunk(`{"content":"\uD83D"}`, "null") + chunk(`{"content":""}`, "null") + chunk(`{"content":"\uDE00","x":1}`, "null") + stop, said("\U0001F600")},
		{"half a character without the other", chunk(`{"content":"a\ud83d"}`, "null") + chunk(`{"content":"b"}`, "null") + stop, said("a\uFFFDb")},
		{"two first halves", chunk(`{"content":"\ud83d"}`, "null") + chunk(`{"content":"\ud83d"}`, "null") + chunk(`{"content":"\ude00"}`, "null") + stop, said("\uFFFD\U0001F600")},
		{"half a character at the end", chunk(`{"content":"a\udbff"}`, "null") + stop, said("a\uFFFD")},
		{"a text about half a character", chunk(`{"content":"a\\ud83d"}`, "null") + chunk(`{"content":"b"}`, "null") + stop, said(`a\ud83db`)},
		{"content a part", chunk(`{"content":{"type":"text","text":"Hello"}}`, "null") + stop, hello},
		{"content in parts", chunk(`{"content":[{"type":"text","text":"Hel"},{"type":"text","text":{"value":"l"}},"o"]}`, "null") + stop, hello},
		{"content in parts without text", chunk(`{"content":[{"type":"text","text":"Hello"},{"type":"reference","reference_ids":[1]}]}`, "null") + stop, hello},
		{"content in parts of odd types", chunk(`{"content":[{"type":7,"text":1},{"text":null}]}`, "null") + stop, said("1")},
		{"content false", chunk(`{"content":false}`, "null") + whole, hello},
		{"content true", hel + chunk(`{"content":true}`, "null") + stop, broken("Hel")},
		{"content true in parts", hel + chunk(`{"content":[true]}`, "null") + stop, broken("Hel")},
		{"refusal false", chunk(`{"refusal":false,"content":"Hello"}`, "null") + stop, hello},
		{"reasoning in parts", chunk(`{"reasoning_content":[{"type":"text","text":"hm"}]}`, "null") + whole, Result{Text: "Hello", Thinking: "hm", Stop: schemas.EndTurn}},
		{"reasoning true", chunk(`{"reasoning":true}`, "null") + whole, hello},
		{"reasoning in tags", chunk(`{"content":"\n<think>\nhm < 1"}`, "null") + chunk(`{"content":"\n</think>\n\n"}`, "null") + chunk(`{"content":"\n"}`, "null") + whole, thought("\nhm < 1\n", "Hello")},
		{"reasoning in tags that are cut", chunk(`{"content":"<th"}`, "null") + chunk(`{"content":"ink>hm</"}`, "null") + chunk(`{"content":"p></th"}`, "null") + chunk(`{"content":"ink>"}`, "null") + whole, thought("hm</p>", "Hello")},
		{"reasoning in tags, in one chunk, decoded", chunk(`{"content":"<think>hm</think>Hello","x":1}`, "null") + stop, thought("hm", "Hello")},
		{"reasoning in a tag that does not end", chunk(`{"content":"<think>hm</thi"}`, "null") + chunk(`{}`, `"length"`), Result{Thinking: "hm</thi", Stop: schemas.MaxTokens}},
		{"reasoning in tags before a call", chunk(`{"content":"<think>hm</think>\n"}`, "null") + calls(`[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`) + stop, Result{Thinking: "hm", Calls: called("a").Calls, Stop: schemas.EndTurn}},
		{"a tag later in the text", chunk(`{"content":" Use <think>a</think>"}`, "null") + stop, said(" Use <think>a</think>")},
		{"half a tag at the end", chunk(`{"content":"\n<thin"}`, "null") + stop, said("\n<thin")},
		{"half a tag before other text", chunk(`{"content":" <"}`, "null") + chunk(`{"content":"b>a"}`, "null") + stop, said(" <b>a")},
		{"finish_reason false", strings.ReplaceAll(hel+lo, `"finish_reason":null`, `"finish_reason":false`) + stop, hello},
		{"finish_reason of a text generation server", hel + lo + chunk(`{}`, `"eos_token"`), hello},
		{"finish_reason of another API", hel + lo + chunk(`{}`, `"SAFETY"`), Result{Text: "Hello", Stop: schemas.ContentFilter}},
		{"finish_reason of GLM's filter", hel + lo + chunk(`{}`, `"sensitive"`), Result{Text: "Hello", Stop: schemas.ContentFilter}},
		{"finish_reason of a full context", hel + lo + chunk(`{}`, `"model_context_window_exceeded"`), Result{Text: "Hello", Stop: schemas.MaxTokens}},
		{"finish_reason with a detail", hel + lo + chunk(`{}`, `"content_filter: RECITATION"`), Result{Text: "Hello", Stop: schemas.ContentFilter}},
		{"finish_reason a number", hel + lo + chunk(`{}`, `7`), broken("Hello")},

		{"id of a call is a number", calls(`[{"index":0,"id":7,"function":{"name":"f","arguments":"{\"x\":"}}]`) + calls(`[{"index":0,"id":7,"function":{"arguments":"1}"}}]`) + stop, called("7")},
		{"no index, numbers as ids", calls(`[{"id":7,"function":{"name":"f","arguments":"{\"x\":"}}]`) + calls(`[{"id":7,"function":{"arguments":"1}"}}]`) + stop, called("7")},
		{"index of a call is a string", calls(`[{"index":"0","id":"a","function":{"name":"f","arguments":"{\"x\":"}}]`) + calls(`[{"index":"0","function":{"arguments":"1}"}}]`) + stop, called("a")},
		{"index of a call is a float", calls(`[{"index":0.0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`) + stop, called("a")},
		{"no index, arguments an object", calls(`[{"id":"a","function":{"name":"f","arguments":{"x":1}}}]`) + stop, called("a")},
		{"tool_calls an object", calls(`{"id":"a","function":{"name":"f","arguments":{"x":1}}}`) + stop, called("a")},
		{"tool_calls empty, of any type", calls(`{}`) + calls(`""`) + calls(`false`) + whole, hello},
		{"tool_calls a word", calls(`"f"`) + stop, broken("")},
		{"function a word", calls(`[{"id":"a","function":"f"}]`) + stop, broken("")},
		{"function_call false", chunk(`{"function_call":false,"content":"Hello"}`, "null") + stop, hello},

		{"an event over several lines", lines(whole), hello},
		{"an event over several lines, CRLF", strings.ReplaceAll(lines(whole), "\n", "\r\n"), hello},
		{"half an event", hel + "data: {\ndata: \"choices\":\n\n" + lo + stop, broken("Hel")},
		{"half an event at the end", hel + "data: {\ndata: \"choices\":\n", Result{Text: "Hel", Code: schemas.CodeUpstreamTruncated}},
		{"an error over several lines", hel + "event: error\ndata: {\ndata: \"error\": {\"code\": 429,\ndata: \"message\": \"upstream says wait\"}}\n\n", Result{Text: "Hel", Code: schemas.CodeRateLimited}},
		{"lone carriage returns", strings.ReplaceAll(whole, "\n", "\r"), hello},
		{"lone carriage returns, no blank lines", strings.ReplaceAll(strings.ReplaceAll(whole, "\n\n", "\n"), "\n", "\r"), hello},
		{"lone carriage returns, the last missing", strings.ReplaceAll(strings.TrimSuffix(whole, "\n\n"), "\n", "\r"), hello},
		{"lone carriage returns after a mark and a comment", "\uFEFF: hi\r\r" + strings.ReplaceAll(whole, "\n", "\r"), hello},
		{"events with other names", "event: ping\ndata: 17\n\n" + strings.ReplaceAll(whole, "data:", "event: chunk\ndata:"), hello},
		{"text beside the index", old("Hel", "null") + old("lo", "null") + old("", `"stop"`), hello},
		{"text beside the index, which is a string", strings.ReplaceAll(old("Hel", "null")+old("lo", `"stop"`), `"index":0`, `"index":"0"`), hello},
		{"text beside an empty delta", strings.ReplaceAll(old("Hel", "null")+old("lo", `"stop"`), `"index":0`, `"index":0,"delta":{"role":"assistant"}`), hello},
		{"text beside a delta that repeats it", strings.ReplaceAll(hel, `"index":0`, `"index":0,"text":"Hel"`) + strings.ReplaceAll(lo, `"index":0`, `"index":0,"text":"lo"`) + stop, hello},
		{"text beside reasoning", strings.ReplaceAll(chunk(`{"reasoning":"hm"}`, "null"), `"index":0`, `"index":0,"text":"hm"`) + whole, Result{Text: "Hello", Thinking: "hm", Stop: schemas.EndTurn}},
		{"text that is none", hel + lo + strings.ReplaceAll(old("", `"stop"`), `""`, `true`), broken("Hello")},
		{"a bad chunk after finish_reason", whole + `data: {"usage":nonsense}` + "\n\n", hello},
	})
	answer := func(message, usage string) string {
		return `{"id":1,"choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}],"usage":` + usage + `}`
	}
	p.table(t, "application/json", []row{
		{"a body with usage a list", answer(`{"content":"Hello"}`, `[]`), Result{Text: "Hello", Stop: schemas.EndTurn, Full: true}},
		{"a body with text instead of a message", `{"object":"text_completion","choices":[{"text":"Hello","index":0,"finish_reason":"stop"}]}`, hello},
		{"a body with content a number", answer(`{"content":5}`, `null`), Result{Text: "5", Stop: schemas.EndTurn, Full: true}},
		{"a body with a number as id of a call", answer(`{"content":null,"tool_calls":[{"id":7,"function":{"name":"f","arguments":{"x":1}}}]}`, `null`), called("7")},
		{"a body of lone carriage returns", strings.ReplaceAll(answer(`{"content":"Hello"}`, `null`), ",", ",\r"), Result{Text: "Hello", Stop: schemas.EndTurn, Full: true}},
	})
}
