package agents_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
)

var errUser = errors.New("the user cancelled")

// line writes an event as one line of a transcript.
func line(e turn.Event) string {
	switch e := e.(type) {
	case turn.CallStart:
		return fmt.Sprintf("call %d%s", e.Iteration, mark(e.Final, " final"))
	case turn.ModelWaits:
		return fmt.Sprintf("waits %v", e.For)
	case turn.Thinking:
		return "thinking " + e.Text
	case turn.TextDelta:
		return "text " + e.Text
	case turn.FullText:
		return "full " + e.Text
	case turn.ToolArguments:
		return fmt.Sprintf("arguments %d %s %s %s", e.Index, e.ID, e.Name, e.Fragment)
	case turn.Reply:
		return fmt.Sprintf("reply %q calls=%d first=%d %s%s%s", e.Text, len(e.ToolCalls), e.FirstIndex, e.StopReason,
			mark(e.Final, " final"), mark(e.Synthetic, " synthetic"))
	case turn.ToolStart:
		return fmt.Sprintf("start %d %s %s %s", e.Index, e.ID, e.Name, e.Input)
	case turn.ToolProgress:
		return fmt.Sprintf("progress %d %s %g", e.Index, e.Stage, e.Fraction)
	case turn.PayloadMade:
		return fmt.Sprintf("payload %d %s %s", e.Index, e.Payload.Type, e.Payload.Data)
	case turn.ToolComplete:
		return fmt.Sprintf("complete %d %s%s: %s", e.Index, e.ID, mark(e.Result.IsError, " error"), e.ModelText)
	case turn.LoopComplete:
		return fmt.Sprintf("done %s %d", e.StopReason, e.Usage.TotalTokens)
	case turn.Cancelled:
		return fmt.Sprintf("cancelled %v", e.Cause)
	}
	return fmt.Sprintf("?? %T", e)
}

func mark(on bool, s string) string {
	if on {
		return s
	}
	return ""
}

// run collects the events of a loop as lines; each is called with every event.
func run(ctx context.Context, a *agents.Agent, req turn.Request, each ...func(turn.Event)) []string {
	var lines []string
	for e, err := range a.Run(ctx, req) {
		if err != nil {
			lines = append(lines, "error "+string(schemas.Visible(err).Code))
			continue
		}
		lines = append(lines, line(e))
		for _, f := range each {
			f(e)
		}
	}
	return lines
}

func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func tool(name string, f func(ctx context.Context, c *turn.Call) (turn.Result, error)) turn.Tool {
	return turn.Tool{Name: name, Description: name + " things", InputSchema: json.RawMessage(`{"type":"object"}`), Run: f}
}

// echo answers with its input.
var echo = tool("echo", func(_ context.Context, c *turn.Call) (turn.Result, error) {
	return turn.Result{Text: "got " + string(c.Input)}, nil
})

func ask(id, name, arguments string) turn.ToolCall {
	return turn.ToolCall{ID: id, Name: name, Arguments: arguments}
}

func request(tools ...turn.Tool) turn.Request {
	return turn.Request{Model: "m", System: "be brief", Messages: []turn.Message{{Role: turn.User, Content: "hi"}}, Tools: tools}
}

