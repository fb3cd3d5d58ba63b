package userdata_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/userdata"
)

// shelf has some chats and documents of una.
type shelf struct {
	chats     []int64
	documents []string
	forgotten string
	deletions int64
	away      bool // the database is away after the first chat
	gone      bool // it is away from the start
	slow      bool // each chat takes a second to read
	recent    int64
}

var errAway = errors.New("away")

func (s *shelf) ChatsAfter(_ context.Context, _ string, id int64, limit int) (list []schemas.Chat, _ error) {
	for _, c := range s.chats {
		if c > id && len(list) < min(limit, 2) { // small pages
			list = append(list, schemas.Chat{ConversationID: c})
		}
	}
	return list, nil
}

func (s *shelf) RunsOf(_ context.Context, _ string, chat, place int64, _ int) ([]record.PlacedRun, error) {
	if place >= 5 {
		return nil, nil
	}
	return []record.PlacedRun{{Place: 5, Run: record.Run{ID: fmt.Sprint("run of ", chat), State: schemas.RunCompleted, Request: json.RawMessage(`{"message":"q"}`)}}}, nil
}

func (s *shelf) Messages(_ context.Context, _ string, id int64, q record.MessageQuery) ([]schemas.Message, string, error) {
	if s.away && id > s.chats[0] {
		return nil, "", errAway
	}
	if s.slow {
		<-time.After(time.Second)
	}
	if q.Cursor == "" {
		return []schemas.Message{{ID: "question", ConversationID: id, Attachments: []schemas.AttachmentInfo{{Name: "a.txt"}}}}, "more", nil
	}
	return []schemas.Message{{ID: "answer", ConversationID: id, Payloads: []schemas.CustomPayload{{PayloadID: "abc12345"}}}}, "", nil
}

func (*shelf) Message(context.Context, string, int64, string) (schemas.Message, error) {
	return schemas.Message{}, schemas.ErrNotFound
}

func (s *shelf) Files(context.Context, string, int64, string) ([]schemas.Attachment, error) {
	return []schemas.Attachment{{Name: "a.txt", Content: "content of a file"}}, nil
}

func (s *shelf) ToolCalls(context.Context, string) ([]record.ToolCall, error) {
	return []record.ToolCall{{Index: 0, Name: "look", Output: strings.Repeat("whole output ", 10_000)}}, nil
}

func (s *shelf) Waits(context.Context, string) ([]record.Wait, error) {
	return []record.Wait{{Tool: "order", Edited: json.RawMessage(`{"copies":77}`)}}, nil
}

func (s *shelf) Summary(context.Context, string, int64) (record.Summary, error) {
	return record.Summary{Text: "the older turns"}, nil
}

func (s *shelf) Payload(_ context.Context, _ string, _ int64, id string) (schemas.CustomPayload, error) {
	return schemas.CustomPayload{PayloadID: id, Data: json.RawMessage(`"the whole payload"`)}, nil
}

func (s *shelf) DataSize(context.Context, string) (schemas.DataSize, error) {
	return schemas.DataSize{Chats: int64(len(s.chats)), Messages: 2 * int64(len(s.chats)), Documents: int64(len(s.documents))}, nil
}

func (s *shelf) RecentRuns(_ context.Context, _ string, since time.Time) (int64, error) {
	if since.After(time.Now().Add(-time.Minute)) {
		return 0, nil
	}
	return s.recent, nil
}

func (s *shelf) Usage(_ context.Context, _, from, to string) ([]schemas.UsageItem, error) {
	if from <= "2026-03-01" && "2026-03-01" <= to {
		return []schemas.UsageItem{{Date: "2026-03-01", Model: "m"}}, nil
	}
	return nil, nil
}

func (s *shelf) BeginDeletion(context.Context, string) error {
	s.deletions++
	return nil
}

func (s *shelf) Deletions(context.Context, string) (int64, error) {
	if s.gone {
		return 0, errAway
	}
	return s.deletions, nil
}

func (s *shelf) ForgetUser(_ context.Context, owner, day string) error {
	s.forgotten, s.deletions = owner+" before "+day, s.deletions+1
	return nil
}

// books are the documents of a shelf.
type books struct{ *shelf }

