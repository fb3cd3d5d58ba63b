package store

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
)

// A search that takes too long is not reported as a database that is away.
func TestLateSearch(t *testing.T) {
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "a.db"), Options{Database: sqldb.Options{ReadTimeout: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Chats(t.Context(), "ann", record.ChatQuery{Text: "some text"})
	if !errors.Is(err, errSearchLate) {
		t.Errorf("got %v; want %v", err, errSearchLate)
	}
	if _, err := s.Chats(t.Context(), "ann", record.ChatQuery{}); !errors.Is(err, record.ErrUnavailable) {
		t.Errorf("without a text: got %v; want that it is not available", err)
	}
}
