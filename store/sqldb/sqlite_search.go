package sqldb

import (
	"slices"
	"strings"

	"github.com/chattray/chattray/store/tables"
)

// TermLength is the length of an index's terms in characters, and maxTerms bounds the terms
// of a text that are looked up.
const TermLength, maxTerms = 3, 8

// LooksFirst is 0, because the index yields its entries one by one.
func (*sqliteDB) LooksFirst() int { return 0 }

// Indexed joins the entries of the indexes, which have no texts, with their rows. What is
// not in an index is looked through: what is new, and long messages. A plus keeps SQLite
// from looking through all rows of the owner instead of the new ones.
func (d *sqliteDB) Indexed(owner, text, pattern string) (query string, args []any) {
	terms := append([]string{markOf(owner)}, searchTerms(text)...)
	for i, term := range terms {
		forms := sigmaForms(term)
		for j, form := range forms {
			forms[j] = `"` + strings.ReplaceAll(form, `"`, `""`) + `"`
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
