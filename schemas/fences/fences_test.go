package fences_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/fences"
)

func TestFencesAreRemoved(t *testing.T) {
	const header = `{"mark":"bar"}`
	long := strings.Repeat("word ", 300)
	tests := []struct{ name, kind, text, want string }{
		{"table", schemas.BlockCSV, "```csv\na,b\n1,2\n```", "a,b\n1,2"},
		{"line break after it", schemas.BlockCSV, "\n```csv\na,b\n1,2\n```\n\n", "a,b\n1,2"},
		{"without a language", schemas.BlockCSV, "```\na\n1\n```", "a\n1"},
		{"tildes", schemas.BlockCSV, "~~~ csv\na\n1\n~~~", "a\n1"},
		{"longer fence", schemas.BlockCSV, "````csv\na\n```\n1\n````", "a\n```\n1"},
		{"CRLF", schemas.BlockCSV, "```csv\r\na,b\r\n1,2\r\n```\r\n", "a,b\r\n1,2"},
		{"not closed", schemas.BlockCSV, "```csv\na,b\n1,2\n", "a,b\n1,2\n"},
		{"cut in the closing fence", schemas.BlockCSV, "```csv\na,b\n1,2\n``", "a,b\n1,2\n``"},
		{"sentence before", schemas.BlockCSV, "Here is the table:\n\n```csv\na,b\n1,2\n```", "a,b\n1,2"},
		{"sentence right before", schemas.BlockCSV, "Here is the table\n```csv\na,b\n1,2\n```", "a,b\n1,2"},
		{"sentences before and after", schemas.BlockCSV, "Of course, here it is.\nIt has two columns.\n\nThe table:\n```\na,b\n```\nShall I go on?", "a,b"},
		{"row before an empty fence that is not closed", schemas.BlockCSV, "Markdown sign\n```\n", "Markdown sign\n```\n"},
		{"row before the beginning of a fence", schemas.BlockCSV, "a | b ```csv\n ```csv", "a | b ```csv\n ```csv"},
		{"only the beginning of a fence", schemas.BlockCSV, "```csv\n", ""},
		{"empty", schemas.BlockCSV, "```csv\n```", ""},
		{"no fence", schemas.BlockCSV, "a,b\n1,2\n", "a,b\n1,2\n"},
		{"one column", schemas.BlockCSV, "Name\nAnn\n```\nBob", "Name\nAnn\n```\nBob"},
		{"header with spaces", schemas.BlockCSV, "Name, Age\nAnn, 3", "Name, Age\nAnn, 3"},
		{"quoted field", schemas.BlockCSV, "\"a\n```\nb\",c\n1,2", "\"a\n```\nb\",c\n1,2"},
		{"one line", schemas.BlockCSV, "Here is the table", "Here is the table"},
		{"words without a table", schemas.BlockCSV, "I can not do that.\n\nAsk again.", "I can not do that.\n\nAsk again."},
		{"many words", schemas.BlockCSV, long + "\n```csv\na\n```", long + "\n```csv\na\n```"},
		{"inline code", schemas.BlockCSV, "```a,b```\n1,2", "```a,b```\n1,2"},
		{"second table", schemas.BlockCSV, "```csv\na\n```\n```csv\nb\n```", "a"},
		{"chart in one fence", schemas.BlockChart, "```\n" + header + "\nx,y\n1,2\n```\nDone.", header + "\nx,y\n1,2"},
		{"header and data in fences", schemas.BlockChart, "The header:\n```json\n" + header + "\n```\nThe data:\n```csv\nx,y\n1,2\n```\n", header + "\nx,y\n1,2"},
		{"header in a fence", schemas.BlockChart, "```json\n" + header + "\n```\nx,y\n1,2\n", header + "\nx,y\n1,2\n"},
		{"data in a fence", schemas.BlockChart, header + "\n```csv\nx,y\n1,2\n```", header + "\nx,y\n1,2"},
		{"chart without a fence", schemas.BlockChart, header + "\nx,y\n1,2", header + "\nx,y\n1,2"},
		{"Markdown", schemas.BlockMarkdown, "```go\nx\n```", "```go\nx\n```"},
		{"another type", "mermaid", "```go\nx\n```", "```go\nx\n```"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fences.Whole(tt.kind, tt.text); got != tt.want {
				t.Errorf("whole: got %q, want %q", got, tt.want)
			}
			f, got := fences.New(tt.kind), ""
			for _, c := range tt.text {
				got += f.Feed(string(c))
			}
			if got += f.End(); got != tt.want {
				t.Errorf("in single characters: got %q, want %q", got, tt.want)
			}
			if got := fences.Whole(tt.kind, tt.want); got != tt.want && tt.name != "longer fence" {
				t.Errorf("again: got %q, want %q", got, tt.want)
			}
		})
	}
}

