package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/storetest"
)

// fillChats makes two chats of the user u. The first has turns with questions of a size, the
// second many small messages.
func fillChats(t *testing.T, turns, size int) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), storetest.FreshSQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	numbers := func(n int) string {
		return fmt.Sprintf("(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s)", n)
	}
	err = s.Fill(
		`INSERT INTO chats (id, owner, key, title, created_at, updated_at) VALUES (1, 'u', 'one', '', 0, 0), (2, 'u', 'two', '', 0, 0)`,
		`INSERT INTO runs (id, chat_id, owner, owner_name, owner_roles, state, attempt, request, user_message_id, message_id, created_at, ended_at, place)
			SELECT 'r' || i, 1, 'u', '', '[]', 'completed', 1, X'', 'q' || i, 'a' || i, i, i, i FROM `+numbers(turns),
		`INSERT INTO blocks (owner, id, chat_id, role, type, current, run_id, created_at) SELECT 'u', 'q' || i, 1, 'user', 'md', hex(zeroblob(`+fmt.Sprint(size/2)+`)), 'r' || i, i FROM `+numbers(turns),
		`INSERT INTO blocks (owner, id, chat_id, role, type, current, run_id, created_at) SELECT 'u', 'a' || i, 1, 'assistant', 'md', 'answer', 'r' || i, i FROM `+numbers(turns),
		`INSERT INTO blocks (owner, id, chat_id, role, type, current, run_id, created_at) SELECT 'u', 'o' || i, 2, 'assistant', 'md', 'other', '', i FROM `+numbers(2000),
	)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// left returns how many messages and runs the first chat of fillChats has.
func left(t *testing.T, s *store.Store) (messages, runs int64) {
	t.Helper()
	rows, err := s.Plan("", "SELECT (SELECT COUNT(*) FROM blocks WHERE id NOT LIKE 'o%') AS messages, (SELECT COUNT(*) FROM runs) AS runs")
	if err != nil {
		t.Fatal(err)
	}
	return rows[0]["messages"].(int64), rows[0]["runs"].(int64)
}

// A long chat is deleted in steps: no transaction deletes more than some rows, and some bytes.
// What a deletion that fails has deleted stays deleted, and the next one continues.
func TestDeleteChatInSteps(t *testing.T) {
	for _, c := range []struct{ turns, size, most int }{{350, 10, 100}, {20, 1 << 20, 24}} {
		s := fillChats(t, c.turns, c.size)
		if err := s.Fill("CREATE TRIGGER kept BEFORE DELETE ON chats BEGIN SELECT RAISE(ABORT, 'not now'); END"); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteChat(t.Context(), "u", 1); err == nil || !strings.Contains(err.Error(), "not now") {
			t.Fatalf("got %v, want that the chat is not deleted", err)
		}
		if messages, runs := left(t, s); messages > int64(c.most) || runs > int64(c.most) {
			t.Errorf("of %d turns %d messages and %d runs are left to the last step, want at most %d", c.turns, messages, runs, c.most)
		}
		if err := s.Fill("DROP TRIGGER kept"); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteChat(t.Context(), "u", 1); err != nil {
			t.Fatal(err)
		}
		if messages, runs := left(t, s); messages+runs > 0 {
			t.Errorf("%d messages and %d runs are left, want none", messages, runs)
		}
		if removed, err := s.Removed(t.Context(), "u", []string{"a1", "a20", "q1", "o1"}); err != nil || len(removed) != 2 {
			t.Errorf("the removed ids are %v, %v, want those of the two answers", removed, err)
		}
	}
}

