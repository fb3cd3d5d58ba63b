package chats_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/chats"
)

// kept is a chat with messages, instead of a store.
type kept struct {
	chats.Conversations
	messages []schemas.Message
	breaksAt int // the message from which on reading fails; 0 is none
}

var (
	errAway = errors.New("the database is not available")
	at      = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	ann     = schemas.User{ID: "ann"}
)

func (k *kept) Chat(_ context.Context, owner string, id int64) (schemas.Chat, error) {
	if owner != ann.ID || id != 1 {
		return schemas.Chat{}, schemas.ErrNotFound
	}
	return schemas.Chat{ConversationID: 1, ChatID: "key", Title: "A *bold*\ntitle", CreatedAt: at, UpdatedAt: at}, nil
}

func (k *kept) Messages(_ context.Context, _ string, _ int64, q record.MessageQuery) ([]schemas.Message, string, error) {
	from := 0
	if q.Cursor != "" {
		from, _ = strconv.Atoi(q.Cursor)
	}
	end := min(from+q.Limit, len(k.messages))
	if k.breaksAt > 0 && end > k.breaksAt {
		return nil, "", errAway
	}
	next := ""
	if end < len(k.messages) {
		next = strconv.Itoa(end)
	}
	return k.messages[from:end], next, nil
}

type words struct{}

func (words) Words(string, schemas.User) turn.Words { return turn.Words{} }

func exported(t *testing.T, k *kept, format string) (string, error) {
	t.Helper()
	_, pieces, err := chats.New(k, nil, nil, nil, words{}).Export(t.Context(), ann, 1, format)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for piece, err := range pieces {
		if err != nil {
			return all.String(), err
		}
		all.Write(piece)
	}
	return all.String(), nil
}

func message(role, content string) schemas.Message {
	return schemas.Message{ID: content, Role: role, Type: "md", Content: content, Status: schemas.MessageComplete, CreatedAt: at}
}

func TestExportMarkdown(t *testing.T) {
	question, answer, failed, stopped := message("user", "What is *it*, [[tool:0]]?"), message("assistant", "Let me look.\n\n[[tool:0]]\n\nIt is **this**."), message("assistant", ""), message("assistant", "Half:\n\n```go\nx :=")
	question.Attachments = []schemas.AttachmentInfo{{Name: "my_notes.md", MIME: "text/markdown", Size: 12}}
	answer.ToolHistory = []schemas.ToolCall{{ToolName: "search"}, {ToolName: "fetch", IsError: true}}
	failed.Status, failed.Error = schemas.MessageError, &schemas.MessageFailure{Code: schemas.CodeInternal, Message: "it _broke_"}
	stopped.Status = schemas.MessageCancelled
	got, err := exported(t, &kept{messages: []schemas.Message{question, answer, failed, stopped}}, "markdown")
	if err != nil {
		t.Fatal(err)
	}
	want := "# A \\*bold\\* title\n" +
		"\n## You · 2026-11-21 10:00:00 UTC\n\n*Attached: my\\_notes.md (text/markdown, 12 bytes)*\n\nWhat is *it*, [[tool:0]]?\n" +
		"\n## Assistant · 2026-11-21 10:00:00 UTC\n\n*Tools: `search`, `fetch` (failed)*\n\nLet me look.\n\nIt is **this**.\n" +
		"\n## Assistant · 2026-11-21 10:00:00 UTC\n\n*Failed: it \\_broke\\_*\n" +
		"\n## Assistant · 2026-11-21 10:00:00 UTC\n\nHalf:\n\n```go\nx :=\n```\n\n*Stopped.*\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the export differs (-want +got):\n%s", diff)
	}
}

func TestExportJSON(t *testing.T) {
	for _, n := range []int{0, 1, 100, 101, 250} {
		k := new(kept)
		for i := range n {
			k.messages = append(k.messages, message("user", strconv.Itoa(i)))
		}
		got, err := exported(t, k, "json")
		var chat schemas.Chat
		if err == nil {
			err = json.Unmarshal([]byte(got), &chat)
		}
		if err != nil || len(chat.Messages) != n || chat.Title != "A *bold*\ntitle" || n > 0 && chat.Messages[n-1].Content != strconv.Itoa(n-1) {
			t.Errorf("%d messages: %v, %s", n, err, got)
		}
	}
}

