package webpage_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/tools/outbound"
	"github.com/chattray/chattray/tools/webpage"
)

func serve(t *testing.T, contentType, body string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func reader() webpage.Reader {
	return webpage.Reader{Client: outbound.New(outbound.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})}
}

const prose = "People who slept for eight hours remembered more words than people who slept for five, and the difference grew with age, " +
	"as was seen in each of the four groups that took part in the trial over two winters and one summer in the north of the country."

func TestReadHTML(t *testing.T) {
	for _, tc := range []struct {
		name, body  string
		title       string
		want, avoid []string
	}{
		{
			"main", `<html><head><title> A  title </title><style>p{}</style></head><body><header>Banner</header><nav><a href="/">Home</a></nav>
			<main><h1>Sleep</h1><p>` + prose + `</p><ul><li>one</li><li><b>two</b></li></ul><a href="/next?x=1#y">next</a></main><aside>Buy!</aside><footer>Imprint</footer><script>evil()</script></body></html>`,
			"A title",
			[]string{"# Sleep", prose, "- one", "**two**", "[next](URL/next?x=1#y)"},
			[]string{"Banner", "Home", "Buy!", "Imprint", "evil", "p{}"},
		},
		{
			"article with its own header", `<body><header>Banner</header><article><header><h1>Own title</h1></header><p>` + prose + `</p></article></body>`,
			"Own title",
			[]string{"# Own title", prose},
			[]string{"Banner"},
		},
		{
			"the biggest article", `<body><article><p>A teaser.</p></article><article><p>` + prose + `</p></article></body>`, "",
			[]string{prose},
			[]string{"teaser"},
		},
		{
			"divs", `<title>T</title><body><div><div>` + strings.Repeat(`<a href="/x">A link in a long list of links</a> `, 3) + `</div><div id=c><p>` + prose + `</p><p>` + prose + `</p></div></div></body>`,
			"T",
			[]string{prose},
			[]string{"list of links"},
		},
		{"short page", `<title>T</title><body><p>Hello.</p></body>`, "T", []string{"Hello."}, nil},
		{"whole page in a form", `<body><form><p>` + prose + `</p><input value="x"><button>Send</button></form></body>`, "", []string{prose}, []string{"Send"}},
		{
			"hidden parts", `<body><main><p>` + prose + `</p><p hidden>secret one</p><p style="display: none">secret two</p><div aria-hidden="true">secret three</div>
			<h3>Is it free?</h3><div hidden="until-found"><p>It is free for schools.</p></div><p hidden="hidden">secret six</p>
			<div role="dialog">Cookies?</div><!-- secret four --><noscript>Turn it on</noscript><template>secret five</template></main></body>`,
			"",
			[]string{prose, "It is free for schools."},
			[]string{"secret", "Cookies", "Turn it on"},
		},
		{
			"table", `<body><main><p>` + prose + `</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></main></body>`, "",
			[]string{"| a | b |", "| 1 | 2 |"},
			nil,
		},
		{
			"cells with several lines", `<body><main><p>` + prose + `</p><table><tr><th>a</th><th>b</th></tr><tr><td>1<br>2</td><td>3</td></tr></table></main></body>`, "",
			[]string{"| a | b |", "<br />2 | 3 |"},
			nil,
		},
		{
			"cells that are no table in Markdown", `<body><main><p>` + prose + `</p><table role="presentation"><tr><td>12</td><td>3</td></tr></table>
			<table><tr><td><ul><li>4</ul></td><td>56</td><td>7</td></tr></table></main></body>`, "",
			[]string{"12 3", "56 7"},
			nil,
		},
		{
			"questions that open their answers", `<body><main><p>` + prose + `</p><h2><button aria-expanded="false"><span>Is it safe?</span></button></h2><div><p>Yes.</p></div><p><button>Send</button></p></main></body>`, "",
			[]string{"## Is it safe?\n\nYes."},
			[]string{"Send"},
		},
		{
			"formulas", `<body><main><p>` + prose + ` where <math alttext="x_{i}^2"><mi>x</mi></math> and
			<span class="katex"><math><semantics><mrow><mi>a</mi></mrow><annotation encoding="application/x-tex">\alpha &lt; 1</annotation></semantics></math><span aria-hidden="true">a1</span></span> and
			<span><span style="display: none;"><math alttext="hidden"><mi>E</mi></math></span><img src="e.svg" aria-hidden="true" alt="E=mc^{2}"></span><img src="icon.svg" aria-hidden="true"></p></main></body>`,
			"",
			[]string{"where `x_{i}^2` and", "`\\alpha < 1` and", "![E=mc^{2}](URL/e.svg)"},
			[]string{"a1", "hidden", "icon"},
		},
		{
			"raised numbers", `<body><main><p>` + prose + ` 10<sup>6</sup> cells, 10<sup><b>−3</b></sup> M Ca<sup>2+</sup>, H<sub>2</sub>O, the 19<sup>th</sup>, y<sup>2</sup><sub>1</sub></p></main></body>`, "",
			[]string{"10^6 cells", "−3", `Ca^2+, H2O, the 19th, y^2\_1`},
			[]string{"10−3", "10**−3"},
		},
		{
			"formulas without TeX", `<body><main><p>` + prose + ` <math><semantics><mrow><msup><mn>10</mn><mn>6</mn></msup></mrow><annotation-xml encoding="MathML-Content"><cn>1</cn></annotation-xml></semantics></math> cells,
			<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac><mtext><script>x</script></mtext></math>, <math hidden><mi>h</mi></math></p></main></body>`, "",
			[]string{"`10^6` cells, `(a+b)/2`,"},
			[]string{"x", "h`"},
		},
		{
			"what no longer counts", `<body><main><p>` + prose + ` for <del>49</del><ins>39</ins> euros, <s>once <b>80</b></s>, <code>a<del>b</del></code></p></main></body>`, "",
			[]string{"for ~~49~~39 euros, ~~once **80**~~, `ab`"},
			nil,
		},
		{
			"keys beside each other", `<body><main><p>` + prose + ` Press <kbd>Ctrl</kbd><kbd>Shift</kbd> <kbd>C</kbd> or <kbd><kbd>Alt</kbd>+<kbd>F4</kbd></kbd>.</p><pre><kbd>mk</kbd><kbd>dir</kbd></pre></main></body>`, "",
			[]string{"Press `Ctrl Shift` `C` or `Alt+F4`.", "mkdir"},
			nil,
		},
		{
			"lines that begin a part", `<body><main><p>` + prose + `</p><details><summary>Is it safe?</summary>Yes.</details><fieldset><legend>Dose</legend>5 mg</fieldset><center>Note</center>that</main></body>`, "",
			[]string{"Is it safe?\n\nYes.", "Dose\n\n5 mg", "Note\n\nthat"},
			nil,
		},
		{
			"notes", `<body><main><p>` + prose + ` safe<sup><a href="#1">1</a></sup> and good<a href="#2"><sup>2</sup></a>, <a href="/c">10<sup>6</sup> cells</a></p></main></body>`, "",
			[]string{"safe[1](URL#1) and good[2](URL#2), [10^6 cells](URL/c)"},
			nil,
		},
		{
			"a listing with numbers of lines", `<body><main><p>` + prose + `</p><table><tr><td><pre>1&#10;2</pre></td><td><pre>go&#10;run</pre></td></tr></table></main></body>`, "",
			[]string{"```\ngo\nrun\n```"},
			[]string{"| `", "<br"},
		},
		{
			"code in cells", `<body><main><p>` + prose + `</p><table><tr><th>a</th><th>b</th></tr><tr><td><code>x|y</code></td><td>z</td></tr></table><p><code>v|w</code></p></main></body>`, "",
			[]string{"| `x\\|y` | z |", "`v|w`"},
			nil,
		},
		{
			"links that are code", `<body><main><p>` + prose + ` <a href="javascript:alert(1)">click</a> <a href="data:text/html,x">data</a><img src="data:image/png;base64,AAAA" alt="dot"></p></main></body>`,
			"",
			[]string{"click"},
			[]string{"javascript:", "data:text", "base64"},
		},
		{"base", `<head><base href="https://example.org/sub/"></head><body><main><p>` + prose + `</p><a href="x">x</a></main></body>`, "", []string{"(https://example.org/sub/x)"}, nil},
		{"empty", ``, "", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url := serve(t, "text/html; charset=utf-8", tc.body)
			got, err := reader().Read(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			if got.Title != tc.title || got.Truncated || got.URL != url {
				t.Errorf("got title %q, truncated %v, URL %s, want title %q", got.Title, got.Truncated, got.URL, tc.title)
			}
			for _, want := range tc.want {
				if want = strings.ReplaceAll(want, "URL", url); !strings.Contains(got.Content, want) {
					t.Errorf("got:\n%s\nwant %q in it", got.Content, want)
				}
			}
			for _, avoid := range tc.avoid {
				if strings.Contains(got.Content, avoid) {
					t.Errorf("got:\n%s\nwant no %q in it", got.Content, avoid)
				}
			}
		})
	}
}

