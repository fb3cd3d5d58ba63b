package evaluate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/evaluate"
)

var update = flag.Bool("update", false, "write the golden files")

func TestChecks(t *testing.T) {
	called := []evaluate.Call{{Tool: "look", Input: json.RawMessage(`{ "key": "a", "n": 1.0, "of": {"b":1,"a":2} }`)}}
	payloads := []evaluate.Payload{{Type: "chart", Data: json.RawMessage(`{"n":1}`)}, {Type: "chart", Data: json.RawMessage(`{"n":"x"}`)}}
	for _, c := range []struct{ check, answer, want string }{
		{`{"contains":"SHELF 7"}`, "on shelf 7", ""},
		{`{"contains":"shelf 8"}`, "on shelf 7", "the answer does not contain it"},
		{`{"not_contains":"Shelf"}`, "on shelf 7", "the answer contains it"},
		{`{"not_contains":"shelf 8"}`, "on shelf 7", ""},
		{`{"matches":"(?i)^ON .* \\d$"}`, "on shelf 7", ""},
		{`{"matches":"^shelf"}`, "on shelf 7", "the answer does not match"},
		{`{"json_schema":{"type":"object","required":["n"]}}`, `{"n":1}`, ""},
		{`{"json_schema":{"type":"object","required":["n"]}}`, "\n```json\n{\"n\":1}\n```\n", ""},
		{`{"json_schema":{"type":"object","required":["n"]}}`, `{"m":1}`, "required"},
		{`{"json_schema":{"type":"object"}}`, `Here it is: {}`, "it is not JSON"},
		{`{"json_schema":{"required":["n"]},"payload":"chart"}`, "", ""},
		{`{"json_schema":{"properties":{"n":{"type":"integer"}}},"payload":"chart"}`, "", "integer"},
		{`{"json_schema":{},"payload":"table"}`, "", "no such payload"},
		{`{"json_schema":{"properties":{"a":{"$ref":"#"}}}}`, `{"a":{"a":{}}}`, ""},
		{`{"json_schema":{"properties":{"a":{"$ref":"#"}}}}`, strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300), "nested too deep"},
		{`{"tool_called":{"tool":"look"}}`, "", ""},
		{`{"tool_called":{"tool":"look","arguments":{"key":"a","of":{"a":2,"b":1}}}}`, "", ""},
		{`{"tool_called":{"tool":"look","arguments":{"key":"b"}}}`, "", "there is no such call"},
		{`{"tool_called":{"tool":"look","arguments":{"colour":null}}}`, "", "there is no such call"},
		{`{"tool_not_called":{"tool":"look","arguments":{"key":"b"}}}`, "", ""},
		{`{"tool_not_called":{"tool":"look"}}`, "", "there is such a call"},
		{`{"judge":"Which is shorter?"}`, "", ""},
	} {
		checks, err := evaluate.ReadChecks([]byte("[" + c.check + "]"))
		if err != nil {
			t.Fatalf("%s: %v", c.check, err)
		}
		got := ""
		if err := checks[0].Holds(&evaluate.Answer{Text: c.answer, Calls: called, Payloads: payloads}); err != nil {
			got = err.Error()
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s for %q: got %q, want %q", c.check, c.answer, got, c.want)
		}
	}
}

// Editors on Windows begin a file with a byte order mark, or write another encoding.
func TestEncodingOfChecks(t *testing.T) {
	if checks, err := evaluate.ReadChecks([]byte("\uFEFF" + `[{"contains":"gold"}]`)); err != nil || len(checks) != 1 {
		t.Errorf("after a byte order mark: got %d checks, %v, want 1", len(checks), err)
	}
	if _, err := evaluate.ReadChecks([]byte("[{\"contains\":\"caf\xe9\"}]")); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("in another encoding: got %v, want an error that says so", err)
	}
}

// TestEndlessSchemas has schemas whose check would not end, or would take all memory.
func TestEndlessSchemas(t *testing.T) {
	doubled := `{"$ref":"#/$defs/a0","$defs":{"a40":{"type":"string"}`
	for i := range 40 {
		doubled += fmt.Sprintf(`,"a%[1]d":{"anyOf":[{"$ref":"#/$defs/a%[2]d"},{"$ref":"#/$defs/a%[2]d"}]}`, i, i+1)
	}
	for schema, want := range map[string]string{`{"$ref":"#"}`: "refers to itself", doubled + "}}": "multiply"} {
		if _, err := evaluate.ReadChecks([]byte(`[{"json_schema":` + schema + `}]`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: got %v, want %q", schema, err, want)
		}
	}
}

// callingAgent calls the tools of a request and keeps the results.
type callingAgent struct {
	calls  [][2]string
	system string
	got    []string
}

func (a *callingAgent) Run(ctx context.Context, req turn.Request) iter.Seq2[turn.Event, error] {
	a.system, a.got = req.System, nil
	for _, c := range a.calls {
		for i := range req.Tools {
			if req.Tools[i].Name != c[0] {
				continue
			}
			result, err := req.Tools[i].Run(ctx, &turn.Call{Name: c[0], Input: json.RawMessage(c[1])})
			if err != nil {
				result.Text = err.Error()
			}
			a.got = append(a.got, result.Text)
		}
	}
	return func(func(turn.Event, error) bool) {}
}

// A call gets the result of the same call, in order, then again, else the next one of the
// tool.
func TestReplayFindsResults(t *testing.T) {
	run := func(context.Context, *turn.Call) (turn.Result, error) {
		return turn.Result{}, errors.New("the tool has run")
	}
	tools := []turn.Tool{{Name: "look", Run: run}, {Name: "page", Client: true}, {Name: "new", Run: run}}
	agent := &callingAgent{calls: [][2]string{
		{"look", `{"k":1, "l":2}`}, {"look", `{"l":2,"k":1}`}, {"look", `{"k":1,"l":2}`}, {"look", `{"k":9}`}, {"look", `{"k":8}`}, {"page", `{}`}, {"new", `{}`},
	}}
	r := &evaluate.Record{SystemPrompt: "recorded", Tools: []string{"look", "page", "gone"}, Calls: []evaluate.Call{
		{Tool: "page", Input: json.RawMessage(`{"x":1}`), Output: "of the page"},
		{Tool: "look", Input: json.RawMessage(`{"k":0}`), Output: "zero"},
		{Tool: "look", Input: json.RawMessage(`{"k":1,"l":2}`), Output: "one"},
		{Tool: "look", Input: json.RawMessage(`{"l":2,"k":1}`), Output: "one, later"},
	}}
	replay := evaluate.NewReplay(agent, evaluate.ReplayOptions{})
	replay.Load(r)
	replay.Run(t.Context(), turn.Request{System: "built", Tools: tools})
	none := agent.got[4]
	if want := []string{"one", "one, later", "one, later", "zero", none, "of the page"}; !cmp.Equal(agent.got, want) || !strings.Contains(none, "no recorded result") {
		t.Errorf("got %q, want %q", agent.got, want)
	}
	var note evaluate.Reply
	replay.Note(&note)
	if note.Prompt != "recorded" || agent.system != "recorded" || note.UnrecordedCalls != 1 || !cmp.Equal(note.MissingTools, []string{"gone"}) {
		t.Errorf("got %+v", note)
	}
	replay.Run(t.Context(), turn.Request{System: "a summary", Facts: &turn.Facts{Purpose: turn.Summarize}})
	if agent.system != "a summary" {
		t.Errorf("a step of the service got the prompt %q, want its own", agent.system)
	}
	agent.calls = [][2]string{{"new", "{}"}}
	live := evaluate.NewReplay(agent, evaluate.ReplayOptions{Rebuild: true, Live: true, Writes: true})
	live.Load(r)
	live.Run(t.Context(), turn.Request{System: "built", Tools: tools})
	if !cmp.Equal(agent.got, []string{"the tool has run"}) || agent.system != "built" {
		t.Errorf("live: got %q with the prompt %q, want the tool's own", agent.got, agent.system)
	}
}

// canned answers with prepared replies.
type canned map[string]evaluate.Reply

func (c canned) Answer(_ context.Context, r *evaluate.Record) (evaluate.Reply, error) {
	reply, ok := c[r.Question]
	if !ok {
		return reply, errors.New("the disk is full")
	}
	return reply, nil
}

// cannedJudge prefers the longer answer.
type cannedJudge struct{}

func (cannedJudge) Ask(_ context.Context, req turn.Request) (string, schemas.Usage, error) {
	var asked struct{ A, B struct{ Answer string } }
	if err := json.Unmarshal([]byte(req.Messages[0].Content), &asked); err != nil {
		return "", schemas.Usage{}, err
	}
	better := "A"
	if len(asked.B.Answer) > len(asked.A.Answer) {
		better = "B"
	}
	return `{"better":"` + better + `","reason":"It is longer."}`, schemas.Usage{InputTokens: 20, OutputTokens: 5, TotalTokens: 25, CostUSD: 2 * schemas.MicroDollar}, nil
}

func answer(text string, more ...evaluate.Call) evaluate.Reply {
	return evaluate.Reply{
		Answer: evaluate.Answer{Text: text, Calls: more}, Model: "new-model", Prompt: "recorded", DurationMS: 900,
		Usage: schemas.Usage{InputTokens: 100, OutputTokens: 20, TotalTokens: 120, CostUSD: 1500 * schemas.MicroDollar},
	}
}

// testReport is a report with all that the page shows, and text that must not become HTML.
func testReport(t *testing.T) *evaluate.Report {
	t.Helper()
	const evil = `<script>alert(1)</script><img src=x onerror="alert(2)"> [[x]](javascript:alert(3))`
	record := func(question, answer, checks string) string {
		return `{"version":1,"run_id":"run-` + question + `","message_id":"m","conversation_id":1,"created_at":"2026-01-01T00:00:00Z","page":"lab","question":"` + question +
			`","model":"old-model","system_prompt":"p","answer":"` + answer + `","status":"complete","rating":"down","reasons":["sources"],"comment":"No date.",` +
			`"history":[{"role":"user","content":"hello"}],"usage":{"input_tokens":90,"output_tokens":30,"total_tokens":120,"cost_usd":0.002},"duration_ms":2100,` +
			`"calls":[{"tool":"look","input":{"key":"a"},"output":"found","is_error":true}],"payloads":[{"type":"chart","data":{"n":1}}],"missing":["attachments"],"checks":` + checks + "}\n"
	}
	records, err := evaluate.Read(strings.NewReader(
		record("same", "On shelf 7.", `[{"contains":"shelf"}]`)+record("better", "No.", `[{"judge":"Which says more?"}]`)+
			record("worse", "On shelf 7, where it was.", `[{"contains":"shelf"},{"not_contains":"blue"}]`)+record("failed", "No.", `[]`)+
			record("unjudged", "No.", `[{"judge":"Which is right?"}]`),
	), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	failed := answer("")
	failed.Error = &schemas.MessageFailure{Code: schemas.CodeUpstreamAuth, Message: "the model's server refused the request"}
	worse := answer("I cannot find it. "+evil, evaluate.Call{Tool: "look", Input: json.RawMessage(`{"key":"` + "a</pre>" + `"}`), Output: evil})
	worse.MissingTools, worse.UnrecordedCalls, worse.RefusedCalls = []string{"book"}, 1, 2
	report, err := evaluate.Compare(t.Context(), records, []evaluate.Answerer{canned{
		"same": answer("Shelf 7."), "better": answer("On shelf 7, second row."), "worse": worse, "failed": failed, "unjudged": answer("No."),
	}}, evaluate.Options{Judge: &evaluate.Judge{Model: "judge-model", Asker: cannedJudge{}}})
	if err != nil {
		t.Fatal(err)
	}
	report.CreatedAt = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	report.Setup = evaluate.Setup{File: "answers.jsonl", Model: "new-model", Judge: "judge-model", Prompt: "prompt.txt", Page: "lab.yaml", Tools: "recorded"}
	report.Stopped = "the limit of the cost, 1.00 US dollars, is reached"
	return report
}

func TestReportIsOnePage(t *testing.T) {
	report := testReport(t)
	var page, again bytes.Buffer
	if err := errors.Join(report.WriteHTML(&page), report.WriteJSON(&again)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/report.html", page.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/report.html")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(page.String(), "\n"), strings.Split(string(want), "\n")); d != "" {
		t.Errorf("the page differs from testdata/report.html (-got +want):\n%s", d)
	}
	for _, tag := range []string{"<script", "<img", "<link", "http://", "https://", "href=\"javascript", "onerror=\""} {
		if strings.Contains(page.String(), tag) {
			t.Errorf("the page has %q, want nothing that runs or is loaded", tag)
		}
	}
	var decoded evaluate.Report
	if err := json.Unmarshal(again.Bytes(), &decoded); err != nil || decoded.Summary.Verdicts[evaluate.Worse] != 1 || len(decoded.Items) != len(report.Items) {
		t.Errorf("the JSON report has %+v, %v, want the same", decoded.Summary, err)
	}
}

// An answerer that fails ends the evaluation, and the report has what was answered before.
func TestCompareEnds(t *testing.T) {
	records := []*evaluate.Record{{Question: "one"}, {Question: "two"}, {Question: "three"}}
	report, err := evaluate.Compare(t.Context(), records, []evaluate.Answerer{canned{"one": answer("a")}}, evaluate.Options{})
	if err == nil || !strings.Contains(err.Error(), "disk is full") || len(report.Items) != 1 || report.Summary.LeftOut != 2 {
		t.Errorf("got %+v, %v, want one question and the error", report.Summary, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	report, err = evaluate.Compare(ctx, records, []evaluate.Answerer{canned{}}, evaluate.Options{})
	if !errors.Is(err, context.Canceled) || report.Summary.LeftOut != 3 {
		t.Errorf("got %+v, %v, want that all is left out", report.Summary, err)
	}
}
