package services

import (
	"context"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/pages"
)

// What the black-box tests of documents see.
type DocumentReader = documentReader

func BuildDocumentPrompt(ctx context.Context, documents DocumentReader, owner string, page schemas.Object) string {
	p := newPrompter(nil, PromptOptions{})
	p.documents = documents
	text, _ := p.build(ctx, promptInput{Offer: pages.Offer{Page: "document", ContextBuilder: "document"}, Context: page, Owner: owner, ConversationID: 7})
	return text
}
