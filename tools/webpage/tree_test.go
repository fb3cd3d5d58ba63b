package webpage_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/chattray/chattray/tools/webpage"
)

// A page has the same tree as with html.Parse, except that empty heads and the bodies of
// tables may be absent.
func TestTreeIsThatOfHTML(t *testing.T) {
	unneeded := strings.NewReplacer(
		"<!DOCTYPE html>", "", "<head></head>", "", "<tbody>", "", "</tbody>", "",
	)
	written := func(doc *html.Node) string {
		var b strings.Builder
		if err := html.Render(&b, doc); err != nil {
			t.Fatal(err)
		}
		return unneeded.Replace(b.String())
	}
	for _, page := range []string{
		"", "text", "<p>a<p>b<div>c</div>d", "<p>a</div>b", "x<br>y</br>z", "<pre>\nx\n</pre>", "a<p",
		"<!doctype html><html><head><title>x</title><meta charset=utf8></head><body class=q><h1>a</h1></body></html>",
		"<head><title>x</title><p>y<title>z</title>", "<head><script>var x='<p>'</script></head><nav>n</nav>",
		"<body><noscript><p>x</p></noscript><main>m</main></body>z",
		"<ul><li>a<ul><li>b<li>c</ul><li>d</ul>", "<ol><li><p>a<li><p>b</ol>", "<div><ul><li><div>x</ul></div>y",
		"<dl><dt>a<dd>b<dt>c</dl>", "<dl><div><dt>a<dd>b</div></dl>",
		"<a href=x>a<a href=y>b</a>c", "<a href=x><div><h3>t</h3></div></a><p>y", "<h1>a<h2>b</h2>c", "<h1>a</h2>b",
		"<p><b>a</b> <i>b<b>c</b></i></p>", "<button>x<p>y</button>z", "<p id=1 ID=2 id=3>x",
		"<svg><path d=x /><title>t</title></svg><p>x", "<svg><path><p>x", "<svg><desc>x</desc></svg>y",
		"<table><tr><td>a<td>b<tr><td>c</table>d", "<table><td>a", "<td>x</td>", "<div><table><tr><td></div>x</table>y",
		"<table>x<tr><td>a<table><tr><td>b</table>c</table>d", "<table><div>x</div><tr><td>a</table>y",
		"<table><caption>c</caption><thead><tr><th>a</thead><tfoot><tr><td>f</tfoot></table>",
	} {
		want, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		got, cut, err := webpage.Tree(t.Context(), page)
		if err != nil || cut {
			t.Fatalf("%s: got %v, cut %v", page, err, cut)
		}
		if diff := cmp.Diff(written(want), written(got)); diff != "" {
			t.Errorf("%s: the tree differs (-want +got):\n%s", page, diff)
		}
	}
}
