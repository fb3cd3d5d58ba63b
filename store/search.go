package store

import (
	"context"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/chattray/chattray/store/search"
	"github.com/chattray/chattray/store/tables"
)

// maxFound bounds the titles and messages that the indexes are asked for. A text that more
// of them have is found quickly by looking through the newest chats.
const maxFound = 500

// searchChats returns the first chats of the list that have the text in their title or a
// current message. The text is in lower case, with one sigma, as search.FoldSigma returns it.
func (s *Store) searchChats(ctx context.Context, list func(*gorm.DB) *gorm.DB, owner, text string, limit int) (rows []chatRow, err error) {
	by := s.db.Search()
	pattern := by.Pattern(text)
	has := "(" + by.Contains("title") + " OR EXISTS (SELECT 1 FROM blocks WHERE blocks.chat_id = chats.id" +
		" AND blocks." + tables.CurrentMessages + " AND " + by.Contains("blocks.current") + "))"
	if utf8.RuneCountInString(text) < search.TermLength {
		err = list(s.db.Read(ctx)).Where(has, pattern, pattern).Limit(limit).Find(&rows).Error
		return rows, err
	}
	if n := by.LooksFirst(); n > 0 {
		newest := list(s.db.Read(ctx).Table("chats")).Limit(n)
		err = list(s.db.Read(ctx).Table("(?) AS chats", newest)).Where(has, pattern, pattern).Limit(limit).Find(&rows).Error
		if err != nil || len(rows) == limit {
			return rows, err
		}
	}
	query, args := by.Indexed(owner, text, pattern)
	var found []int64
	err = s.db.Read(ctx).Raw("SELECT chat_id FROM ("+query+") AS found LIMIT ?", append(args, maxFound)...).Scan(&found).Error
	if err != nil || len(found) == 0 {
		return nil, err
	}
	tx := list(s.db.Read(ctx)).Where(has, pattern, pattern)
	if len(found) < maxFound {
		// With LIMIT the databases look up the ids instead of scanning the list.
		of := s.db.Read(ctx).Table("chats").Where("id IN ?", found).Limit(maxFound)
		tx = list(s.db.Read(ctx).Table("(?) AS chats", of))
	}
	rows = nil
	err = tx.Limit(limit).Find(&rows).Error
	return rows, err
}
