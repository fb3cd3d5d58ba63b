package services

import "github.com/chattray/chattray/schemas/turn"

func (h Historian) Within(tokens int) Historian { return Historian{h.within(tokens)} }
func (h Historian) Limits() (budget, keep int)  { return h.Budget, h.Keep }

// Room is what a window leaves to a conversation.
func Room(window, maxTokens, budget int, req turn.Request) int {
	req.MaxTokens = maxTokens
	r := &Runs{RunsOptions: RunsOptions{Windows: map[string]int{req.Model: window}}}
	r.history = newHistorian(nil, HistoryOptions{Budget: budget}, nil)
	return r.room(&req)
}
