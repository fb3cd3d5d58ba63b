package demo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/demo"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// heard is a whole reply.
type heard struct {
	text, thinking string
	calls          []turn.ToolCall
	last           agents.Delta
	deltas         int
	err            error
}

// listen reads one reply of the model and checks what holds for every reply.
func listen(ctx context.Context, t *testing.T, m agents.Model, req agents.ModelRequest) heard {
	t.Helper()
	var h heard
	for d, err := range m.Stream(ctx, req) {
		if h.err != nil || h.last.Stop != "" {
			t.Fatalf("after the end came %+v, %v, want nothing", d, err)
		}
		if err != nil {
			h.err = err
			continue
		}
		h.deltas++
		h.last = d
		h.text += d.Text
		h.thinking += d.Thinking
		if f := d.Call; f != nil {
			if f.Index == len(h.calls) {
				h.calls = append(h.calls, turn.ToolCall{ID: f.ID, Name: f.Name})
			}
			h.calls[f.Index].Arguments += f.Arguments
		}
	}
	if h.err == nil && (h.last.Stop == "" || h.last.Usage.TotalTokens == 0) {
		t.Fatalf("the last delta is %+v, want a stop reason and usage", h.last)
	}
	if v := new(*schemas.Error); h.err != nil && !errors.As(h.err, v) {
		t.Fatalf("the error is %v, want a *schemas.Error in it", h.err)
	}
	return h
}

func ask(text string) agents.ModelRequest {
	return agents.ModelRequest{Messages: []turn.Message{{Role: turn.User, Content: text}}}
}

// A user wants the answer, not its author: only a greeting and the help name the model.
func TestAnswersBeginWithTheAnswer(t *testing.T) {
	if h := listen(t.Context(), t, demo.New(0), ask("say The answer.")); !strings.HasPrefix(h.text, "The answer.") {
		t.Errorf("the first answer is %q, want it to begin with the answer", h.text)
	}
	for _, question := range []string{"hello", "help"} {
		if h := listen(t.Context(), t, demo.New(0), ask(question)); !strings.Contains(h.text, "demo model") {
			t.Errorf("%s is answered with %q, want it to name the model", question, h.text)
		}
	}
}

func TestCommands(t *testing.T) {
	for _, tc := range []struct {
		ask      string
		contains string
		stop     schemas.StopReason
		code     schemas.Code
		minWords int
	}{
		{ask: "help", contains: "`slow 50`", stop: schemas.EndTurn},
		{ask: "slow 12", contains: "11 12", stop: schemas.EndTurn, minWords: 12},
		{ask: "long 500", contains: "## Part 1", stop: schemas.EndTurn, minWords: 300},
		{ask: "long", contains: "The end.", stop: schemas.EndTurn, minWords: 10_000},
		{ask: "think", contains: "table of rules", stop: schemas.EndTurn},
		{ask: "markdown", contains: "](javascript:alert(1))", stop: schemas.EndTurn},
		{ask: "hostile", contains: "<script>", stop: schemas.EndTurn},
		{ask: "max tokens", contains: "limit of tokens", stop: schemas.MaxTokens},
		{ask: "error", code: schemas.CodeUpstreamUnavailable},
		{ask: "error late", contains: "breaks off", code: schemas.CodeUpstreamTruncated},
		{ask: "tool error", contains: "No tools", stop: schemas.EndTurn},
		{ask: "call nothing {}", contains: "No tool nothing is offered", stop: schemas.EndTurn},
		{ask: "  \n", contains: "did not get a question", stop: schemas.EndTurn},
		{ask: "什么是黄金?", contains: "search_articles", stop: schemas.EndTurn},
		{ask: "Bonjour", contains: "Hello", stop: schemas.EndTurn},
	} {
		t.Run(tc.ask, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := listen(t.Context(), t, demo.New(0), ask(tc.ask))
				if !strings.Contains(h.text, tc.contains) {
					t.Errorf("the text lacks %q: %.300s", tc.contains, h.text)
				}
				if n := len(strings.Fields(h.text)); n < tc.minWords {
					t.Errorf("%d words, want at least %d", n, tc.minWords)
				}
				if h.last.Stop != tc.stop && h.err == nil {
					t.Errorf("stop is %q, want %q", h.last.Stop, tc.stop)
				}
				if e := (*schemas.Error)(nil); tc.code != "" && (!errors.As(h.err, &e) || e.Code != tc.code) {
					t.Errorf("error is %v, want code %s", h.err, tc.code)
				}
				if tc.code == "" && h.err != nil {
					t.Errorf("error is %v", h.err)
				}
				if (h.thinking != "") != (tc.ask == "think") {
					t.Errorf("thinking is %q", h.thinking)
				}
				if again := listen(t.Context(), t, demo.New(0), ask(tc.ask)); again.text != h.text {
					t.Error("a second call gives a different text, want the same")
				}
			})
		})
	}
}

func TestLongIsLong(t *testing.T) {
	h := listen(t.Context(), t, demo.New(0), ask("long"))
	if tokens := h.last.Usage.OutputTokens; tokens < 20_000 || tokens > 21_000 {
		t.Errorf("%d tokens, want about 20,000", tokens)
	}
}

