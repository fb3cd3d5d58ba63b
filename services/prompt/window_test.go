package prompt_test

import (
	"testing"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/prompt"
)

// room returns the tokens that a window leaves for a conversation.
func room(window, maxTokens, budget int, req turn.Request) int {
	req.MaxTokens = maxTokens
	return prompt.NewHistory(nil, prompt.HistoryOptions{Budget: budget}, nil).Room(&req, window)
}

func TestRoomInAWindow(t *testing.T) {
	system := turn.Request{Model: "m", System: "word word word word word word word word word word"} // 10 tokens, at most 25
	for _, tt := range []struct {
		name              string
		window, maxTokens int
		want              int
	}{
		{"unknown window", 0, 1_000, 0},
		{"a large one is not counted", 100_000, 1_000, 99_000 - 25},
		{"a small one is", 4_000, 1_000, 3_000 - 10},
		{"one that leaves nothing", 1_000, 1_000, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := room(tt.window, tt.maxTokens, 24_000, system); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
	tools := system
	tools.Tools = []turn.Tool{{Name: "word", Description: "word", InputSchema: []byte("word")}}
	if got, want := room(4_000, 1_000, 24_000, tools), 3_000-10-3; got != want {
		t.Errorf("with a tool: got %d, want %d", got, want)
	}
}

func TestHistoryWithinAWindow(t *testing.T) {
	h := prompt.NewHistory(nil, prompt.HistoryOptions{Budget: 9_000}, nil)
	for tokens, want := range map[int][2]int{0: {9_000, 3_000}, 10_000: {9_000, 3_000}, 6_000: {6_000, 2_000}, 1: {256, 85}} {
		budget, keep := h.Within(tokens).Limits()
		if got := [2]int{budget, keep}; got != want {
			t.Errorf("within %d: got %v, want %v", tokens, got, want)
		}
	}
	if budget, _ := h.Limits(); budget != 9_000 {
		t.Errorf("the history itself has %d", budget)
	}
}
