package builtin_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/builtin"
	"github.com/chattray/chattray/tools/toolstest"
)

// utilities is an NCBI over real HTTP; a missing answer is status 503 but
// comes without waiting, as 400.
type utilities map[string]string

func (u utilities) start(t *testing.T, asked *[]string) []turn.Tool {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/eutils/"), ".fcgi")
		*asked = append(*asked, name+" "+r.URL.Query().Get("id")+r.URL.Query().Get("term"))
		body, ok := u[name]
		if !ok {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	list, err := builtin.PubMed(builtin.PubMedConfig{BaseURL: srv.URL + "/eutils/", APIKey: "key", Email: "ops@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func ncbiFixture(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../eutils/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSearchPubMed(t *testing.T) {
	search, summary, fetch := ncbiFixture(t, "esearch.json"), ncbiFixture(t, "esummary.json"), ncbiFixture(t, "efetch.xml")
	for _, tc := range []struct {
		name  string
		ncbi  utilities
		input string
		asked []string
		want  []string
	}{
		{
			"whole records",
			utilities{"esearch": search, "efetch": fetch},
			`{"query":"sleep"}`,
			[]string{"esearch sleep", "efetch 31000001,31000002,31000003,31000004"},
			[]string{
				`812 articles for "sleep"; these are the first 4`, `found nothing for: "zzyzx"`, "1. Naps of short length & recall", "Lund AB, Muñoz J Jr, Solo, Rest Study Group",
				"Journal of rest (2021)", "PMID 31000001", "DOI 10.1000/rest.1", "BACKGROUND: Rest may help.", "4. Naps", "https://pubmed.ncbi.nlm.nih.gov/31000004/",
			},
		},
		{
			"titles only",
			utilities{"esearch": search, "esummary": summary},
			`{"query":"sleep","titles_only":true}`,
			[]string{"esearch sleep", "esummary 31000001,31000002,31000003,31000004"},
			[]string{"1. Naps and recall in adults.", "Lund A, Rest Study Group", "these are the first 3"},
		},
		{
			"no whole records",
			utilities{"esearch": search, "esummary": summary},
			`{"query":"sleep"}`,
			[]string{"esearch sleep", "efetch 31000001,31000002,31000003,31000004", "esummary 31000001,31000002,31000003,31000004"},
			[]string{"The abstracts are not available at the moment.", "1. Naps and recall in adults."},
		},
		{
			"nothing found",
			utilities{"esearch": `{"esearchresult":{"count":"0","idlist":[]}}`},
			`{"query":"x"}`,
			[]string{"esearch x"},
			[]string{`PubMed found no articles for "x"`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var asked, stages []string
			list := tc.ncbi.start(t, &asked)
			got, err := toolstest.Call(t, list, "search_pubmed", tc.input, tools.Call{Report: func(p turn.Progress) { stages = append(stages, p.Stage) }})
			if err != nil {
				t.Fatal(err)
			}
			toolstest.Contains(t, got.Text, tc.want...)
			if d := cmp.Diff(tc.asked, asked); d != "" {
				t.Errorf("asked (-want +got):\n%s", d)
			}
			if d := cmp.Diff([]string{"searching", "reading", "read"}, stages); d != "" {
				t.Errorf("progress (-want +got):\n%s", d)
			}
			if got.Payload == nil || got.Payload.Type != "pubmed_search_results" {
				t.Errorf("got payload %+v", got.Payload)
			}
		})
	}
}

func TestSearchPubMedPayload(t *testing.T) {
	var asked []string
	list := utilities{"esearch": ncbiFixture(t, "esearch.json"), "efetch": ncbiFixture(t, "efetch.xml")}.start(t, &asked)
	got, err := toolstest.Call(t, list, "search_pubmed", `{"query":"sleep","max_results":4,"sort":"newest"}`, tools.Call{})
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, got.Payload.Data, `{"query":"sleep","total":812,"articles":[
		{"pmid":"31000001","title":"Naps of short length & recall: CO2 at 10^-3.","authors":["Lund AB","Muñoz J Jr","Solo","Rest Study Group"],"journal":"Journal of rest",
		 "year":2021,"doi":"10.1000/rest.1","abstract":"BACKGROUND: Rest may help.\nRESULTS: Recall rose by 10% (p<0.05), where x=2.\nA last word.","url":"https://pubmed.ncbi.nlm.nih.gov/31000001/"},
		{"pmid":"31000002","title":"On the use of naps","authors":[],"journal":"Old J","year":1998,"doi":"10.1000/old.2","abstract":"Told elsewhere.","url":"https://pubmed.ncbi.nlm.nih.gov/31000002/"},
		{"pmid":"31000003","title":"(no title)","authors":[],"journal":"","year":2024,"url":"https://pubmed.ncbi.nlm.nih.gov/31000003/"},
		{"pmid":"31000004","title":"Naps","authors":["Writer W"],"journal":"The Book of Rest","year":2019,"doi":"10.1000/book.4","abstract":"A chapter about naps.","url":"https://pubmed.ncbi.nlm.nih.gov/31000004/"}]}`)
}

func TestGetPubMedArticle(t *testing.T) {
	var asked []string
	list := utilities{"efetch": ncbiFixture(t, "efetch.xml")}.start(t, &asked)
	got, err := toolstest.Call(t, list, "get_pubmed_article", `{"pmid":"31000001"}`, tools.Call{})
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, got.Text, "Naps of short length & recall", "Authors: Lund AB, Muñoz J Jr", "Published in: Journal of rest (2021)", "DOI: 10.1000/rest.1",
		"MeSH terms: Sleep / physiology, trends; Memory", "Publication types: Journal Article, Randomized Controlled Trial", "RESULTS: Recall rose by 10%")
	if got.Payload.Type != "pubmed_article" {
		t.Errorf("got type %s", got.Payload.Type)
	}
	sameJSON(t, got.Payload.Data, `{"pmid":"31000001","title":"Naps of short length & recall: CO2 at 10^-3.","authors":["Lund AB","Muñoz J Jr","Solo","Rest Study Group"],
		"journal":"Journal of rest","year":2021,"doi":"10.1000/rest.1","abstract":[{"label":"BACKGROUND","text":"Rest may help."},
		{"label":"RESULTS","text":"Recall rose by 10% (p<0.05), where x=2."},{"text":"A last word."}],"mesh_terms":["Sleep / physiology, trends","Memory"],
		"publication_types":["Journal Article","Randomized Controlled Trial"],"url":"https://pubmed.ncbi.nlm.nih.gov/31000001/"}`)

	bare, err := toolstest.Call(t, list, "get_pubmed_article", `{"pmid":"31000003"}`, tools.Call{})
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, bare.Text, "(no title)", "Authors: not given", "journal not given (2024)", "(this record has no abstract)")
}

