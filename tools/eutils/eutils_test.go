package eutils_test

import (
	stdcmp "cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/tools/eutils"
)

// ncbi answers requests without a network, so that time can be synthetic. It
// records the requests and their times.
type ncbi struct {
	mu      sync.Mutex
	answers []reply
	asked   []url.Values
	paths   []string
	times   []time.Time
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (n *ncbi) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked, n.paths, n.times = append(n.asked, r.URL.Query()), append(n.paths, r.URL.Path), append(n.times, time.Now())
	a := n.answers[min(len(n.asked), len(n.answers))-1]
	if a.header == nil {
		a.header = http.Header{}
	}
	return &http.Response{StatusCode: stdcmp.Or(a.status, http.StatusOK), Header: a.header, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

func client(t *testing.T, n *ncbi, key string) *eutils.Client {
	t.Helper()
	return sharedClient(t, n, key, 1)
}

func sharedClient(t *testing.T, n *ncbi, key string, sharing int) *eutils.Client {
	t.Helper()
	c, err := eutils.New(eutils.Config{
		BaseURL: "https://ncbi.example/entrez/eutils", APIKey: key, Email: "ops@example.org", HTTP: &http.Client{Transport: n},
		Sharing: func() int { return sharing },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSearch(t *testing.T) {
	n := &ncbi{answers: []reply{{body: fixture(t, "esearch.json")}}}
	got, err := client(t, n, "key").Search(t.Context(), nil, eutils.Query{Term: "sleep & naps", Max: 4, Newest: true, YearFrom: 2020})
	if err != nil {
		t.Fatal(err)
	}
	want := eutils.Found{IDs: []string{"31000001", "31000002", "31000003", "31000004"}, Total: 812, Notes: []string{
		`PubMed found nothing for: "zzyzx".`, `PubMed does not know these search fields: "colour".`,
		`PubMed found no such quoted phrase and searched for the words: "deep blue rest".`, `PubMed ignored: "the".`,
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("found (-want +got):\n%s", d)
	}
	asked := url.Values{
		"db": {"pubmed"}, "tool": {"chattray"}, "email": {"ops@example.org"}, "api_key": {"key"}, "retmode": {"json"}, "term": {"sleep & naps"},
		"retmax": {"4"}, "sort": {"pub_date"}, "datetype": {"pdat"}, "mindate": {"2020"}, "maxdate": {"3000"},
	}
	if d := cmp.Diff(asked, n.asked[0]); d != "" || n.paths[0] != "/entrez/eutils/esearch.fcgi" {
		t.Errorf("asked %s (-want +got):\n%s", n.paths[0], d)
	}
}

func TestSearchFindsNothing(t *testing.T) {
	n := &ncbi{answers: []reply{{body: `{"esearchresult":{"count":0,"idlist":[],"errorlist":{"phrasesnotfound":["x"],"fieldsnotfound":[]},"warninglist":{"outputmessages":["No items found."]}}}`}}}
	got, err := client(t, n, "").Search(t.Context(), nil, eutils.Query{Term: "x", Max: 5})
	if d := cmp.Diff(eutils.Found{IDs: []string{}, Notes: []string{`PubMed found nothing for: "x".`}}, got); d != "" || err != nil {
		t.Errorf("found (-want +got), %v:\n%s", err, d)
	}
	if n.asked[0].Has("api_key") || n.asked[0].Has("mindate") {
		t.Errorf("asked %v, want neither key nor dates", n.asked[0])
	}
}

func TestSummaries(t *testing.T) {
	n := &ncbi{answers: []reply{{body: fixture(t, "esummary.json")}}}
	got, err := client(t, n, "").Summaries(t.Context(), nil, []string{"31000003", "31000001", "99999999", "31000002", "5"})
	if err != nil {
		t.Fatal(err)
	}
	want := []eutils.Article{
		{PMID: "31000003", Title: "Old one.", Authors: []string{"Old O"}, Journal: "Old J", Year: 1998},
		{
			PMID: "31000001", Title: "Naps and recall in adults.", Authors: []string{"Lund A", "Rest Study Group"}, Journal: "Journal of rest", Year: 2021,
			DOI: "10.1000/rest.1", Types: []string{"Journal Article", "Randomized Controlled Trial"},
		},
		{PMID: "31000002", Title: "(no title)", Authors: []string{}, Journal: "A book of rest", Year: 1999, DOI: "10.1000/only.here", Types: []string{}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("articles (-want +got):\n%s", d)
	}
	if id := n.asked[0].Get("id"); id != "31000003,31000001,99999999,31000002,5" {
		t.Errorf("asked for %s", id)
	}
}

func TestFetch(t *testing.T) {
	n := &ncbi{answers: []reply{{body: fixture(t, "efetch.xml")}}}
	got, err := client(t, n, "").Fetch(t.Context(), nil, []string{"31000005", "31000001", "31000002", "31000003", "31000004", "9"})
	if err != nil {
		t.Fatal(err)
	}
	want := []eutils.Article{
		{PMID: "31000005", Title: "A Whole Book", Authors: []string{"Editor E"}, Journal: "A Whole Book", Year: 2003},
		{
			PMID: "31000001", Title: "Naps of short length & recall: CO2 at 10^-3.", Authors: []string{"Lund AB", "Muñoz J Jr", "Solo", "Rest Study Group"},
			Journal: "Journal of rest", Year: 2021, DOI: "10.1000/rest.1",
			Abstract: []eutils.Section{
				{Label: "BACKGROUND", Text: "Rest may help."}, {Label: "RESULTS", Text: "Recall rose by 10% (p<0.05), where x=2."}, {Text: "A last word."},
			},
			MeSH: []string{"Sleep / physiology, trends", "Memory"}, Types: []string{"Journal Article", "Randomized Controlled Trial"},
		},
		{
			PMID: "31000002", Title: "On the use of naps", Authors: []string{}, Journal: "Old J", Year: 1998, DOI: "10.1000/old.2",
			Abstract: []eutils.Section{{Text: "Told elsewhere."}},
		},
		{PMID: "31000003", Title: "(no title)", Authors: []string{}, Year: 2024},
		{
			PMID: "31000004", Title: "Naps", Authors: []string{"Writer W"}, Journal: "The Book of Rest", Year: 2019, DOI: "10.1000/book.4",
			Abstract: []eutils.Section{{Text: "A chapter about naps."}}, Types: []string{"Review"},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("articles (-want +got):\n%s", d)
	}
	if q := n.asked[0]; q.Get("retmode") != "xml" || n.paths[0] != "/entrez/eutils/efetch.fcgi" {
		t.Errorf("asked %s %v", n.paths[0], q)
	}
}

// What stands above, below or beside another thing in an abstract keeps its meaning as plain text, and a
// title of esummary, whose mark-up may be escaped, too.
func TestRaisedText(t *testing.T) {
	for markup, want := range map[string]string{
		`10<sup>6</sup> cells`:            "10^6 cells",
		`10<sup><b>-3</b></sup> M`:        "10^-3 M",
		`Ca<sup>2+</sup>`:                 "Ca^2+",
		`H<sub>2</sub>O, 19<sup>th</sup>`: "H2O, 19th",
		`<m:math xmlns:m="http://www.w3.org/1998/Math/MathML"><m:msup><m:mn>10</m:mn><m:mrow><m:mo>-</m:mo><m:mn>6</m:mn></m:mrow></m:msup></m:math> M`:                      "10^-6 M",
		`<m:math xmlns:m="http://www.w3.org/1998/Math/MathML"><m:mfrac><m:mn>1</m:mn><m:msubsup><m:mi>x</m:mi><m:mi>i</m:mi><m:mn>2</m:mn></m:msubsup></m:mfrac></m:math>`:   "1/xi^2",
		`<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mrow><mn>2</mn></mrow></mfrac><mo>=</mo><msup><mi>x</mi><mfrac><mn>2</mn><mn>3</mn></mfrac></msup></math>`: "(a+b)/2=x^(2/3)",
	} {
		n := &ncbi{answers: []reply{{body: "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>" + markup + "</ArticleTitle></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>"}}}
		got, err := client(t, n, "").Fetch(t.Context(), nil, []string{"1"})
		if err != nil || len(got) != 1 || got[0].Title != want {
			t.Errorf("%s: got %v, %v, want %q", markup, got, err, want)
		}
	}
	n := &ncbi{answers: []reply{{body: `{"result":{"1":{"title":"10&lt;sup&gt;6&lt;/sup&gt; cells, 19<sup>th</sup>, y<sup>2</sup><sub>1</sub>"}}}`}}}
	got, err := client(t, n, "").Summaries(t.Context(), nil, []string{"1"})
	if err != nil || len(got) != 1 || got[0].Title != "10^6 cells, 19th, y^2_1" {
		t.Errorf("got %v, %v, want a title with 10^6", got, err)
	}
}

// Every kind of answer that NCBI gives when it does not work.
func TestFaults(t *testing.T) {
	search := func(c *eutils.Client, ctx context.Context) error {
		_, err := c.Search(ctx, nil, eutils.Query{Term: "x", Max: 5})
		return err
	}
	summaries := func(c *eutils.Client, ctx context.Context) error {
		_, err := c.Summaries(ctx, nil, []string{"1"})
		return err
	}
	fetch := func(c *eutils.Client, ctx context.Context) error {
		_, err := c.Fetch(ctx, nil, []string{"1"})
		return err
	}
	const page = "<!DOCTYPE html><html><body>Scheduled work, host db17.internal</body></html>"
	for _, tc := range []struct {
		name  string
		ask   func(*eutils.Client, context.Context) error
		reply reply
		code  schemas.Code
		tries int
	}{
		{"ERROR in a search", search, reply{body: `{"esearchresult":{"ERROR":"Search Backend failed: db17.internal"}}`}, schemas.CodeUpstreamError, 1},
		{"error beside a search", search, reply{body: `{"error":"something, key"}`}, schemas.CodeUpstreamError, 1},
		{"rate limit in a success", search, reply{body: `{"error":"API rate limit exceeded","api-key":"key","count":"4","limit":"3"}`}, schemas.CodeRateLimited, 3},
		{"rate limit", search, reply{status: 429, body: `{"error":"API rate limit exceeded","api-key":"key","count":"4","limit":"3"}`}, schemas.CodeRateLimited, 3},
		{"rate limit for long", search, reply{status: 429, header: http.Header{"Retry-After": {"3600"}}}, schemas.CodeRateLimited, 1},
		{"bad key", search, reply{status: 400, body: `{"error":"API key invalid","api-key":"key","type":"ip","status":"unknown"}`}, schemas.CodeUpstreamError, 1},
		{"out of order", search, reply{status: 502, body: page}, schemas.CodeUpstreamUnavailable, 3},
		{"HTML for JSON", search, reply{body: page}, schemas.CodeUpstreamError, 1},
		{"nothing", search, reply{}, schemas.CodeUpstreamError, 1},
		{"cut JSON", search, reply{body: `{"esearchresult":{"idlist":["1"`}, schemas.CodeUpstreamError, 1},
		{"other JSON", search, reply{body: `{"header":{}}`}, schemas.CodeUpstreamError, 1},
		{"no list", search, reply{body: `[]`}, schemas.CodeUpstreamError, 1},
		{"error for a summary", summaries, reply{body: `{"error":"Invalid uid x"}`}, schemas.CodeUpstreamError, 1},
		{"reasons for no summary", summaries, reply{body: `{"esummaryresult":["Invalid uid x at position=0"]}`}, schemas.CodeUpstreamError, 1},
		{"no summary", summaries, reply{body: `{}`}, schemas.CodeUpstreamError, 1},
		{"ERROR for XML", fetch, reply{body: `<?xml version="1.0"?><eFetchResult><ERROR>ID list is empty</ERROR></eFetchResult>`}, schemas.CodeUpstreamError, 1},
		{"HTML for XML", fetch, reply{body: page}, schemas.CodeUpstreamError, 1},
		{"JSON for XML", fetch, reply{body: `{"error":"x"}`}, schemas.CodeUpstreamError, 1},
		{"cut XML", fetch, reply{body: `<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1`}, schemas.CodeUpstreamError, 1},
		{"too much", fetch, reply{body: "<PubmedArticleSet>" + strings.Repeat(" ", 9<<20)}, schemas.CodeTooLarge, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &ncbi{answers: []reply{tc.reply}}
				err := tc.ask(client(t, n, "key"), t.Context())
				if v := schemas.Visible(err); v.Code != tc.code || strings.Contains(v.Message, "internal") || strings.Contains(v.Message, "key") {
					t.Errorf("got %v, want code %s and nothing of the answer", v, tc.code)
				}
				if err != nil && strings.Contains(err.Error(), "<html>") {
					t.Errorf("got %v, want no body in it", err)
				}
				if len(n.asked) != tc.tries {
					t.Errorf("asked %d times, want %d", len(n.asked), tc.tries)
				}
			})
		})
	}
}

func TestTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &ncbi{answers: []reply{{status: 429, header: http.Header{"Retry-After": {"4"}}}, {status: 503}, {body: fixture(t, "esearch.json")}}}
		got, err := client(t, n, "").Search(t.Context(), nil, eutils.Query{Term: "x", Max: 5})
		if err != nil || got.Total != 812 {
			t.Fatalf("got %+v, %v", got, err)
		}
		if d := n.times[1].Sub(n.times[0]); d != 4*time.Second {
			t.Errorf("waited %v, want what Retry-After says", d)
		}
		if d := n.times[2].Sub(n.times[1]); d != 2*time.Second {
			t.Errorf("waited %v, want 2s", d)
		}
	})
}

func TestRate(t *testing.T) {
	for _, tc := range []struct {
		name, key string
		sharing   int
		perSecond int
	}{{"without a key", "", 1, 3}, {"with a key", "key", 1, 10}, {"with four others", "key", 5, 2}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &ncbi{answers: []reply{{body: `{"esearchresult":{"count":"0","idlist":[]}}`}}}
				c := sharedClient(t, n, tc.key, tc.sharing)
				var held time.Duration
				hold := func(wait func() error) error {
					start := time.Now()
					defer func() { held += time.Since(start) }()
					return wait()
				}
				start := time.Now()
				for range 3 * tc.perSecond {
					if _, err := c.Search(t.Context(), hold, eutils.Query{Term: "x", Max: 1}); err != nil {
						t.Fatal(err)
					}
				}
				for i := tc.perSecond; i < len(n.times); i++ {
					if d := n.times[i].Sub(n.times[i-tc.perSecond]); d < time.Second {
						t.Errorf("requests %d to %d came within %v, want at least a second", i-tc.perSecond, i, d)
					}
				}
				if total := time.Since(start); total > 4*time.Second || held != total {
					t.Errorf("took %v of which %v held, want at most 4s and all of it held", total, held)
				}
			})
		})
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &ncbi{answers: []reply{{status: 503}}}
		stop := errors.New("the user stopped it")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(500*time.Millisecond, func() { cancel(stop) })
		start := time.Now()
		_, err := client(t, n, "").Search(ctx, nil, eutils.Query{Term: "x", Max: 1})
		if !errors.Is(err, stop) || time.Since(start) != 500*time.Millisecond {
			t.Errorf("got %v after %v, want the cause at once", err, time.Since(start))
		}
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &ncbi{answers: []reply{{body: `{"esearchresult":{"count":"0","idlist":[]}}`}}}
		c := client(t, n, "")
		refused := make(chan error, 1000)
		for range 1000 {
			go func() {
				_, err := c.Search(t.Context(), nil, eutils.Query{Term: "x", Max: 1})
				refused <- err
			}()
		}
		count := 0
		for range 1000 {
			if err := <-refused; err != nil {
				count++
				if schemas.Visible(err).Code != schemas.CodeRateLimited {
					t.Errorf("got %v, want code rate_limited", err)
				}
			}
		}
		if count < 500 || count > 700 {
			t.Errorf("%d of 1000 were refused, want those that would wait over two minutes", count)
		}
	})
}

