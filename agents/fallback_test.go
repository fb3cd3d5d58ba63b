package agents_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/demo"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// cast are models by name; asked has the names of the models in the order of
// their calls.
type cast struct {
	models map[string]agents.Model
	asked  []string
}

func (c *cast) Stream(ctx context.Context, req agents.ModelRequest) iter.Seq2[agents.Delta, error] {
	c.asked = append(c.asked, req.Model)
	return c.models[req.Model].Stream(ctx, req)
}

func fails(code schemas.Code) modeltest.Reply { return modeltest.Fail(schemas.NewError(code, "no")) }

func order(models ...string) func(string) []string {
	return func(asked string) []string {
		return slices.DeleteFunc(slices.Clone(models), func(m string) bool { return m == asked })
	}
}

func TestFallback(t *testing.T) {
	windows := map[string]int{"a": 8_000, "small": 4_000, "same": 8_000, "large": 32_000}
	for _, tt := range []struct {
		name   string
		models map[string]modeltest.Reply
		order  []string
		asked  []string
		want   modeltest.Result
		by     string // the substitute
	}{
		{
			"the first answers",
			map[string]modeltest.Reply{"a": modeltest.Say("A")},
			[]string{"b"},
			[]string{"a"},
			modeltest.Result{Text: "A", Stop: schemas.EndTurn},
			"",
		},
		{
			"no order",
			map[string]modeltest.Reply{"a": fails(schemas.CodeUpstreamUnavailable)},
			nil,
			[]string{"a"},
			modeltest.Result{Code: schemas.CodeUpstreamUnavailable},
			"",
		},
		{
			"in the order",
			map[string]modeltest.Reply{"a": fails(schemas.CodeRateLimited), "b": fails(schemas.CodeUpstreamAuth), "c": modeltest.Say("C")},
			[]string{"b", "c"},
			[]string{"a", "b", "c"},
			modeltest.Result{Text: "C", Stop: schemas.EndTurn},
			"c",
		},
		{
			"all fail",
			map[string]modeltest.Reply{"a": fails(schemas.CodeUpstreamTimeout), "b": fails(schemas.CodeUpstreamError)},
			[]string{"b"},
			[]string{"a", "b"},
			modeltest.Result{Code: schemas.CodeUpstreamError},
			"",
		},
		{
			"broken off before the first token",
			map[string]modeltest.Reply{"a": fails(schemas.CodeUpstreamTruncated), "b": modeltest.Say("B")},
			[]string{"b"},
			[]string{"a", "b"},
			modeltest.Result{Text: "B", Stop: schemas.EndTurn},
			"b",
		},
		{
			"ended without anything",
			map[string]modeltest.Reply{"a": modeltest.Raw(), "b": modeltest.Say("B")},
			[]string{"b"},
			[]string{"a", "b"},
			modeltest.Result{Text: "B", Stop: schemas.EndTurn},
			"b",
		},
		{
			"never after the first token",
			map[string]modeltest.Reply{"a": modeltest.Then(modeltest.Deltas("A"), fails(schemas.CodeUpstreamUnavailable))},
			[]string{"b"},
			[]string{"a"},
			modeltest.Result{Text: "A", Code: schemas.CodeUpstreamUnavailable},
			"",
		},
		{
			"never after reasoning",
			map[string]modeltest.Reply{"a": modeltest.Then(modeltest.Raw(agents.Delta{Thinking: "hm"}), fails(schemas.CodeUpstreamError))},
			[]string{"b"},
			[]string{"a"},
			modeltest.Result{Thinking: "hm", Code: schemas.CodeUpstreamError},
			"",
		},
		{
			"what the filter refused",
			map[string]modeltest.Reply{"a": fails(schemas.CodeContentFilter)},
			[]string{"b"},
			[]string{"a"},
			modeltest.Result{Code: schemas.CodeContentFilter},
			"",
		},
		{
			"our own mistake",
			map[string]modeltest.Reply{"a": modeltest.Fail(errors.New("bug"))},
			[]string{"b"},
			[]string{"a"},
			modeltest.Result{Code: schemas.CodeInternal},
			"",
		},
		{
			"too long, a larger window",
			map[string]modeltest.Reply{"a": fails(schemas.CodeContextTooLong), "large": modeltest.Say("L")},
			[]string{"small", "same", "large"},
			[]string{"a", "large"},
			modeltest.Result{Text: "L", Stop: schemas.EndTurn},
			"large",
		},
		{
			"too long, an unknown window",
			map[string]modeltest.Reply{"a": fails(schemas.CodeContextTooLong), "unknown": modeltest.Say("U")},
			[]string{"small", "unknown"},
			[]string{"a", "unknown"},
			modeltest.Result{Text: "U", Stop: schemas.EndTurn},
			"unknown",
		},
		{
			"too long for all",
			map[string]modeltest.Reply{"a": fails(schemas.CodeContextTooLong)},
			[]string{"small"},
			[]string{"a"},
			modeltest.Result{Code: schemas.CodeContextTooLong},
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &cast{models: map[string]agents.Model{}}
			for name, reply := range tt.models {
				c.models[name] = modeltest.NewScript(reply)
			}
			m := agents.Fallback(c, agents.FallbackOptions{Order: order(tt.order...), Window: func(m string) int { return windows[m] }})
			got := modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "a"})
			got.Err, got.Deltas, got.Usage = nil, 0, schemas.Usage{}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.asked, c.asked); diff != "" {
				t.Errorf("models asked (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFallbackNames checks that the loop learns once which model answered, and
// that a substitute is called by its own name.
func TestFallbackNames(t *testing.T) {
	b := modeltest.NewScript(modeltest.Say("Hel", "lo"))
	c := &cast{models: map[string]agents.Model{"a": modeltest.NewScript(fails(schemas.CodeUpstreamAuth)), "b": b}}
	m := agents.Fallback(c, agents.FallbackOptions{Order: order("b")})
	var names []string
	for d, err := range m.Stream(t.Context(), agents.ModelRequest{Model: "a"}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, d.Model)
	}
	if diff := cmp.Diff([]string{"b", "", ""}, names); diff != "" {
		t.Errorf("models of the deltas (-want +got):\n%s", diff)
	}
	if asked := b.Requests()[0].Model; asked != "b" {
		t.Errorf("the substitute was asked for %q", asked)
	}

	b.Push(modeltest.Say("again"))
	c.models["a"] = modeltest.NewScript(fails(schemas.CodeUpstreamAuth))
	for e, err := range agents.New(m, agents.Options{}).Run(t.Context(), turn.Request{Model: "a"}) {
		if err != nil {
			t.Fatal(err)
		}
		if reply, ok := e.(turn.Reply); ok && reply.Model != "b" {
			t.Errorf("the reply is by %q, want b", reply.Model)
		}
	}
}

func TestFallbackCancelled(t *testing.T) {
	hang := modeltest.NewScript(modeltest.Hang())
	slowFailure := modeltest.NewScript(func(ctx context.Context, _ agents.ModelRequest, _ func(agents.Delta) bool) error {
		<-ctx.Done()
		return schemas.NewError(schemas.CodeUpstreamUnavailable, "no") // not the cause
	})
	for _, tt := range []struct {
		name   string
		models map[string]agents.Model
		asked  []string
	}{
		{"while the first is asked", map[string]agents.Model{"a": slowFailure}, []string{"a"}},
		{"while the substitute is asked", map[string]agents.Model{"a": modeltest.NewScript(fails(schemas.CodeUpstreamError)), "b": hang}, []string{"a", "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(errUser) })
				c := &cast{models: tt.models}
				got := modeltest.Read(ctx, agents.Fallback(c, agents.FallbackOptions{Order: order("b", "c")}), agents.ModelRequest{Model: "a"})
				if !errors.Is(got.Err, errUser) || got.Broken != "" {
					t.Errorf("got %v (%s), want the cause of the cancel", got.Err, got.Broken)
				}
				if diff := cmp.Diff(tt.asked, c.asked); diff != "" {
					t.Errorf("models asked (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestFallbackCooldown checks that not every call waits for an unreachable
// model, and that the model is tried again later, or at once if there is no
// other.
func TestFallbackCooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := modeltest.NewScript(), modeltest.NewScript()
		c := &cast{models: map[string]agents.Model{"a": a, "b": b}}
		m := agents.Fallback(c, agents.FallbackOptions{Order: order("b"), Cooldown: time.Minute})
		check := func(what string, asked ...string) {
			t.Helper()
			c.asked = nil
			modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "a"})
			if diff := cmp.Diff(asked, c.asked); diff != "" {
				t.Errorf("%s: models asked (-want +got):\n%s", what, diff)
			}
		}
		a.Push(fails(schemas.CodeUpstreamTimeout))
		b.Push(modeltest.Say("B"), modeltest.Say("B"), fails(schemas.CodeUpstreamError))
		check("the first failure", "a", "b")
		check("while it cools down", "b")
		a.Push(modeltest.Say("A"))
		check("while it cools down and the other fails", "b", "a")
		a.Push(fails(schemas.CodeUpstreamError), modeltest.Say("A"))
		b.Push(modeltest.Say("B"))
		<-time.After(time.Minute)
		check("afterwards", "a", "b")
		check("after a failure that starts no cooldown", "a")
	})
}

// The loop tells each model that is asked, and why the one before has failed.
func TestFallbackTellsWhomItAsks(t *testing.T) {
	busy := schemas.NewError(schemas.CodeRateLimited, "busy")
	c := &cast{models: map[string]agents.Model{
		"a": modeltest.NewScript(modeltest.Fail(busy)), "b": modeltest.NewScript(modeltest.Say("B"), modeltest.Fail(busy)), "c": modeltest.NewScript(modeltest.Say("C")),
	}}
	agent := agents.New(agents.Fallback(c, agents.FallbackOptions{Order: order("b", "c")}), agents.Options{})
	for _, want := range [][]turn.ModelAsked{
		{{Model: "a"}, {Model: "b", Err: busy}},
		{{Model: "b"}, {Model: "c", Err: busy}}, // the first has failed and is asked last
	} {
		var got []turn.ModelAsked
		for event, err := range agent.Run(t.Context(), turn.Request{Model: "a", Messages: []turn.Message{{Role: turn.User, Content: "Hi"}}}) {
			if err != nil {
				t.Fatal(err)
			}
			if asked, ok := event.(turn.ModelAsked); ok {
				got = append(got, asked)
			}
		}
		if !slices.EqualFunc(want, got, func(w, g turn.ModelAsked) bool { return w.Model == g.Model && errors.Is(g.Err, w.Err) }) {
			t.Errorf("asked %v, want %v", got, want)
		}
	}
}

// firstAway has a model "a" whose server is not available.
type firstAway struct{ agents.Model }

func (f firstAway) Stream(ctx context.Context, req agents.ModelRequest) iter.Seq2[agents.Delta, error] {
	if req.Model == "a" {
		return modeltest.NewScript(fails(schemas.CodeUpstreamError)).Stream(ctx, req)
	}
	return f.Model.Stream(ctx, req)
}

func TestFallbackIsAModel(t *testing.T) {
	newModel := func(*testing.T) agents.Model {
		return agents.Metered(agents.Fallback(firstAway{demo.New(0)}, agents.FallbackOptions{Order: order("b")}))
	}
	text := agents.ModelRequest{Model: "a", Messages: []turn.Message{{Role: turn.User, Content: "Hello, who are you?"}}}
	calls := agents.ModelRequest{
		Model: "a", Messages: []turn.Message{{Role: turn.User, Content: "Search PubMed for CRISPR"}},
		Tools: []turn.Tool{{Name: "search_pubmed", InputSchema: []byte(`{"type":"object","properties":{"query":{"type":"string"}}}`)}},
	}
	modeltest.Contract(t, newModel, text, calls)
}
