package store

import (
	"testing"

	"github.com/pressly/goose/v3"
	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas/record"
)

// Chats and messages that are older than the search index are found through it.
func TestSearchOfOlderMessages(t *testing.T) {
	s, err := Open(t.Context(), "sqlite:"+t.TempDir()+"/old.db", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	const beforeSearch = 22
	err = s.db.(*sqliteDB).withProvider(nil, func(p *goose.Provider) error { //nolint:forcetypeassert // its url says so
		_, err := p.DownTo(t.Context(), beforeSearch)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.write(t.Context(), func(tx *gorm.DB) error {
		for _, statement := range []string{
			"INSERT INTO chats (id, owner, key, title, created_at, updated_at) VALUES (1, 'ann', 'a', 'Old Title', 1, 1), (2, 'ann', 'b', '', 1, 2)",
			"INSERT INTO blocks (seq, owner, id, chat_id, role, type, current, status, created_at) VALUES (1, 'ann', 'm', 2, 'user', 'md', 'an old MESSAGE', 'complete', 1)",
		} {
			if err := tx.Exec(statement).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int64{"old title": 1, "message": 2} {
		list, err := s.Chats(t.Context(), "ann", record.ChatQuery{Text: text})
		if err != nil || len(list.Items) != 1 || list.Items[0].ConversationID != want {
			t.Errorf("%q finds %v, %v; want chat %d", text, list.Items, err, want)
		}
	}
}
