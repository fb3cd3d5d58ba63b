package api_test

import (
	"context"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// The document and block of the contract's examples.
const (
	aDocument = "doc1"
	aBlock    = "b1"
)

type fakeDocuments struct{ *testEnv }

// matched refuses a match for a revision other than 7, the one of the examples.
func matched[T any](v T, err error, match record.Match) (T, error) {
	if err == nil && !match.Holds(7) {
		var none T
		return none, schemas.ErrStale
	}
	return v, err
}

func (f fakeDocuments) List(_ context.Context, user schemas.User, q record.DocumentQuery) (schemas.DocumentList, error) {
	f.call("List documents %s %+v", user.Name, q)
	return owned[schemas.DocumentList](f.testEnv, alice, true, "listDocuments")
}

func (f fakeDocuments) Get(_ context.Context, user schemas.User, id string) (schemas.Document, error) {
	f.call("Get document %s %s", user.Name, id)
	return owned[schemas.Document](f.testEnv, user, id == aDocument, "getDocument")
}

func (f fakeDocuments) Create(_ context.Context, user schemas.User, c schemas.DocumentCreate) (schemas.Document, error) {
	f.call("Create %s %+v", user.Name, c)
	if c.ID != nil && *c.ID == "taken" {
		return schemas.Document{}, schemas.ErrTaken
	}
	return owned[schemas.Document](f.testEnv, alice, true, "postDocument")
}

func (f fakeDocuments) Rename(_ context.Context, user schemas.User, id, title string, match record.Match) (schemas.Document, error) {
	f.call("Rename document %s %s %q %v", user.Name, id, title, match)
	d, err := owned[schemas.Document](f.testEnv, user, id == aDocument, "patchDocument")
	return matched(d, err, match)
}

func (f fakeDocuments) Delete(_ context.Context, user schemas.User, id string, match record.Match) error {
	f.call("Delete document %s %s %v", user.Name, id, match)
	d, err := owned[schemas.Document](f.testEnv, user, id == aDocument, "getDocument")
	_, err = matched(d, err, match)
	return err
}

func (f fakeDocuments) SettleAll(_ context.Context, user schemas.User, id string, decision record.Settle, match record.Match) (schemas.Document, error) {
	f.call("SettleAll %s %s %v %v", user.Name, id, decision, match)
	operation := "revertDocument"
	if decision == record.Accept {
		operation = "acceptDocument"
	}
	d, err := owned[schemas.Document](f.testEnv, user, id == aDocument, operation)
	return matched(d, err, match)
}

func (f fakeDocuments) Versions(_ context.Context, user schemas.User, id string) (schemas.DocumentVersionList, error) {
	f.call("Versions %s %s", user.Name, id)
	return owned[schemas.DocumentVersionList](f.testEnv, user, id == aDocument, "listDocumentVersions")
}

func (f fakeDocuments) Version(_ context.Context, user schemas.User, id string, revision int64) (schemas.Document, error) {
	f.call("Version %s %s %d", user.Name, id, revision)
	return owned[schemas.Document](f.testEnv, user, id == aDocument && revision == 6, "getDocumentVersion")
}

func (f fakeDocuments) Restore(_ context.Context, user schemas.User, id string, revision int64, match record.Match) (schemas.Document, error) {
	f.call("Restore %s %s %d %v", user.Name, id, revision, match)
	d, err := owned[schemas.Document](f.testEnv, user, id == aDocument && revision == 6, "restoreDocument")
	return matched(d, err, match)
}

func (f fakeDocuments) Export(_ context.Context, user schemas.User, id string) (title, markdown string, err error) {
	f.call("Export %s %s", user.Name, id)
	d, err := owned[schemas.Document](f.testEnv, user, id == aDocument, "getDocument")
	return d.Title + `: "2026"/é`, "# Gold\n", err
}

func (f fakeDocuments) AnyBlock(_ context.Context, user schemas.User, id string) (schemas.Block, error) {
	f.call("AnyBlock %s %s", user.Name, id)
	return owned[schemas.Block](f.testEnv, user, id == aBlock, "getBlock")
}

func (f fakeDocuments) Place(_ context.Context, user schemas.User, id string) (document, chat string, err error) {
	f.call("Place %s %s", user.Name, id)
	return "", "", nil
}

func (f fakeDocuments) Add(_ context.Context, user schemas.User, document string, b schemas.BlockCreate, match record.Match) (schemas.Block, error) {
	f.call("Add %s %s %s %d %s %v %v", user.Name, document, b.Type, len(b.Content), b.Meta, b.AfterBlockID != nil, match)
	added, err := owned[schemas.Block](f.testEnv, user, document == aDocument, "postBlock")
	return matched(added, err, match)
}

func (f fakeDocuments) Patch(_ context.Context, user schemas.User, id string, p schemas.BlockPatch, match record.Match) (schemas.Block, error) {
	f.call("Patch %s %s %v %s %v %v", user.Name, id, p.Content != nil, p.Meta, p.AfterBlockID != nil, match)
	b, err := owned[schemas.Block](f.testEnv, user, id == aBlock, "patchBlock")
	return matched(b, err, match)
}

func (f fakeDocuments) DeleteBlock(_ context.Context, user schemas.User, id string, match record.Match) error {
	f.call("DeleteBlock %s %s %v", user.Name, id, match)
	b, err := owned[schemas.Block](f.testEnv, user, id == aBlock || id == "gone", "patchBlock")
	_, err = matched(b, err, match)
	return err
}

func (f fakeDocuments) Settle(_ context.Context, user schemas.User, id string, decision record.Settle, match record.Match) (record.Settled, error) {
	f.call("Settle %s %s %v %v", user.Name, id, decision, match)
	operation := "revertBlock"
	if decision == record.Accept {
		operation = "acceptBlock"
	}
	b, err := owned[schemas.Block](f.testEnv, user, id == aBlock || id == "gone", operation)
	b, err = matched(b, err, match)
	return record.Settled{Block: b, Gone: id == "gone"}, err
}

func (f fakeDocuments) Apply(_ context.Context, user schemas.User, id string, a schemas.BlockApply, match record.Match) (schemas.Block, error) {
	f.call("Apply %s %s %s %s %v %v", user.Name, id, a.DocumentID, a.TargetBlockID, a.AfterBlockID != nil, match)
	b, err := owned[schemas.Block](f.testEnv, user, id == aBlock && a.DocumentID == aDocument, "applyBlock")
	return matched(b, err, match)
}
