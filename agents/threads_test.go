package agents_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/agents/openai"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/turn"
)

// threadLine writes an event of a thread as one line, other events as line does.
func threadLine(e turn.Event) string {
	t, ok := e.(turn.ThreadEvent)
	if !ok {
		return line(e)
	}
	switch event := t.Event.(type) {
	case turn.ThreadStart:
		return fmt.Sprintf("%d/%d opens %s %s", t.Index, t.Thread, event.Label, event.Model)
	case turn.ThreadEnd:
		return fmt.Sprintf("%d/%d ends %v", t.Index, t.Thread, event.Err)
	default:
		return fmt.Sprintf("%d/%d %s", t.Index, t.Thread, line(event))
	}
}

// runThreads is run with the events of threads in full.
func runThreads(ctx context.Context, a *agents.Agent, req turn.Request) []string {
	var lines []string
	for e, err := range a.Run(ctx, req) {
		if err != nil {
			lines = append(lines, "error "+string(schemas.Visible(err).Code))
			continue
		}
		lines = append(lines, threadLine(e))
	}
	return lines
}

func asked(text string, tools ...turn.Tool) turn.Request {
	return turn.Request{Model: "inner", Messages: []turn.Message{{Role: turn.User, Content: text}}, Tools: tools}
}

func TestThread(t *testing.T) {
	nested := tool("nested", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
		_, err := c.Converse(ctx, "deeper", asked("no"))
		return turn.Result{Text: fmt.Sprint(err), Payload: &turn.Payload{Type: "p", Data: []byte("{}")}}, nil
	})
	var got turn.Conclusion
	talk := tool("talk", func(ctx context.Context, c *turn.Call) (_ turn.Result, err error) {
		got, err = c.Converse(ctx, "part", asked("what?", nested))
		return turn.Result{Text: got.Text}, err
	})
	m := modeltest.NewScript(
		modeltest.Ask("", ask("1", "talk", "")),
		modeltest.Ask("", ask("1", "nested", "")),
		modeltest.Then(modeltest.Raw(agents.Delta{Thinking: "hm", Model: "other"}), modeltest.Say("in", "side")),
		modeltest.Say("done"),
	)
	lines := runThreads(t.Context(), agents.New(m, agents.Options{}), request(talk))
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "progress") })
	want := []string{
		"call 0", "arguments 0 1 talk ", `reply "" calls=1 first=0 end_turn`, "start 0 1 talk {}",
		"0/1 opens part inner", "0/1 call 0", "0/1 arguments 0 1 nested ", `0/1 reply "" calls=1 first=0 end_turn`, "0/1 start 0 1 nested {}",
		"0/1 payload 0 p {}", "0/1 complete 0 1: invalid: this tool works only inside a chat",
		"0/1 call 1", "0/1 thinking hm", "0/1 text in", "0/1 text side", `0/1 reply "inside" calls=0 first=1 end_turn`, "0/1 done end_turn 24", "0/1 ends <nil>",
		"complete 0 1: inside", "call 1", "text done", `reply "done" calls=0 first=1 end_turn`, "done end_turn 24",
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	if got.Text != "inside" || got.Model != "other" || got.StopReason != schemas.EndTurn || len(got.Payloads) != 1 {
		t.Errorf("the conclusion is %+v", got)
	}
}

// Threads show as progress of their call, for dialects that show no threads.
func TestThreadProgress(t *testing.T) {
	talk := tool("talk", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
		c.Progress("half", "", 0.5, nil)
		_, err := c.Converse(ctx, "part", asked("what?"))
		return turn.Result{}, err
	})
	m := modeltest.NewScript(modeltest.Ask("", ask("1", "talk", "")), modeltest.Fail(errors.New("secret")), modeltest.Say("done"))
	var steps []string
	for e := range agents.New(m, agents.Options{}).Run(t.Context(), request(talk)) {
		switch e := e.(type) {
		case turn.ToolProgress:
			steps = append(steps, fmt.Sprintf("%s %s %v %s", e.Stage, e.Message, e.Fraction, e.Data))
		case turn.ToolComplete:
			steps = append(steps, fmt.Sprint(e.Result.IsError, strings.Contains(e.Result.Text, "secret")))
		}
	}
	want := []string{
		"half  0.5 ", `thread part 0.5 {"thread":1,"label":"part","status":"started"}`, `thread part 0.5 {"thread":1,"label":"part","status":"error"}`, "true false",
	}
	if d := cmp.Diff(want, steps); d != "" {
		t.Errorf("progress (-want +got):\n%s", d)
	}
}

// A model that panics, and one thread too many, are errors of the conversation;
// the thread that was opened is closed.
func TestThreadFaults(t *testing.T) {
	talk := tool("talk", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
		branch := func(ctx context.Context) (turn.Conclusion, error) { return c.Converse(ctx, "part", asked("what?")) }
		panicked := concurrent.All(ctx, concurrent.Options{}, branch)[0].Err
		for range agents.MaxThreads - 1 {
			if _, err := branch(ctx); err != nil {
				return turn.Result{}, err
			}
		}
		_, many := branch(ctx)
		return turn.Result{Text: fmt.Sprintf("%v; %v", panicked, many)}, nil
	})
	m := modeltest.NewScript(modeltest.Ask("", ask("1", "talk", "")), func(context.Context, agents.ModelRequest, func(agents.Delta) bool) error { panic("oh") })
	for range agents.MaxThreads {
		m.Push(modeltest.Say("fine"))
	}
	lines := runThreads(t.Context(), agents.New(m, agents.Options{}), request(talk))
	count := func(word string) (n int) {
		for _, l := range lines {
			if strings.HasPrefix(l, "0/") && strings.Contains(l, word) {
				n++
			}
		}
		return n
	}
	if count(" opens ") != agents.MaxThreads || count(" ends ") != agents.MaxThreads {
		t.Errorf("%d threads opened, %d ended; want %d", count(" opens "), count(" ends "), agents.MaxThreads)
	}
	want := "complete 0 1: concurrent: a branch panicked: oh; invalid: a tool may have at most 32 conversations"
	if !slices.Contains(lines, want) {
		t.Errorf("got %q, want %s", only(lines, "complete"), want)
	}
}

