package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/research"
)

const sample = `
{"kind":"stream","stream_id":1,"name":"Gene editing","purpose":"Follow it","schema":{ "a" : 1 },"instructions":"Be brief","owner":"","created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z"}
{"kind":"stream","stream_id":2,"name":"Second","purpose":""}

{"kind":"report","report_id":10,"stream_id":1,"title":"Old","summary":"s","published_at":"2026-01-01T00:00:00Z"}
{"kind":"report","report_id":11,"stream_id":1,"title":"New","summary":"s","published_at":"2026-02-01T00:00:00Z"}
{"kind":"report","report_id":12,"stream_id":2,"title":"Other","summary":"s","published_at":"2026-01-15T00:00:00Z","article_count":99}
{"kind":"article","article_id":100,"report_id":10,"pmid":"1","title":"CRISPR editing of sickle cell disease","authors":["Frangoul H","Müller J"],"journal":"J","year":2021,"abstract":"Two patients were treated."}
{"kind":"article","article_id":101,"report_id":11,"title":"Base editing","authors":["Doe A"],"abstract":"Editing of CD34-positive cells in sickle cell disease, 2.5 fold."}
{"kind":"article","article_id":102,"report_id":12,"title":"Unrelated diets","abstract":"Mediterranean diets and patients."}
`

func load(t *testing.T, url string) *store.Store {
	t.Helper()
	s := open(t, url)
	counts, err := s.Import(t.Context(), strings.NewReader(sample))
	must(t, err)
	equal(t, "counts", counts, research.Counts{Streams: 2, Reports: 3, Articles: 3})
	return s
}

func testImport(t *testing.T, url string) {
	s := open(t, url)
	empty, err := s.Empty(t.Context())
	must(t, err)
	equal(t, "empty at first", empty, true)
	for range 2 { // the second import replaces the first
		_, err = s.Import(t.Context(), strings.NewReader(sample))
		must(t, err)
	}
	empty, err = s.Empty(t.Context())
	must(t, err)
	equal(t, "empty then", empty, false)
	change := `{"kind":"article","article_id":100,"report_id":11,"title":"Replaced title","authors":[]}`
	_, err = s.Import(t.Context(), strings.NewReader(change))
	must(t, err)
	report, err := s.Report(t.Context(), 11)
	must(t, err)
	equal(t, "moved article", report.Articles[0], schemas.Article{ArticleID: 100, ReportID: 11, Title: "Replaced title", Authors: []string{}})
	equal(t, "count", report.ArticleCount, 2)
	for query, want := range map[string]int{"frangoul": 0, "replaced": 1} {
		found, err := s.SearchArticles(t.Context(), query, 0, 0, 10)
		must(t, err)
		equal(t, "found for "+query, len(found), want)
	}
	_, err = s.Import(t.Context(), strings.NewReader(`{"kind":"stream","stream_id":9,"name":"No schema","schema":null}`))
	must(t, err)
	stream, err := s.Stream(t.Context(), 9)
	must(t, err)
	equal(t, "schema that is null", string(stream.Schema), "{}")
}

