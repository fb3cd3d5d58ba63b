package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/schemas/turn"
)

// waitLine is line, for the events of waits too.
func waitLine(e turn.Event) string {
	switch e := e.(type) {
	case turn.ToolWaiting:
		return fmt.Sprintf("waiting %d %s %s %s", e.Index, e.ID, e.Name, e.Input)
	case turn.ToolAnswered:
		return fmt.Sprintf("answered %d %s approved=%t result=%t", e.Index, e.ID, e.Approved, e.Result != nil)
	}
	return line(e)
}

func runWaits(ctx context.Context, a *agents.Agent, req turn.Request) (lines []string) {
	for e, err := range a.Run(ctx, req) {
		if err != nil {
			return append(lines, "error "+err.Error())
		}
		lines = append(lines, waitLine(e))
	}
	return lines
}

// awaited is a tool with what its calls wait for, nil for nothing.
type awaited struct {
	turn.Tool
	await func(ctx context.Context) (turn.Verdict, error)
}

// waiting is the tool t with a wait of d before it, which ends with the verdict.
func waiting(t turn.Tool, d time.Duration, v turn.Verdict) awaited {
	return awaited{t, func(ctx context.Context) (turn.Verdict, error) { return v, wait(ctx, d) }}
}

func requestAwaiting(tools ...awaited) turn.Request {
	req := request()
	for _, t := range tools {
		t.Confirm = t.await != nil
		req.Tools = append(req.Tools, t.Tool)
	}
	req.Await = func(ctx context.Context, c *turn.Call) (turn.Verdict, error) {
		return tools[slices.IndexFunc(tools, func(t awaited) bool { return t.Name == c.Name })].await(ctx)
	}
	return req
}

func TestAwait(t *testing.T) {
	yes := turn.Verdict{Approved: true}
	no := turn.Verdict{Result: &turn.Result{Text: "denied", IsError: true}}
	misfit := waiting(echo, time.Hour, yes)
	misfit.Check = func(json.RawMessage) error { return errors.New("it does not fit") }
	broken := awaited{sleeper("broken", 0), func(context.Context) (turn.Verdict, error) { return yes, errors.New("no database") }}
	panics := awaited{sleeper("panics", 0), func(context.Context) (turn.Verdict, error) { panic("await") }}
	inVain := "complete 0 1 error: the tool was not run: waiting for its approval or result failed"
	for _, tt := range []struct {
		name string
		tool awaited
		took time.Duration
		want []string
	}{
		{"approved, after longer than a tool may take", waiting(sleeper("t", time.Second), time.Hour, yes), time.Hour + time.Second, []string{
			`waiting 0 1 t {"a":1}`, "answered 0 1 approved=true result=false", `start 0 1 t {"a":1}`, "complete 0 1: took 1s",
		}},
		{"approved with another input", waiting(sleeper("t", 0), 0, turn.Verdict{Approved: true, Input: json.RawMessage(`{"a":2}`)}), 0, []string{
			`waiting 0 1 t {"a":1}`, "answered 0 1 approved=true result=false", `start 0 1 t {"a":2}`, "complete 0 1: took 0s",
		}},
		{"denied", waiting(sleeper("t", time.Second), time.Minute, no), time.Minute, []string{
			`waiting 0 1 t {"a":1}`, "answered 0 1 approved=false result=true", `start 0 1 t {"a":1}`, "complete 0 1 error: denied",
		}},
		{"arguments that do not fit", misfit, 0, []string{
			`start 0 1 echo {"a":1}`, "complete 0 1 error: the tool was not run: its arguments do not fit its schema: it does not fit",
		}},
		{"an answer that cannot be read", broken, 0, []string{
			`waiting 0 1 broken {"a":1}`, "answered 0 1 approved=false result=true", `start 0 1 broken {"a":1}`, inVain,
		}},
		{"a panic", panics, 0, []string{
			`waiting 0 1 panics {"a":1}`, "answered 0 1 approved=false result=true", `start 0 1 panics {"a":1}`, inVain,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := modeltest.NewScript(modeltest.Ask("", ask("1", tt.tool.Name, `{"a":1}`)), modeltest.Say("ok"))
				begun := time.Now()
				lines := runWaits(t.Context(), agents.New(m, agents.Options{}), requestAwaiting(tt.tool))
				check(t, only(lines, "waiting", "answered", "start", "complete"), tt.want...)
				if took := time.Since(begun); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// Calls that wait take no place, and the others continue; a serial tool still
// runs alone.
func TestAwaitDelaysNoOtherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		yes := turn.Verdict{Approved: true}
		serial := waiting(sleeper("serial", time.Second), 1500*time.Millisecond, yes)
		serial.Serial = true
		late := waiting(sleeper("late", time.Second), time.Minute, yes)
		m := modeltest.NewScript(modeltest.Ask("", ask("1", "late", ""), ask("2", "serial", ""), ask("3", "a", ""), ask("4", "b", "")), modeltest.Say("ok"))
		lines := runWaits(t.Context(), agents.New(m, agents.Options{Parallel: 1}), requestAwaiting(late, serial, awaited{Tool: sleeper("a", time.Second)}, awaited{Tool: sleeper("b", time.Second)}))
		check(t, only(lines, "waiting", "answered", "start", "complete"),
			"waiting 0 1 late {}", "waiting 1 2 serial {}", "start 2 3 a {}", "complete 2 3: took 1s", "start 3 4 b {}",
			"answered 1 2 approved=true result=false", "complete 3 4: took 1s", "start 1 2 serial {}", "complete 1 2: took 1s",
			"answered 0 1 approved=true result=false", "start 0 1 late {}", "complete 0 1: took 1s")
	})
}

func TestCancelWhileAwaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errUser) })
		m := modeltest.NewScript(modeltest.Ask("", ask("1", "t", "")), modeltest.Say("ok"))
		begun := time.Now()
		lines := runWaits(ctx, agents.New(m, agents.Options{}), requestAwaiting(waiting(sleeper("t", time.Second), time.Hour, turn.Verdict{})))
		check(t, only(lines, "waiting", "answered", "start", "complete", "cancelled"), "waiting 0 1 t {}", "cancelled the user cancelled")
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("took %v, want a minute", took)
		}
	})
}
