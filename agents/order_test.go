package agents_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// A tool whose call has ended while its input was checked does not run afterwards.
func TestCheckThatOutlivesItsCall(t *testing.T) {
	for name, stop := range map[string]time.Duration{"too late": time.Hour, "cancelled": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := false
				slow := tool("slow", func(context.Context, *turn.Call) (turn.Result, error) {
					ran = true
					return turn.Result{}, nil
				})
				slow.Timeout = time.Minute
				slow.Check = func(json.RawMessage) error { <-time.After(2 * time.Minute); return nil }
				ctx, cancel := context.WithTimeout(t.Context(), stop)
				defer cancel()
				m := modeltest.NewScript(modeltest.Ask("", ask("1", "slow", "")), modeltest.Say("ok"))
				run(ctx, agents.New(m, agents.Options{}), request(slow))
				<-time.After(3 * time.Minute)
				synctest.Wait()
				if ran {
					t.Error("the tool ran after its call had ended")
				}
			})
		})
	}
}

// The newest step of a tool that reports too fast is seen while the tool runs, each time.
func TestHeldProgressIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		steps := tool("steps", func(_ context.Context, c *turn.Call) (turn.Result, error) {
			for _, round := range []string{"first", "second", "third"} {
				for range 30 {
					c.Progress("early", "", 0, nil)
				}
				c.Progress(round, "", 0, nil)
				<-time.After(250 * time.Millisecond)
				synctest.Wait()
				if len(seen) == 0 || seen[len(seen)-1] != round {
					t.Errorf("the last step seen is not the %s", round)
				}
			}
			return turn.Result{}, nil
		})
		m := modeltest.NewScript(modeltest.Ask("", ask("1", "steps", "")), modeltest.Say("ok"))
		run(t.Context(), agents.New(m, agents.Options{}), request(steps), func(e turn.Event) {
			if p, ok := e.(turn.ToolProgress); ok {
				seen = append(seen, p.Stage)
			}
		})
	})
}

// Whether a call needs approval is found out once, however long it is queued.
func TestAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req := requestAwaiting(awaited{Tool: sleeper("a", time.Second)})
		asked := make(map[string]int)
		req.Asks = func(_ context.Context, _ *turn.Tool, c *turn.Call) (schemas.ApprovalReason, error) {
			asked[c.ID]++
			return "", nil
		}
		m := modeltest.NewScript(modeltest.Ask("", ask("1", "a", ""), ask("2", "a", ""), ask("3", "a", "")), modeltest.Say("ok"))
		run(t.Context(), agents.New(m, agents.Options{Parallel: 1}), req)
		for _, id := range []string{"1", "2", "3"} {
			if asked[id] != 1 {
				t.Errorf("call %s: asked %d times, want once", id, asked[id])
			}
		}
	})
}

// A call whose wait has ended is the next to begin.
func TestAnsweredCallIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := waiting(sleeper("late", time.Second), 500*time.Millisecond, turn.Verdict{Approved: true})
		m := modeltest.NewScript(modeltest.Ask("", ask("1", "late", ""), ask("2", "a", ""), ask("3", "a", "")), modeltest.Say("ok"))
		lines := runWaits(t.Context(), agents.New(m, agents.Options{Parallel: 1}), requestAwaiting(late, awaited{Tool: sleeper("a", time.Second)}))
		check(t, only(lines, "start"), "start 1 2 a {}", "start 0 1 late {}", "start 2 3 a {}")
	})
}

// An abandoned tool that begins a conversation after the run has ended is told so.
func TestThreadAfterTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan error, 1)
		stuck := tool("stuck", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
			<-time.After(time.Hour)
			_, err := c.Converse(context.WithoutCancel(ctx), "part", asked("what?"))
			told <- err
			return turn.Result{}, err
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m := modeltest.NewScript(modeltest.Ask("", ask("1", "stuck", "")), modeltest.Say("ok"))
		run(ctx, agents.New(m, agents.Options{}), request(stuck))
		<-time.After(2 * time.Hour)
		synctest.Wait()
		select {
		case err := <-told:
			if err == nil {
				t.Error("a conversation after the end of the run has no error")
			}
		default:
			t.Error("a conversation after the end of the run waits forever")
		}
	})
}

// A tool that says twice that it waits no more can wait again.
func TestClockResumedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queued := tool("queued", func(ctx context.Context, c *turn.Call) (turn.Result, error) {
			resume := c.Clock()
			resume()
			resume()
			return turn.Result{Text: "done"}, c.Waiting(func() error { return wait(ctx, time.Hour) })
		})
		m := modeltest.NewScript(modeltest.Ask("", ask("a", "queued", "")), modeltest.Say("ok"))
		check(t, only(run(t.Context(), agents.New(m, agents.Options{}), request(queued)), "complete"), "complete 0 a: done")
	})
}