func (b books) List(_ context.Context, _ schemas.User, q record.DocumentQuery) (list schemas.DocumentList, _ error) {
	for i, id := range b.documents {
		if q.Cursor == "" || id > q.Cursor {
			list.Items = append(list.Items, schemas.Document{ID: id})
			if i < len(b.documents)-1 {
				list.NextCursor = id
			}
			break
		}
	}
	return list, nil
}

func (b books) Get(_ context.Context, _ schemas.User, id string) (schemas.Document, error) {
	return schemas.Document{ID: id, Blocks: []schemas.Block{{ID: "b"}}}, nil
}

func (b books) Versions(context.Context, schemas.User, string) (schemas.DocumentVersionList, error) {
	return schemas.DocumentVersionList{Items: []schemas.DocumentVersion{{Revision: 3}}}, nil
}

func (b books) Version(_ context.Context, _ schemas.User, id string, revision int64) (schemas.Document, error) {
	return schemas.Document{ID: id, Revision: revision}, nil
}

func (b books) Delete(_ context.Context, _ schemas.User, id string, _ record.Match) error {
	if b.documents[0] != id {
		return schemas.ErrNotFound
	}
	b.documents = b.documents[1:]
	return nil
}

// remover deletes the chats of a shelf.
type remover struct{ *shelf }

func (r remover) Delete(_ context.Context, _ schemas.User, id int64) error {
	if r.away && id > 1 {
		return errAway
	}
	for i, c := range r.chats {
		if c == id {
			r.chats = append(r.chats[:i:i], r.chats[i+1:]...)
			if id == 2 {
				return schemas.ErrNotFound // another request has deleted it
			}
			return nil
		}
	}
	return schemas.ErrNotFound
}

func data(s *shelf) *userdata.UserData { return userdata.New(s, s, s, books{s}, remover{s}) }

var una = schemas.User{ID: "una", Name: "Una"}

func full() *shelf {
	return &shelf{chats: []int64{1, 2, 3}, documents: []string{"d1", "d2"}}
}

func TestExport(t *testing.T) {
	var kinds []string
	var all bytes.Buffer
	lines := 0
	for piece, err := range data(full()).Export(t.Context(), una) {
		if err != nil {
			t.Fatal(err)
		}
		all.Write(piece)
		var line struct {
			Kind string
			Data struct{ Lines int }
		}
		if err := json.Unmarshal(piece, &line); err != nil || bytes.Count(piece, []byte("\n")) != 1 {
			t.Fatalf("the piece %q is no line of JSON: %v", piece, err)
		}
		if line.Kind == "end" && line.Data.Lines != lines {
			t.Errorf("the end counts %d lines, want %d", line.Data.Lines, lines)
		}
		kinds, lines = append(kinds, line.Kind), lines+1
	}
	chat := " chat message attachment message run tool_call wait"
	want := "user usage" + chat + chat + chat + " document document_version document document_version end"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("the lines are\n%s\nwant\n%s", got, want)
	}
	for _, want := range []string{"content of a file", "the whole payload", strings.Repeat("whole output ", 10_000), `"request":{"message":"q"}`, "the older turns", `{"copies":77}`} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("the export lacks %.40q", want)
		}
	}
}

// An export that fails midway ends with an error and without its last line.
func TestExportBreaksOff(t *testing.T) {
	s := full()
	s.away = true
	var last string
	var broken error
	for piece, err := range data(s).Export(t.Context(), una) {
		last, broken = string(piece), err
	}
	if !errors.Is(broken, errAway) || strings.Contains(last, `"end"`) {
		t.Errorf("the export ends with %q, %v, want the error", last, broken)
	}
	for _, err := range data(full()).Export(t.Context(), una) {
		if err != nil {
			t.Error(err)
		}
		break // a reader that has gone
	}
}

// An export from a database that is away fails before its first line, so that it can be
// answered with an error.
func TestExportThatCannotBegin(t *testing.T) {
	s := &shelf{gone: true}
	for line, err := range data(s).Export(t.Context(), schemas.User{ID: "una"}) {
		if line != nil || !errors.Is(err, errAway) {
			t.Errorf("got %q and %v, want %v before any line", line, err, errAway)
		}
	}
}

