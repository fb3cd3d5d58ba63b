package store

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"
)

// Limits of a search in chats.
const (
	// maxFound bounds the titles and messages that the indexes are asked for. A text
	// that more of them have is found quickly by looking through the newest chats.
	maxFound = 500
	// termLength is the length of an index's terms in characters, and maxTerms bounds
	// the terms of a text that are looked up.
	termLength, maxTerms = 3, 8
)

// currentMessages is the condition for blocks that are current messages.
const currentMessages = "chat_id IS NOT NULL AND status <> 'superseded'"

// searchChats returns the first chats of the list that have the text in their title or a
// current message. The text is in lower case, with one sigma, as foldSigma returns it.
func (s *Store) searchChats(ctx context.Context, list func(*gorm.DB) *gorm.DB, owner, text string, limit int) (rows []chatRow, err error) {
	pattern := s.db.pattern(text)
	has := "(" + s.db.contains("title") + " OR EXISTS (SELECT 1 FROM blocks WHERE blocks.chat_id = chats.id" +
		" AND blocks." + currentMessages + " AND " + s.db.contains("blocks.current") + "))"
	if utf8.RuneCountInString(text) < termLength {
		err = list(s.read(ctx)).Where(has, pattern, pattern).Limit(limit).Find(&rows).Error
		return rows, err
	}
	if n := s.db.looksFirst(); n > 0 {
		newest := list(s.read(ctx).Table("chats")).Limit(n)
		err = list(s.read(ctx).Table("(?) AS chats", newest)).Where(has, pattern, pattern).Limit(limit).Find(&rows).Error
		if err != nil || len(rows) == limit {
			return rows, err
		}
	}
	query, args := s.db.indexed(owner, text, pattern)
	var found []int64
	err = s.read(ctx).Raw("SELECT chat_id FROM ("+query+") AS found LIMIT ?", append(args, maxFound)...).Scan(&found).Error
	if err != nil || len(found) == 0 {
		return nil, err
	}
	tx := list(s.read(ctx)).Where(has, pattern, pattern)
	if len(found) < maxFound {
		// With LIMIT the databases look up the ids instead of scanning the list.
		of := s.read(ctx).Table("chats").Where("id IN ?", found).Limit(maxFound)
		tx = list(s.read(ctx).Table("(?) AS chats", of))
	}
	rows = nil
	err = tx.Limit(limit).Find(&rows).Error
	return rows, err
}

// looksFirst is 0, because the index yields its entries one by one.
func (*sqliteDB) looksFirst() int { return 0 }

// indexed joins the entries of the indexes, which have no texts, with their rows. What is
// not in an index is looked through: what is new, and long messages. A plus keeps SQLite
// from looking through all rows of the owner instead of the new ones.
func (d *sqliteDB) indexed(owner, text, pattern string) (query string, args []any) {
	terms := append([]string{markOf(owner)}, searchTerms(text)...)
	for i, term := range terms {
		forms := sigmaForms(term)
		for j, form := range forms {
			forms[j] = `"` + strings.ReplaceAll(form, `"`, `""`) + `"`
		}
		terms[i] = "(" + strings.Join(forms, " OR ") + ")"
	}
	match := strings.Join(terms, " AND ")
	const messages = "owner = ? AND " + currentMessages + " AND "
	query = "SELECT id AS chat_id FROM chats_search CROSS JOIN chats ON chats.id = chats_search.rowid" +
		" WHERE chats_search MATCH ? AND owner = ? AND " + d.contains("title") +
		" UNION ALL SELECT chat_id FROM blocks_search CROSS JOIN blocks ON blocks.seq = blocks_search.rowid" +
		" WHERE blocks_search MATCH ? AND " + messages + d.contains("current") +
		" UNION ALL SELECT id FROM chats WHERE id > (SELECT at FROM sweeps WHERE kind = 'chats_indexed') AND +owner = ? AND " + d.contains("title") +
		" UNION ALL SELECT chat_id FROM blocks WHERE seq > (SELECT at FROM sweeps WHERE kind = 'blocks_indexed') AND length(current) <= 16384 AND +" + messages + d.contains("current") +
		" UNION ALL SELECT chat_id FROM blocks WHERE length(current) > 16384 AND " + messages + d.contains("current")
	return query, []any{match, owner, pattern, match, owner, pattern, owner, pattern, owner, pattern, owner, pattern}
}

// sigmaForms returns the forms that a term of foldSigma has in an index, whose texts have
// both letters.
func sigmaForms(term string) []string {
	forms := []string{""}
	for _, r := range term {
		n := len(forms)
		for i := range n {
			if r == 'σ' {
				forms = append(forms, forms[i]+"ς")
			}
			forms[i] += string(r)
		}
	}
	return forms
}

// searchTerms returns at most maxTerms different sequences of termLength characters of
// the text, from all its parts.
func searchTerms(text string) []string {
	runes := []rune(text)
	last := len(runes) - termLength
	n := min(last+1, maxTerms)
	var terms []string
	for i := range n {
		at := i * last / max(n-1, 1)
		if term := string(runes[at : at+termLength]); !slices.Contains(terms, term) {
			terms = append(terms, term)
		}
	}
	return terms
}
