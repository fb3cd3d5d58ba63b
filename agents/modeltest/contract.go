package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// Contract tests that a model keeps the contract of agents.Model. The model
// must answer the request text with text, in more than one delta, and the
// request calls with a call of one of its tools; with tools forbidden it must
// answer the same request without calls. newModel is called for each test,
// inside a testing/synctest bubble.
func Contract(t *testing.T, newModel func(t *testing.T) agents.Model, text, calls agents.ModelRequest) {
	errUser := errors.New("the user cancelled")
	bubble := func(name string, f func(t *testing.T, m agents.Model)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, newModel(t)) })
		})
	}
	whole := func(t *testing.T, r Result) {
		t.Helper()
		if r.Err != nil || r.Broken != "" {
			t.Errorf("error %v; the reply %s", r.Err, r.Broken)
		}
	}
	bubble("text", func(t *testing.T, m agents.Model) {
		r := Read(t.Context(), m, text)
		whole(t, r)
		if r.Text == "" || len(r.Calls) > 0 || r.Stop != schemas.EndTurn {
			t.Errorf("text %q, %d calls, stop %s; want text that ends its turn", r.Text, len(r.Calls), r.Stop)
		}
	})
	bubble("calls", func(t *testing.T, m agents.Model) {
		r := Read(t.Context(), m, calls)
		whole(t, r)
		if len(r.Calls) == 0 || r.Stop != schemas.EndTurn {
			t.Errorf("%d calls, stop %s; want at least one and end_turn", len(r.Calls), r.Stop)
		}
		for _, c := range r.Calls {
			if !slices.ContainsFunc(calls.Tools, func(s turn.Tool) bool { return s.Name == c.Name }) {
				t.Errorf("call of %q, which is not offered", c.Name)
			}
			if c.Arguments != "" && !json.Valid([]byte(c.Arguments)) {
				t.Errorf("arguments %q, want valid JSON", c.Arguments)
			}
		}
	})
	bubble("calls forbidden", func(t *testing.T, m agents.Model) {
		req := calls
		req.ToolsForbidden = true
		r := Read(t.Context(), m, req)
		whole(t, r)
		if len(r.Calls) > 0 || r.Text == "" {
			t.Errorf("%d calls and text %q, want text only", len(r.Calls), r.Text)
		}
	})
	bubble("the request stays as it was", func(t *testing.T, m agents.Model) {
		for _, req := range []agents.ModelRequest{text, calls} {
			req.Messages, req.Tools = slices.Clone(req.Messages), slices.Clone(req.Tools)
			before := req
			before.Messages, before.Tools = slices.Clone(req.Messages), slices.Clone(req.Tools)
			Read(t.Context(), m, req)
			if diff := cmp.Diff(before, req); diff != "" {
				t.Errorf("request (-before +after):\n%s", diff)
			}
		}
	})
	bubble("cancelled before", func(t *testing.T, m agents.Model) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errUser)
		if r := Read(ctx, m, text); !errors.Is(r.Err, errUser) {
			t.Errorf("error %v after %q, want the cause", r.Err, r.Text)
		}
	})
	bubble("cancelled at the first delta", func(t *testing.T, m agents.Model) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var last error
		for _, err := range m.Stream(ctx, text) {
			cancel(errUser)
			last = err
		}
		if !errors.Is(last, errUser) {
			t.Errorf("error %v, want the cause", last)
		}
	})
	bubble("reader breaks off", func(t *testing.T, m agents.Model) {
		for range m.Stream(t.Context(), text) {
			break // the bubble detects a goroutine that is still running
		}
	})
	bubble("at the same time", func(t *testing.T, m agents.Model) {
		var wg sync.WaitGroup
		for i := range 20 {
			req := text
			if i%2 == 1 {
				req = calls
			}
			wg.Go(func() { whole(t, Read(t.Context(), m, req)) })
		}
		wg.Wait()
	})
	bubble("in a loop", func(t *testing.T, m agents.Model) {
		req := turn.Request{Model: calls.Model, System: calls.System, Messages: calls.Messages}
		for _, s := range calls.Tools {
			req.Tools = append(req.Tools, turn.Tool{
				Name: s.Name, Description: s.Description, InputSchema: s.InputSchema,
				Run: func(context.Context, *turn.Call) (turn.Result, error) { return turn.Result{Text: "nothing found"}, nil },
			})
		}
		var last turn.Event
		for e, err := range agents.New(m, agents.Options{}).Run(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			last = e
		}
		if _, ok := last.(turn.LoopComplete); !ok {
			t.Errorf("the loop ends with %T, want LoopComplete", last)
		}
	})
}
