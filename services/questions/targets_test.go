package questions_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/documents"
)

// blocks are blocks of documents and chats, and those of answers under way, by id.
type blocks struct {
	documents.Blocks
	stored   map[string]schemas.Block
	underway map[string]string // the chat's key
}

func (b blocks) Block(_ context.Context, owner, id string) (schemas.Block, error) {
	found, ok := b.stored[id]
	if !ok || owner != ann.ID {
		return found, schemas.ErrNotFound
	}
	return found, nil
}

func (b blocks) AnswerChat(_ context.Context, _, id string) (string, error) {
	if b.underway[id] == "" {
		return "", schemas.ErrNotFound
	}
	return b.underway[id], nil
}

// A request that names blocks goes where they are: into their document, or to their chat.
// What it says itself counts.
func TestPlace(t *testing.T) {
	placed := blocks{
		stored: map[string]schemas.Block{
			"d1": {ID: "d1", DocumentID: "doc", Type: schemas.BlockMarkdown}, "d2": {ID: "d2", DocumentID: "doc", Type: schemas.BlockCSV},
			"i1": {ID: "i1", DocumentID: "doc", Type: "image/png"}, "c1": {ID: "c1", ChatID: "seven"}, "c2": {ID: "c2", ChatID: "eight"},
		},
		underway: map[string]string{"u1": "seven"},
	}
	type want struct {
		document, mode string // in the stored request
		chat, answer   string // the chat's key, and the id of the answer with its aliases
		refused        string // code and pointer
	}
	for _, tt := range []struct {
		name, context, rest string
		want                want
	}{
		{"a block of a document", `"block_ids":"d1"`, "", want{document: "doc", mode: "chat"}},
		{"a new block before it", `"block_ids":"n1,d1"`, "", want{document: "doc", mode: "chat"}},
		{"while tools write", `"block_ids":"d1","mode":"agent"`, "", want{document: "doc", mode: "agent"}},
		{"with its document, while tools write", `"block_ids":"d1","document_id":"doc","mode":"agent"`, "", want{document: "doc", mode: "agent"}},
		{"a new block of a document", `"block_ids":"n1","document_id":"doc"`, "", want{document: "doc", mode: "chat"}},
		{"a block of another document", `"block_ids":"d1","document_id":"other"`, "", want{refused: "conflict "}},
		{"about a block of another document", `"block_ids":"d1","document_id":"other","mode":"agent"`, "", want{refused: "invalid /context/block_ids"}},
		{"an image", `"block_ids":"i1"`, "", want{refused: "invalid /context/block_ids"}},
		{"blocks of two types", `"block_ids":"d1,d2"`, "", want{refused: "invalid /context/block_ids"}},
		{"an answer of a chat", `"block_ids":"c1"`, "", want{chat: "seven", answer: "c1"}},
		{"an answer under way", `"block_ids":"u1"`, "", want{chat: "seven", answer: "u1"}},
		{"answers of two chats", `"block_ids":"c1,c2"`, "", want{chat: "seven", answer: "c1 c2"}},
		{"a new one before it", `"block_ids":"n1,c1"`, "", want{chat: "seven", answer: "n1 c1"}},
		{"a new one after it", `"block_ids":"c1,n1"`, "", want{chat: "seven", answer: "c1 n1"}},
		{"with a chat's key", `"block_ids":"c1"`, `,"chat_id":"mine"`, want{chat: "mine", answer: "c1"}},
		{"with a chat's number", `"block_ids":"c1"`, `,"conversation_id":7`, want{answer: "c1"}},
		{"a new block", `"block_ids":"n1"`, "", want{answer: "n1"}},
		{"no blocks", `"document_id":"doc"`, "", want{document: "doc"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := `{"message":"m","message_id":"m1","context":{` + tt.context + `}` + tt.rest + `}`
			req := new(schemas.ChatRequest)
			if err := json.Unmarshal([]byte(body), req); err != nil {
				t.Fatal(err)
			}
			sent := req.Context
			before := len(sent)
			seven := sevens()
			q := newQuestions(t, seven, slog.New(slog.DiscardHandler))
			q.Documents = documents.New(nil, nil, placed, nil, nil)
			got, err := q.FirstWrite(t.Context(), ann, req, record.StartOptions{Body: []byte(body)})
			if err != nil {
				seen, pointer := schemas.Visible(err), ""
				if len(seen.Fields) > 0 {
					pointer = seen.Fields[0].Pointer
				}
				if refused := string(seen.Code) + " " + pointer; refused != tt.want.refused {
					t.Errorf("got %v at %q, want %q", err, pointer, tt.want.refused)
				}
				return
			}
			var stored schemas.ChatRequest
			if err := json.Unmarshal(got.Run.Request, &stored); err != nil {
				t.Fatal(err)
			}
			is := want{document: stored.Context.String("document_id"), mode: stored.Context.String("mode"), chat: got.ChatKey}
			if got.Reserve {
				is.answer = strings.Join(append([]string{got.Run.MessageID}, got.Aliases...), " ")
			}
			if diff := cmp.Diff(tt.want, is, cmp.AllowUnexported(want{})); diff != "" || got.Run.ChatKey != got.ChatKey || stored.ChatID != got.ChatKey {
				t.Errorf("(-want +got)\n%s\nthe run's chat is %q, the request's %q", diff, got.Run.ChatKey, stored.ChatID)
			}
			seven.begun = got.Run
			again := new(schemas.ChatRequest) // before anything else of it is known
			if err := json.Unmarshal([]byte(body), again); err != nil {
				t.Fatal(err)
			}
			if run, err := q.Repeated(t.Context(), ann, again, record.StartOptions{}); err != nil || run.ID != got.Run.ID {
				t.Errorf("sent again it is %q, %v, want its run", run.ID, err)
			}
			again.Message = "n"
			if run, err := q.Repeated(t.Context(), ann, again, record.StartOptions{}); !errors.Is(err, schemas.ErrTaken) {
				t.Errorf("another message with its id is %q, %v, want it refused", run.ID, err)
			}
			if len(sent) != before {
				t.Errorf("the context that was sent has been changed: %v", sent)
			}
		})
	}
}
