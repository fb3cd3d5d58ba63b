package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/builtin"
	"github.com/chattray/chattray/tools/toolstest"
)

var day = time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)

// library is research data in memory; asked records the last search.
type library struct {
	streams []schemas.Stream
	reports []schemas.Report
	found   []schemas.Article
	asked   string
}

func (l *library) Streams(context.Context) ([]schemas.Stream, error) { return l.streams, nil }

func (l *library) Stream(_ context.Context, id int64) (schemas.Stream, error) {
	for _, s := range l.streams {
		if s.StreamID == id {
			return s, nil
		}
	}
	return schemas.Stream{}, schemas.ErrNotFound
}

func (l *library) Reports(_ context.Context, stream int64) ([]schemas.Report, error) {
	var out []schemas.Report
	for _, r := range l.reports {
		if stream == 0 || r.StreamID == stream {
			out = append(out, r)
		}
	}
	return out, nil
}

func (l *library) Report(_ context.Context, id int64) (schemas.Report, error) {
	for _, r := range l.reports {
		if r.ReportID == id {
			return r, nil
		}
	}
	return schemas.Report{}, fmt.Errorf("report: %w", schemas.ErrNotFound)
}

func (l *library) SearchArticles(_ context.Context, query string, stream, report int64, limit int) ([]schemas.Article, error) {
	l.asked = fmt.Sprintf("%s stream=%d report=%d limit=%d", query, stream, report, limit)
	return l.found, nil
}

func sample() *library {
	article := schemas.Article{
		ArticleID: 11, ReportID: 7, PMID: "31000001", DOI: "10.1000/x", Title: "Sleep and memory", Authors: []string{"Ada L", "Bo M"},
		Journal: "Journal of Rest", Year: 2025, Abstract: "People who slept longer remembered more words.", Category: "trials",
		URL: "https://pubmed.ncbi.nlm.nih.gov/31000001/",
	}
	bare := schemas.Article{ArticleID: 12, ReportID: 7, Title: "A note without anything"}
	return &library{
		streams: []schemas.Stream{
			{StreamID: 1, Name: "Sleep", Purpose: "What helps people sleep", Schema: json.RawMessage(`{"population":"adults"}`), Instructions: "Prefer trials.", CreatedAt: day, UpdatedAt: day},
			{StreamID: 2, Name: "Diet", Purpose: "What people eat", Schema: json.RawMessage(`{}`), CreatedAt: day, UpdatedAt: day},
		},
		reports: []schemas.Report{
			{ReportID: 7, StreamID: 1, Title: "Sleep in March", Summary: "Longer sleep, better memory.", PublishedAt: day, ArticleCount: 2, Articles: []schemas.Article{article, bare}},
			{ReportID: 8, StreamID: 2, Title: "Diet in March", Summary: "Fibre helps.", PublishedAt: day, ArticleCount: 0},
		},
		found: []schemas.Article{article, bare},
	}
}

func on(page string) tools.Call {
	var c tools.Call
	_ = json.Unmarshal([]byte(page), &c.Context)
	return c
}

