package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/turn"
)

// wait takes d, or less if its context ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sleeper is a tool that takes d and returns how long it took.
func sleeper(name string, d time.Duration) turn.Tool {
	return tool(name, func(ctx context.Context, _ *turn.Call) (turn.Result, error) {
		if err := wait(ctx, d); err != nil {
			return turn.Result{}, err
		}
		return turn.Result{Text: "took " + d.String()}, nil
	})
}

// leftBehind waits, in the bubble's time, until the tools that ignored their
// cancel have ended.
func leftBehind() { <-time.After(2 * time.Hour) }

// only returns the lines that begin with one of the words.
func only(lines []string, words ...string) (out []string) {
	for _, l := range lines {
		for _, w := range words {
			if strings.HasPrefix(l, w) {
				out = append(out, l)
			}
		}
	}
	return out
}

func TestToolFailuresAreResults(t *testing.T) {
	withSchema := echo
	withSchema.Check = func(json.RawMessage) error { return errors.New(`missing property "query"`) }
	badCheck := echo
	badCheck.Check = func(json.RawMessage) error { panic("schema") }
	slow := sleeper("slow", time.Hour)
	brief := sleeper("brief", time.Hour)
	brief.Timeout = 5 * time.Second
	reads := sleeper("reads", time.Hour)
	reads.ReadOnly = true
	ignoresCancel := tool("ignores_cancel", func(context.Context, *turn.Call) (turn.Result, error) {
		<-time.After(2 * time.Minute)
		return turn.Result{Text: "too late"}, nil
	})
	fails := func(err error) turn.Tool {
		return tool("fails", func(context.Context, *turn.Call) (turn.Result, error) { return turn.Result{}, err })
	}
	for _, tt := range []struct {
		name      string
		tool      turn.Tool
		call      string
		arguments string
		input     string
		want      string
		took      time.Duration
	}{
		{"unknown tool", echo, "ecco", "{}", "{}", `there is no tool named "ecco"; the tools are: echo`, 0},
		{"no JSON", echo, "echo", `{"q`, `{"invalid_arguments":"{\"q"}`, "the tool was not run: its arguments are not valid JSON: unexpected end of JSON input", 0},
		{"no object", echo, "echo", `[1]`, `{"invalid_arguments":"[1]"}`, "the tool was not run: its arguments must be a JSON object", 0},
		{"schema", withSchema, "echo", "{}", "{}", `the tool was not run: its arguments do not fit its schema: missing property "query"`, 0},
		{"panic in the check", badCheck, "echo", "{}", "{}", "the tool failed unexpectedly", 0},
		{"error", fails(errors.New("10.0.0.7 refused")), "fails", "{}", "{}", "the tool failed; the reason has been logged and is not known here", 0},
		{"error for the model", fails(fmt.Errorf("search: %w", schemas.NewError(schemas.CodeInvalid, "no such article").Because(errors.New("10.0.0.7")))), "fails", "{}", "{}", "no such article", 0},
		{"panic", tool("p", func(context.Context, *turn.Call) (turn.Result, error) { panic("x") }), "p", "{}", "{}", "the tool failed unexpectedly", 0},
		{"exit", tool("x", func(context.Context, *turn.Call) (turn.Result, error) { runtime.Goexit(); return turn.Result{}, nil }), "x", "{}", "{}", "the tool failed unexpectedly", 0},
		{"no function", turn.Tool{Name: "n"}, "n", "{}", "{}", "the tool failed unexpectedly", 0},
		{"timeout", slow, "slow", "{}", "{}", "the tool did not finish within 1m0s; whether it had an effect is unknown", time.Minute},
		{"own timeout", brief, "brief", "{}", "{}", "the tool did not finish within 5s; whether it had an effect is unknown", 5 * time.Second},
		{"a tool that changes nothing", reads, "reads", "{}", "{}", "the tool did not finish within 1m0s", time.Minute},
		{"a tool that ignores its timeout", ignoresCancel, "ignores_cancel", "{}", "{}", "the tool did not finish within 1m0s; whether it had an effect is unknown", time.Minute + 500*time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := modeltest.NewScript(modeltest.Ask("", ask("a", tt.call, tt.arguments)), modeltest.Say("I see."))
				defer leftBehind()
				begun := time.Now()
				var got turn.Result
				lines := run(t.Context(), agents.New(m, agents.Options{}), request(tt.tool), func(e turn.Event) {
					if c, ok := e.(turn.ToolComplete); ok {
						got = c.Result
					}
				})
				check(t, lines[3:],
					fmt.Sprintf("start 0 a %s %s", tt.call, tt.input), "complete 0 a error: "+tt.want,
					"call 1", "text I see.", `reply "I see." calls=0 first=1 end_turn`, "done end_turn 24")
				if took := time.Since(begun); took != tt.took || got.Duration != tt.took {
					t.Errorf("took %v, duration %v; want %v", took, got.Duration, tt.took)
				}
				if messages := m.Requests()[1].Messages; messages[len(messages)-1].Content != tt.want {
					t.Errorf("the model gets %q, want %q", messages[len(messages)-1].Content, tt.want)
				}
			})
		})
	}
}