// Older releases have stored a question that waited for its turn before the answer to the one
// before it. Each answer is exported after its question, also where the export reads the next
// page.
func TestExportOfQueuedQuestions(t *testing.T) {
	for before := 94; before <= 101; before++ {
		k := new(kept)
		add := func(role, content, run string) {
			m := message(role, content)
			m.RunID = run
			k.messages = append(k.messages, m)
		}
		for i := range before {
			add([]string{"user", "assistant"}[i%2], "earlier", strconv.Itoa(i/2))
		}
		add("user", "Q1", "r1")
		add("user", "Q2", "r2")
		add("user", "Q3", "r3")
		add("assistant", "A1", "r1")
		add("assistant", "A2", "r2")
		add("assistant", "A3", "r3")
		got, err := exported(t, k, "json")
		var chat schemas.Chat
		if err == nil {
			err = json.Unmarshal([]byte(got), &chat)
		}
		order := ""
		for i := before; i < len(chat.Messages); i++ {
			order += chat.Messages[i].Content + " "
		}
		if err != nil || order != "Q1 A1 Q2 A2 Q3 A3 " {
			t.Errorf("after %d messages: %v, %s", before, err, order)
		}
	}
}

func TestExportThatBreaksOff(t *testing.T) {
	k := &kept{breaksAt: 150}
	for range 300 {
		k.messages = append(k.messages, message("user", "q"))
	}
	for _, format := range []string{"markdown", "json"} {
		if _, err := exported(t, k, format); !errors.Is(err, errAway) {
			t.Errorf("%s: got %v", format, err)
		}
	}
}

func TestExportIsBounded(t *testing.T) {
	k := &kept{messages: make([]schemas.Message, 20_001)}
	got, err := exported(t, k, "markdown")
	if err != nil || !strings.HasSuffix(got, "*Only the first 20000 messages are here.*\n") {
		t.Errorf("%v: %q", err, got[max(0, len(got)-100):])
	}
	got, err = exported(t, k, "json")
	var chat schemas.Chat
	if err := errors.Join(err, json.Unmarshal([]byte(got), &chat)); err != nil || len(chat.Messages) != 20_000 || !chat.Truncated {
		t.Errorf("%v: %d messages, truncated %v; want 20000 and true", err, len(chat.Messages), chat.Truncated)
	}
	k.messages = k.messages[1:]
	for _, format := range []string{"markdown", "json"} {
		if got, err = exported(t, k, format); err != nil || strings.Contains(got[len(got)-100:], "20000") || strings.Contains(got, "truncated") {
			t.Errorf("a %s with all messages: %v: %q", format, err, got[len(got)-100:])
		}
	}
}

func TestExportOfSomebodyElse(t *testing.T) {
	_, _, err := chats.New(new(kept), nil, nil, nil, words{}).Export(t.Context(), schemas.User{ID: "bob"}, 1, "json")
	if !errors.Is(err, schemas.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// Each export holds a page of messages, so a user's exports are read one after the other, also
// those that nobody reads.
func TestExportsOfOneUserInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := chats.New(&kept{messages: []schemas.Message{message("user", "q")}}, nil, nil, nil, words{})
		begin := func() (next func() ([]byte, error, bool), stop func()) {
			_, pieces, err := c.Export(t.Context(), ann, 1, "json")
			if err != nil {
				t.Fatal(err)
			}
			return iter.Pull2(pieces)
		}
		first, stop := begin()
		if _, err, ok := first(); err != nil || !ok {
			t.Fatalf("%v, %v for the first piece", err, ok)
		}
		second, stopSecond := begin()
		defer stopSecond()
		began := time.Now()
		if _, err, _ := second(); schemas.Visible(err).Code != schemas.CodeBusy || time.Since(began) != 15*time.Second {
			t.Errorf("%v after %v for another export, want that it is busy after 15 seconds", err, time.Since(began))
		}
		stop()
		third, stopThird := begin()
		defer stopThird()
		if _, err, ok := third(); err != nil || !ok {
			t.Errorf("%v, %v after the first export", err, ok)
		}
	})
}