// A client that goes while its chat is deleted, and a service that stops while it deletes an
// old one, leave no half of it.
func TestDeleteChatGoesOn(t *testing.T) {
	for name, deletes := range map[string]func(*store.Store, context.Context) error{
		"a client": func(s *store.Store, ctx context.Context) error { return s.DeleteChat(ctx, "u", 1) },
		"a sweep": func(s *store.Store, ctx context.Context) error {
			_, err := s.DeleteOldChat(ctx, record.OldChat{Owner: "u", ConversationID: 1}, time.Now())
			return err
		},
	} {
		s := fillChats(t, 350, 10)
		ctx, leave := context.WithCancel(t.Context())
		if err := s.OnWrite(func(string) { leave() }); err != nil {
			t.Fatal(err)
		}
		if err := deletes(s, ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if messages, runs := left(t, s); messages+runs > 0 {
			t.Errorf("%s leaves %d messages and %d runs, want none", name, messages, runs)
		}
	}
}

// A question that comes while an old chat is deleted is not asked in what is left of the chat.
// What a failed step leaves is deleted by the next sweep.
func TestQuestionsWhileAnOldChatIsDeleted(t *testing.T) {
	s := fillChats(t, 350, 10)
	if err := s.Fill("CREATE TRIGGER kept BEFORE DELETE ON chats BEGIN SELECT RAISE(ABORT, 'not now'); END",
		"CREATE TRIGGER stays BEFORE DELETE ON blocks WHEN old.id = 'a350' BEGIN SELECT RAISE(IGNORE); END"); err != nil {
		t.Fatal(err)
	}
	chat := record.OldChat{Owner: "u", ConversationID: 1}
	if _, err := s.DeleteOldChat(t.Context(), chat, time.Now()); err == nil || !strings.Contains(err.Error(), "not now") {
		t.Fatalf("got %v, want that the chat is not deleted", err)
	}
	if page, err := s.Chats(t.Context(), "u", record.ChatQuery{Limit: 10}); err != nil || len(page.Items) != 1 || page.Items[0].ChatID != "two" {
		t.Errorf("the list has %+v, %v; want the other chat", page.Items, err)
	}
	ask := func(id int64, key, run string) (*record.Begin, error) {
		b := &record.Begin{
			ConversationID: id, ChatKey: key, UserMessage: &record.UserMessage{Message: schemas.Message{ID: "m" + run, Role: "user", Content: "and now?"}},
			Run: record.Run{ID: run, Owner: schemas.User{ID: "u"}, Request: []byte("{}"), MessageID: "n" + run, UserMessageID: "m" + run, CreatedAt: time.Now()},
		}
		w := &record.Write{Begin: b}
		err := s.Commit(t.Context(), []*record.Write{w})
		return b, errors.Join(err, w.Err)
	}
	if _, err := ask(1, "", "s1"); !errors.Is(err, schemas.ErrNotFound) {
		t.Errorf("a question by the chat's number: got %v, want that it is not found", err)
	}
	key, err := s.AnswerChat(t.Context(), "u", "a350") // an answer that is left, which is to be generated again
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(0, key, "s3"); !errors.Is(err, schemas.ErrNotFound) {
		t.Errorf("a question by an answer of the chat, under the key %s: got %v, want that it is not found", key, err)
	}
	if b, err := ask(0, "one", "s2"); err != nil || !b.NewChat {
		t.Errorf("a question by the chat's key: new %t, %v; want a new chat", b.NewChat, err)
	}
	if err := s.Fill("DROP TRIGGER kept", "DROP TRIGGER stays"); err != nil {
		t.Fatal(err)
	}
	if deleted, err := s.DeleteOldChat(t.Context(), chat, time.Now()); err != nil || !deleted {
		t.Errorf("the next sweep: deleted %t, %v", deleted, err)
	}
	if messages, runs := left(t, s); messages != 1 || runs != 1 {
		t.Errorf("%d messages and %d runs are left, want the new question", messages, runs)
	}
}

// The deletion of a chat reads nothing of the user's other chats.
func TestDeleteChatReadsNoOther(t *testing.T) {
	s := fillChats(t, 10, 10)
	var statements []string
	if err := s.OnWrite(func(statement string) { statements = append(statements, statement) }); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteChat(t.Context(), "u", 1); err != nil || len(statements) == 0 {
		t.Fatalf("%d statements, %v", len(statements), err)
	}
	for _, statement := range statements {
		plan, err := s.Plan("EXPLAIN QUERY PLAN ", statement)
		if err != nil {
			t.Fatalf("%v in %s", err, statement)
		}
		for _, row := range plan {
			if line := fmt.Sprint(row["detail"]); strings.HasPrefix(line, "SCAN blocks") || strings.HasSuffix(line, "(owner=?)") && strings.Contains(line, " blocks ") {
				t.Errorf("reads all messages of the user: %s\n%s", line, statement)
			}
		}
	}
}

// The versions of a document, which may be large, are deleted in steps before it.
func TestDeleteDocumentInSteps(t *testing.T) {
	s := fillChats(t, 1, 2)
	if _, err := s.CreateDocument(t.Context(), "u", record.NewDocument{ID: "d", Title: "Title"}); err != nil {
		t.Fatal(err)
	}
	err := s.Fill(`INSERT INTO document_versions (owner, document_id, revision, title, reason, blocks, content, size, created_at)
		SELECT 'u', 'd', seq, 'Title', 'edited', 0, '[]', 8 << 20, 1 FROM blocks LIMIT 5`,
		"CREATE TRIGGER kept BEFORE DELETE ON documents BEGIN SELECT RAISE(ABORT, 'not now'); END")
	if err != nil {
		t.Fatal(err)
	}
	versions := func(want int) {
		t.Helper()
		if list, err := s.DocumentVersions(t.Context(), "u", "d"); err != nil || len(list.Items) != want {
			t.Errorf("%d versions are left, %v, want %d", len(list.Items), err, want)
		}
	}
	if err := s.DeleteDocument(t.Context(), "u", "d", record.Match{99}); !errors.Is(err, schemas.ErrStale) {
		t.Errorf("got %v for another revision", err)
	}
	versions(5)
	if err := s.DeleteDocument(t.Context(), "u", "d", nil); err == nil || !strings.Contains(err.Error(), "not now") {
		t.Errorf("got %v, want that the document is not deleted", err)
	}
	versions(1)
	// Small ones go with the document, or not at all: a change between two steps would be a
	// reason not to delete the document.
	if err := s.Fill(`INSERT INTO document_versions (owner, document_id, revision, title, reason, blocks, content, size, created_at)
		SELECT 'u', 'd', 100 + seq, 'Title', 'edited', 0, '[]', 2, 1 FROM blocks LIMIT 4`); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteDocument(t.Context(), "u", "d", nil); err == nil || !strings.Contains(err.Error(), "not now") {
		t.Errorf("got %v, want that the document is not deleted", err)
	}
	versions(5)
	if err := errors.Join(s.Fill("DROP TRIGGER kept"), s.DeleteDocument(t.Context(), "u", "d", nil)); err != nil {
		t.Error(err)
	}
	if _, err := s.DocumentVersions(t.Context(), "u", "d"); !errors.Is(err, schemas.ErrNotFound) {
		t.Errorf("got %v, want that the document has gone", err)
	}
}

// After many runs of a clock that was ahead, each step of a sweep looks once for the next run
// whose end is not in the future: to look for it after each run would read the others so often.
func TestSweepAfterAWrongClock(t *testing.T) {
	s := fillChats(t, 60, 10)
	now := time.Now()
	wrong := now.AddDate(1, 0, 0).UnixMicro()
	if err := s.Fill(fmt.Sprintf("UPDATE runs SET created_at = %d, ended_at = %d WHERE place < 60", wrong, wrong)); err != nil {
		t.Fatal(err)
	}
	looked := 0
	if err := s.OnReadToWrite(func(statement string) { looked += strings.Count(statement, "ended_at <=") }); err != nil {
		t.Fatal(err)
	}
	steps := 0
	for at := int64(0); at > 0 || steps == 0; steps++ {
		var err error
		if at, _, err = s.DropLogs(t.Context(), at, now, now); err != nil {
			t.Fatal(err)
		}
	}
	if looked == 0 || looked > steps {
		t.Errorf("%d steps have looked %d times, want once each at most", steps, looked)
	}
}