func TestSearchArticles(t *testing.T) {
	data := sample()
	list := builtin.Research(data)
	for _, tc := range []struct{ name, page, input, want string }{
		{"plain", `{}`, `{"query":"x"}`, "x stream=0 report=0 limit=10"},
		{"report on the page", `{"report_id":7,"stream_id":1}`, `{"query":"x"}`, "x stream=0 report=7 limit=10"},
		{"stream on the page", `{"stream_id":1}`, `{"query":"x"}`, "x stream=1 report=0 limit=10"},
		{"everywhere", `{"report_id":7}`, `{"query":"x","report_id":0}`, "x stream=0 report=0 limit=10"},
		{"another stream", `{"report_id":7}`, `{"query":"x","stream_id":2}`, "x stream=2 report=0 limit=10"},
		{"limit", `{}`, `{"query":"x","limit":3}`, "x stream=0 report=0 limit=3"},
		{"page with odd values", `{"report_id":"seven","stream_id":-1}`, `{"query":"x"}`, "x stream=0 report=0 limit=10"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := toolstest.Call(t, list, "search_articles", tc.input, on(tc.page))
			if err != nil || data.asked != tc.want {
				t.Errorf("asked %q, %v, want %q", data.asked, err, tc.want)
			}
			toolstest.Contains(t, got.Text, "2 articles match", "1. Sleep and memory", "Ada L, Bo M", "Journal of Rest (2025)", "PMID 31000001",
				"remembered more words", "2. A note without anything", "no authors given", "report 7")
		})
	}
	got, _ := toolstest.Call(t, list, "search_articles", `{"query":"x"}`, tools.Call{})
	if got.Payload.Type != "article_search_results" {
		t.Errorf("got type %s", got.Payload.Type)
	}
	sameJSON(t, got.Payload.Data, `{"query":"x","total":2,"articles":[
		{"article_id":11,"report_id":7,"pmid":"31000001","doi":"10.1000/x","title":"Sleep and memory","authors":["Ada L","Bo M"],"journal":"Journal of Rest",
		 "year":2025,"abstract":"People who slept longer remembered more words.","category":"trials","url":"https://pubmed.ncbi.nlm.nih.gov/31000001/"},
		{"article_id":12,"report_id":7,"title":"A note without anything","authors":[]}]}`)

	data.found = nil
	got, err := toolstest.Call(t, list, "search_articles", `{"query":"nothing"}`, on(`{"report_id":7}`))
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, got.Text, `No articles match "nothing" in report 7`, "pass 0")
	sameJSON(t, got.Payload.Data, `{"query":"nothing","total":0,"articles":[]}`)
}

func TestReports(t *testing.T) {
	list := builtin.Research(sample())
	got, err := toolstest.Call(t, list, "list_reports", `{}`, tools.Call{})
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, got.Text, "2 reports, newest first:\n", "1. Sleep in March (report 7, stream 1, 2026-03-04, 2 articles)", "Longer sleep", "2. Diet in March")
	if strings.Contains(string(got.Payload.Data), `"articles"`) {
		t.Errorf("got %s, want reports without articles", got.Payload.Data)
	}
	if got, err = toolstest.Call(t, list, "list_reports", `{"limit":1}`, tools.Call{}); err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, got.Text, "2 reports, newest first; these are the first 1:\n")
	got, err = toolstest.Call(t, list, "list_reports", `{"limit":5}`, on(`{"stream_id":2}`))
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, got.Payload.Data, `{"reports":[{"report_id":8,"stream_id":2,"title":"Diet in March","summary":"Fibre helps.","published_at":"2026-03-04T00:00:00Z","article_count":0}]}`)

	for _, tc := range []struct{ page, input string }{{`{}`, `{"report_id":7}`}, {`{"report_id":7}`, `{}`}, {`{"report_id":8}`, `{"report_id":7}`}} {
		got, err = toolstest.Call(t, list, "get_report", tc.input, on(tc.page))
		if err != nil {
			t.Fatal(err)
		}
		toolstest.Contains(t, got.Text, "Report 7: Sleep in March", "Longer sleep, better memory.", "1. Sleep and memory", "remembered more words", "PMID 31000001")
	}
	var data struct{ Report schemas.Report }
	if err := json.Unmarshal(got.Payload.Data, &data); err != nil || got.Payload.Type != "report_summary" {
		t.Fatalf("got %s %s, %v", got.Payload.Type, got.Payload.Data, err)
	}
	if data.Report.ReportID != 7 || len(data.Report.Articles) != 2 {
		t.Errorf("got %+v, want report 7 with 2 articles", data.Report)
	}
}