func TestRunPlainAnswer(t *testing.T) {
	m := modeltest.NewScript(modeltest.Then(modeltest.Raw(agents.Delta{Thinking: "hm"}), modeltest.Say("Hel", "lo")))
	check(t, run(t.Context(), agents.New(m, agents.Options{}), request(echo)),
		"call 0", "thinking hm", "text Hel", "text lo", `reply "Hello" calls=0 first=0 end_turn`, "done end_turn 12")
	want := agents.ModelRequest{
		Model: "m", System: "be brief", Messages: []turn.Message{{Role: turn.User, Content: "hi"}},
		Tools: []turn.Tool{{Name: "echo", Description: "echo things", InputSchema: json.RawMessage(`{"type":"object"}`)}},
	}
	if diff := cmp.Diff([]agents.ModelRequest{want}, m.Requests(), cmpopts.IgnoreFields(turn.Tool{}, "Run"), cmpopts.IgnoreFields(agents.ModelRequest{}, "Asked", "Waits")); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestRunModelWaits(t *testing.T) {
	waits := func(_ context.Context, req agents.ModelRequest, _ func(agents.Delta) bool) error {
		if !req.Waits(7*time.Second) || !req.Waits(0) {
			return errors.New("the reply should be needed")
		}
		return nil
	}
	m := modeltest.NewScript(modeltest.Then(waits, modeltest.Say("Hello")))
	check(t, run(t.Context(), agents.New(m, agents.Options{}), request(echo)),
		"call 0", "waits 7s", "waits 0s", "text Hello", `reply "Hello" calls=0 first=0 end_turn`, "done end_turn 12")
}

// TestRunGoneWhileModelWaits: a reader that stops while the model waits ends the wait.
func TestRunGoneWhileModelWaits(t *testing.T) {
	needed := true
	m := modeltest.NewScript(func(_ context.Context, req agents.ModelRequest, _ func(agents.Delta) bool) error {
		needed = req.Waits(7 * time.Second)
		return errors.New("not needed")
	})
	for e := range agents.New(m, agents.Options{}).Run(t.Context(), request(echo)) {
		if _, ok := e.(turn.ModelWaits); ok {
			break
		}
	}
	if needed {
		t.Error("the model goes on waiting for a reader that has stopped")
	}
}

func TestRunFullReply(t *testing.T) {
	m := modeltest.NewScript(modeltest.Raw(agents.Delta{Text: "all", Full: true, Stop: schemas.MaxTokens}))
	check(t, run(t.Context(), agents.New(m, agents.Options{}), request()),
		"call 0", "full all", `reply "all" calls=0 first=0 max_tokens`, "done max_tokens 0")
}

func TestRunTwoRounds(t *testing.T) {
	m := modeltest.NewScript(
		modeltest.Ask("Looking.", ask("a", "echo", `{"q": 1}`)),
		modeltest.Ask("", ask("b", "echo", "")),
		modeltest.Say("Found."))
	check(t, run(t.Context(), agents.New(m, agents.Options{}), request(echo)),
		"call 0", "text Looking.", `arguments 0 a echo {"q": 1}`, `reply "Looking." calls=1 first=0 end_turn`,
		`start 0 a echo {"q":1}`, `complete 0 a: got {"q":1}`,
		"call 1", `arguments 1 b echo `, `reply "" calls=1 first=1 end_turn`,
		`start 1 b echo {}`, `complete 1 b: got {}`,
		"call 2", "text Found.", `reply "Found." calls=0 first=2 end_turn`, "done end_turn 36")
	want := []turn.Message{
		{Role: turn.User, Content: "hi"},
		{Role: turn.Assistant, Content: "Looking.", ToolCalls: []turn.ToolCall{ask("a", "echo", `{"q": 1}`)}},
		{Role: turn.ToolRole, Content: `got {"q":1}`, ToolCallID: "a"},
		{Role: turn.Assistant, ToolCalls: []turn.ToolCall{ask("b", "echo", "")}},
		{Role: turn.ToolRole, Content: `got {}`, ToolCallID: "b"},
	}
	if diff := cmp.Diff(want, m.Requests()[2].Messages); diff != "" {
		t.Errorf("messages of the last call (-want +got):\n%s", diff)
	}
}

// TestRunGivesBack tests that a model gets its reasoning and what its server gave with a
// call back with the call's result.
func TestRunGivesBack(t *testing.T) {
	m := modeltest.NewScript(
		modeltest.Then(modeltest.Raw(agents.Delta{Thinking: "hm"}, agents.Delta{Call: &agents.CallFragment{ID: "a", Name: "echo"}},
			agents.Delta{Call: &agents.CallFragment{Arguments: "{}", Extra: `{"n":1}`}}), modeltest.Stop(schemas.EndTurn)),
		modeltest.Say("Found."))
	run(t.Context(), agents.New(m, agents.Options{}), request(echo))
	want := turn.Message{Role: turn.Assistant, Reasoning: "hm", ToolCalls: []turn.ToolCall{{ID: "a", Name: "echo", Arguments: "{}", Extra: `{"n":1}`}}}
	if diff := cmp.Diff(want, m.Requests()[1].Messages[1]); diff != "" {
		t.Errorf("the message before the result (-want +got):\n%s", diff)
	}
}

func TestRunMakesIDsUnique(t *testing.T) {
	m := modeltest.NewScript(
		modeltest.Ask("", ask("x", "echo", ""), ask("x", "echo", ""), ask("", "echo", ""), ask("call_1", "echo", "")),
		modeltest.Ask("", ask("x", "echo", ""), ask(strings.Repeat("i", 300), "echo", "")),
		modeltest.Say("ok"))
	var ids []string
	run(t.Context(), agents.New(m, agents.Options{}), request(echo), func(e turn.Event) {
		if r, ok := e.(turn.Reply); ok {
			for _, c := range r.ToolCalls {
				ids = append(ids, c.ID)
			}
		}
	})
	if diff := cmp.Diff([]string{"x", "call_1", "call_2", "call_3", "call_4", "call_5"}, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

func TestRunMaxIterations(t *testing.T) {
	broken := schemas.NewError(schemas.CodeUpstreamUnavailable, "away")
	round := []string{
		"call 0", `arguments 0 a echo {}`, `reply "" calls=1 first=0 end_turn`, "start 0 a echo {}", "complete 0 a: got {}",
		"call 1 final",
	}
	summary := "I reached the limit of 1 step before I could write an answer. These are the tools' results:\n\n- **echo**: got {}"
	for _, tt := range []struct {
		name string
		last modeltest.Reply
		want []string
	}{
		{"answered", modeltest.Say("Sum."), []string{"text Sum.", `reply "Sum." calls=0 first=1 end_turn final`, "done max_iterations 24"}},
		{"asks for tools all the same", modeltest.Ask("Sum.", ask("b", "echo", "")), []string{
			"text Sum.", `reply "Sum." calls=0 first=1 end_turn final`, "done max_iterations 24",
		}},
		{"fails", modeltest.Fail(broken), []string{
			"text " + summary, fmt.Sprintf("reply %q calls=0 first=1 max_iterations final synthetic", summary), "done max_iterations 12",
		}},
		{"fails half-way", modeltest.Then(modeltest.Deltas("Well"), modeltest.Fail(broken)), []string{
			"text Well", "text \n\n" + summary,
			fmt.Sprintf("reply %q calls=0 first=1 max_iterations final synthetic", "Well\n\n"+summary), "done max_iterations 12",
		}},
		{"an image cannot be read now", modeltest.Fail(schemas.NewError(schemas.CodeInternal, "unread").Because(record.ErrUnavailable)), []string{"error internal"}},
		{"says nothing", modeltest.Say(), []string{
			"text " + summary, fmt.Sprintf("reply %q calls=0 first=1 max_iterations final synthetic", summary), "done max_iterations 24",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := modeltest.NewScript(modeltest.Ask("", ask("a", "echo", "{}")), tt.last)
			req := request(echo)
			req.MaxIterations = 1
			check(t, run(t.Context(), agents.New(m, agents.Options{}), req), append(round, tt.want...)...)
			last := m.Requests()[1]
			if !last.ToolsForbidden || len(last.Tools) != 1 {
				t.Errorf("last call: forbidden %v with %d tools, want true with 1", last.ToolsForbidden, len(last.Tools))
			}
			if n := last.Messages[len(last.Messages)-1]; n.Role != turn.User || !strings.Contains(n.Content, "no more tools") {
				t.Errorf("last message is %+v, want the note", n)
			}
		})
	}
}

func TestRunIterationLimits(t *testing.T) {
	for asked, want := range map[int]int{0: 5, 1: 1, 20: 20, 21: 20, -3: 5} {
		m := modeltest.NewScript()
		for i := range 25 {
			m.Push(modeltest.Ask("", ask(fmt.Sprint("id", i), "echo", "")))
		}
		req := request(echo)
		req.MaxIterations = asked
		run(t.Context(), agents.New(m, agents.Options{}), req)
		if got := len(m.Requests()) - 1; got != want {
			t.Errorf("MaxIterations %d: %d calls with tools, want %d", asked, got, want)
		}
	}
}

func TestRunEndsOfAModelCall(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply modeltest.Reply
		want  []string
	}{
		{"error", modeltest.Fail(schemas.NewError(schemas.CodeRateLimited, "slow down")), []string{"error rate_limited"}},
		{"error after text", modeltest.Then(modeltest.Deltas("So"), modeltest.Fail(schemas.NewError(schemas.CodeUpstreamTimeout, "slow"))), []string{
			"text So", "error upstream_timeout",
		}},
		{"foreign error", modeltest.Fail(errors.New("secret")), []string{"error internal"}},
		{"no stop", modeltest.Deltas("So"), []string{"text So", "error upstream_truncated"}},
		{"filtered before text", modeltest.Stop(schemas.ContentFilter), []string{"error content_filter"}},
		{"filtered after text", modeltest.Then(modeltest.Ask("So", ask("a", "echo", "")), modeltest.Fail(nil)), nil},
		{"refusal", modeltest.Then(modeltest.Deltas("No."), modeltest.Stop(schemas.Refusal)), []string{
			"text No.", `reply "No." calls=0 first=0 refusal`, "done refusal 12",
		}},
		{"refusal with a call", modeltest.Raw(agents.Delta{Text: "No."}, agents.Delta{Call: &agents.CallFragment{Name: "echo"}}, agents.Delta{Stop: schemas.Refusal}), []string{
			"text No.", "arguments 0 call_0 echo ", `reply "No." calls=0 first=0 refusal`, "done refusal 0",
		}},
		{"a call before the first", modeltest.Raw(agents.Delta{Call: &agents.CallFragment{Index: -1, Name: "echo"}}), []string{"error upstream_error"}},
		{"calls with a gap", modeltest.Raw(agents.Delta{Call: &agents.CallFragment{Index: 1, Name: "echo"}}), []string{"error upstream_error"}},
	} {
		if tt.want == nil { // a filtered reply's calls are not run
			tt.reply = modeltest.Raw(agents.Delta{Text: "So"}, agents.Delta{Call: &agents.CallFragment{Name: "echo"}}, agents.Delta{Stop: schemas.ContentFilter})
			tt.want = []string{
				"text So", "arguments 0 call_0 echo ", `reply "So" calls=0 first=0 content_filter`, "done content_filter 0",
			}
		}
		t.Run(tt.name, func(t *testing.T) {
			m := modeltest.NewScript(tt.reply)
			check(t, run(t.Context(), agents.New(m, agents.Options{}), request(echo)), append([]string{"call 0"}, tt.want...)...)
		})
	}
}

func TestRunResumes(t *testing.T) {
	reply := turn.Reply{Text: "Looking.", ToolCalls: []turn.ToolCall{ask("a", "echo", "{}"), ask("b", "echo", `{"n":2}`)}, Usage: schemas.Usage{TotalTokens: 5}}
	answer := turn.Reply{Text: "Done.", StopReason: schemas.EndTurn, FirstIndex: 2, Usage: schemas.Usage{TotalTokens: 7}}
	last := turn.Reply{Text: "Sum.", StopReason: schemas.EndTurn, FirstIndex: 2, Final: true}
	done := func(text string) *turn.Result { return &turn.Result{Text: text} }
	for _, tt := range []struct {
		name  string
		steps []turn.Step
		want  []string
	}{
		{"both results there", []turn.Step{{Reply: reply, Results: []*turn.Result{done("A"), done("B")}}}, []string{
			"call 1", "arguments 2 c echo ", `reply "" calls=1 first=2 end_turn`, "start 2 c echo {}", "complete 2 c: got {}",
			"call 2", "text End.", `reply "End." calls=0 first=3 end_turn`, "done end_turn 29",
		}},
		{"one result missing", []turn.Step{{Reply: reply, Results: []*turn.Result{done("A"), nil}}}, []string{
			`start 1 b echo {"n":2}`, `complete 1 b: got {"n":2}`,
			"call 1", "arguments 2 c echo ", `reply "" calls=1 first=2 end_turn`, "start 2 c echo {}", "complete 2 c: got {}",
			"call 2", "text End.", `reply "End." calls=0 first=3 end_turn`, "done end_turn 29",
		}},
		{"no results yet", []turn.Step{{Reply: reply}}, []string{
			`start 0 a echo {}`, `start 1 b echo {"n":2}`, `complete 0 a: got {}`, `complete 1 b: got {"n":2}`,
			"call 1", "arguments 2 c echo ", `reply "" calls=1 first=2 end_turn`, "start 2 c echo {}", "complete 2 c: got {}",
			"call 2", "text End.", `reply "End." calls=0 first=3 end_turn`, "done end_turn 29",
		}},
		{"answered", []turn.Step{{Reply: reply, Results: []*turn.Result{done("A"), done("B")}}, {Reply: answer}}, []string{"done end_turn 12"}},
		{"answered at the limit", []turn.Step{{Reply: reply, Results: []*turn.Result{done("A"), done("B")}}, {Reply: last}}, []string{"done max_iterations 5"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := modeltest.NewScript(modeltest.Ask("", ask("c", "echo", "")), modeltest.Say("End."))
			req := request(echo)
			req.Steps = tt.steps
			got := run(t.Context(), agents.New(m, agents.Options{Parallel: 1}), req)
			if tt.name == "no results yet" { // one at a time: the second starts when the first has ended
				tt.want[1], tt.want[2] = tt.want[2], tt.want[1]
			}
			check(t, got, tt.want...)
		})
	}
}

func TestRunLogsWhatTheModelMustNotSee(t *testing.T) {
	var log bytes.Buffer
	boom := tool("boom", func(context.Context, *turn.Call) (turn.Result, error) { panic("kaboom") })
	leak := tool("leak", func(context.Context, *turn.Call) (turn.Result, error) {
		return turn.Result{}, errors.New("dial tcp 10.0.0.7: password=hunter2")
	})
	m := modeltest.NewScript(modeltest.Ask("", ask("a", "boom", "")), modeltest.Ask("", ask("b", "leak", "")), modeltest.Say("ok"))
	a := agents.New(m, agents.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	got := strings.Join(run(t.Context(), a, request(boom, leak)), "\n")
	for _, secret := range []string{"kaboom", "hunter2"} {
		if strings.Contains(got, secret) {
			t.Errorf("events contain %q:\n%s", secret, got)
		}
		if !strings.Contains(log.String(), secret) {
			t.Errorf("log does not contain %q:\n%s", secret, log.String())
		}
	}
	if !strings.Contains(log.String(), "at=agent_test.go:") || strings.Contains(log.String(), "goroutine ") {
		t.Errorf("log does not name the place of the panic, or has a stack:\n%s", log.String())
	}
}

func TestRunResumesWithIDsAndTextOfBefore(t *testing.T) {
	m := modeltest.NewScript(modeltest.Ask("", ask("a", "echo", "")), modeltest.Stop(schemas.ContentFilter))
	req := request(echo)
	req.Steps = []turn.Step{{
		Reply:   turn.Reply{Text: "Looking.", ToolCalls: []turn.ToolCall{ask("a", "echo", "{}")}},
		Results: []*turn.Result{{Text: "A"}},
	}}
	check(t, run(t.Context(), agents.New(m, agents.Options{}), req),
		"call 1", "arguments 1 call_1 echo ", `reply "" calls=1 first=1 end_turn`, "start 1 call_1 echo {}", "complete 1 call_1: got {}",
		"call 2", `reply "" calls=0 first=2 content_filter`, "done content_filter 24")
}

// BenchmarkRun measures one token on its way through the loop.
func BenchmarkRun(b *testing.B) {
	texts := make([]string, 2000)
	for i := range texts {
		texts[i] = "tok~ "
	}
	b.ReportAllocs()
	for n := 0; n < b.N; {
		for e := range agents.New(modeltest.NewScript(modeltest.Say(texts...)), agents.Options{}).Run(b.Context(), request()) {
			if _, ok := e.(turn.TextDelta); ok {
				n++
			}
		}
	}
}
