package webpage_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/chattray/chattray/tools/webpage"
)

// sent answers each request with a body, without a network that would allocate too.
type sent struct{ contentType, body string }

func (s sent) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {s.contentType}},
		Body: io.NopCloser(strings.NewReader(s.body)),
	}, nil
}

func (s sent) read(ctx context.Context) (webpage.Page, error) {
	return webpage.Reader{Client: &http.Client{Transport: s}}.Read(ctx, "https://example.org/")
}

func rep(s string, n int) string { return strings.Repeat(s, n) }

// each writes n parts that differ in a number.
func each(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

const (
	kindJSON = "application/json"
	kindHTML = "text/html; charset=utf-8"
	// slack is what a page may allocate however short it is: what is converted has
	// a limit of its own.
	slack = 64 << 20
	// most is how often a page may allocate its own size beside that.
	most = 48
)

// hostile are pages whose result is a product of sizes in them.
var hostile = []struct{ name, kind, body string }{
	{"JSON that is deep and long", kindJSON, rep("[", 9000) + rep("0,", 200_000) + "0" + rep("]", 9000)},
	{"JSON of brackets", kindJSON, "[" + rep(rep("[", 400)+rep("]", 400)+",", 2000) + "0]"},
	{"long base", kindHTML, `<base href="http://127.0.0.1/` + rep("a", 500_000) + `/"><p>text ` + rep("<a href=x>a</a>", 10_000)},
	{"base within the limit", kindHTML, `<base href="http://127.0.0.1/` + rep("a", 1900) + `/"><p>text ` + rep("<a href=x>a</a>", 100_000)},
	{"base and images", kindHTML, `<base href="http://127.0.0.1/` + rep("(", 1900) + `/"><p>text ` + rep("<img src=x>", 100_000)},
	{"spans", kindHTML, "<table><tr>" + rep("<td colspan=20 rowspan=20>a", 70_000) + "</table>"},
	{"few spans that shift", kindHTML, "<table><tr>" + rep("<td colspan=2>a", 5000) + "</table>"},
	{"spans of rows", kindHTML, "<table>" + rep("<tr><td rowspan=20>a<td>b", 50_000) + "</table>"},
	{"one long row and many short", kindHTML, "<table><tr>" + rep("<td>a", 30_000) + rep("<tr><td>b", 30_000)},
	{"one long cell and many short", kindHTML, "<table><tr><td>" + rep("a", 100_000) + rep("<tr><td>b", 15_000)},
	{"many tables", kindHTML, rep("<table><tr><td>a<td>a<td>a<td>a<td>a<tr><td>b<tr><td>b</table>", 20_000)},
	{"nested tables", kindHTML, rep("<table><tr><td>", 200) + rep("<p>x", 300_000)},
	{"tables side by side in tables", kindHTML, rep("<table><tr><td>a", 60_000)},
	{"tables in tables without cells", kindHTML, rep("<table>", 100_000) + rep("a<tr>", 100_000)},
	{"quotes around lines", kindHTML, "<article>" + rep("<blockquote>", 500) + rep("<p>x", 500_000)},
	{"lists around lines", kindHTML, rep("<ul><li>", 250) + rep("x<br>", 400_000)},
	{"lists without items", kindHTML, rep("<ul>", 250) + rep("x<br>", 400_000)},
	{"numbered lists", kindHTML, rep("<ol start=9223372036854775000><li>", 120) + rep("x<br>", 300_000)},
	{"many lists", kindHTML, rep("<ul></ul>", 220_000)},
	{"many items", kindHTML, "<ol start=999999>" + rep("<li>x", 400_000)},
	{"code in lists", kindHTML, rep("<ol start=999999><li>", 250) + "<pre>" + rep("\n.", 900_000)},
	{"marks of the converter in lists", kindHTML, rep("<ol><li>", 250) + rep("\uF002", 600_000)},
	{"bells", kindHTML, "<p>" + rep("*\a\a\a\a-\a\a \a\a", 180_000)},
	{"headings in headings", kindHTML, rep("<h1><div><h2><div>", 60) + rep("x<br>", 400_000)},
	{"marks in marks", kindHTML, each("<b id=%d><i id=1>", 120) + rep("x<br>", 400_000)},
	{"marks that each paragraph opens again", kindHTML, "<p>" + each("<b id=%d>", 250) + rep("<p>x", 400_000)},
	{"spans in spans", kindHTML, rep("<span>", 250) + rep("<span>x</span>", 140_000)},
	{"links in links", kindHTML, rep("<a href=/x><div>", 120) + rep("x<br>", 400_000)},
	{"texts between ended tags", kindHTML, "<p>" + rep("x</q>", 400_000)},
	{"texts between comments", kindHTML, "<p>" + rep("x<!---->", 250_000)},
	{"texts between hidden parts", kindHTML, "<p>" + rep("x<link>", 250_000)},
	{"text between cells", kindHTML, "<table>" + rep("x<!---->", 250_000)},
	{"attributes", kindHTML, "<p " + each("a%d ", 250_000) + ">x"},
	{"attributes of many", kindHTML, rep("<p a b c d e f g h i j k l m n o p q r s t u v w x y z>x", 35_000)},
	{"a long title of many", kindHTML, rep(`<a href=/ title="`+rep("'\\\"", 500)+`">x</a>`, 1000)},
	{"long languages", kindHTML, rep(`<pre class="`+rep("language-", 500)+`">x</pre>`, 400)},
	{"entities", kindHTML, "<p>" + rep("&NotEqualTilde;&amp;&ac", 80_000)},
	{"angles", kindHTML, "<p>" + rep("&lt;&gt;", 250_000)},
	{"brackets", kindHTML, "<p>" + rep("[", 2<<20)},
	{"brackets of images", kindHTML, "<p>" + rep("![", 1<<20)},
	{"stars", kindHTML, "<p>" + rep("*", 2<<20)},
	{"dashes", kindHTML, "<p>" + rep("- ", 1<<20)},
	{"numbers", kindHTML, "<p>" + rep("1.", 1<<20)},
	{"fences", kindHTML, "<p>" + rep("`~ ", 700_000)},
	{"backticks in code", kindHTML, rep("<code>`", 290_000)},
	{"ended tags in depth", kindHTML, rep("<div>", 255) + "x" + rep("</p>", 500_000)},
	{"lines in depth", kindHTML, rep("<b>", 255) + rep("<hr>", 500_000)},
	{"headers in depth", kindHTML, rep("<div>", 250) + rep("<header></header>", 120_000)},
	{"empty parts", kindHTML, rep("<div></div>", 190_000)},
	{"parts", kindHTML, rep("<i>", 700_000)},
	{"drawings", kindHTML, rep("<svg><title>x", 150_000)},
}

// measured reads a page and returns how many bytes were allocated meanwhile.
func measured(t *testing.T, kind, body string) (webpage.Page, int, error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	page, err := sent{kind, body}.read(t.Context())
	runtime.ReadMemStats(&after)
	return page, int(after.TotalAlloc - before.TotalAlloc), err
}

// A page allocates a multiple of its own size at most, whatever is in it.
func TestHostilePages(t *testing.T) {
	for _, tc := range hostile {
		t.Run(tc.name, func(t *testing.T) {
			page, got, err := measured(t, tc.kind, tc.body)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes, %d MiB allocated, %d bytes of content", len(tc.body), got>>20, len(page.Content))
			if got > slack+most*len(tc.body) {
				t.Errorf("a page of %d bytes allocated %d, want at most %d times as much and %d", len(tc.body), got, most, slack)
			}
			if len(page.Content) > webpage.MaxContent {
				t.Errorf("got %d bytes of content, want at most %d", len(page.Content), webpage.MaxContent)
			}
		})
	}
}

// Nothing is converted when the context has ended.
func TestHostilePagesCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range hostile {
		if _, err := (sent{tc.kind, tc.body}).read(ctx); err == nil {
			t.Errorf("%s: got no error, want one for a context that has ended", tc.name)
		}
	}
}