func TestStreams(t *testing.T) {
	list := builtin.Research(sample())
	got, err := toolstest.Call(t, list, "list_streams", `{}`, tools.Call{})
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, got.Text, "2 research streams", "1. Sleep (stream 1)", "What helps people sleep", "2. Diet")
	var data struct{ Streams []schemas.Stream }
	if err := json.Unmarshal(got.Payload.Data, &data); err != nil || len(data.Streams) != 2 {
		t.Errorf("got %s, %v, want 2 streams", got.Payload.Data, err)
	}
	got, err = toolstest.Call(t, list, "get_stream", `{}`, on(`{"stream_id":1}`))
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, got.Text, "Stream 1: Sleep", "What helps people sleep", `{"population":"adults"}`, "Prefer trials.", "Sleep in March")
	sameJSON(t, got.Payload.Data, `{"stream":{"stream_id":1,"name":"Sleep","purpose":"What helps people sleep","schema":{"population":"adults"},
		"instructions":"Prefer trials.","created_at":"2026-03-04T00:00:00Z","updated_at":"2026-03-04T00:00:00Z"},
		"reports":[{"report_id":7,"stream_id":1,"title":"Sleep in March","summary":"Longer sleep, better memory.","published_at":"2026-03-04T00:00:00Z","article_count":2}]}`)
}

func TestResearchErrors(t *testing.T) {
	list := builtin.Research(sample())
	for _, tc := range []struct {
		tool, input string
		code        schemas.Code
		want        string
	}{
		{"get_report", `{"report_id":99}`, schemas.CodeNotFound, "there is no report 99"},
		{"get_stream", `{"stream_id":99}`, schemas.CodeNotFound, "there is no stream 99"},
		{"get_report", `{}`, schemas.CodeInvalid, "report_id is required"},
		{"get_stream", `{}`, schemas.CodeInvalid, "stream_id is required"},
		{"search_articles", `{"query":"  "}`, schemas.CodeInvalid, "the query is empty"},
		{"search_articles", `{"query":""}`, schemas.CodeInvalid, "at least 1 characters"},
		{"search_articles", `{"query":"x","limit":1000}`, schemas.CodeInvalid, "at most 50"},
	} {
		t.Run(tc.tool+tc.input, func(t *testing.T) {
			_, err := toolstest.Call(t, list, tc.tool, tc.input, tools.Call{})
			if v := schemas.Visible(err); v.Code != tc.code || !strings.Contains(v.Message, tc.want) {
				t.Errorf("got %v, want %s with %q", v, tc.code, tc.want)
			}
		})
	}
}

func TestLongListsAreBounded(t *testing.T) {
	data := sample()
	long := data.found[0]
	long.Abstract = strings.Repeat("word ", 2000)
	data.found, data.reports[0].Articles = nil, nil
	for range 200 {
		data.found = append(data.found, long)
		data.reports[0].Articles = append(data.reports[0].Articles, long)
	}
	for tool, input := range map[string]string{"search_articles": `{"query":"x"}`, "get_report": `{"report_id":7}`} {
		got, err := toolstest.Call(t, builtin.Research(data), tool, input, tools.Call{})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Text) > 16_000 {
			t.Errorf("%s: got a text of %d bytes, want at most 16000", tool, len(got.Text))
		}
		toolstest.Contains(t, got.Text, "30. Sleep and memory", "(170 more are not shown.)")
	}
}

// chats is a store of payloads: owner, chat and id in the key.
type chats map[string]schemas.CustomPayload

func (c chats) Payload(_ context.Context, owner string, id int64, payload string) (schemas.CustomPayload, error) {
	if p, ok := c[fmt.Sprint(owner, id, payload)]; ok {
		return p, nil
	}
	return schemas.CustomPayload{}, schemas.ErrNotFound
}

