package search

import (
	"context"
	"database/sql"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"gorm.io/gorm"

	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// Postgres ignores case as the locale of its database does: C knows the letters a to z
// alone, and a Turkish one takes I for another letter than i. A search finds the same
// everywhere, and what it finds on SQLite, because its patterns list each letter's cases.

// capitals returns, for each letter, those whose lower case it is, and for sigma also the
// one that ends words.
var capitals = sync.OnceValue(func() map[rune][]rune {
	of := make(map[rune][]rune)
	for _, cases := range unicode.CaseRanges {
		for c := rune(cases.Lo); c <= rune(cases.Hi); c++ {
			if r := unicode.ToLower(c); r != c {
				of[r] = append(of[r], c)
			}
		}
	}
	of['σ'] = append(of['σ'], 'ς')
	return of
})

// Postgres has indexes of pg_trgm and of words.
type Postgres struct {
	unknown string // the letters that ILIKE and the index do not find by all of their capitals
	anyI    bool   // what the index has of a capital I cannot be named
}

// NewPostgres returns the searches of a database. They depend on its locale.
func NewPostgres(ctx context.Context, db *sql.DB) (*Postgres, error) {
	p := new(Postgres)
	return p, p.learn(ctx, db)
}

// Contains compares with a regular expression.
func (*Postgres) Contains(column string) string { return column + " ~ ?" }

// Pattern returns a regular expression for the lower-case text in any case.
func (*Postgres) Pattern(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteString(letter(r, capitals()[r]))
	}
	return b.String()
}

// letter returns a regular expression for a character or one of its capitals.
func letter(r rune, capitals []rune) string {
	if len(capitals) == 0 {
		return regexp.QuoteMeta(string(r))
	}
	return "[" + string(r) + string(capitals) + "]"
}

// LooksFirst is not 0, because the index yields no entry before it has found all.
func (*Postgres) LooksFirst() int { return 100 }

// Indexed uses conditions for which Postgres has indexes, and looks at what they find. If
// the database knows all letters of the text, the condition is ILIKE, which needs the fewest
// entries of an index. concat keeps the pattern from being looked up in the index of titles:
// there the entries of some capitals differ.
func (p *Postgres) Indexed(owner, text, pattern string) (query string, args []any) {
	near := func(column string) string { return column + " ILIKE ?" }
	patterns := []any{"%" + values.EscapeLike.Replace(text) + "%"}
	if strings.ContainsAny(text, p.unknown) {
		near = func(column string) string { return column + " ~ ? AND " + column + " LIKE ?" }
		patterns = p.nearPatterns(text)
	}
	const messages = " UNION ALL SELECT chat_id FROM blocks WHERE owner = ? AND " + tables.CurrentMessages + " AND "
	query = "SELECT id AS chat_id FROM chats WHERE owner = ? AND " + near("title") + " AND " + p.Contains("concat(title)") +
		messages + near("left(current, 16384)") + " AND " + p.Contains("current") +
		messages + "length(current) > 16384 AND " + p.Contains("current")
	entries := append(append([]any{owner}, patterns...), pattern)
	return query, slices.Concat(entries, entries, []any{owner, pattern})
}

// nearLetters are the letters whose capitals have another lower case in some locale, which
// pg_trgm puts into its index: the dot of a Turkish capital may become a character of its
// own, and the dotless letter or the last sigma of a word another one.
var nearLetters = map[rune]string{'i': "[iIİı]\u0307?", '\u0307': "\u0307?", 'σ': "[σΣς]"}

// nearPatterns returns a regular expression, and a pattern of LIKE, that both match if the
// text is there, and maybe if it is not. pg_trgm has no entries for a part of an expression
// that has a character above its limit: so the first one has any character for a letter with
// a capital such as the Kelvin sign, and the second one has the characters that have no case.
func (p *Postgres) nearPatterns(text string) []any {
	const limit = 0x7ff
	var expression, like strings.Builder
	like.WriteByte('%')
	for _, r := range text {
		capitals := capitals()[r]
		near, known := nearLetters[r]
		switch {
		case r == 'i' && p.anyI:
			near = "."
		case known:
		case r <= limit && slices.ContainsFunc(capitals, func(c rune) bool { return c > limit }):
			near = "."
		default:
			near = letter(r, capitals)
		}
		expression.WriteString(near)
		if known || len(capitals) > 0 {
			like.WriteByte('%')
		} else {
			like.WriteString(values.EscapeLike.Replace(string(r)))
		}
	}
	like.WriteByte('%')
	return []any{expression.String(), like.String()}
}

// learn asks for the letters that ILIKE does not find by all of their capitals. They
// are asked for after another letter, because a sigma at the end of a word differs. With the
// LC_CTYPE C the index takes only ASCII letters for parts of words, whatever ILIKE knows: it
// has other entries of a word with the Kelvin sign than of one with a k. Since version 18 it
// has lower case as the database's locale writes it, where a Turkish i has no dot, or the dot
// of the capital is a character of its own that no pattern finds within a word.
func (p *Postgres) learn(ctx context.Context, db *sql.DB) error {
	var letters, capital []string
	for _, r := range slices.Sorted(maps.Keys(capitals())) {
		for _, c := range capitals()[r] {
			letters, capital = append(letters, string(r)), append(capital, string(c))
		}
	}
	return db.QueryRowContext(ctx, "SELECT COALESCE(string_agg(DISTINCT l, ''), ''),"+
		" current_setting('server_version_num')::int >= 180000 AND lower('I\u0130') NOT IN ('ii', 'i\u0130')"+
		" FROM unnest(string_to_array($1, ' '), string_to_array($2, ' ')) AS pair (l, c) WHERE 'a' || c NOT ILIKE 'a' || l OR ascii(l) < 128 AND ascii(c) > 127"+
		" AND (SELECT datctype IN ('C', 'POSIX') FROM pg_database WHERE datname = current_database())",
		strings.Join(letters, " "), strings.Join(capital, " ")).Scan(&p.unknown, &p.anyI)
}

// AnyWord lets Postgres make a query from each word.
func (*Postgres) AnyWord(tx *gorm.DB, words []string) *gorm.DB { return ranked(tx, words, " || ") }

// AllWords does the same for articles with all of them.
func (*Postgres) AllWords(tx *gorm.DB, words []string) *gorm.DB { return ranked(tx, words, " && ") }

func ranked(tx *gorm.DB, words []string, operator string) *gorm.DB {
	query := strings.Repeat(operator+"plainto_tsquery('english', ?)", len(words))[len(operator):]
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	return tx.Joins("JOIN (SELECT "+query+" AS words) AS q ON articles.search @@ q.words", args...).
		Order("ts_rank_cd(articles.search, q.words) DESC, articles.id")
}
