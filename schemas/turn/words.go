package turn

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Words are the texts that users read about a tool: Title says what a call does
// ("Read a report"), Done what has been done ("Read a report"). Done has a
// second form for several calls, after a bar and with {n} for their number:
// "Read a report|Read {n} reports". If one is empty, the page uses the tool's
// name.
type Words struct {
	Title string
	Done  string
}

// maxWords is the length of a title, and of each form of Done, in characters.
const maxWords = 80

// Fault returns what is wrong with the words.
func (w Words) Fault() error {
	one, several, counted := strings.Cut(w.Done, "|")
	var wrong []error
	for _, text := range []string{w.Title, one, several} {
		if utf8.RuneCountInString(text) > maxWords {
			wrong = append(wrong, errors.New("its title and each form of done must have 80 characters at most"))
			break
		}
	}
	if strings.Contains(w.Title, "|") || strings.Contains(several, "|") || counted && (strings.TrimSpace(one) == "" || !strings.Contains(several, "{n}")) {
		wrong = append(wrong, errors.New("its done must be one text, or two with a bar between them and {n} in the second"))
	}
	return errors.Join(wrong...)
}