func TestGetPayload(t *testing.T) {
	store := chats{fmt.Sprint("ada", 5, "00ff00ff"): {Type: "report_list", Summary: "2 reports", Outcome: "accepted", Data: json.RawMessage(`{"reports":[]}`)}}
	list := builtin.Payloads(store)
	ada := tools.Call{User: schemas.User{ID: "ada"}, ConversationID: 5}
	got, err := toolstest.Call(t, list, "get_payload", `{"payload_id":"00ff00ff"}`, ada)
	if err != nil || got.Payload != nil {
		t.Fatalf("got %+v, %v, want text alone", got, err)
	}
	toolstest.Contains(t, got.Text, "00ff00ff", "report_list", "2 reports", "accepted", `{"reports":[]}`)
	for name, tc := range map[string]struct {
		call  tools.Call
		input string
		code  schemas.Code
	}{
		"unknown":       {ada, `{"payload_id":"ffffffff"}`, schemas.CodeNotFound},
		"another's":     {tools.Call{User: schemas.User{ID: "bo"}, ConversationID: 5}, `{"payload_id":"00ff00ff"}`, schemas.CodeNotFound},
		"another chat":  {tools.Call{User: schemas.User{ID: "ada"}, ConversationID: 6}, `{"payload_id":"00ff00ff"}`, schemas.CodeNotFound},
		"no payload id": {ada, `{"payload_id":"report"}`, schemas.CodeInvalid},
	} {
		if _, err := toolstest.Call(t, list, "get_payload", tc.input, tc.call); schemas.Visible(err).Code != tc.code {
			t.Errorf("%s: got %v, want %s", name, err, tc.code)
		}
	}
}

func TestBuiltinOffersWhatIsConfigured(t *testing.T) {
	all := []string{
		"search_pubmed", "get_pubmed_article", "web_search", "fetch_webpage", "search_articles", "list_reports", "get_report",
		"list_streams", "get_stream", "research", "compare_models", "get_payload",
	}
	list, err := builtin.Tools(builtin.Config{SearXNG: "http://searx:8080", Research: sample(), Payloads: chats{}, Models: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(all, toolstest.Names(list)); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	if _, err := tools.NewRegistry(list...); err != nil {
		t.Errorf("got %v, want them all sound", err)
	}
	least, err := builtin.Tools(builtin.Config{Research: sample(), Payloads: chats{}, Documents: &desk{}})
	if err != nil {
		t.Fatal(err)
	}
	unconfigured, err := tools.NewRegistry(least...)
	if err != nil {
		t.Fatal(err)
	}
	unconfigured.Expect(builtin.Optional()...)
	for _, tool := range append(builtin.Sample(), list...) {
		if !tool.Idempotent && tool.Name != "order_print" {
			t.Errorf("%s is not idempotent: if a second call would do harm, add it to this exception", tool.Name)
		}
		if !unconfigured.Has(tool.Name) {
			t.Errorf("%s is unknown where it is not configured", tool.Name)
		}
	}
	bare, err := builtin.Tools(builtin.Config{Models: []string{"alone"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"search_pubmed", "get_pubmed_article", "fetch_webpage", "research"}, toolstest.Names(bare)); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	_, err = builtin.Tools(builtin.Config{SearXNG: "searx:8080", PubMed: builtin.PubMedConfig{BaseURL: "nowhere"}})
	if err == nil || !strings.Contains(err.Error(), "SearXNG") || !strings.Contains(err.Error(), "PubMed") {
		t.Errorf("got %v, want both mistakes", err)
	}
}

func TestStoreErrorsPass(t *testing.T) {
	away := schemas.NewError(schemas.CodeStoreUnavailable, "the store is not available")
	_, err := toolstest.Call(t, builtin.Research(broken{away}), "list_streams", `{}`, tools.Call{})
	if !errors.Is(err, away) {
		t.Errorf("got %v, want %v", err, away)
	}
}

// broken is research data that is away.
type broken struct{ err error }

func (b broken) Streams(context.Context) ([]schemas.Stream, error) { return nil, b.err }
func (b broken) Stream(context.Context, int64) (schemas.Stream, error) {
	return schemas.Stream{}, b.err
}
func (b broken) Reports(context.Context, int64) ([]schemas.Report, error) { return nil, b.err }
func (b broken) Report(context.Context, int64) (schemas.Report, error) {
	return schemas.Report{}, b.err
}

func (b broken) SearchArticles(context.Context, string, int64, int64, int) ([]schemas.Article, error) {
	return nil, b.err
}

// sameJSON compares a payload's data with what is wanted.
func sameJSON(t *testing.T, got json.RawMessage, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("got %s: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w, g); d != "" {
		t.Errorf("data (-want +got):\n%s", d)
	}
}