// A user has one export at a time; another user does not wait for it.
func TestExportsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := full()
		s.slow = true
		u := data(s)
		begun := time.Now()
		took := make(chan time.Duration, 3)
		for _, user := range []schemas.User{una, una, {ID: "ben"}} {
			go func() {
				for _, err := range u.Export(t.Context(), user) {
					if err != nil {
						t.Error(err)
					}
				}
				took <- time.Since(begun)
			}()
		}
		for i, want := range []time.Duration{6, 6, 12} {
			if got := <-took; got != want*time.Second {
				t.Errorf("export %d ended after %v, want %v", i, got, want*time.Second)
			}
		}
	})
}

func TestDelete(t *testing.T) {
	s := full()
	u := data(s)
	for _, confirm := range []string{"", "3-6-1", "yes"} {
		_, err := u.Delete(t.Context(), una, confirm)
		if e := new(schemas.Error); !errors.As(err, &e) || e.Code != schemas.CodeConflict || !strings.Contains(e.Message, "3 chats with 6 messages and 2 documents forever") {
			t.Errorf("with confirm %q the error is %v, want a conflict that says how much", confirm, err)
		}
	}
	if len(s.chats) != 3 || len(s.documents) != 2 {
		t.Fatal("something was deleted, want nothing without the right confirm")
	}
	size, err := u.Delete(t.Context(), una, "3-6-2")
	if err != nil || size.Chats != 3 || size.Documents != 2 {
		t.Errorf("got %+v, %v, want how much it was", size, err)
	}
	if len(s.chats) > 0 || len(s.documents) > 0 || s.forgotten != "una before "+time.Now().UTC().Format(time.DateOnly) {
		t.Errorf("%d chats, %d documents are left, and %q is forgotten, want nothing left", len(s.chats), len(s.documents), s.forgotten)
	}
}

// A deletion that fails midway is continued by the same request. Once everything is
// deleted, a request that comes twice has nothing to delete.
func TestDeleteContinues(t *testing.T) {
	s := full()
	s.away = true
	u := data(s)
	if _, err := u.Delete(t.Context(), una, "3-6-2"); !errors.Is(err, errAway) || len(s.chats) != 2 {
		t.Fatalf("got %v and %d chats, want a deletion that fails after a chat", err, len(s.chats))
	}
	s.away = false
	for _, left := range []int64{2, 0} {
		if size, err := u.Delete(t.Context(), una, "3-6-2"); err != nil || size.Chats != left || len(s.chats)+len(s.documents) > 0 {
			t.Errorf("got %+v, %v, and %d chats are left; want %d chats deleted and nothing left", size, err, len(s.chats), left)
		}
	}
}

// A confirm holds while answers begin and end, but not if more is stored than they can have
// added. Less may be stored than was told.
func TestConfirmWhileAnswersRun(t *testing.T) {
	tests := []struct {
		confirm string
		recent  int64
		deletes bool
	}{
		{"3-6-2", 0, true},
		{"2-4-2", 1, true},
		{"3-5-2", 1, true},
		{"3-4-1", 1, true},
		{"2-4-2", 0, false},
		{"2-3-2", 1, false},
		{"1-4-2", 1, false},
		{"3-6-0", 1, false},
		{"4-6-2", 0, true},
		{"3-7-2", 0, true},
		{"9223372036854775807-6-2", 0, true},
		{"4-7-1", 0, false},
		{"9-5-2", 0, false},
		{"-9223372036854775808-6-2", 9, false},
		{"0-0-0", 3, false},
		{"-1-4-2", 9, false},
		{"3-6-02", 9, false},
		{"3-6-2x", 9, false},
		{"99999999999999999999-6-2", 9, false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.confirm, " ", tt.recent), func(t *testing.T) {
			s := full()
			s.recent = tt.recent
			size, err := data(s).Delete(t.Context(), una, tt.confirm)
			if deleted := err == nil && len(s.chats) == 0; deleted != tt.deletes || size.Chats != 3 {
				t.Errorf("deleted: %v, with %+v and the error %v; want %v", deleted, size, err, tt.deletes)
			}
		})
	}
}