// The calls of a tool that ignores its context do not pile up: it is not run while as many
// as may be have not ended.
func TestAbandonedCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int32
		free := make(chan struct{})
		stuck := tool("stuck", func(context.Context, *turn.Call) (turn.Result, error) {
			begun.Add(1)
			<-free
			return turn.Result{Text: "done"}, nil
		})
		var log strings.Builder
		var replies []modeltest.Reply
		for range concurrent.MaxAbandoned + 2 {
			replies = append(replies, modeltest.Ask("", ask("a", "stuck", "{}")), modeltest.Say("I see."))
		}
		agent := agents.New(modeltest.NewScript(replies...), agents.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		result := func() string {
			return only(run(t.Context(), agent, request(stuck)), "complete 0")[0]
		}
		for range concurrent.MaxAbandoned {
			if got := result(); !strings.Contains(got, "did not finish within") {
				t.Fatalf("got %q, want that it did not finish", got)
			}
		}
		if got := result(); got != "complete 0 a error: "+turn.Stuck || begun.Load() != concurrent.MaxAbandoned {
			t.Errorf("with %d calls that have not ended: got %q, want %q", begun.Load(), got, turn.Stuck)
		}
		if n := strings.Count(log.String(), "ignores its context"); n != concurrent.MaxAbandoned {
			t.Errorf("%d abandoned calls are in the log, want %d", n, concurrent.MaxAbandoned)
		}
		close(free)
		synctest.Wait()
		if got := result(); got != "complete 0 a: done" {
			t.Errorf("after they have ended: got %q", got)
		}
	})
}

// What a tool's error holds beyond the sentence for the model is in the log.
func TestFailuresAreLogged(t *testing.T) {
	visible := schemas.NewError(schemas.CodeInvalid, "no such article")
	for _, tt := range []struct {
		name   string
		err    error
		logged string
	}{
		{"for nobody", errors.New("10.0.0.7 refused"), "10.0.0.7 refused"},
		{"for the model, with a cause", visible.Because(errors.New("10.0.0.7 refused")), "invalid: no such article (10.0.0.7 refused)"},
		{"for the model alone", visible, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			fails := tool("fails", func(context.Context, *turn.Call) (turn.Result, error) { return turn.Result{}, tt.err })
			m := modeltest.NewScript(modeltest.Ask("", ask("a", "fails", "{}")), modeltest.Say("I see."))
			run(t.Context(), agents.New(m, agents.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}), request(fails))
			want := 0
			if tt.logged != "" {
				want = 1
			}
			if got := strings.Count(log.String(), "tool failed"); got != want || !strings.Contains(log.String(), tt.logged) {
				t.Errorf("logged %q, want %q", log.String(), tt.logged)
			}
		})
	}
}