func TestReadKinds(t *testing.T) {
	for _, tc := range []struct{ name, contentType, body, want string }{
		{"plain", "text/plain; charset=utf-8", "a < b\r\nc\x00d", "a < b\ncd"},
		{"latin-1 by header", "text/plain; charset=iso-8859-1", "M\xfcller", "Müller"},
		{"windows-1252 by declaration", "text/html", "<meta charset=windows-1252><p>M\xfcller \x93said\x94</p>", "Müller “said”"},
		{"shift-jis", "text/html; charset=shift_jis", "<p>\x93\xfa\x96{</p>", "日本"},
		{"mark", "text/plain", "\xef\xbb\xbfMüller", "Müller"},
		{"utf-16", "text/plain", "\xff\xfeh\x00i\x00", "hi"},
		{"broken utf-8", "text/plain; charset=utf-8", "a\xffb", "a\uFFFDb"},
		{"late utf-8", "text/plain", strings.Repeat("a", 2000) + "ü日", strings.Repeat("a", 2000) + "ü日"},
		{"late utf-8 in HTML", "text/html", "<!DOCTYPE html><!--" + strings.Repeat("a", 2000) + "--><meta charset=utf-8><p>ü日", "ü日"},
		{"late latin-1", "text/plain", strings.Repeat("a", 2000) + "M\xfcller", strings.Repeat("a", 2000) + "Müller"},
		{"JSON", "application/json", `{"a":[1,2]}`, "{\n  \"a\": [\n    1,\n    2\n  ]\n}"},
		{"JSON of a kind", "application/ld+json", `{"a":1}`, "{\n  \"a\": 1\n}"},
		{"broken JSON", "application/json", `{"a":`, `{"a":`},
		{"XML", "application/rss+xml", "<rss>x</rss>", "<rss>x</rss>"},
		{"XML by declaration", "application/rss+xml", "<?xml version='1.0' encoding='windows-1251'?><a>\xcf\xf0\xe8</a>", "<?xml version='1.0' encoding='windows-1251'?><a>При</a>"},
		{"XML with a wrong declaration", "text/xml", `<?xml version="1.0" encoding="utf-16"?><a>über</a>`, `<?xml version="1.0" encoding="utf-16"?><a>über</a>`},
		{"XHTML by declaration", "application/xhtml+xml", `<?xml version="1.0" encoding="koi8-r"?><html><body><p>` + "\xf0\xd2\xc9</p></body></html>", "При"},
		{"YAML", "application/yaml", "a: 1", "a: 1"},
		{"lines of JSON", "application/x-ndjson", "{\"a\":1}\n{}", "{\"a\":1}\n{}"},
		{"SVG", "image/svg+xml", "<svg/>", "<svg/>"},
		{"no type, HTML", "", "<!DOCTYPE html><p>Hi</p>", "Hi"},
		{"no type, text", "", "Hi there", "Hi there"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := reader().Read(t.Context(), serve(t, tc.contentType, tc.body))
			if err != nil || got.Content != tc.want {
				t.Errorf("got %q, %v, want %q", got.Content, err, tc.want)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	status := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))
	defer status.Close()
	brotli := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "br")
		_, _ = w.Write([]byte("\x0b\x02\x80text\x03"))
	}))
	defer brotli.Close()
	for _, tc := range []struct {
		name, url string
		code      schemas.Code
	}{
		{"PDF", serve(t, "application/pdf", "%PDF-1.7"), schemas.CodeUnsupportedMedia},
		{"image without type", serve(t, "", "\x89PNG\r\n\x1a\n"), schemas.CodeUnsupportedMedia},
		{"compressed", brotli.URL, schemas.CodeUpstreamError},
		{"status", status.URL, schemas.CodeNotFound},
		{"private", "http://10.0.0.1/", schemas.CodeForbidden},
		{"without scheme, private", "192.168.0.1/x", schemas.CodeForbidden},
		{"file", "file:///etc/passwd", schemas.CodeInvalid},
		{"ftp", "ftp://example.org/x", schemas.CodeForbidden},
		{"nothing", "", schemas.CodeInvalid},
		{"no URL", "http://[", schemas.CodeInvalid},
		{"too long", "https://example.org/" + strings.Repeat("x", 3000), schemas.CodeInvalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := reader().Read(t.Context(), tc.url)
			if got := schemas.Visible(err).Code; err == nil || got != tc.code {
				t.Errorf("got %v, want code %s", err, tc.code)
			}
		})
	}
}

