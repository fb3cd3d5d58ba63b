package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// The JSON of a result is in the model's message: its data, or else those of its payload.
func TestResultDataReachesTheModel(t *testing.T) {
	data, payload := json.RawMessage(`{"n":1}`), &turn.Payload{Type: "t", Data: json.RawMessage(`{"p":1}`)}
	for _, tt := range []struct {
		name   string
		result turn.Result
		want   string
	}{
		{"data", turn.Result{Text: "x", Data: data}, `{"n":1}`},
		{"a payload", turn.Result{Text: "x", Payload: payload}, `{"p":1}`},
		{"both", turn.Result{Text: "x", Data: data, Payload: payload}, `{"n":1}`},
		{"neither", turn.Result{Text: "x"}, ""},
		{"more than is kept", turn.Result{Text: "x", Data: json.RawMessage(`"` + strings.Repeat("x", 8<<20) + `"`)}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			made := tool("made", func(context.Context, *turn.Call) (turn.Result, error) { return tt.result, nil })
			m := modeltest.NewScript(modeltest.Ask("", ask("a", "made", "")), modeltest.Say("ok"))
			run(t.Context(), agents.New(m, agents.Options{}), request(made))
			messages := m.Requests()[1].Messages
			if got := string(messages[len(messages)-1].Data); got != tt.want {
				t.Errorf("the model gets the data %q, want %q", got, tt.want)
			}
		})
	}
}

// The outputs of a run are kept whole up to 16 MiB together, however much data their tools show
// beside them.
func TestOutputsAreKeptWhole(t *testing.T) {
	const size = 1 << 20
	text, data := strings.Repeat("x", size), json.RawMessage(`"`+strings.Repeat("y", 2*size)+`"`)
	made := tool("made", func(context.Context, *turn.Call) (turn.Result, error) {
		return turn.Result{Text: text, Payload: &turn.Payload{Type: "t", Data: data}}, nil
	})
	calls := make([]turn.ToolCall, 18)
	for i := range calls {
		calls[i] = ask(fmt.Sprint(i), "made", "")
	}
	whole := 0
	m := modeltest.NewScript(modeltest.Ask("", calls...), modeltest.Say("ok"))
	run(t.Context(), agents.New(m, agents.Options{}), request(made), func(e turn.Event) {
		if c, ok := e.(turn.ToolComplete); ok && c.Result.Text == text {
			whole++
		}
	})
	if whole != 16 {
		t.Errorf("%d outputs of 1 MiB are whole, want 16", whole)
	}
}

// What a tool shows to the page is UTF-8, whatever the tool got from elsewhere.
func TestWhatToolsShowIsUTF8(t *testing.T) {
	latin := json.RawMessage("{\"name\":\"Andr\xe9\"}")
	made := tool("made", func(_ context.Context, c *turn.Call) (turn.Result, error) {
		c.Progress("reading", "", 0, latin)
		return turn.Result{Text: "x", Payload: &turn.Payload{Type: "t", Data: latin}}, nil
	})
	m := modeltest.NewScript(modeltest.Ask("", ask("a", "made", "")), modeltest.Say("ok"))
	var got []string
	run(t.Context(), agents.New(m, agents.Options{}), request(made), func(e turn.Event) {
		switch e := e.(type) {
		case turn.ToolProgress:
			got = append(got, string(e.Data))
		case turn.PayloadMade:
			got = append(got, string(e.Payload.Data))
		default:
		}
	})
	const want = `{"name":"Andr�"}`
	if d := cmp.Diff([]string{want, want}, got); d != "" {
		t.Errorf("shown (-want +got):\n%s", d)
	}
}

// An answer that an earlier attempt has completed counts, also if the run was cancelled since.
func TestStoredAnswerCountsAfterACancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errUser)
	req := request(echo)
	req.Steps = []turn.Step{{Reply: turn.Reply{Text: "Done.", StopReason: schemas.EndTurn}}}
	check(t, run(ctx, agents.New(modeltest.NewScript(), agents.Options{}), req), "done end_turn 0")
}