// Wherever a text is cut, the content is the same.
func TestAnyCutGivesTheSame(t *testing.T) {
	parts := []string{"```", "csv", "\n", "\r\n", "a,b", "Here it is:", "~~~", "`", " ", "{\"mark\":1}", "1, 2", "é", ".", "\"", "\n\n"}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for range 1 + r.IntN(14) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		if r.IntN(8) == 0 {
			b.WriteString(strings.Repeat("x", 990) + "\n```\na\n```")
		}
		if r.IntN(8) == 0 { // about as long as a line with a fence may be
			b.WriteString(strings.Repeat([]string{" ", "`", "~"}[r.IntN(3)], 490+r.IntN(20)) + "\na\n```")
		}
		text := b.String()
		for _, kind := range []string{schemas.BlockCSV, schemas.BlockChart} {
			want, f, got := fences.Whole(kind, text), fences.New(kind), ""
			for rest := text; rest != ""; {
				n := 1 + r.IntN(min(len(rest), 5))
				got += f.Feed(rest[:n])
				rest = rest[n:]
			}
			if got += f.End(); got != want {
				t.Fatalf("%s %q: got %q, want %q", kind, text, got, want)
			}
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("Here:\n```csv\na\n```", 3)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 || n > len(text) {
			return
		}
		for _, kind := range []string{schemas.BlockCSV, schemas.BlockChart} {
			cut := fences.New(kind)
			if got, want := cut.Feed(text[:n])+cut.Feed(text[n:])+cut.End(), fences.Whole(kind, text); got != want {
				t.Fatalf("%s %q cut at %d: got %q, want %q", kind, text, n, got, want)
			}
		}
	})
}

func TestClosed(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"Plain `code` and ```a``` here.": "Plain `code` and ```a``` here.",
		"```go\nx\n```\n":                "```go\nx\n```\n",
		"```go\nx\n":                     "```go\nx\n```",
		"```go\nx":                       "```go\nx\n```",
		"```":                            "```\n```",
		"~~~~\nx\n```\n~~~\n":            "~~~~\nx\n```\n~~~\n~~~~",
		"```\r\nx\r\n```\r\ny":           "```\r\nx\r\n```\r\ny",
		"```\na\n```\n\n```\nb":          "```\na\n```\n\n```\nb\n```",
		"- a\n  ```\n  x":                "- a\n  ```\n  x", // the list ends it
		"- ```go\n  x\n  ```\n\nb":       "- ```go\n  x\n  ```\n\nb",
		"1. ```\n   x\n   ```\n2. b":     "1. ```\n   x\n   ```\n2. b",
		"1. a\n   ```\n   x\n\nb":        "1. a\n   ```\n   x\n\nb",
		"```md\n- a\n    ```\n    x\n":   "```md\n- a\n    ```\n    x\n```",
		"```md\n- a\n    ```\n\n```\nb":  "```md\n- a\n    ```\n\n```\nb",
		"1. a\n\n    ```\n    x":         "1. a\n\n    ```\n    x",
		"a\n<!-- b\n\n```\nc":            "a\n<!-- b\n\n```\nc\n-->",
		"<!-- a -->\nb <!-- c":           "<!-- a -->\nb <!-- c",
		"<!--\na --> b\n\n```\nc":        "<!--\na --> b\n\n```\nc\n```",
		"```\n<!-- a":                    "```\n<!-- a\n```",
		"    <!-- code":                  "    <!-- code",
		"- a\n  ```\n  <?php\n  ```":     "- a\n  ```\n  <?php\n  ```",
		"<Pre class=x>\na":               "<Pre class=x>\na\n</pre>",
		"<script>\na</SCRIPT>\n<prefix":  "<script>\na</SCRIPT>\n<prefix",
		"<!-->\na":                       "<!-->\na",
	} {
		if got := fences.Closed(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Whatever a model writes, little of it is held: all that is held is looked at again with each
// piece.
func TestHeldIsBounded(t *testing.T) {
	const size, most = 20_000, 1100
	for _, kind := range []string{schemas.BlockCSV, schemas.BlockChart, schemas.BlockMarkdown} {
		for _, begin := range []string{"", "```\n", "~~~csv\na,b\n", "{\"mark\":\"bar\"}\n", "Here it is:\n"} {
			for _, unit := range []string{" ", "`", "~", "\t", "\r", "`` ", "x", ",", "\n", " \n", "a\n", "```\n"} {
				f, shown := fences.New(kind), 0
				text := begin + strings.Repeat(unit, size/len(unit))
				for at := 0; at < len(text); at += 8 {
					shown += len(f.Feed(text[at:min(len(text), at+8)]))
					if held := at - shown; held > most && !f.Beside() {
						t.Errorf("%s, %q and many %q: %d bytes are held", kind, begin, unit, held)
						break
					}
				}
			}
		}
	}
}