func TestReadIsBounded(t *testing.T) {
	for _, tc := range []struct{ name, contentType, body string }{
		{"text", "text/plain", strings.Repeat("ü", 2<<20)},
		{"HTML", "text/html; charset=utf-8", "<body>" + strings.Repeat("<p>ü and some more words</p>", 80_000)},
		{"JSON", "application/json", `["` + strings.Repeat("x", 3<<20) + `"]`},
		{"cells", "text/html; charset=utf-8", "<body><p>" + prose + "</p><table>" + strings.Repeat(`<tr><td rowspan="65534" colspan="1000">x</td></tr>`, 1000) + "</table>"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := reader().Read(t.Context(), serve(t, tc.contentType, tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Content) > webpage.MaxContent || (tc.name != "cells" && !got.Truncated) {
				t.Errorf("got %d bytes, truncated %v, want at most %d and the mark", len(got.Content), got.Truncated, webpage.MaxContent)
			}
			if !utf8.ValidString(got.Content) {
				t.Error("got a split character, want whole characters")
			}
		})
	}
	deep := strings.Repeat("<div>", 100_000) + "x"
	if got, err := reader().Read(t.Context(), serve(t, "text/html", deep)); err != nil || got.Content != "x" {
		t.Errorf("got %q, %v, want the text of a page that is deep", got.Content, err)
	}
}

