package services

import (
	"context"

	"github.com/tiktoken-go/tokenizer"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/pages"
)

// What the black-box tests of prompts and histories see.
type (
	ResearchReader = researchReader
	HistoryStore   = historyStore
	HistoryInput   = historyInput
)

const MaxHistoryMessages = maxHistoryMessages

var (
	Attach    = attach
	WriteData = writeData
)

func BuildPrompt(ctx context.Context, research ResearchReader, o PromptOptions, offer pages.Offer, page schemas.Object, payloads []schemas.CustomPayload) string {
	text, _ := newPrompter(research, o).build(ctx, promptInput{Offer: offer, Context: page, Payloads: payloads})
	return text
}

type Historian struct{ *historian }

func NewHistorian(store HistoryStore, o HistoryOptions) Historian {
	return Historian{newHistorian(store, o, nil)}
}

func (h Historian) Messages(ctx context.Context, in HistoryInput) ([]turn.Message, error) {
	return h.messages(ctx, in)
}

// CountLoads counts how often a text is really counted.
func (h Historian) CountLoads() *int {
	loads := 0
	inner := h.tokens.codec
	h.tokens.codec = func() (tokenizer.Codec, error) {
		loads++
		return inner()
	}
	return &loads
}