// Results that make the prompt too long for the model are cut until it fits. If nothing is
// left to cut, the answer fails.
func TestResultsTooLongForTheModel(t *testing.T) {
	long := tool("read", func(context.Context, *turn.Call) (turn.Result, error) {
		return turn.Result{Text: strings.Repeat("x", 9_000)}, nil
	})
	tooLong := modeltest.Fail(schemas.NewError(schemas.CodeContextTooLong, "too long"))
	calls := modeltest.Ask("", ask("a", "read", ""), ask("b", "echo", ""))
	req := request(long, echo)
	req.Messages = append(req.Messages, turn.Message{Role: turn.ToolRole, Content: strings.Repeat("y", 9_000)})
	for _, tt := range []struct {
		name  string
		rest  []modeltest.Reply
		sizes []int // of the long result in the requests
		end   string
	}{
		{"once", []modeltest.Reply{tooLong, modeltest.Say("ok")}, []int{9_000, 4_000}, "done end_turn 24"},
		{"a later result too", []modeltest.Reply{tooLong, modeltest.Ask("", ask("c", "read", "")), modeltest.Say("ok")}, []int{9_000, 4_000, 4_000}, "done end_turn 36"},
		{"always", []modeltest.Reply{tooLong, tooLong, tooLong, tooLong}, []int{9_000, 4_000, 1_000, 499}, "error context_too_long"},
		{"after text", []modeltest.Reply{modeltest.Then(modeltest.Deltas("So"), tooLong)}, []int{9_000}, "error context_too_long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := modeltest.NewScript(append([]modeltest.Reply{calls}, tt.rest...)...)
			events := run(t.Context(), agents.New(m, agents.Options{}), req)
			if got := events[len(events)-1]; got != tt.end {
				t.Errorf("the run ends with %q, want %q", got, tt.end)
			}
			var sizes []int
			for _, r := range m.Requests()[1:] {
				sizes = append(sizes, len([]rune(r.Messages[3].Content)))
				if last := r.Messages[len(r.Messages)-1].Content; tt.name == "a later result too" && len(r.Messages) > 5 && len([]rune(last)) != 4_000 {
					t.Errorf("the later result has %d characters", len(last))
				}
				if got := r.Messages[1].Content; len(got) != 9_000 {
					t.Errorf("an earlier message has %d characters", len(got))
				}
			}
			if diff := cmp.Diff(tt.sizes, sizes); diff != "" {
				t.Errorf("sizes of the result (-want +got):\n%s", diff)
			}
		})
	}
}

