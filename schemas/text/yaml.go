package text

import "strings"

// YAMLHint says what to write instead, for an error of the library that reads YAML. It
// begins with a semicolon, and is empty if there is nothing to say.
func YAMLHint(err string) string {
	for part, hint := range yamlHints {
		if strings.Contains(err, part) {
			return "; " + hint
		}
	}
	return ""
}

// yamlHints are by a part of the library's error. No error has two of the parts.
var yamlHints = map[string]string{
	"mapping values are not allowed":    `a text with ": " in it needs quotation marks, and the keys of one mapping have the same indentation`,
	"found character that cannot start": "indent with spaces, not tabs; a text that begins with @, % or ` needs quotation marks",
	"did not find expected":             "the entries of one mapping or list have the same indentation; each bracket and quotation mark needs its end",
	"unknown anchor":                    "a text that begins with * needs quotation marks",
}