func TestPubMedErrors(t *testing.T) {
	for _, tc := range []struct {
		tool, input string
		ncbi        utilities
		code        schemas.Code
		want        string
	}{
		{"get_pubmed_article", `{"pmid":"99999999"}`, utilities{"efetch": `<PubmedArticleSet></PubmedArticleSet>`}, schemas.CodeNotFound, "no article with PMID 99999999"},
		{"get_pubmed_article", `{"pmid":"PMC123"}`, nil, schemas.CodeInvalid, `"pmid" must be`},
		{"search_pubmed", `{"query":""}`, nil, schemas.CodeInvalid, `"query" must be`},
		{"search_pubmed", `{"query":" "}`, nil, schemas.CodeInvalid, "empty"},
		{"search_pubmed", `{"query":"x","sort":"date"}`, nil, schemas.CodeInvalid, `"relevance", "newest"`},
		{"search_pubmed", `{"query":"x","year_from":2020,"year_to":2010}`, nil, schemas.CodeInvalid, "year_from is after year_to"},
		{"search_pubmed", `{"query":"x"}`, utilities{"esearch": "<html>down</html>"}, schemas.CodeUpstreamError, "PubMed"},
		{"search_pubmed", `{"query":"x"}`, utilities{"esearch": ncbiFixture(t, "esearch.json")}, schemas.CodeUpstreamError, "PubMed"},
	} {
		t.Run(fmt.Sprint(tc.tool, tc.input), func(t *testing.T) {
			var asked []string
			_, err := toolstest.Call(t, tc.ncbi.start(t, &asked), tc.tool, tc.input, tools.Call{})
			if v := schemas.Visible(err); v.Code != tc.code || !strings.Contains(v.Message, tc.want) {
				t.Errorf("got %v, want %s with %q", v, tc.code, tc.want)
			}
		})
	}
}