func TestEmptyConversation(t *testing.T) {
	if h := listen(t.Context(), t, demo.New(0), agents.ModelRequest{}); h.text == "" {
		t.Error("got no text, want some")
	}
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			ask  string
			each time.Duration
		}{{"think", 15 * time.Millisecond}, {"slow 20", 150 * time.Millisecond}} {
			start := time.Now()
			h := listen(t.Context(), t, demo.New(15*time.Millisecond), ask(tc.ask))
			if got, want := time.Since(start), tc.each*time.Duration(h.deltas-1); got != want {
				t.Errorf("%s: %d deltas took %v, want %v", tc.ask, h.deltas, got, want)
			}
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the user pressed stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		start := time.Now()
		h := listen(ctx, t, demo.New(15*time.Millisecond), ask("slow 100"))
		if !errors.Is(h.err, cause) {
			t.Errorf("error is %v, want the cause", h.err)
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("the reply ended after %v, want 1s", got)
		}
		if h.text == "" {
			t.Error("got no text before the cancel, want some")
		}
	})
}

func TestBreakingOff(t *testing.T) {
	for d := range demo.New(0).Stream(t.Context(), ask("long")) {
		if d.Text == "" {
			t.Errorf("the first delta is %+v", d)
		}
		break
	}
}

func TestDeltasAreSmallAndWhole(t *testing.T) {
	for d := range demo.New(0).Stream(t.Context(), ask("hostile")) {
		if len(d.Text) > 256 || strings.ContainsRune(d.Text, '\uFFFD') {
			t.Errorf("delta %q", d.Text)
		}
	}
}

// A question without an answer, or a summary, may come before the question in
// the same message.
func TestAnswersTheLastQuestion(t *testing.T) {
	req := ask("slow 50\n\n<note>\n- the user stopped this before it was answered\n</note>\n\nhelp")
	req.Facts = &turn.Facts{Question: "help"}
	if h := listen(t.Context(), t, demo.New(0), req); !strings.Contains(h.text, "`slow 50`") {
		t.Errorf("the answer is %.100q, want that to help", h.text)
	}
}

func TestToolsForbidden(t *testing.T) {
	req := ask("max iterations")
	req.Tools = []turn.Tool{{Name: "list_reports"}}
	h := listen(t.Context(), t, demo.New(0), req)
	if len(h.calls) != 1 {
		t.Fatalf("calls are %v, want one", h.calls)
	}
	req.Messages = append(req.Messages, turn.Message{Role: turn.Assistant, Content: h.text, ToolCalls: h.calls},
		turn.Message{Role: turn.ToolRole, ToolCallID: h.calls[0].ID, Content: "There are no reports."},
		turn.Message{Role: turn.User, Content: "No more tools can be called: find an answer."})
	req.ToolsForbidden = true
	h = listen(t.Context(), t, demo.New(0), req)
	if len(h.calls) > 0 || !strings.Contains(h.text, "There are no reports.") {
		t.Errorf("calls %v, text %q", h.calls, h.text)
	}
}

func TestCallIDsDiffer(t *testing.T) {
	req := ask("compare stream 1 and stream 2")
	req.Tools = []turn.Tool{{Name: "get_stream"}}
	var got []string
	for _, c := range listen(t.Context(), t, demo.New(0), req).calls {
		got = append(got, c.ID+" "+c.Arguments)
	}
	want := []string{`demo_1_0 {"stream_id":1}`, `demo_1_1 {"stream_id":2}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCondensing(t *testing.T) {
	req := ask("Older turns.")
	req.Facts = &turn.Facts{Purpose: turn.Summarize, Older: []turn.Message{
		{Role: turn.User, Content: "List the reports"}, {Role: turn.Assistant, Content: "I know 2 reports."}, {Role: turn.User, Content: "Summarize report 1"},
	}}
	h := listen(t.Context(), t, demo.New(0), req)
	want := "The user asked 2 questions so far, the newest last:\n\n- List the reports\n- Summarize report 1"
	if h.text != want {
		t.Errorf("got  %q\nwant %q", h.text, want)
	}
}

func TestWiderSearch(t *testing.T) {
	req := ask("Find articles about NDM-1 in unicorns")
	req.Tools = []turn.Tool{{Name: "search_articles"}}
	for _, answer := range []string{foundNone, foundArticles} {
		h := listen(t.Context(), t, demo.New(0), req)
		if len(h.calls) != 1 {
			t.Fatalf("calls are %v, want one", h.calls)
		}
		req.Messages = append(req.Messages, turn.Message{Role: turn.Assistant, Content: h.text, ToolCalls: h.calls},
			turn.Message{Role: turn.ToolRole, ToolCallID: h.calls[0].ID, Content: "See the data.", Data: []byte(answer)})
	}
	h := listen(t.Context(), t, demo.New(0), req)
	if want := "No article has all of **NDM-1 unicorns**. I found 2 articles about **NDM-1**"; !strings.Contains(h.text, want) {
		t.Errorf("the answer lacks %q: %s", want, h.text)
	}
}