func testBadImports(t *testing.T, url string) {
	s := load(t, url)
	good := `{"kind":"stream","stream_id":9,"name":"Good"}` + "\n"
	tests := map[string]struct{ line, want string }{
		"not JSON":        {`nope`, "line 2:"},
		"no object":       {`[1]`, "line 2:"},
		"no kind":         {`{"stream_id":1}`, "kind"},
		"unknown kind":    {`{"kind":"cat"}`, "kind"},
		"unknown field":   {`{"kind":"stream","stream_id":3,"name":"n","colour":"red"}`, "field"},
		"wrong type":      {`{"kind":"stream","stream_id":"3","name":"n"}`, "the field stream_id must be a whole number, not a JSON string"},
		"no text":         {`{"kind":"stream","stream_id":3,"name":7}`, "the field name must be text, not a JSON number"},
		"no list":         {`{"kind":"article","article_id":3,"report_id":1,"title":"t","authors":"Doe"}`, "the field authors must be a list, not a JSON string"},
		"no author":       {`{"kind":"article","article_id":3,"report_id":1,"title":"t","authors":[1]}`, "the field authors must be text, not a JSON number"},
		"no time":         {`{"kind":"report","report_id":1,"stream_id":9,"title":"t","published_at":"May"}`, "wrong type"},
		"no id":           {`{"kind":"report","stream_id":1,"title":"t"}`, "report_id"},
		"unknown parent":  {`{"kind":"report","report_id":1,"stream_id":77,"title":"t"}`, "stream_id 77"},
		"unknown parent2": {`{"kind":"article","article_id":1,"report_id":78,"title":"t"}`, "report_id 78"},
		"schema":          {`{"kind":"stream","stream_id":3,"name":"n","schema":[1]}`, "schema"},
		"year 10000":      {`{"kind":"stream","stream_id":3,"name":"n","created_at":"9999-12-31T23:00:00-14:00"}`, "years"},
		"year before 0":   {`{"kind":"report","report_id":1,"stream_id":9,"title":"t","published_at":"0000-01-01T00:00:00+14:00"}`, "years"},
		"letter case":     {`{"kind":"stream","stream_id":3,"name":"n","Purpose":"p"}`, `"Purpose" is unknown`},
		"folded letter":   {`{"kind":"stream","stream_id":3,"name":"n","purpo\u017fe":"p"}`, "is unknown"},
		"kind's case":     {`{"KIND":"stream","stream_id":3,"name":"n"}`, `"KIND" is unknown`},
		"field twice":     {`{"kind":"stream","stream_id":3,"name":"n","name":"m"}`, "/name is given twice"},
		"escaped twice":   {`{"kind":"stream","stream_id":3,"name":"n","n\u0061me":"m"}`, "/name is given twice"},
		"kind twice":      {`{"kind":"stream","kind":"report","stream_id":3,"name":"n"}`, "/kind is given twice"},
		"twice in schema": {`{"kind":"stream","stream_id":3,"name":"n","schema":{"a":[{"b":1,"b":2}]}}`, "/schema/a/0/b is given twice"},
		"two objects":     {`{"kind":"stream","stream_id":3,"name":"n"} {}`, "line 2:"},
		"line too long":   {`{"kind":"stream","stream_id":3,"name":"` + long("n", 9<<20) + `"}`, "8 MiB"},
	}
	for name, tt := range tests {
		counts, err := s.Import(t.Context(), strings.NewReader(good+tt.line+"\n"))
		failsWith(t, name, err, schemas.CodeInvalid)
		message := schemas.Visible(err).Message
		if !strings.Contains(message, tt.want) || !strings.Contains(message, "line 2") {
			t.Errorf("%s: the error %q does not say %q in line 2", name, message, tt.want)
		}
		if reason := strings.TrimPrefix(message, "line 2: "); strings.Count(err.Error(), reason) != 1 {
			t.Errorf("%s: %q does not say %q once", name, err, reason)
		}
		equal(t, name, counts, research.Counts{})
	}
	_, err := s.Stream(t.Context(), 9)
	fails(t, "what came before the bad lines", err, schemas.ErrNotFound)
}

func testResearch(t *testing.T, url string) {
	s := load(t, url)
	streams, err := s.Streams(t.Context())
	must(t, err)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := []schemas.Stream{
		{StreamID: 1, Name: "Gene editing", Purpose: "Follow it", Schema: json.RawMessage(`{ "a" : 1 }`), Instructions: "Be brief", CreatedAt: at, UpdatedAt: at},
		{StreamID: 2, Name: "Second", Schema: json.RawMessage(`{}`)},
	}
	equal(t, "streams", streams, want)
	one, err := s.Stream(t.Context(), 1)
	must(t, err)
	equal(t, "stream", one, want[0])
	for stream, ids := range map[int64][]int64{0: {11, 12, 10}, 1: {11, 10}, 2: {12}, 3: nil} {
		reports, err := s.Reports(t.Context(), stream)
		must(t, err)
		var got []int64
		for _, r := range reports {
			got = append(got, r.ReportID)
			equal(t, "articles of a report", r.ArticleCount, 1)
		}
		equal(t, fmt.Sprint("reports of stream ", stream), got, ids)
	}
	report, err := s.Report(t.Context(), 10)
	must(t, err)
	equal(t, "report", report, schemas.Report{
		ReportID: 10, StreamID: 1, Title: "Old", Summary: "s", PublishedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ArticleCount: 1,
		Articles: []schemas.Article{{
			ArticleID: 100, ReportID: 10, PMID: "1", Title: "CRISPR editing of sickle cell disease", Authors: []string{"Frangoul H", "Müller J"},
			Journal: "J", Year: 2021, Abstract: "Two patients were treated.",
		}},
	})
	_, err = s.Report(t.Context(), 99)
	fails(t, "report that is not there", err, schemas.ErrNotFound)
	_, err = s.Stream(t.Context(), 99)
	fails(t, "stream that is not there", err, schemas.ErrNotFound)
}

