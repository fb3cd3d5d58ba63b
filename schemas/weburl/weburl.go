// Package weburl finds addresses in text and compares them, so that an address
// from a text can be told from one that a model has composed.
package weburl

import (
	"encoding/json"
	"html"
	"iter"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the search.
const (
	// maxAddress is the longest address that is found in a text, in bytes.
	maxAddress = 2 << 10
	// maxReadings bounds the beginnings and ends of an address that are tried
	// in a word.
	maxReadings = 8
)

const (
	// borders may be inside an address or around it; another address may begin
	// after them.
	borders = "()[]',;，。、；（）「」『』【】“”‘’«»"
	// trails may follow an address and are not part of it.
	trails = ".,;:!?'*_~…，。、；！？”’»」』】）"
)

// Key returns the same key for all spellings of an address that make the same
// request to the same host: http or https, the case of the host, a default port
// and a fragment make no difference. Without a scheme https is assumed. A text
// that is not an address has a key that no address has.
func Key(address string) string {
	s := strings.TrimSpace(address)
	switch {
	case strings.HasPrefix(s, "//"):
		s = "https:" + s
	case !strings.Contains(s, "://"):
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" {
		return "! " + s
	}
	key, host := "", strings.ToLower(u.Host)
	switch u.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	default:
		key = u.Scheme + "://"
	}
	if u.User != nil {
		key += u.User.String() + "@"
	}
	key += host + "/" + strings.TrimPrefix(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		key += "?" + u.RawQuery
	}
	return key
}

// Given returns the keys of all addresses in a text. The end of an address is
// not always clear, so there may be several keys for one address. Marks of
// Markdown, HTML and JSON around and inside an address are understood. The time
// is linear in the text.
func Given(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		texts := []string{text}
		if strings.Contains(text, `\`) {
			texts = append(texts, unescape.Replace(text))
		}
		for _, text := range texts {
			for word := range strings.FieldsFuncSeq(text, ends) {
				for _, key := range readings(word) {
					if !yield(key) {
						return
					}
				}
			}
		}
	}
}

// unescape removes the escapes of JSON and Markdown that may be in an address.
var unescape = strings.NewReplacer(`\/`, `/`, `\u0026`, `&`, `\u003d`, `=`, `\u003D`, `=`, `\_`, `_`, `\*`, `*`, `\~`, `~`, `\#`, `#`, `\-`, `-`, `\.`, `.`, `\(`, `(`, `\)`, `)`, `\[`, `[`, `\]`, `]`)

// ends reports whether the character ends every address.
func ends(c rune) bool {
	return unicode.IsSpace(c) || unicode.IsControl(c) || strings.ContainsRune("<>\"`\\{}|^", c)
}

// readings returns the keys of all addresses that a word may contain.
func readings(word string) []string {
	if len(word) > maxAddress || !strings.ContainsAny(word, ".:") {
		return nil
	}
	var keys []string
	for _, from := range starts(word) {
		for _, to := range stops(word, from) {
			text := word[from:to]
			if !isAddress(text) {
				continue
			}
			keys = append(keys, Key(text))
			if plain := html.UnescapeString(text); plain != text {
				keys = append(keys, Key(plain))
			}
		}
	}
	return keys
}

// starts returns the places in a word where an address may begin.
func starts(word string) []int {
	from := []int{len(word) - len(strings.TrimLeftFunc(word, around))}
	for at := 0; len(from) < maxReadings; {
		i := strings.Index(word[at:], "://")
		if i < 0 {
			break
		}
		before := word[:at+i]
		from = append(from, len(strings.TrimRightFunc(before, schemeRune)))
		at += i + 3
	}
	for i, c := range word {
		if len(from) < maxReadings && strings.ContainsRune(borders, c) {
			from = append(from, i+utf8.RuneLen(c))
		}
	}
	slices.Sort(from)
	return slices.Compact(from)
}

// around reports whether the character may be before or after an address
// without being part of it.
func around(c rune) bool { return strings.ContainsRune(trails, c) || strings.ContainsRune(borders, c) }

func schemeRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'
}

// stops returns the places where an address that begins at from may end.
func stops(word string, from int) []int {
	if from >= len(word) {
		return nil
	}
	to := []int{len(word)}
	for end := len(word); len(to) < maxReadings; to = append(to, end) {
		c, size := utf8.DecodeLastRuneInString(word[from:end])
		if size == 0 || !around(c) {
			break
		}
		end -= size
	}
	for i, c := range word[from:] {
		if len(to) < 2*maxReadings && strings.ContainsRune(borders, c) {
			to = append(to, from+i)
		}
	}
	slices.Sort(to)
	return slices.Compact(to)
}

// isAddress reports whether a text begins with a scheme or with the name of a host.
func isAddress(text string) bool {
	return hasScheme(text) || isHost(text)
}

func hasScheme(text string) bool {
	i := strings.Index(text, "://")
	return i > 0 && strings.IndexFunc(text[:i], func(c rune) bool { return !schemeRune(c) }) < 0
}

// isHost reports whether a text begins with a host's name or an IPv4 address.
func isHost(text string) bool {
	host := text
	if i := strings.IndexAny(host, "/?#:"); i >= 0 {
		host = host[:i]
	}
	labels := strings.FieldsFunc(host, func(c rune) bool { return strings.ContainsRune(".。．｡", c) })
	if len(labels) < 2 {
		return false
	}
	for _, l := range labels {
		if strings.IndexFunc(l, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '-' && c != '_' }) >= 0 {
			return false
		}
	}
	last := labels[len(labels)-1]
	return utf8.RuneCountInString(last) > 1 && strings.IndexFunc(last, unicode.IsLetter) >= 0 || len(labels) == 4 && strings.Trim(strings.Join(labels, ""), "0123456789") == ""
}

// sent returns the keys of the addresses that a program may find in a text,
// each once: up to white space, or to the end if the text begins with an
// address.
func sent(text string) []string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "//") || hasScheme(text) {
		return []string{Key(text)}
	}
	var keys []string
	for word := range strings.FieldsSeq(text) {
		if at := strings.Index(word, "://"); at >= 0 {
			from := strings.LastIndexFunc(word[:at], func(c rune) bool { return !schemeRune(c) }) + 1
			keys = append(keys, Key(tidy(word[from:])))
			continue
		}
		if word = tidy(strings.TrimLeftFunc(word, func(c rune) bool { return around(c) || c == '"' || c == '<' })); isHost(word) {
			keys = append(keys, Key(word))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// SentIn returns the keys that sent finds in all strings of a JSON value,
// including the names of members; none if raw is not JSON.
func SentIn(raw json.RawMessage) []string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	var keys []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			keys = append(keys, sent(v)...)
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for name, item := range v {
				keys = append(keys, sent(name)...)
				walk(item)
			}
		}
	}
	walk(v)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// tidy removes punctuation after an address.
func tidy(word string) string {
	for {
		short := strings.TrimRight(word, trails+`">`)
		if open := strings.LastIndexAny(short, "()[]"); open == len(short)-1 && open > 0 {
			pair := map[byte]string{')': "(", ']': "["}[short[open]]
			if pair == "" || strings.Count(short, pair) < strings.Count(short, short[open:]) {
				short = short[:open]
			}
		}
		if short == word {
			return word
		}
		word = short
	}
}
