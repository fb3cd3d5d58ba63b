package agents_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

func TestMetered(t *testing.T) {
	req := agents.ModelRequest{
		Model: "m", System: strings.Repeat("s", 39), // 10 tokens with the next
		Messages: []turn.Message{
			{Role: turn.User, Content: "é", Images: []turn.Image{{}}}, // 1,000 for the image
			{Role: turn.Assistant, Content: "four", ToolCalls: []turn.ToolCall{{Name: "ab", Arguments: "{}"}}},
		},
		Tools: []turn.Tool{{Name: "ab", Description: "four", InputSchema: []byte("{}")}},
	}
	const prompt = 1_000 + 10 + 1 + 1 + 2
	estimated := func(output int) []turn.ModelCall {
		return []turn.ModelCall{{Model: "m", Usage: schemas.Usage{InputTokens: prompt, OutputTokens: output, TotalTokens: prompt + output}}}
	}
	for _, tt := range []struct {
		name  string
		reply modeltest.Reply
		read  int // deltas that are read; 0 is all
		gone  bool
		want  []turn.ModelCall
	}{
		{"reported", modeltest.Say("Hello"), 0, false, []turn.ModelCall{{Model: "m", Usage: schemas.Usage{InputTokens: 10, OutputTokens: 2, TotalTokens: 12}}}},
		{"not reported", modeltest.Raw(agents.Delta{Text: "Hello"}, agents.Delta{Stop: schemas.EndTurn}), 0, false, estimated(2)},
		{
			"everything that is written counts",
			modeltest.Raw(agents.Delta{Text: "four", Thinking: "four"}, agents.Delta{Call: &agents.CallFragment{Name: "ab", Arguments: "{}"}}, agents.Delta{Stop: schemas.EndTurn}),
			0, false, estimated(3),
		},
		{
			"only the prompt is reported",
			modeltest.Raw(agents.Delta{Text: "Hello"}, agents.Delta{Stop: schemas.EndTurn, Usage: schemas.Usage{InputTokens: 10, TotalTokens: 10}}),
			0, false,
			[]turn.ModelCall{{Model: "m", Usage: schemas.Usage{InputTokens: 10, OutputTokens: 2, TotalTokens: 12}}},
		},
		{
			"the prompt and the sum are reported",
			modeltest.Raw(agents.Delta{Text: "Hello"}, agents.Delta{Stop: schemas.EndTurn, Usage: schemas.Usage{InputTokens: 10, TotalTokens: 17}}),
			0, false,
			[]turn.ModelCall{{Model: "m", Usage: schemas.Usage{InputTokens: 10, OutputTokens: 7, TotalTokens: 17}}},
		},
		{"broken off", modeltest.Then(modeltest.Deltas("Hello"), fails(schemas.CodeUpstreamTruncated)), 0, false, estimated(2)},
		{"not read to its end", modeltest.Say("Hello", " you"), 1, false, estimated(2)},
		{"failed before the first token", fails(schemas.CodeUpstreamUnavailable), 0, false, nil},
		{"cancelled before the first token", modeltest.Hang(), 0, true, estimated(0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []turn.ModelCall
			ctx, cancel := context.WithCancel(turn.WithMeter(t.Context(), func(c turn.ModelCall) { got = append(got, c) }))
			defer cancel()
			if tt.gone {
				cancel()
			}
			n := 0
			for _, err := range agents.Metered(modeltest.NewScript(tt.reply)).Stream(ctx, req) {
				if n++; n == tt.read || err != nil {
					break
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMeteredFallback checks that each model is counted under its own name.
func TestMeteredFallback(t *testing.T) {
	c := &cast{models: map[string]agents.Model{
		"a": modeltest.NewScript(fails(schemas.CodeUpstreamTimeout)), "b": modeltest.NewScript(modeltest.Say("B")),
	}}
	var got []string
	ctx := turn.WithMeter(t.Context(), func(c turn.ModelCall) { got = append(got, c.Model) })
	modeltest.Read(ctx, agents.Fallback(agents.Metered(c), agents.FallbackOptions{Order: order("b")}), agents.ModelRequest{Model: "a"})
	if diff := cmp.Diff([]string{"b"}, got); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

func TestMeteredWithoutMeter(t *testing.T) {
	if got := modeltest.Read(t.Context(), agents.Metered(modeltest.NewScript(modeltest.Say("Hi"))), agents.ModelRequest{}); got.Text != "Hi" {
		t.Errorf("got %+v", got)
	}
}
