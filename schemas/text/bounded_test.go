package text_test

import (
	"errors"
	"strings"
	"testing"
	"text/template"

	"github.com/chattray/chattray/schemas/text"
)

// A template ends whatever the data are, and those that take few steps write what they
// would write anyway.
func TestBoundedTemplates(t *testing.T) {
	many := make([]any, 10_000)
	for i := range many {
		many[i] = int64(i)
	}
	data := map[string]any{"many": many, "few": []any{int64(1), int64(2), int64(3)}, "count": int64(1) << 60, "name": "Ann", "long": strings.Repeat("x", 1<<20)}
	for _, tt := range []struct {
		source, want string
		endless      bool
	}{
		{"{{.name}}", "Ann", false},
		{"", "", false},
		{"{{range .few}}{{.}};{{else}}none{{end}}", "1;2;3;", false},
		{"{{range .none}}{{.}}{{else}}none{{end}}", "none", false},
		{"{{range $i, $a := .few}}{{range $b := $.few}}{{if eq $a $b}}{{$i}}{{end}}{{end}}{{end}}", "012", false},
		{"{{range .few}}{{if eq . 2}}{{continue}}{{end}}{{.}}{{end}}", "13", false},
		{`{{define "one"}}<{{.}}>{{end}}{{range .few}}{{template "one" .}}{{end}}`, "<1><2><3>", false},
		{"{{range .many}}{{end}}{{len .many}}", "10000", false},
		{"{{range $a := .many}}{{range $b := $.many}}{{end}}{{end}}", "", true},
		{"{{with .many}}{{range $a := .}}{{if true}}{{range $b := $.many}}{{end}}{{end}}{{end}}{{end}}", "", true},
		{"begin {{range .count}}{{end}}", "begin ", true},
		{`{{range .none}}{{else}}{{range .count}}{{end}}{{end}}`, "", true},
		{`{{define "two"}}{{template "two"}}{{end}}{{template "two"}}`, "", true},
		{`{{define "each"}}{{range .count}}{{end}}{{end}}{{template "each" .}}`, "", true},
		{"{{range .many}}{{range $.many}}{{if eq (len (printf \"%s\" $.long)) 1}}{{end}}{{end}}{{end}}", "", true}, // each step does much
	} {
		parsed := text.Bounded(template.Must(template.New("t").Parse(tt.source)))
		for n := range 2 { // each execution counts from 0
			if n > 0 && strings.Contains(tt.source, "long") {
				break // it takes as long as it may
			}
			var out strings.Builder
			err := parsed.Execute(&out, data)
			if errors.Is(err, text.ErrEndless) != tt.endless || err != nil && !tt.endless || out.String() != tt.want {
				t.Errorf("%s gives %.100q, %v; want %q, endless %t", tt.source, out.String(), err, tt.want, tt.endless)
			}
		}
	}
}