func TestNewRefusesInvalidURLs(t *testing.T) {
	for _, base := range []string{"nowhere", "ftp://example.org/", "https://", "://"} {
		if _, err := eutils.New(eutils.Config{BaseURL: base}); err == nil {
			t.Errorf("%q: got no error", base)
		}
	}
}

func FuzzFetch(f *testing.F) {
	b, err := os.ReadFile("testdata/efetch.xml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(b))
	f.Add("<PubmedArticleSet></PubmedArticleSet>")
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "rate limit") {
			return // it would be asked again, after a while
		}
		got, err := client(t, &ncbi{answers: []reply{{body: body}}}, "").Fetch(t.Context(), nil, []string{"31000001"})
		for _, a := range got {
			if a.PMID != "31000001" || a.Authors == nil || a.Title == "" {
				t.Errorf("got %+v", a)
			}
		}
		if err != nil && len(got) > 0 {
			t.Errorf("got articles with error %v", err)
		}
	})
}

func FuzzSearch(f *testing.F) {
	for _, body := range []string{
		`{"esearchresult":{"count":"2","idlist":["31000001","x"],"errorlist":{"phrasesnotfound":["a"]},"warninglist":{"phrasesignored":["and","and"]}}}`,
		`{"esearchresult":{"ERROR":"Empty term"}}`, `{"error":"API key invalid"}`, `{"esummaryresult":["Empty id list"]}`, `{"result":{"31000001":{"error":"cannot get document summary"}}}`,
		`{"result":{"31000001":{"title":"[A &lt;i&gt;b&lt;/i&gt;].","authors":[{"name":"Doe J"}],"sortpubdate":"2021/03/04 00:00","elocationid":"doi: 10.1/x pii: 2"}}}`, "<html>", "{", "",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "rate limit") {
			return // it would be asked again, after a while
		}
		found, err := client(t, &ncbi{answers: []reply{{body: body}}}, "").Search(t.Context(), nil, eutils.Query{Term: "a", Max: 5})
		if err != nil && (len(found.IDs) > 0 || found.Total != 0) {
			t.Errorf("got ids with error %v", err)
		}
		for _, id := range found.IDs {
			if id == "" || strings.Trim(id, "0123456789") != "" {
				t.Errorf("got the id %q", id)
			}
		}
		got, _ := client(t, &ncbi{answers: []reply{{body: body}}}, "").Summaries(t.Context(), nil, []string{"31000001"})
		for _, a := range got {
			if a.PMID != "31000001" || a.Authors == nil || a.Title == "" {
				t.Errorf("got %+v", a)
			}
		}
	})
}