// A call that the limit of tokens cuts off is not run, not even one that has no
// arguments yet.
func TestCallsThatAreCutOff(t *testing.T) {
	const cut = " error: the tool was not run: the reply reached its limit of tokens before the arguments were whole; call it again with less in them"
	for _, tt := range []struct{ name, arguments, input, want string }{
		{"before the arguments", "", "{}", cut},
		{"in them", `{"q`, `{"invalid_arguments":"{\"q"}`, cut},
		{"after them", `{"q":1}`, `{"q":1}`, `: got {"q":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls := []turn.ToolCall{ask("a", "echo", ""), ask("b", "echo", tt.arguments)}
			m := modeltest.NewScript(modeltest.Then(modeltest.Raw(
				agents.Delta{Call: &agents.CallFragment{Index: 0, ID: calls[0].ID, Name: "echo"}},
				agents.Delta{Call: &agents.CallFragment{Index: 1, ID: calls[1].ID, Name: "echo", Arguments: tt.arguments}},
			), modeltest.Stop(schemas.MaxTokens)), modeltest.Say("I see."))
			lines := run(t.Context(), agents.New(m, agents.Options{}), request(echo))
			check(t, only(lines, "complete 0"), "complete 0 a: got {}")
			check(t, only(lines, "start 1", "complete 1"), "start 1 b echo "+tt.input, "complete 1 b"+tt.want)
		})
	}
}

func TestToolsRunInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := sleeper("a", 3*time.Second), sleeper("b", time.Second), sleeper("c", 2*time.Second)
		m := modeltest.NewScript(modeltest.Ask("", ask("1", "a", ""), ask("2", "b", ""), ask("3", "c", "")), modeltest.Say("ok"))
		begun := time.Now()
		lines := run(t.Context(), agents.New(m, agents.Options{}), request(a, b, c))
		check(t, only(lines, "start", "complete"),
			"start 0 1 a {}", "start 1 2 b {}", "start 2 3 c {}", "complete 1 2: took 1s", "complete 2 3: took 2s", "complete 0 1: took 3s")
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("took %v, want 3 s", took)
		}
		var ids []string
		for _, msg := range m.Requests()[1].Messages[2:] {
			ids = append(ids, msg.ToolCallID)
		}
		if diff := cmp.Diff([]string{"1", "2", "3"}, ids); diff != "" {
			t.Errorf("results are not in the order of the calls (-want +got):\n%s", diff)
		}
	})
}

func TestToolsParallelLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		work := tool("work", func(ctx context.Context, _ *turn.Call) (turn.Result, error) {
			n := running.Add(1)
			defer running.Add(-1)
			most.Store(max(most.Load(), n))
			return turn.Result{Text: "ok"}, wait(ctx, time.Second)
		})
		calls := make([]turn.ToolCall, 20)
		for i := range calls {
			calls[i] = ask(fmt.Sprint("c", i), "work", "")
		}
		m := modeltest.NewScript(modeltest.Ask("", calls...), modeltest.Say("ok"))
		begun := time.Now()
		run(t.Context(), agents.New(m, agents.Options{}), request(work))
		if took := time.Since(begun); most.Load() != 8 || took != 3*time.Second {
			t.Errorf("%d at a time in %v, want 8 in 3 s", most.Load(), took)
		}
	})
}

func TestSerialToolsRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := sleeper("p", time.Second), sleeper("s", time.Second)
		s.Serial = true
		m := modeltest.NewScript(modeltest.Ask("", ask("1", "p", ""), ask("2", "p", ""), ask("3", "s", ""), ask("4", "s", ""), ask("5", "p", "")), modeltest.Say("ok"))
		begun := time.Now()
		lines := only(run(t.Context(), agents.New(m, agents.Options{}), request(p, s)), "start", "complete")
		if took := time.Since(begun); took != 4*time.Second {
			t.Errorf("took %v, want 4 s", took)
		}
		check(t, lines[4:],
			"start 2 3 s {}", "complete 2 3: took 1s", "start 3 4 s {}", "complete 3 4: took 1s", "start 4 5 p {}", "complete 4 5: took 1s")
	})
}

func TestWaitingStopsTheClock(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration // work after the queue
		want  string
	}{
		{"in time", 39 * time.Second, "complete 0 a: done"},
		{"late all the same", 41 * time.Second, "complete 0 a error: the tool did not finish within 1m0s; whether it had an effect is unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queued := tool("queued", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
					if err := wait(ctx, 20*time.Second); err != nil {
						return turn.Result{}, err
					}
					err := c.Waiting(func() error {
						return c.Waiting(func() error { return wait(ctx, time.Hour) })
					})
					if err != nil {
						return turn.Result{}, err
					}
					return turn.Result{Text: "done"}, wait(ctx, tt.after)
				})
				m := modeltest.NewScript(modeltest.Ask("", ask("a", "queued", "")), modeltest.Say("ok"))
				check(t, only(run(t.Context(), agents.New(m, agents.Options{}), request(queued)), "complete"), tt.want)
			})
		})
	}
}

func TestPayloadComesBeforeItsComplete(t *testing.T) {
	made := tool("made", func(context.Context, *turn.Call) (turn.Result, error) {
		return turn.Result{Text: "ok", Payload: &turn.Payload{Type: "list", Data: json.RawMessage(`[1]`)}}, nil
	})
	huge := tool("huge", func(context.Context, *turn.Call) (turn.Result, error) {
		return turn.Result{Text: "ok", Payload: &turn.Payload{Type: "list", Data: make([]byte, 9<<20)}}, nil
	})
	m := modeltest.NewScript(modeltest.Ask("", ask("a", "made", "")), modeltest.Ask("", ask("b", "huge", "")), modeltest.Say("ok"))
	check(t, only(run(t.Context(), agents.New(m, agents.Options{}), request(made, huge)), "payload", "complete"),
		"payload 0 list [1]", "complete 0 a: ok",
		"complete 1 b: ok\n\n[the payload of 9437184 bytes was too large and is not shown]")
}

func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(ctx context.Context, c *turn.Call)
		want []string
	}{
		{"clamped and never falling", func(_ context.Context, c *turn.Call) {
			nan := 0.0
			for _, f := range []float64{-1, 0.5, 0.2, nan / nan, 7} {
				c.Progress("s", "m", f, nil)
			}
		}, []string{"progress 0 s 0", "progress 0 s 0.5", "progress 0 s 0.5", "progress 0 s 0.5", "progress 0 s 1"}},
		{"a flood shows a burst and the last", func(_ context.Context, c *turn.Call) {
			for i := range 1000 {
				c.Progress(fmt.Sprint("s", i), "", 0, nil)
			}
		}, append(numbered("progress 0 s%d 0", 20), "progress 0 s999 0")},
		{"one an interval after the burst", func(ctx context.Context, c *turn.Call) {
			for i := range 22 {
				c.Progress(fmt.Sprint("s", i), "", 0, nil)
			}
			_ = wait(ctx, time.Second)
			c.Progress("later", "", 0, nil)
		}, append(numbered("progress 0 s%d 0", 20), "progress 0 s21 0", "progress 0 later 0")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps := tool("steps", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
					tt.run(ctx, c)
					return turn.Result{Text: "ok"}, nil
				})
				m := modeltest.NewScript(modeltest.Ask("", ask("a", "steps", "")), modeltest.Say("ok"))
				check(t, only(run(t.Context(), agents.New(m, agents.Options{}), request(steps)), "progress"), tt.want...)
			})
		})
	}
}

func numbered(format string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return out
}

func TestProgressIsSeenWhileTheToolRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := make(chan struct{})
		steps := tool("steps", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
			c.Progress("half", "", 0.5, map[string]int{"n": 1})
			select {
			case <-seen:
				return turn.Result{Text: "seen"}, nil
			case <-ctx.Done():
				return turn.Result{}, ctx.Err()
			}
		})
		m := modeltest.NewScript(modeltest.Ask("", ask("a", "steps", "")), modeltest.Say("ok"))
		lines := run(t.Context(), agents.New(m, agents.Options{}), request(steps), func(e turn.Event) {
			if p, ok := e.(turn.ToolProgress); ok {
				if string(p.Data) != `{"n":1}` {
					t.Errorf("data is %s, want {\"n\":1}", p.Data)
				}
				close(seen)
			}
		})
		check(t, only(lines, "progress", "complete"), "progress 0 half 0.5", "complete 0 a: seen")
	})
}

func TestOutputIsCutForTheModel(t *testing.T) {
	text := "begin" + strings.Repeat("äöü", 9_997) + "!end"
	for _, tt := range []struct {
		name   string
		text   string
		limit  int
		length int // in characters
		note   string
	}{
		{"default", text, 0, 16_000, "of 30000 characters left out"},
		{"own limit", text, 200, 200, "of 30000 characters left out"},
		{"limit too small for a note", text, 10, 10, ""},
		{"fits exactly", text, 30_000, 30_000, ""},
		{"more bytes than characters", "äöü", 3, 3, ""},
		{"nothing", " \n", 0, 25, "(the tool gave no output)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			long := tool("long", func(_ context.Context, c *turn.Call) (turn.Result, error) {
				if want := tt.limit; c.Output != want && (want != 0 || c.Output != 16_000) {
					t.Errorf("the tool is told that the model gets %d characters, want %d", c.Output, want)
				}
				return turn.Result{Text: tt.text}, nil
			})
			m := modeltest.NewScript(modeltest.Ask("", ask("a", "long", "")), modeltest.Say("ok"))
			req := request(long)
			req.ToolOutput = tt.limit
			run(t.Context(), agents.New(m, agents.Options{}), req, func(e turn.Event) {
				c, ok := e.(turn.ToolComplete)
				if !ok {
					return
				}
				if c.Result.Text != tt.text {
					t.Error("the result's own text is cut, want it whole")
				}
				if got := []rune(c.ModelText); len(got) != tt.length || strings.ContainsRune(c.ModelText, '\uFFFD') {
					t.Errorf("the model gets %d characters, want %d", len(got), tt.length)
				}
				if !strings.Contains(c.ModelText, tt.note) {
					t.Errorf("the model's text has no note %q", tt.note)
				}
				if tt.limit != 10 && len(tt.text) > 100 && (!strings.HasPrefix(c.ModelText, "begin") || !strings.HasSuffix(c.ModelText, "end")) {
					t.Error("the text for the model lacks the head or the tail, want both")
				}
			})
		})
	}
}

func TestOutputIsMadeStorable(t *testing.T) {
	odd := tool("odd", func(context.Context, *turn.Call) (turn.Result, error) { return turn.Result{Text: "a\x00b\xffc"}, nil })
	m := modeltest.NewScript(modeltest.Ask("", ask("a", "odd", "")), modeltest.Say("ok"))
	check(t, only(run(t.Context(), agents.New(m, agents.Options{}), request(odd)), "complete"), "complete 0 a: a\uFFFDb\uFFFDc")
}

// An id or a name that a database refuses, a page cannot show or the service does
// not accept back is replaced.
func TestCallsOfOddNames(t *testing.T) {
	long := strings.Repeat("i", schemas.MaxCallID)
	for _, tt := range []struct{ name, id, tool, want string }{
		{"longest id", long, "echo", "arguments 0 " + long + " echo "},
		{"id that is too long", long + "i", "echo", "arguments 0 call_0 echo "},
		{"NUL in an id", "a\x00b", "echo", "arguments 0 call_0 echo "},
		{"line in an id", "a\nb", "echo", "arguments 0 call_0 echo "},
		{"escape in an id", "a\x1b[2Jb", "echo", "arguments 0 call_0 echo "},
		{"direction in an id", "a\u202Eb", "echo", "arguments 0 call_0 echo "},
		{"bytes in an id", "a\xffb", "echo", "arguments 0 call_0 echo "},
		{"letters in an id", "tö:1/2", "echo", "arguments 0 tö:1/2 echo "},
		{"NUL in a name", "a", "e\x00cho", "arguments 0 a e\uFFFDcho "},
		{"controls in a name", "a", "\x01e\u0085\u2028cho\x7f", "arguments 0 a \uFFFDe\uFFFD\uFFFDcho\uFFFD "},
		{"bytes in a name", "a", "e\xffcho", "arguments 0 a e\uFFFDcho "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := modeltest.NewScript(modeltest.Raw(agents.Delta{Call: &agents.CallFragment{ID: tt.id, Name: tt.tool}}, agents.Delta{Stop: schemas.EndTurn}),
				modeltest.Say("ok"))
			check(t, only(run(t.Context(), agents.New(m, agents.Options{}), request(echo)), "arguments"), tt.want)
		})
	}
}