// title is an extractor that wants the title alone.
type title struct{}

func (title) Extract(*html.Node) (string, *html.Node) { return "only this", nil }

// Some addresses have a page without text that sends browsers on, such as that of the newest
// version of a documentation.
func TestReadPageThatLeadsOn(t *testing.T) {
	url := serve(t, "text/html", "")
	for _, tc := range []struct{ html, want string }{
		{`<head><meta http-equiv="Refresh" content="0; URL='stable/?a=b'"></head>`, "The page leads to " + url + "/stable/?a=b"},
		{`<meta http-equiv=refresh content="0;url=https://example.org/"><body><script>go()</script>`, "The page leads to https://example.org/"},
		{`<meta http-equiv=refresh content="0; url=next"><p>Some text`, "Some text"},
		{`<meta http-equiv=refresh content="30">`, ""},
		{`<meta http-equiv=refresh content="0; url=javascript:go()">`, ""},
	} {
		at := serve(t, "text/html", tc.html)
		got, err := reader().Read(t.Context(), at)
		if want := strings.Replace(tc.want, url, at, 1); err != nil || got.Content != want {
			t.Errorf("%s: got %q, %v, want %q", tc.html, got.Content, err, want)
		}
	}
}

// Browsers show a page that is shorter than its server says.
func TestReadPageThatBreaksOff(t *testing.T) {
	for _, body := range []string{"Some text", ""} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(srv.Close)
		got, err := reader().Read(t.Context(), srv.URL)
		if (err == nil) != (body != "") || got.Content != body || got.Truncated != (body != "") {
			t.Errorf("%q: got %+v, %v", body, got, err)
		}
	}
}

// The cut of a long page may be within a character.
func TestReadLongPageWithoutCharset(t *testing.T) {
	got, err := reader().Read(t.Context(), serve(t, "text/plain", strings.Repeat("a", 2001)+strings.Repeat("ü", 1<<20)))
	if err != nil || !got.Truncated || !strings.Contains(got.Content, "aüüü") {
		t.Errorf("got %.20q at the end, truncated %v, %v, want ü", got.Content[max(0, len(got.Content)-20):], got.Truncated, err)
	}
}

func TestExtractorCanBeReplaced(t *testing.T) {
	r := reader()
	r.Extractor = title{}
	got, err := r.Read(t.Context(), serve(t, "text/html", "<p>x</p>"))
	if err != nil || got.Title != "only this" || got.Content != "" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(kindHTML, "<main><p>x</p></main>")
	f.Add(kindHTML, "<table><tr><td rowspan=9>x<table><tr><td>y")
	f.Add(kindHTML, "<a href='http://[::1'>x</a><base href=':'><img src=x>")
	f.Add(kindJSON, `{"a":[1,{"b":"\"]"}]}`)
	for _, tc := range hostile {
		f.Add(tc.kind, tc.body[:min(len(tc.body), 400)])
	}
	f.Fuzz(func(t *testing.T, kind, page string) {
		got, allocated, err := measured(t, kind, page)
		if err == nil && (strings.ContainsRune(got.Content, 0) || strings.ToValidUTF8(got.Content, "") != got.Content) {
			t.Errorf("got %q, want plain text", got.Content)
		}
		if allocated > slack+most*len(page) || len(got.Content) > webpage.MaxContent {
			t.Errorf("a page of %d bytes allocated %d and has %d of content", len(page), allocated, len(got.Content))
		}
	})
}

// Upper and lower case in a host's name could carry data to the server, which
// sees them; so the name is sent in lower case.
func TestReadSendsTheHostInLowerCase(t *testing.T) {
	var host string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { host = r.Host }))
	t.Cleanup(srv.Close)
	address := strings.TrimPrefix(srv.URL, "http://127.0.0.1")
	if _, err := reader().Read(t.Context(), "http://LoCaLhOsT"+address+"/Path"); err != nil {
		t.Fatal(err)
	}
	if want := "localhost" + address; host != want {
		t.Errorf("the page's server was told the host %q, want %q", host, want)
	}
}