func TestPubMedKeyStaysHidden(t *testing.T) {
	list, err := builtin.PubMed(builtin.PubMedConfig{BaseURL: "http://127.0.0.1:1/", APIKey: "s3cr3t-key", Email: "ops@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = toolstest.Call(t, list, "search_pubmed", `{"query":"x"}`, tools.Call{})
	if err == nil || strings.Contains(err.Error(), "s3cr3t") || schemas.Visible(err).Code != schemas.CodeUpstreamUnavailable {
		t.Errorf("got %v, want upstream_unavailable without the key", err)
	}
}

func TestWebSearch(t *testing.T) {
	const body = `{"query":"x","number_of_results":0,
		"results":[
			{"url":"https://example.org/a","title":"First  hit","content":"About\n rest.","engine":"one","engines":["one"],"publishedDate":"2025-01-02T00:00:00","score":1.5},
			{"url":"https://example.org/a","title":"Again","content":"","engine":"two","publishedDate":null},
			{"url":"magnet:?xt=1","title":"No page"},
			{"url":"http://example.org/b","title":"","content":null},
			{"url":"https://example.org/c","title":"Third"}],
		"answers":["42",{"answer":"forty-two","url":"https://example.org"}],
		"infoboxes":[{"infobox":"Rest","content":"Doing nothing."}],"suggestions":["sleep"],"unresponsive_engines":[["three","timeout"]]}`
	var asked string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		_, _ = io.WriteString(w, body)
	}))
	defer srv.Close()
	list, err := builtin.WebSearch(builtin.WebSearchConfig{URL: srv.URL + "/searx/"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := toolstest.Call(t, list, "web_search", `{"query":"x & y","max_results":2,"time_range":"month","language":"de-CH"}`, tools.Call{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "/searx/search?format=json&language=de-CH&q=x+%26+y&time_range=month"; asked != want {
		t.Errorf("asked %s, want %s", asked, want)
	}
	toolstest.Contains(t, got.Text, "2 results", "Answer: 42", "Answer: forty-two", "Rest: Doing nothing.", "1. First hit\nhttps://example.org/a", "About rest.", "2. http://example.org/b")
	if got.Payload.Type != "web_search_results" {
		t.Errorf("got type %s", got.Payload.Type)
	}
	sameJSON(t, got.Payload.Data, `{"query":"x & y","results":[
		{"title":"First hit","url":"https://example.org/a","snippet":"About rest.","engine":"one","published_at":"2025-01-02T00:00:00"},
		{"title":"http://example.org/b","url":"http://example.org/b","snippet":""}]}`)
}

func TestWebSearchFaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		body   string
		code   schemas.Code
		want   string
	}{
		{"JSON is off", 403, "<h1>Forbidden</h1>", schemas.CodeUpstreamAuth, "search.formats"},
		{"too many", 429, "slow down", schemas.CodeRateLimited, "too many requests"},
		{"out of order", 500, "trace", schemas.CodeUpstreamUnavailable, "not working"},
		{"HTML", 200, "<html></html>", schemas.CodeUpstreamError, "other than results"},
		{"too large", 200, strings.Repeat(" ", 5<<20), schemas.CodeTooLarge, "more data than allowed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			}))
			defer srv.Close()
			list, err := builtin.WebSearch(builtin.WebSearchConfig{URL: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			_, err = toolstest.Call(t, list, "web_search", `{"query":"x"}`, tools.Call{})
			if v := schemas.Visible(err); v.Code != tc.code || !strings.Contains(v.Message, tc.want) {
				t.Errorf("got %v, want %s with %q", v, tc.code, tc.want)
			}
		})
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"results": []any{}, "suggestions": []string{"naps"}, "unresponsive_engines": [][]string{{"one", "timeout"}, {"two", "CAPTCHA"}}})
	}))
	defer srv.Close()
	list, _ := builtin.WebSearch(builtin.WebSearchConfig{URL: srv.URL})
	got, err := toolstest.Call(t, list, "web_search", `{"query":"x"}`, tools.Call{})
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, got.Text, "found nothing", "did not answer: one, two", "naps")
	sameJSON(t, got.Payload.Data, `{"query":"x","results":[]}`)
}

func TestFetchWebpage(t *testing.T) {
	long := strings.Repeat("Eine ganze Zeile Text über Schlaf. ", 800)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<title>Schlaf</title><main><h1>Schlaf</h1><p>"+long+"</p></main>")
	}))
	defer srv.Close()
	guarded := builtin.FetchWebpage(builtin.FetchConfig{})
	if _, err := toolstest.Call(t, guarded, "fetch_webpage", `{"url":"`+srv.URL+`"}`, tools.Call{}); schemas.Visible(err).Code != schemas.CodeForbidden {
		t.Errorf("got %v, want code forbidden", err)
	}
	open := builtin.FetchWebpage(builtin.FetchConfig{HTTP: srv.Client()})
	first, err := toolstest.Call(t, open, "fetch_webpage", `{"url":"`+srv.URL+`/x"}`, tools.Call{})
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, first.Text, "Title: Schlaf", "URL: "+srv.URL+"/x", "# Schlaf", "To read on, call again with start 12000")
	next, err := toolstest.Call(t, open, "fetch_webpage", `{"url":"`+srv.URL+`/x","start":24000}`, tools.Call{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(next.Text, "To read on") || !strings.Contains(next.Text, "über Schlaf") {
		t.Errorf("got %s, want the last part", next.Text)
	}
	past, err := toolstest.Call(t, open, "fetch_webpage", `{"url":"`+srv.URL+`/x","start":99999}`, tools.Call{})
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, past.Text, "The page ends at character")
	var data struct {
		URL, Title, Content string
		Truncated           *bool
	}
	if err := json.Unmarshal(first.Payload.Data, &data); err != nil || first.Payload.Type != "webpage_content" {
		t.Fatalf("got %s, %v", first.Payload.Type, err)
	}
	if data.URL != srv.URL+"/x" || data.Title != "Schlaf" || len(data.Content) < len(long)-1 || data.Truncated != nil {
		t.Errorf("got %d bytes of %q at %s, want the whole page", len(data.Content), data.Title, data.URL)
	}
}
