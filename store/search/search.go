// Package search says in SQL how the databases find texts: chats by what is in them, and
// articles by their words. Both databases find the same. Its callers run the statements.
package search

import (
	"strings"

	"gorm.io/gorm"
)

// TermLength is the length of the terms of an index of chats, in characters.
const TermLength = 3

// Database is how one of the databases finds texts.
type Database interface {
	// Contains returns the condition that a column has a lower-case text, ignoring the
	// column's case. Its argument is the Pattern of the text.
	Contains(column string) string
	Pattern(text string) string
	// LooksFirst returns how many of the newest chats a search looks through before it
	// asks the index.
	LooksFirst() int
	// Indexed returns a SELECT of the ids of the owner's chats whose title or current
	// messages have the lower-case text of at least TermLength characters, which is also
	// given as a pattern; an id may come several times.
	Indexed(owner, text, pattern string) (query string, args []any)
	// AnyWord narrows tx to the articles with some of the words, AllWords to those with
	// all, the best first.
	AnyWord(tx *gorm.DB, words []string) *gorm.DB
	AllWords(tx *gorm.DB, words []string) *gorm.DB
}

// FoldSigma returns the lower-case text with the sigma that ends words as the other one:
// in capitals they are the same letter.
func FoldSigma(text string) string { return strings.ReplaceAll(text, "ς", "σ") }
