package text

import (
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many characters may belong to one before them. A letter with more
// marks is split.
const maxMarks = 32

const joiner = '\u200d' // makes one emoji of two

// wholeBefore returns the last place up to at where s can be cut without splitting what
// is shown as one character: an emoji of several, a flag, a letter with its marks.
func wholeBefore(s string, at int) int {
	cut := at
	for range maxMarks {
		before, size := utf8.DecodeLastRuneInString(s[:cut])
		next, _ := utf8.DecodeRuneInString(s[cut:])
		if cut == 0 || cut == len(s) || before != joiner && !belongsBefore(next) && (!isFlagLetter(next) || evenFlagLetters(s[:cut])) {
			return cut
		}
		cut -= size
	}
	return at
}

// belongsBefore reports whether r changes the character before it.
func belongsBefore(r rune) bool {
	return r == joiner || unicode.IsMark(r) ||
		r >= '\U0001F3FB' && r <= '\U0001F3FF' || // tones of skin
		r >= '\U000E0020' && r <= '\U000E007F' || // tags, of regional flags
		r >= '\u1160' && r <= '\u11FF' // vowels and ends of Korean syllables
}

// isFlagLetter reports whether r is one of the letters of which two make a flag.
func isFlagLetter(r rune) bool { return r >= '\U0001F1E6' && r <= '\U0001F1FF' }

// evenFlagLetters reports whether s ends with whole flags, or without any.
func evenFlagLetters(s string) bool {
	even := true
	for s != "" {
		r, size := utf8.DecodeLastRuneInString(s)
		if !isFlagLetter(r) {
			break
		}
		even, s = !even, s[:len(s)-size]
	}
	return even
}
