package search

import (
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/chattray/chattray/store/tables"
)

// maxTerms bounds the terms of a text that are looked up.
const maxTerms = 8

// SQLite has indexes of FTS5, and functions of its own.
type SQLite struct{}

// Contains uses a function that the connections have.
func (SQLite) Contains(column string) string { return hasText + "(" + column + ", ?)" }

// Pattern returns the text.
func (SQLite) Pattern(text string) string { return text }

// LooksFirst is 0, because the index yields its entries one by one.
func (SQLite) LooksFirst() int { return 0 }

// Indexed joins the entries of the indexes, which have no texts, with their rows. What is
// not in an index is looked through: what is new, and long messages. A plus keeps SQLite
// from looking through all rows of the owner instead of the new ones.
func (d SQLite) Indexed(owner, text, pattern string) (query string, args []any) {
	terms := append([]string{markOf(owner)}, searchTerms(text)...)
	for i, term := range terms {
		forms := sigmaForms(term)
		for j, form := range forms {
			forms[j] = quoted(form)
		}
		terms[i] = "(" + strings.Join(forms, " OR ") + ")"
	}
	match := strings.Join(terms, " AND ")
	const messages = "owner = ? AND " + tables.CurrentMessages + " AND "
	query = "SELECT id AS chat_id FROM chats_search CROSS JOIN chats ON chats.id = chats_search.rowid" +
		" WHERE chats_search MATCH ? AND owner = ? AND " + d.Contains("title") +
		" UNION ALL SELECT chat_id FROM blocks_search CROSS JOIN blocks ON blocks.seq = blocks_search.rowid" +
		" WHERE blocks_search MATCH ? AND " + messages + d.Contains("current") +
		" UNION ALL SELECT id FROM chats WHERE id > (SELECT at FROM sweeps WHERE kind = 'chats_indexed') AND +owner = ? AND " + d.Contains("title") +
		" UNION ALL SELECT chat_id FROM blocks WHERE seq > (SELECT at FROM sweeps WHERE kind = 'blocks_indexed') AND length(current) <= 16384 AND +" + messages + d.Contains("current") +
		" UNION ALL SELECT chat_id FROM blocks WHERE length(current) > 16384 AND " + messages + d.Contains("current")
	return query, []any{match, owner, pattern, match, owner, pattern, owner, pattern, owner, pattern, owner, pattern}
}

// sigmaForms returns the forms that a term of FoldSigma has in an index, whose texts have
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

// searchTerms returns at most maxTerms different sequences of TermLength characters of
// the text, from all its parts.
func searchTerms(text string) []string {
	runes := []rune(text)
	last := len(runes) - TermLength
	n := min(last+1, maxTerms)
	var terms []string
	for i := range n {
		at := i * last / max(n-1, 1)
		if term := string(runes[at : at+TermLength]); !slices.Contains(terms, term) {
			terms = append(terms, term)
		}
	}
	return terms
}

// AnyWord makes each word a quoted string, in which only the quote is special.
func (SQLite) AnyWord(tx *gorm.DB, words []string) *gorm.DB { return matching(tx, words, " OR ") }

// AllWords does the same for articles with all of them.
func (SQLite) AllWords(tx *gorm.DB, words []string) *gorm.DB { return matching(tx, words, " AND ") }

func matching(tx *gorm.DB, words []string, operator string) *gorm.DB {
	quotes := make([]string, len(words))
	for i, word := range words {
		quotes[i] = quoted(word)
	}
	return tx.Joins("JOIN articles_search ON articles_search.rowid = articles.id").
		Where("articles_search MATCH ?", strings.Join(quotes, operator)).Order("bm25(articles_search, 4.0, 1.0, 2.0), articles.id")
}

// quoted returns a text as a string of FTS5.
func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }
