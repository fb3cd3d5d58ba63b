package demo

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Bounds of a topic and of a title, in words, and of a word, in bytes.
const (
	maxTopicWords = 6
	maxTitleWords = 6
	maxWord       = 40
	// maxParts is the number of sub-questions into which research splits a topic.
	maxParts = 4
)

var (
	// stopWords are words of requests that do not name a topic, in a few
	// languages.
	stopWords = strings.Fields(read("stopwords.txt"))
	// fillers are words that titles leave out.
	fillers = strings.Fields("a an the me my please can could would you i to of for and about on in with what is are how do does this that")
	// subject matches the text after a word that announces the topic.
	subject = regexp.MustCompile(`(?is)\b(?:about|regarding|concerning|(?:articles?|document|overview|papers?|reports?|research) on)\b(.+)`)
)

// Topic returns what the question is about: the words after "about", else all
// its words, without stop words. They are letters, digits and hyphens, so
// quoting them is safe.
func (r *request) Topic() string {
	if after := subject.FindStringSubmatch(r.question); after != nil {
		if topic := topicOf(after[1]); topic != "" {
			return topic
		}
	}
	return topicOf(r.question)
}

func topicOf(question string) string {
	words := strings.FieldsFunc(question, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsMark(c) && !unicode.IsDigit(c) && c != '-'
	})
	return pick(words, maxTopicWords, func(word string) bool {
		return strings.Trim(word, "0123456789") == "" || len(word) > maxWord || slices.Contains(stopWords, word)
	})
}

// pick joins the first words that are not dropped; drop gets words in lower
// case.
func pick(words []string, limit int, drop func(word string) bool) string {
	var kept []string
	for _, w := range words {
		w = strings.TrimFunc(w, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsMark(c) && !unicode.IsDigit(c) })
		if w != "" && !drop(strings.ToLower(w)) && len(kept) < limit {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// Title is one for the chat: the words of its first question that name its topic.
func (r *request) Title() string {
	title := ""
	if at := slices.IndexFunc(r.Facts.Older, func(m turn.Message) bool { return m.Role == turn.User }); at >= 0 {
		title = pick(strings.Fields(r.Facts.Older[at].Content), maxTitleWords, func(word string) bool { return slices.Contains(fillers, word) })
	}
	return capital(cmp.Or(title, "A conversation"))
}

// Telling returns the topic's most specific word: one with a digit or an inner
// capital, as in names of genes and drugs, else the longest.
func (r *request) Telling() string {
	weight := func(w string) int {
		if strings.ContainsFunc(w[1:], func(c rune) bool { return unicode.IsUpper(c) || unicode.IsDigit(c) }) {
			return len(w) + maxWord
		}
		return len(w)
	}
	return slices.MaxFunc(strings.Fields(r.Topic()), func(a, b string) int { return weight(a) - weight(b) })
}

// Searched returns the words of the last search for articles: the topic, or only its most
// specific word if the topic found nothing.
func (r *request) Searched() string {
	if r.Rounds > 1 {
		return r.Telling()
	}
	return r.Topic()
}

// TopicWords returns the words that research searches for besides the whole
// topic.
func (r *request) TopicWords() []string {
	words := strings.Fields(r.Topic())
	if len(words) < 2 {
		return nil
	}
	return words[:min(len(words), maxParts-1)]
}

// mentions reports whether text has one of the topic's words.
func mentions(text, topic string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(strings.Fields(strings.ToLower(topic)), func(w string) bool { return strings.Contains(text, w) })
}

// capital returns the text with its first letter in upper case.
func capital(s string) string {
	first := text.Offset(s, 1)
	return strings.ToUpper(s[:first]) + s[first:]
}
