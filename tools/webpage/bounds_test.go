package webpage_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/tools/webpage"
)

// What is beyond a limit is shown in a plainer way: its text stays.
func TestBeyondTheLimits(t *testing.T) {
	for _, tc := range []struct{ name, kind, body, want, avoid string }{
		{"JSON", kindJSON, `{"a": [` + rep(`[1, "x y"],`, 20_000) + `2]}`, `{"a":[[1,"x y"],[1,"x y"],`, "\n"},
		{"quotes", kindHTML, rep("<blockquote>", 40) + "deep", rep("> ", 16) + "deep", rep("> ", 17)},
		{"lists", kindHTML, rep("<ul><li>", 40) + "deep", rep("- ", 16) + "deep", rep("- ", 17)},
		{"first number", kindHTML, "<ol start=10000000><li>x</ol>", "1. x", "000"},
		{"long link", kindHTML, "<p>a <a href=/" + rep("x", 3000) + ">link</a> b", "a link b", "("},
		{"link that a base makes long", kindHTML, "<base href=/" + rep("y", 2000) + "/><p>a <a href=" + rep("x", 100) + ">link</a> b", "a link b", "("},
		{"base that is too long", kindHTML, "<base href=/" + rep("y", 3000) + "/><p><a href=x>link</a>", "[link](https://example.org/x)", "yy"},
		{"wide table", kindHTML, "<table><tr>" + rep("<td>c", 300) + rep("<tr><td>one<td>two", 300) + "</table>", "one two", "|"},
		{"wide spans", kindHTML, "<table><tr><td>a<td>b" + rep("<tr><td colspan=20 rowspan=20>one<td>two", 200) + "</table>", "| one | two |", "| one |  |"},
		{"spans", kindHTML, "<table><tr><th>a<th>b<tr><td colspan=2>one<tr><td>x<td>y</table>", "| one |  |", ""},
		{"table in a table", kindHTML, "<table><tr><td>one<table><tr><td>two<td>three</table><td>four</table>", "| two | three |", "| one"},
		{"comments between texts", kindHTML, "<p>one<!-- x --> two<link> three", "one two three", ""},
		{"mark of the converter", kindHTML, "<ul><li>a\uF002\ab</ul>", "- ab", "\uF002"},
		{"brackets", kindHTML, "<p>[a] " + rep("[", 1000), `\[a]`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := sent{tc.kind, tc.body}.read(t.Context())
			if err != nil || !strings.Contains(got.Content, tc.want) || (tc.avoid != "" && strings.Contains(got.Content, tc.avoid)) {
				t.Errorf("got %.300q, %v, want %q in it and no %q", got.Content, err, tc.want, tc.avoid)
			}
		})
	}
}

// A page does not get a long address by a redirect.
func TestReadRefusesALongAddress(t *testing.T) {
	long := roundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.URL.Path = "/" + rep("x", webpage.MaxURL)
		return sent{kindHTML, "x"}.RoundTrip(r)
	})
	_, err := webpage.Reader{Client: &http.Client{Transport: long}}.Read(t.Context(), "https://example.org/")
	if err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v, want the address refused", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
