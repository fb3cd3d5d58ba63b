package demo

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas/turn"
)

// maxTitleWords is how many words a chat's title has.
const maxTitleWords = 6

// fillers are words that a title does without.
var fillers = strings.Fields("a an the me my please can could would you i to of for and about on in with what is are how do does this that")

// nameChat is the answer to the service itself, when it wants a title for a chat:
// the words of the first question that say what it is about.
func nameChat(s *scene) reply {
	asked := ""
	if at := slices.IndexFunc(s.facts.Older, func(m turn.Message) bool { return m.Role == turn.User }); at >= 0 {
		asked = s.facts.Older[at].Content
	}
	var title []string
	for word := range strings.FieldsSeq(asked) {
		word = strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if word == "" || slices.Contains(fillers, strings.ToLower(word)) {
			continue
		}
		if title = append(title, word); len(title) == maxTitleWords {
			break
		}
	}
	text := strings.Join(title, " ")
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return reply{bare: true, text: "A conversation"}
	}
	return reply{bare: true, text: string(unicode.ToUpper(first)) + text[size:]}
}