// A page's answer to a call loses what a database cannot store. Its duration is the time that
// the call has waited.
func TestResultOfAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := waiting(sleeper("t", 0), time.Minute, turn.Verdict{Approved: true, Result: &turn.Result{Text: "a\x00b\xffc"}})
		m := modeltest.NewScript(modeltest.Ask("", ask("1", "t", "")), modeltest.Say("ok"))
		var got turn.Result
		run(t.Context(), agents.New(m, agents.Options{}), requestAwaiting(answer), func(e turn.Event) {
			if c, ok := e.(turn.ToolComplete); ok {
				got = c.Result
			}
		})
		if want := (turn.Result{Text: "a\uFFFDb\uFFFDc", Duration: time.Minute}); !cmp.Equal(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// A call that the limit of tokens cut off is told that its tool does not exist, if it does not.
func TestUnknownToolThatIsCutOff(t *testing.T) {
	m := modeltest.NewScript(modeltest.Then(modeltest.Raw(agents.Delta{Call: &agents.CallFragment{ID: "a", Name: "ecco"}}),
		modeltest.Stop(schemas.MaxTokens)), modeltest.Say("I see."))
	check(t, only(run(t.Context(), agents.New(m, agents.Options{}), request(echo)), "complete"),
		`complete 0 a error: there is no tool named "ecco"; the tools are: echo`)
}

// What the page and the user set for the model is in each of its requests.
func TestSettingsReachTheModel(t *testing.T) {
	req := request(echo)
	req.Temperature, req.MaxTokens, req.Facts = 0.7, 300, &turn.Facts{Purpose: turn.AnswerPart}
	m := modeltest.NewScript(modeltest.Ask("", ask("a", "echo", "")), modeltest.Say("ok"))
	run(t.Context(), agents.New(m, agents.Options{}), req)
	for i, r := range m.Requests() {
		if r.Temperature != req.Temperature || r.MaxTokens != 300 || r.Facts != req.Facts {
			t.Errorf("request %d has the temperature %v, %d tokens and the facts %v", i, r.Temperature, r.MaxTokens, r.Facts)
		}
	}
}

// A reply has its own text, also if the caller brings the memory for it.
func TestTextOfTheSecondReply(t *testing.T) {
	req := request(echo)
	req.Writing = new(strings.Builder)
	m := modeltest.NewScript(modeltest.Ask("Looking.", ask("a", "echo", "")), modeltest.Say("Found."))
	check(t, only(run(t.Context(), agents.New(m, agents.Options{}), req), "reply"),
		`reply "Looking." calls=1 first=0 end_turn`, `reply "Found." calls=0 first=1 end_turn`)
}

// A summary in place of an answer has the newest results only.
func TestSummaryIsBounded(t *testing.T) {
	var calls []turn.ToolCall
	for i := range 25 {
		calls = append(calls, ask("", "echo", fmt.Sprintf(`{"n":%d}`, i)))
	}
	req := request(echo)
	req.MaxIterations = 1
	m := modeltest.NewScript(modeltest.Ask("", calls...), modeltest.Say())
	text := strings.Join(only(run(t.Context(), agents.New(m, agents.Options{}), req), "text"), "")
	if n := strings.Count(text, "- **echo**"); n != 20 || !strings.Contains(text, `{"n":24}`) {
		t.Errorf("the summary has %d results, want the newest 20:\n%s", n, text)
	}
}

// The steps of a tool whose reader is slow do not pile up.
func TestProgressOfASlowReaderIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := tool("steps", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
			for range 600 {
				c.Progress("step", "", 0, nil)
				if err := wait(ctx, 100*time.Millisecond); err != nil {
					return turn.Result{}, err
				}
			}
			return turn.Result{}, nil
		})
		seen := 0
		m := modeltest.NewScript(modeltest.Ask("", ask("1", "steps", "")), modeltest.Say("ok"))
		steps.Timeout = time.Hour
		run(t.Context(), agents.New(m, agents.Options{}), request(steps), func(e turn.Event) {
			if _, ok := e.(turn.ToolProgress); !ok {
				return
			}
			if seen++; seen == 1 {
				<-time.After(2 * time.Minute)
			}
		})
		if seen > 22 {
			t.Errorf("%d steps were kept for the reader, want at most a burst and the newest", seen)
		}
	})
}

// Each time in which a call only waits does not count for its timeout.
func TestWaitingTwiceStopsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queued := tool("queued", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
			for range 3 {
				if err := wait(ctx, 15*time.Second); err != nil {
					return turn.Result{}, err
				}
				if err := c.Waiting(func() error { return wait(ctx, time.Hour) }); err != nil {
					return turn.Result{}, err
				}
			}
			return turn.Result{Text: "done"}, nil
		})
		m := modeltest.NewScript(modeltest.Ask("", ask("a", "queued", "")), modeltest.Say("ok"))
		check(t, only(run(t.Context(), agents.New(m, agents.Options{}), request(queued)), "complete"), "complete 0 a: done")
	})
}

// What a model writes as a name, and a tool as the label of a conversation, is kept in part
// only.
func TestLongNamesAreCut(t *testing.T) {
	long := strings.Repeat("n", 10_000)
	m := modeltest.NewScript(modeltest.Ask("", ask("a", long, "")), modeltest.Say("ok"))
	var name string
	run(t.Context(), agents.New(m, agents.Options{}), request(echo), func(e turn.Event) {
		if s, ok := e.(turn.ToolStart); ok {
			name = s.Name
		}
	})
	if name != long[:256] {
		t.Errorf("the name has %d bytes, want 256", len(name))
	}
	talks := tool("talks", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
		_, err := c.Converse(ctx, long, asked("what?"))
		return turn.Result{Text: "done"}, err
	})
	var label string
	for e := range agents.New(modeltest.NewScript(modeltest.Ask("", ask("a", "talks", "")), modeltest.Say("It."), modeltest.Say("ok")), agents.Options{}).Run(t.Context(), request(talks)) {
		if thread, ok := e.(turn.ThreadEvent); ok {
			if s, ok := thread.Event.(turn.ThreadStart); ok {
				label = s.Label
			}
		}
	}
	if label != long[:200] {
		t.Errorf("the label has %d bytes, want 200", len(label))
	}
}
