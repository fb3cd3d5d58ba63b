package services

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas"
)

// What the black-box tests of documents see.
type (
	DocumentStore  = documentStore
	DocumentReader = documentReader
)

// At sets the clock of documents.
func (d *Documents) At(now func() time.Time) *Documents {
	d.now = now
	return d
}

func BuildDocumentPrompt(ctx context.Context, documents DocumentReader, owner string, page schemas.Object) string {
	p := newPrompter(nil, PromptOptions{})
	p.documents = documents
	return p.build(ctx, promptInput{Offer: Offer{Page: "document", ContextBuilder: "document"}, Context: page, Owner: owner, ConversationID: 7})
}