// eight is a tool with conversations in eight threads at once.
var eight = tool("eight", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
	branches := make([]concurrent.Branch[turn.Conclusion], 8)
	for i := range branches {
		branches[i] = func(ctx context.Context) (turn.Conclusion, error) {
			return c.Converse(ctx, fmt.Sprintf("part %d", i), asked("what?", sleeper("slow", time.Hour)))
		}
	}
	concurrent.All(ctx, concurrent.Options{}, branches...)
	return turn.Result{}, context.Cause(ctx)
})

// A cancel ends eight conversations, half of them in a model call and half in a
// tool, and every thread is closed; so does a consumer that stops reading.
func TestCancelWhileThreadsRun(t *testing.T) {
	for _, gone := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := modeltest.NewScript(modeltest.Ask("", ask("1", "eight", "")))
			for range 4 {
				m.Push(modeltest.Then(modeltest.Deltas("Hel"), modeltest.Hang()), modeltest.Ask("", ask("1", "slow", "")))
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Minute-time.Second, func() { cancel(errUser) })
			begun, starts, ends, texts, slow := time.Now(), 0, 0, 0, 0
			for e := range agents.New(m, agents.Options{}).Run(ctx, request(eight)) {
				inner, ok := e.(turn.ThreadEvent)
				if !ok {
					continue
				}
				switch event := inner.Event.(type) {
				case turn.ThreadStart:
					starts++
				case turn.TextDelta:
					texts++
				case turn.ToolStart:
					slow++
				case turn.ThreadEnd:
					if ends++; !errors.Is(event.Err, errUser) {
						t.Errorf("a thread ended with %v", event.Err)
					}
				}
				if gone && texts+slow == 8 {
					break
				}
			}
			synctest.Wait()
			took, want := time.Since(begun), time.Minute-time.Second
			if gone {
				want = 0
			}
			if starts != 8 || texts != 4 || slow != 4 || took != want {
				t.Errorf("%d threads, %d texts, %d tools, after %s; want 8, 4, 4 after %s", starts, texts, slow, took, want)
			}
			if !gone && ends != 8 {
				t.Errorf("%d threads ended, want 8", ends)
			}
		})
	}
}

// Eight conversations are under way at the same time: each waits for the others.
func TestThreadsRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all sync.WaitGroup
		all.Add(8)
		m := modeltest.NewScript(modeltest.Ask("", ask("1", "eight", "")))
		for range 8 {
			m.Push(func(context.Context, agents.ModelRequest, func(agents.Delta) bool) error {
				all.Done()
				all.Wait()
				return errors.New("over")
			})
		}
		m.Push(modeltest.Say("done"))
		lines := runThreads(t.Context(), agents.New(m, agents.Options{}), request(eight))
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "done") {
			t.Errorf("the run ended with %s", last)
		}
	})
}

// The loser's connection to its model's server is closed at once.
func TestAnyClosesTheLosersConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := upstream.NewMemory()
		server, err := openai.New(openai.Config{BaseURL: "http://upstream.test/v1", APIKey: "k", Transport: up.Transport(), Attempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		var left time.Duration
		begun := time.Now()
		up.On(upstream.LastUser("slow"), upstream.Open(upstream.Say("I am"), func(_ http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			left = time.Since(begun)
			return false
		}))
		up.On(upstream.LastUser("quick"), upstream.Open(upstream.Delay(time.Second)).Then(upstream.Text("Here.")[1:]...))
		up.On(upstream.LastUser("hi"), upstream.Stream(upstream.Call(0, "1", "either"), upstream.Finish("tool_calls")), upstream.Text("done"))
		either := tool("either", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
			ask := func(text string) concurrent.Branch[turn.Conclusion] {
				return func(ctx context.Context) (turn.Conclusion, error) { return c.Converse(ctx, text, asked(text)) }
			}
			won, err := concurrent.Any(ctx, concurrent.Options{}, ask("slow"), ask("quick"))
			synctest.Wait()
			if running := up.Running(); running != 0 {
				t.Errorf("%d calls of models are under way when Any has returned", running)
			}
			return turn.Result{Text: won.Text}, err
		})
		lines := runThreads(t.Context(), agents.New(server, agents.Options{}), request(either))
		if !slices.Contains(lines, "complete 0 1: Here.") || len(up.Unscripted()) > 0 {
			t.Errorf("got %q, %d requests without a reply", only(lines, "complete", "error"), len(up.Unscripted()))
		}
		if left != time.Second {
			t.Errorf("the loser's connection was closed after %s, want 1s", left)
		}
	})
}
