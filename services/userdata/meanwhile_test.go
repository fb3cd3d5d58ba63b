package userdata_test

import (
	"context"
	"encoding/json"
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

// late is a shelf on which a question is asked and answered while the first chat is exported,
// and the first version of its first question is selected.
type late struct {
	*shelf

	asked bool // the question has no answer yet
}

func (s late) RunsOf(ctx context.Context, owner string, chat, place int64, limit int) ([]record.PlacedRun, error) {
	list, err := s.shelf.RunsOf(ctx, owner, chat, place, limit)
	for i := range list {
		list[i].Run.UserMessageID, list[i].Run.MessageID = "question", "answer"
		if chat == 1 {
			list[i].Run.UserMessageID, list[i].Run.MessageID = "late question", "late answer"
		}
	}
	return list, err
}

func (s late) Messages(ctx context.Context, owner string, chat int64, q record.MessageQuery) ([]schemas.Message, string, error) {
	list, next, err := s.shelf.Messages(ctx, owner, chat, q)
	if chat == 1 && next == "" {
		list = append(list, schemas.Message{ID: "question", ConversationID: chat})
	}
	return list, next, err
}

func (s late) Message(_ context.Context, _ string, chat int64, id string) (schemas.Message, error) {
	if s.asked && id == "late answer" {
		return schemas.Message{}, schemas.ErrNotFound
	}
	return schemas.Message{ID: id, ConversationID: chat, Attachments: []schemas.AttachmentInfo{{Name: "a.txt"}}}, nil
}

// An export has the messages of each run that it has, also those that were stored after the
// messages of the chat were read, and each message once.
func TestExportBesideAnswers(t *testing.T) {
	for _, asked := range []bool{true, false} {
		s := late{full(), asked}
		counts := map[string]int{}
		for line, err := range userdata.New(s, s, s, books{s.shelf}, remover{s.shelf}).Export(t.Context(), una) {
			if err != nil {
				t.Fatal(err)
			}
			var l struct {
				Kind string
				Data struct {
					ID        string
					MessageID string `json:"message_id"`
				}
			}
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			counts[l.Kind+" "+l.Data.ID+l.Data.MessageID]++
		}
		answers := 1
		if asked {
			answers = 0
		}
		for line, want := range map[string]int{
			"message question": 3, "message answer": 3, "message late question": 1, "message late answer": answers, "attachment late question": 1, "attachment late answer": answers,
		} {
			if counts[line] != want {
				t.Errorf("not answered yet: %v: %d lines %q, want %d", asked, counts[line], line, want)
			}
		}
	}
}

// A user of whom only the usage is left is known.
func TestKnownByUsage(t *testing.T) {
	if known, err := data(new(shelf)).Known(t.Context(), una); err != nil || !known {
		t.Errorf("got %t, %v, want that the user is known", known, err)
	}
}
