package text_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas/text"
)

func TestShorten(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"ellipsis of what fits", text.Ellipsis("héllo", 5), "héllo"},
		{"ellipsis", text.Ellipsis("héllo wörld", 7), "héllo…"},
		{"ellipsis after a space", text.Ellipsis("ab cdef", 4), "ab…"},
		{"beginning", text.Beginning("héllo", 2), "hé"},
		{"beginning of what fits", text.Beginning("🇨🇦", 9), "🇨🇦"},
		{"beginning of what fits and ends in a joiner", text.Beginning("क र्\u200d", 9), "क र्\u200d"},
		{"beginning in a family", text.Beginning("we 👨‍👩‍👧 go", 6), "we "},
		{"ellipsis in a family", text.Ellipsis("we 👨‍👩‍👧 go", 6), "we…"},
		{"ellipsis after a family", text.Ellipsis("we 👨‍👩‍👧 go", 9), "we 👨‍👩‍👧…"},
		{"ellipsis in a tone of skin", text.Ellipsis("ok 👍🏽 go", 5), "ok…"},
		{"ellipsis in a flag", text.Ellipsis("🇨🇦🇫🇷🇩🇪", 4), "🇨🇦…"},
		{"ellipsis in a heart", text.Ellipsis("a ❤️ b c", 4), "a…"},
		{"ellipsis in a flag of tags", text.Ellipsis("a 🏴\U000E0067\U000E0062\U000E007F b", 5), "a…"},
		{"ellipsis before an accent", text.Ellipsis("cafe\u0301 noir", 5), "caf…"},
		{"ellipsis in a syllable", text.Ellipsis("\u1112\u1161\u11ab\u1100\u1173\u11af", 3), "…"},
		{"ellipsis of marks without end", text.Ellipsis("a"+strings.Repeat("\u0301", 100), 50), "a" + strings.Repeat("\u0301", 48) + "…"},
		{"cut of what fits", text.Cut("héllo", 5, strconv.Itoa), "héllo"},
		{"cut", text.Cut("héllo wörld", 7, strconv.Itoa), "héllo…11"},
		{"line of plain words", text.Line("two words", 20), "two words"},
		{"line of white space", text.Line(" a\r\n\tb\x00  c ", 20), "a b c"},
		{"long line", text.Line(strings.Repeat("ä ", 100), 5), "ä ä…"},
		{"line of broken text", text.Line(strings.Repeat("a", 7)+"é"+strings.Repeat("b", 9), 1), "…"},
		{"printable", text.Printable(" \x1b[31mhid\u202eden\n\tlöst\u200b ", 20), "[31mhidden\n\tlöst"},
		{"printable, cut", text.Printable("a\x00ö b", 3), "aö"},
		{"bytes", text.Bytes("aé", 2), "a"},
		{"bytes of what fits", text.Bytes("aé", 3), "aé"},
		{"bytes of none", text.Bytes("é", 1), ""},
		{"canonical", string(text.Canonical([]byte(`{"b": 1.0, "a": [12345678901234567890, "<&>"]}`))), `{"a":[12345678901234567890,"<&>"],"b":1.0}`},
		{"canonical of what is no JSON", string(text.Canonical([]byte(`{"b"`))), `{"b"`},
		{"JSON of what has none", text.JSON(func() {}), "null"},
		{"markers", text.StripMarkers("a\n\n[[tool:0]]\n\n[\\[tool:1]]"), "a\n\n\n\n[\\[tool:1]]"},
		{"one", text.Plural(1, "article"), "1 article"},
		{"several", text.Plural(0, "article"), "0 articles"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
}

// The table is shared with the tray, which sends no message that is blank.
func TestBlankTable(t *testing.T) {
	raw, err := os.ReadFile("testdata/blank.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Name, Text string
		Blank      bool
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if got := text.Blank(row.Text); got != row.Blank {
			t.Errorf("%s: got %t, want %t", row.Name, got, row.Blank)
		}
	}
}

func FuzzShorten(f *testing.F) {
	f.Add("a b", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = limit & 0xff
		if got := text.Line(s, limit+1); utf8.RuneCountInString(got) > limit+1 || strings.ContainsAny(got, "\n\r\v\f\x00\u0085\u2028\u2029") {
			t.Errorf("Line(%q, %d) = %q", s, limit+1, got)
		}
		if got := text.Bytes(s, limit); len(got) > limit || !strings.HasPrefix(s, got) || utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("Bytes(%q, %d) = %q", s, limit, got)
		}
	})
}

func TestIsID(t *testing.T) {
	for id, want := range map[string]bool{
		"a": true, "A-z_9": true, strings.Repeat("x", 64): true,
		"": false, strings.Repeat("x", 65): false, "a b": false, "é": false, "a/b": false,
	} {
		if got := text.IsID(id); got != want {
			t.Errorf("IsID(%q) = %v, want %v", id, got, want)
		}
		if got := regexp.MustCompile(text.IDOrNone).MatchString(id); got != (want || id == "") {
			t.Errorf("IDOrNone matches %q: %v, IsID says %v", id, got, want)
		}
	}
}

func TestBufferStopsATemplate(t *testing.T) {
	b := &text.Buffer{Limit: 5}
	err := template.Must(template.New("").Parse(`{{range .}}abc{{end}}`)).Execute(b, []int{1, 2, 3})
	if !errors.Is(err, text.ErrFull) || b.String() != "abcab" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

func TestDecodeKeepsWholeNumbers(t *testing.T) {
	got, err := text.Decode([]byte(`{"a":[1,2.5,9007199254740993,18446744073709551615,-9223372036854775809,1e3]}`))
	want := map[string]any{"a": []any{int64(1), 2.5, int64(9007199254740993), uint64(math.MaxUint64), json.Number("-9223372036854775809"), 1000.0}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, %v", got, err)
	}
	if _, err := text.Decode([]byte(`{} {}`)); err == nil {
		t.Error("got no error for a second value, want one")
	}
}

func TestJSON(t *testing.T) {
	if got, want := text.JSON(map[string]any{"b": "<&>\n", "a": nil}), `{"a":null,"b":"<&>\n"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := text.JSON(func() {}); got != "null" {
		t.Errorf("a function is %s, want null", got)
	}
}

func TestFields(t *testing.T) {
	for source, want := range map[string]string{
		"": "",
		"{{.a.b}} {{if .c}}{{.d}}{{else}}{{.e}}{{end}}": "a.b c d e",
		"{{with .a}}{{.b}}{{$.c}}{{else}}{{.d}}{{end}}": "a c d",
		"{{range $i, $v := .a}}{{$v.b}}{{end}}":         "a",
		"{{len (index .a .b).c}}":                       "a b",
	} {
		parsed, err := template.New("t").Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, path := range text.Bounded(parsed).Fields() {
			got = append(got, strings.Join(path, "."))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

// Most texts have no markers, and they may be large: the expression does not look for them.
func TestWithoutMarkersInATextWithoutAny(t *testing.T) {
	content := strings.Repeat("Ordinary words. \n", 1000)
	if n := testing.AllocsPerRun(10, func() { text.WithoutMarkers(content) }); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
