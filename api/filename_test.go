package api_test

import (
	"mime"
	"strings"
	"testing"

	"github.com/chattray/chattray/api"
)

// TestFileNames shows that the name of a file shows what it is, whatever the title has.
func TestFileNames(t *testing.T) {
	for title, want := range map[string]string{
		"Gold":                            "Gold",
		"Gold\u202efdp.exe":               "Gold fdp.exe", // U+202E shows what follows from right to left
		"a\u2066b\u2069c\u200fd\u061ce":   "a b c d e",
		"soft\u00adhyphen\ufeff":          "soft hyphen",
		"two\u2028lines\u0085three\nfour": "two lines three four",
		"no\u00a0break\u3000wide":         "no break wide",
		"private \ue000 use":              "private   use",
		"../../etc/passwd":                "etc passwd",
		`C:\a*b?"<>|`:                     "C  a b",
		"\u202e. ":                        "other",
		"":                                "other",
		"می\u200cخواهم":                   "می\u200cخواهم",
		"👩\u200d🔬 é":                      "👩\u200d🔬 é",
		strings.Repeat("é", 60):           strings.Repeat("é", 50),
	} {
		kind, params, err := mime.ParseMediaType(api.FileName(title))
		if err != nil || kind != "attachment" || params["filename"] != want+".md" {
			t.Errorf("%q gives %s %q, %v; want %q", title, kind, params["filename"], err, want+".md")
		}
	}
}
