package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/schemas/turn"
)

func TestCancelInEachPhase(t *testing.T) {
	const s = time.Second
	two := modeltest.Ask("", ask("1", "slow", ""), ask("2", "quick", ""))
	ignoresCancel := tool("ignores_cancel", func(context.Context, *turn.Call) (turn.Result, error) {
		<-time.After(time.Hour)
		return turn.Result{Text: "too late"}, nil
	})
	checks := func(name string, confirm bool) turn.Tool {
		slow := tool(name, func(context.Context, *turn.Call) (turn.Result, error) { return turn.Result{Text: "ran"}, nil })
		slow.Confirm = confirm
		slow.Check = func(json.RawMessage) error {
			<-time.After(time.Hour)
			return nil
		}
		return slow
	}
	finishes := tool("finishes", func(ctx context.Context, _ *turn.Call) (turn.Result, error) {
		<-ctx.Done()
		<-time.After(s / 5)
		return turn.Result{Text: "saved"}, nil
	})
	for _, tt := range []struct {
		name  string
		reply modeltest.Reply
		at    time.Duration
		want  []string
		took  time.Duration
	}{
		{"before the first call", modeltest.Say("no"), -1, []string{"cancelled the user cancelled"}, 0},
		{"waiting for the model", modeltest.Hang(), s, []string{"call 0", "cancelled the user cancelled"}, s},
		{"in the text", modeltest.Then(modeltest.Deltas("Hel"), modeltest.Hang()), s, []string{"call 0", "text Hel", "cancelled the user cancelled"}, s},
		{"while tools run", two, s, []string{
			"call 0", "arguments 0 1 slow ", "arguments 1 2 quick ", `reply "" calls=2 first=0 end_turn`,
			"start 0 1 slow {}", "start 1 2 quick {}", "complete 1 2: took 500ms", "cancelled the user cancelled",
		}, s},
		{"a tool that finishes in the grace", modeltest.Ask("", ask("1", "finishes", "")), s, []string{
			"call 0", "arguments 0 1 finishes ", `reply "" calls=1 first=0 end_turn`,
			"start 0 1 finishes {}", "complete 0 1: saved", "cancelled the user cancelled",
		}, s + s/5},
		{"a tool that ignores it", modeltest.Ask("", ask("1", "ignores_cancel", "")), s, []string{
			"call 0", "arguments 0 1 ignores_cancel ", `reply "" calls=1 first=0 end_turn`,
			"start 0 1 ignores_cancel {}", "cancelled the user cancelled",
		}, s + 500*time.Millisecond},
		{"a slow check before a call", modeltest.Ask("", ask("1", "checks", "")), s, []string{
			"call 0", "arguments 0 1 checks ", `reply "" calls=1 first=0 end_turn`,
			"start 0 1 checks {}", "cancelled the user cancelled",
		}, s},
		{"a slow check before a wait", modeltest.Ask("", ask("1", "checks_first", "")), s, []string{
			"call 0", "arguments 0 1 checks_first ", `reply "" calls=1 first=0 end_turn`, "cancelled the user cancelled",
		}, s},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer leftBehind()
				ctx, cancel := context.WithCancelCause(t.Context())
				if tt.at < 0 {
					cancel(errUser)
				} else {
					time.AfterFunc(tt.at, func() { cancel(errUser) })
				}
				begun := time.Now()
				tools := request(sleeper("slow", time.Hour), sleeper("quick", s/2), ignoresCancel, finishes, checks("checks", false), checks("checks_first", true))
				tools.Await = func(context.Context, *turn.Call) (turn.Verdict, error) { return turn.Verdict{Approved: true}, nil }
				check(t, run(ctx, agents.New(modeltest.NewScript(tt.reply), agents.Options{}), tools), tt.want...)
				if took := time.Since(begun); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// TestCancelWhileYielding cancels inside each event in turn: the loop starts
// nothing after it and ends with Cancelled, unless it was done.
func TestCancelWhileYielding(t *testing.T) {
	script := func() *modeltest.Script {
		return modeltest.NewScript(modeltest.Ask("So.", ask("a", "echo", "")), modeltest.Say("Hel", "lo"))
	}
	whole := run(t.Context(), agents.New(script(), agents.Options{}), request(echo))
	for n := range whole {
		t.Run(fmt.Sprint("at ", whole[n]), func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			i := 0
			got := run(ctx, agents.New(script(), agents.Options{}), request(echo), func(turn.Event) {
				if i == n {
					cancel(errUser)
				}
				i++
			})
			want := append(append([]string(nil), whole[:n+1]...), "cancelled the user cancelled")
			if n >= len(whole)-2 { // the whole reply was there
				want = whole
			}
			check(t, got, want...)
		})
	}
}

func TestConsumerBreaksOff(t *testing.T) {
	script := func() *modeltest.Script {
		return modeltest.NewScript(modeltest.Ask("So.", ask("a", "slow", ""), ask("b", "echo", "")), modeltest.Say("ok"))
	}
	for n := range 10 {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan struct{}, 1)
			slow := tool("slow", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
				defer func() { ended <- struct{}{} }()
				c.Progress("s", "", 0, nil)
				return turn.Result{Text: "ok"}, wait(ctx, time.Second)
			})
			i, started := 0, false
			for e := range agents.New(script(), agents.Options{}).Run(t.Context(), request(slow, echo)) {
				if _, ok := e.(turn.ToolStart); ok && i < n {
					started = true
				}
				if i++; i > n {
					break
				}
			}
			if i != n+1 {
				t.Fatalf("the loop gave %d events, want more than %d", i, n)
			}
			if started && len(ended) != 1 {
				t.Error("the tool's goroutine still runs, want it ended")
			}
		})
	}
}
