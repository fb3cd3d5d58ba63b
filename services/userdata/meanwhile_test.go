package userdata_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/userdata"
)

// torn is a shelf from which other requests delete: a chat, the payloads, a document, and a
// version of the others.
type torn struct {
	*shelf

	current bool // only current messages were asked for
}

func (s *torn) Messages(ctx context.Context, owner string, id int64, q record.MessageQuery) ([]schemas.Message, string, error) {
	s.current = s.current || !q.Superseded
	if id == 2 {
		return nil, "", schemas.ErrNotFound
	}
	return s.shelf.Messages(ctx, owner, id, q)
}

func (*torn) Payload(context.Context, string, int64, string) (schemas.CustomPayload, error) {
	return schemas.CustomPayload{}, schemas.ErrNotFound
}

type tornBooks struct{ books }

func (b tornBooks) Get(ctx context.Context, user schemas.User, id string) (schemas.Document, error) {
	if id == "d1" {
		return schemas.Document{}, schemas.ErrNotFound
	}
	return b.books.Get(ctx, user, id)
}

func (tornBooks) Versions(context.Context, schemas.User, string) (schemas.DocumentVersionList, error) {
	return schemas.DocumentVersionList{Items: []schemas.DocumentVersion{{Revision: 3}, {Revision: 4}}}, nil
}

func (b tornBooks) Version(ctx context.Context, user schemas.User, id string, revision int64) (schemas.Document, error) {
	if revision == 3 {
		return schemas.Document{}, schemas.ErrNotFound
	}
	return b.books.Version(ctx, user, id, revision)
}

// An export goes on past what is deleted meanwhile, and has the superseded messages.
func TestExportBesideDeletions(t *testing.T) {
	s := &torn{shelf: full()}
	u := userdata.New(s, s, s, tornBooks{books{s.shelf}}, remover{s.shelf})
	var all strings.Builder
	for line, err := range u.Export(t.Context(), una) {
		if err != nil {
			t.Fatal(err)
		}
		all.Write(line)
	}
	for part, want := range map[string]int{`"kind":"message"`: 4, `"kind":"run"`: 2, `"kind":"document"`: 1, `"kind":"document_version"`: 1, `"kind":"end"`: 1} {
		if n := strings.Count(all.String(), part); n != want {
			t.Errorf("%d lines with %s, want %d", n, part, want)
		}
	}
	if s.current {
		t.Error("superseded messages are left out")
	}
}

// A user of whom only the usage is left is known.
func TestKnownByUsage(t *testing.T) {
	if known, err := data(new(shelf)).Known(t.Context(), una); err != nil || !known {
		t.Errorf("got %t, %v, want that the user is known", known, err)
	}
}