func testUpdateStream(t *testing.T, url string) {
	s := load(t, url)
	before := time.Now()
	got, err := s.UpdateStream(t.Context(), 1, func(st *schemas.Stream) error {
		st.StreamID, st.Name, st.Schema = 77, "Renamed\x00", json.RawMessage(`{ "b": [ ] }`)
		return nil
	})
	must(t, err)
	stored, err := s.Stream(t.Context(), 1)
	must(t, err)
	equal(t, "stored", stored, got)
	equal(t, "changed", []string{stored.Name, stored.Purpose, string(stored.Schema)}, []string{"Renamed", "Follow it", `{ "b": [ ] }`})
	if stored.UpdatedAt.Before(before.Truncate(time.Microsecond)) || stored.StreamID != 1 {
		t.Errorf("got id %d updated at %v, want 1 after %v", stored.StreamID, stored.UpdatedAt, before)
	}
	refusal := errors.New("not yours")
	_, err = s.UpdateStream(t.Context(), 1, func(st *schemas.Stream) error { st.Name = "no"; return refusal })
	fails(t, "refused", err, refusal)
	again, err := s.Stream(t.Context(), 1)
	must(t, err)
	equal(t, "after the refusal", again, stored)
	_, err = s.UpdateStream(t.Context(), 99, func(*schemas.Stream) error { return nil })
	fails(t, "stream that is not there", err, schemas.ErrNotFound)
}

func testSearch(t *testing.T, url string) {
	s := load(t, url)
	tests := []struct {
		query          string
		stream, report int64
		limit          int
		want           []int64
	}{
		{"crispr", 0, 0, 10, []int64{100}},
		{"CRISPR", 0, 0, 10, []int64{100}},
		{"sickle cell editing", 0, 0, 10, []int64{100, 101}},
		{"sickle cell editing patients", 0, 0, 10, []int64{100, 101, 102}}, // all words, then some
		{"sickle cell editing patients", 0, 0, 2, []int64{100, 101}},
		{"sickle cell editing patients", 0, 0, 1, []int64{100}},
		{"edited", 0, 0, 10, []int64{100, 101}}, // found by its stem
		{"frangoul", 0, 0, 10, []int64{100}},    // an author
		{"CD34-positive", 0, 0, 10, []int64{101}},
		{"2.5", 0, 0, 10, []int64{101}},
		{"sickle", 1, 0, 10, []int64{100, 101}},
		{"sickle", 2, 0, 10, nil},
		{"sickle", 0, 11, 10, []int64{101}},
		{"sickle", 1, 12, 10, nil},
		{"nothing like it", 0, 0, 10, nil},
		{"patients nowhere", 0, 0, 10, []int64{100, 102}},
	}
	for _, tt := range tests {
		found, err := s.SearchArticles(t.Context(), tt.query, tt.stream, tt.report, tt.limit)
		must(t, err)
		var got []int64
		for _, a := range found {
			got = append(got, a.ArticleID)
		}
		if tt.query == "sickle" || tt.query == "edited" || tt.query == "patients nowhere" { // the order may differ between databases
			equal(t, fmt.Sprintf("number found for %q", tt.query), len(got), len(tt.want))
			continue
		}
		equal(t, fmt.Sprintf("found for %q", tt.query), got, tt.want)
	}
}

func testHostileSearch(t *testing.T, url string) {
	s := load(t, url)
	queries := map[string]int{ // 0: finds nothing, 1: finds CRISPR, -1: as the database likes
		"": 0, " \t\n": 0, `"`: 0, `""`: 0, `*`: 0, `(`: 0, `) OR (`: 0, `AND`: -1, `NOT`: 0, `&|!<->:*`: 0, "\x00": 0, "\xff": 0, "'": 0, `\`: 0, "{lock} ?": 0,
		`"crispr`: 1, `crispr"`: 1, `cri"spr`: -1, `title:crispr`: -1, `crispr*`: 1, `crispr AND`: -1, `NEAR(crispr, 2)`: -1, `-crispr`: 1, `^crispr`: 1,
		`crispr'; DROP TABLE articles; --`: 1, "cris\x00pr": 1, `'crispr' & !sickle`: -1, `crispr:*`: 1, `{title}: crispr`: -1, `$1 crispr ?`: 1, "🧬 crispr": 1,
		long("crispr ", 100_000): 1, long("(", 10_000): 0, long("a", 100_000): 0,
	}
	for query, want := range queries {
		found, err := s.SearchArticles(t.Context(), query, 0, 0, 10)
		if err != nil {
			t.Errorf("query %.40q: %v", query, err)
			continue
		}
		if want == 0 && len(found) > 0 {
			t.Errorf("query %.40q: got %d articles, want none", query, len(found))
		}
		if want == 1 && (len(found) == 0 || found[0].ArticleID != 100) { // others may share another word of the query
			t.Errorf("query %.40q: got %d articles, want number 100 first", query, len(found))
		}
	}
	streams, err := s.Streams(t.Context())
	if err != nil || len(streams) != 2 {
		t.Errorf("afterwards: %d streams, %v", len(streams), err)
	}
}
