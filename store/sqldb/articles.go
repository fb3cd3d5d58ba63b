package sqldb

import (
	"strings"

	"gorm.io/gorm"
)

// SearchArticles makes each word a quoted string of FTS5, in which only the quote is special.
func (*sqliteDB) SearchArticles(tx *gorm.DB, words []string, all bool) *gorm.DB {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = `"` + strings.ReplaceAll(word, `"`, `""`) + `"`
	}
	operator := " OR "
	if all {
		operator = " AND "
	}
	return tx.Joins("JOIN articles_search ON articles_search.rowid = articles.id").
		Where("articles_search MATCH ?", strings.Join(quoted, operator)).Order("bm25(articles_search, 4.0, 1.0, 2.0), articles.id")
}

// SearchArticles lets Postgres make a query from each word.
func (*postgresDB) SearchArticles(tx *gorm.DB, words []string, all bool) *gorm.DB {
	operator := " || "
	if all {
		operator = " && "
	}
	query := strings.Repeat(operator+"plainto_tsquery('english', ?)", len(words))[len(operator):]
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	return tx.Joins("JOIN (SELECT "+query+" AS words) AS q ON articles.search @@ q.words", args...).
		Order("ts_rank_cd(articles.search, q.words) DESC, articles.id")
}
