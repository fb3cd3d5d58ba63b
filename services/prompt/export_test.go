package prompt

import (
	"context"

	"github.com/tiktoken-go/tokenizer"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/pages"
)

// What the black-box tests see.
const MaxHistoryMessages = maxHistoryMessages

var (
	Attach    = attach
	WriteData = writeData
)

func Build(ctx context.Context, research Research, o Options, offer pages.Offer, page schemas.Object, payloads []schemas.CustomPayload) string {
	text, _ := NewBuilder(research, nil, o).Build(ctx, Input{Offer: offer, Context: page, Payloads: payloads})
	return text
}

func BuildForDocument(ctx context.Context, documents Documents, owner string, page schemas.Object) string {
	offer := pages.Offer{Page: "document", ContextBuilder: "document"}
	text, _ := NewBuilder(nil, documents, Options{}).Build(ctx, Input{Offer: offer, Context: page, Owner: owner, ConversationID: 7})
	return text
}

// CountLoads counts how often the tokenizer is used.
func (h *History) CountLoads() *int {
	loads := 0
	inner := h.tokens.codec
	h.tokens.codec = func() (tokenizer.Codec, error) {
		loads++
		return inner()
	}
	return &loads
}

func (h *History) Limits() (budget, keep int) { return h.Budget, h.Keep }

// Tokens returns the number of tokens in a text.
func (h *History) Tokens(text string) int { return h.tokens.count(text) }
