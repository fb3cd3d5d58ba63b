package payloads_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/payloads"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// fromTools and fromModel are the bundled types.
var (
	fromTools = []string{
		"pubmed_search_results", "pubmed_article", "web_search_results", "webpage_content", "article_search_results",
		"report_list", "report_summary", "stream_list", "stream_details", "mcp_result",
	}
	fromModel = map[string]string{
		"schema_proposal":         "SCHEMA_PROPOSAL:",
		"query_suggestion":        "QUERY_SUGGESTION:",
		"stream_suggestions":      "STREAM_SUGGESTIONS:",
		"presentation_categories": "PRESENTATION_CATEGORIES:",
		"ai_column_suggestion":    "AI_COLUMN:",
		"validation_results":      "VALIDATION_RESULTS:",
	}
)

func newRegistry(t testing.TB) *payloads.Registry {
	t.Helper()
	r, err := payloads.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustType(t testing.TB, r *payloads.Registry, name string) turn.PayloadType {
	t.Helper()
	pt, ok := r.Type(name)
	if !ok {
		t.Fatalf("got no payload type %s, want one", name)
	}
	return pt
}

func TestBundledTypes(t *testing.T) {
	r := newRegistry(t)
	if got, want := len(r.Names()), len(fromTools)+len(fromModel); got != want {
		t.Errorf("got %d types, want %d", got, want)
	}
	var globals []string
	for _, pt := range r.Globals() {
		globals = append(globals, pt.Name)
	}
	if diff := cmp.Diff(fromTools, globals); diff != "" {
		t.Errorf("global types (-want +got):\n%s", diff)
	}
	for _, name := range fromTools {
		if pt := mustType(t, r, name); pt.Source != "tool" || pt.Marker != "" || pt.Instructions != "" || pt.Description == "" {
			t.Errorf("%s: got %+v, want a described tool's payload without marker and instructions", name, pt)
		}
	}
	for name, marker := range fromModel {
		pt := mustType(t, r, name)
		if pt.Source != "llm" || pt.Marker != marker || pt.Global || pt.Description == "" {
			t.Errorf("%s: got %+v, want a described payload of the model after %s", name, pt, marker)
		}
	}
	if r.Has("tool_history") {
		t.Error("got a type tool_history, want none: it is no payload with an id")
	}
	files, err := os.ReadDir("schemas")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(files), len(r.Names()); got != want {
		t.Errorf("got %d files in schemas/, want one for each of %d types", got, want)
	}
}

// TestInstructionsExample takes the example out of each instruction as the
// filter would out of an answer.
func TestInstructionsExample(t *testing.T) {
	r := newRegistry(t)
	for name := range fromModel {
		pt := mustType(t, r, name)
		_, found := payloads.NewFilter([]turn.PayloadType{pt}, nil, nil).Parse(pt.Instructions)
		if len(found.Payloads) != 1 || found.Payloads[0].Type != name || len(found.Warnings) > 0 {
			t.Errorf("%s: got %+v, want one payload and no warning", name, found)
		}
	}
}

// TestSchemasAreStrict walks the schema files: each says its draft, objects
// name their properties and take no others, and every property is described.
func TestSchemasAreStrict(t *testing.T) {
	r := newRegistry(t)
	for _, name := range r.Names() {
		var root map[string]any
		if err := json.Unmarshal(mustType(t, r, name).Schema, &root); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, want := root["$schema"], "https://json-schema.org/draft/2020-12/schema"; got != want {
			t.Errorf("%s: got $schema %v, want %v", name, got, want)
		}
		checkStrict(t, name, root)
	}
}

func checkStrict(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	if schema["type"] == "object" && properties != nil && schema["additionalProperties"] != false {
		t.Errorf("%s: got additionalProperties %v, want false", path, schema["additionalProperties"])
	}
	for key, p := range properties {
		property := p.(map[string]any)
		if property["description"] == nil && property["$ref"] == nil {
			t.Errorf("%s.%s: got no description, want one", path, key)
		}
		checkStrict(t, path+"."+key, property)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		checkStrict(t, path+"[]", items)
	}
	defs, _ := schema["$defs"].(map[string]any)
	for key, def := range defs {
		checkStrict(t, path+"#"+key, def.(map[string]any))
	}
}

var (
	day     = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	article = schemas.Article{
		ArticleID: 1, ReportID: 2, PMID: "31234567", DOI: "10.1/x", Title: "T", Authors: []string{"A B"},
		Journal: "J", Year: 2020, Abstract: "a", Category: "c", URL: "https://example.org/1",
	}
	report = schemas.Report{ReportID: 2, StreamID: 3, Title: "May", Summary: "s", PublishedAt: day, ArticleCount: 1}
	stream = schemas.Stream{
		StreamID: 3, Name: "Gene editing", Purpose: "p", Schema: json.RawMessage(`{"a":{"b":[1]}}`), Instructions: "i", Owner: "o",
		CreatedAt: day, UpdatedAt: day,
	}
)

type object = map[string]any

func TestFitAndSummary(t *testing.T) {
	whole := report
	whole.Articles = []schemas.Article{article}
	tests := []struct {
		name, payload string
		data          any
		want          string
	}{
		{
			"PubMed search", "pubmed_search_results",
			object{"query": "CRISPR", "total": 812, "articles": slices.Repeat([]any{object{"pmid": "1", "title": "T", "authors": []string{}, "journal": "J", "year": 2020, "doi": "10.1/x", "abstract": "a", "url": "https://example.org"}}, 5)},
			"PubMed search: CRISPR (5 of 812)",
		},
		{"PubMed search without hits", "pubmed_search_results", object{"query": "x\n  y", "total": 0, "articles": []any{}}, "PubMed search: x y (0 of 0)"},
		{
			"PubMed article", "pubmed_article",
			object{
				"pmid": "31234567", "title": "On cuts", "authors": []string{"A B"}, "journal": "J", "year": 2020, "doi": "10.1/x", "mesh_terms": []string{"M"},
				"abstract": []any{object{"label": "METHODS", "text": "t"}, object{"text": "t"}}, "publication_types": []string{"Review"}, "url": "https://example.org",
			},
			"PubMed article 31234567: On cuts",
		},
		{"PubMed article with only the required fields", "pubmed_article", object{"pmid": "1", "title": "T", "authors": []string{}, "url": "u"}, "PubMed article 1: T"},
		{
			"web search", "web_search_results",
			object{"query": "q", "results": []any{object{"title": "T", "url": "u", "snippet": "s", "engine": "e", "published_at": "2026-01-01"}}},
			"Web search: q (1 result)",
		},
		{"web page", "webpage_content", object{"url": "https://example.org", "content": "c"}, "Web page: https://example.org"},
		{"web page with title", "webpage_content", object{"url": "u", "title": "T", "content": "c", "truncated": true}, "Web page: T (beginning)"},
		{"articles", "article_search_results", object{"query": "q", "total": 3, "articles": []schemas.Article{article, {ArticleID: 4, ReportID: 5, Title: "T", Authors: []string{}}}}, "Article search: q (2 of 3)"},
		{"reports", "report_list", object{"reports": []schemas.Report{report, report}}, "2 reports, newest: May"},
		{"no reports", "report_list", object{"reports": []schemas.Report{}}, "0 reports"},
		{"report", "report_summary", object{"report": whole}, "Report 2: May (1 article)"},
		{"report without articles", "report_summary", object{"report": schemas.Report{ReportID: 1, StreamID: 1, Title: "T"}}, "Report 1: T (0 articles)"},
		{"streams", "stream_list", object{"streams": []schemas.Stream{stream, {StreamID: 4, Name: "Sleep"}}}, "2 research streams: Gene editing, Sleep"},
		{"stream", "stream_details", object{"stream": stream}, "Research stream 3: Gene editing"},
		{"stream with reports", "stream_details", object{"stream": stream, "reports": []schemas.Report{report}}, "Research stream 3: Gene editing (1 report)"},
		{"result of a foreign tool", "mcp_result", object{"server": "s", "tool": "t", "structured": []int{1}}, "Result of t (s)"},
		{
			"result of a foreign tool, with all", "mcp_result",
			object{
				"server": "s", "tool": "t", "structured": nil, "images": []any{object{"mime": "image/png", "data": "cG5n"}},
				"resources": []any{object{"uri": "x:1", "name": "n", "description": "d", "mime": "m", "size": 3, "text": "abc"}, object{}},
			},
			"Result of t (s), 1 image, 2 resources",
		},
		{"proposal", "schema_proposal", object{"changes": object{"a.b": nil, "c": []int{1}}}, "Schema proposal: changes (2 changed)"},
		{"proposal with title", "schema_proposal", object{"stream_id": 1, "title": "T", "rationale": "r", "changes": object{"a": 1}}, "Schema proposal: T (1 changed)"},
		{"query", "query_suggestion", object{"query": strings.Repeat("ä", 300), "source": "web"}, "Query suggestion: " + strings.Repeat("ä", 181) + "…"},
		{"stream suggestions", "stream_suggestions", object{"suggestions": []any{object{"name": "A", "purpose": "p"}, object{"name": "B", "purpose": "p", "topics": []string{"t"}, "query": "q", "rationale": "r"}}}, "2 stream suggestions: A, B"},
		{"categories", "presentation_categories", object{"categories": []any{object{"name": "A", "article_ids": []int{1}}, object{"name": "B", "pmids": []string{"2"}}}}, "2 categories: A, B"},
		{"column", "ai_column_suggestion", object{"name": "N", "description": "d", "type": "text", "prompt": "p"}, "AI column: N (text)"},
		{"validation", "validation_results", object{"results": []any{object{"item": "a", "status": "valid"}}}, "Validation: 1 result"},
	}
	r := newRegistry(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := json.Marshal(tt.data)
			if err != nil {
				t.Fatal(err)
			}
			pt := mustType(t, r, tt.payload)
			decoded, err := pt.Check(raw)
			if err != nil {
				t.Errorf("got %v, want %s to fit", err, raw)
			}
			if got := pt.Summarize(decoded); got != tt.want {
				t.Errorf("got summary %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMisfit(t *testing.T) {
	tests := []struct{ name, payload, data string }{
		{"no JSON", "pubmed_article", `{`},
		{"wrong root", "report_list", `[]`},
		{"part missing", "pubmed_search_results", `{"query": "q", "articles": []}`},
		{"part unknown", "webpage_content", `{"url": "u", "content": "c", "html": "h"}`},
		{"wrong type", "pubmed_search_results", `{"query": "q", "total": "812", "articles": []}`},
		{"PubMed id with letters", "pubmed_article", `{"pmid": "PMC1", "title": "T", "authors": [], "url": "u"}`},
		{"no changes", "schema_proposal", `{"changes": {}}`},
		{"path that is none", "schema_proposal", `{"changes": {"a..b": 1}}`},
		{"stream without number", "schema_proposal", `{"stream_id": "1", "changes": {"a": 1}}`},
		{"unknown source", "query_suggestion", `{"query": "q", "source": "library"}`},
		{"empty query", "query_suggestion", `{"query": ""}`},
		{"no suggestions", "stream_suggestions", `{"suggestions": []}`},
		{"category without articles", "presentation_categories", `{"categories": [{"name": "A"}]}`},
		{"enum without options", "ai_column_suggestion", `{"name": "N", "description": "d", "type": "enum", "prompt": "p"}`},
		{"two values", "validation_results", `{"results": []} {"results": []}`},
		{"unknown status", "validation_results", `{"results": [{"item": "a", "status": "fine"}]}`},
	}
	r := newRegistry(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := mustType(t, r, tt.payload).Check(json.RawMessage(tt.data)); err == nil {
				t.Errorf("got no error, want %s not to fit %s", tt.data, tt.payload)
			}
		})
	}
}

func TestNewType(t *testing.T) {
	good := turn.PayloadDef{
		Name: "reading_list", Description: "d", Source: "llm", Marker: "READING_LIST:", Instructions: "i",
		Schema: json.RawMessage(`{"type": "array", "items": {"type": "object"}}`), Summary: `{{len .}} to read, {{(index . 0).pages}} pages{{.none}}`,
	}
	tests := []struct {
		name   string
		change func(*turn.PayloadDef)
		want   []string // in the error; none for a good one
	}{
		{"good", func(*turn.PayloadDef) {}, nil},
		{"of a tool", func(d *turn.PayloadDef) { d.Source, d.Marker, d.Instructions = "tool", "", "" }, nil},
		{"instructions without a marker", func(d *turn.PayloadDef) { d.Source, d.Marker = "tool", "" }, []string{"instructions have no effect without a marker"}},
		{"name", func(d *turn.PayloadDef) { d.Name = "Reading list" }, []string{`"Reading list"`, "name"}},
		{"source", func(d *turn.PayloadDef) { d.Source = "user" }, []string{`source "user"`}},
		{"no marker", func(d *turn.PayloadDef) { d.Marker = "" }, []string{`marker ""`}},
		{"no colon", func(d *turn.PayloadDef) { d.Marker = "READING_LIST" }, []string{`marker "READING_LIST"`, "colon"}},
		{"marker of suggestions", func(d *turn.PayloadDef) { d.Marker = "SUGGESTED_VALUES:" }, []string{"SUGGESTED_VALUES: belongs to suggestions"}},
		{"marker of actions", func(d *turn.PayloadDef) { d.Marker = "SUGGESTED_ACTIONS:" }, []string{"SUGGESTED_ACTIONS: belongs to suggestions"}},
		{"marker of a tool", func(d *turn.PayloadDef) { d.Source = "tool" }, []string{"no marker"}},
		{"no schema", func(d *turn.PayloadDef) { d.Schema = nil }, []string{"schema"}},
		{"schema without a type", func(d *turn.PayloadDef) { d.Schema = json.RawMessage(`{"minItems": 1}`) }, []string{`"type" at the root`}},
		{"schema of a string", func(d *turn.PayloadDef) { d.Schema = json.RawMessage(`{"type": "string"}`) }, []string{`"type" at the root`}},
		{"schema that refers to the outside", func(d *turn.PayloadDef) {
			d.Schema = json.RawMessage(`{"type": "object", "properties": {"a": {"$ref": "https://example.org/s.json"}}}`)
		}, []string{"schema"}},
		{"schema with a bad pattern", func(d *turn.PayloadDef) {
			d.Schema = json.RawMessage(`{"type": "object", "properties": {"a": {"pattern": "("}}}`)
		}, []string{"schema"}},
		{"large schema", func(d *turn.PayloadDef) {
			d.Schema = json.RawMessage(`{"type": "object", "title": "` + strings.Repeat("x", 64<<10) + `"}`)
		}, []string{"schema", "at most 65536"}},
		{"template", func(d *turn.PayloadDef) { d.Summary = "{{.a" }, []string{"summary"}},
		{"long template", func(d *turn.PayloadDef) { d.Summary = strings.Repeat("x", 4001) }, []string{"summary", "at most 4000"}},
		{"long instructions", func(d *turn.PayloadDef) { d.Instructions = strings.Repeat("x", 8001) }, []string{"instructions"}},
		{"everything at once", func(d *turn.PayloadDef) { *d = turn.PayloadDef{Summary: "{{"} }, []string{"name", "source", "schema", "summary"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			def := good
			tt.change(&def)
			pt, err := payloads.NewType(def)
			if len(tt.want) == 0 {
				if err != nil || pt.Name != def.Name || !pt.Array || pt.Global {
					t.Errorf("got %+v and error %v, want a type of an array that is not global", pt, err)
				}
				return
			}
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got error %v, want %q in it", err, want)
				}
			}
		})
	}
}

func TestSummaryOfDeclaredType(t *testing.T) {
	tests := []struct{ name, template, data, want string }{
		{"no template", "", `{}`, "reading list"},
		{"whole numbers", `{{.n}} of {{.m}}{{if gt .n 5}}!{{end}}`, `{"n": 12345678901, "m": 1.5}`, "12345678901 of 1.5!"},
		{"one line", "a\n {{.x}}\t", `{"x": "b\n\nc"}`, "a b c"},
		{"missing part", `{{.a.b}}{{with .c}}c{{end}} x`, `{"a": {}}`, "x"},
		{"template that fails", `{{index .a 3}}`, `{"a": []}`, "reading list"},
		{"nothing written", `{{.a}}`, `{}`, "reading list"},
		{"too long", `{{range .a}}{{range $.a}}{{range $.a}}word {{end}}{{end}}{{end}}`, `{"a": [` + strings.Repeat("1,", 99) + `1]}`, strings.Repeat("word ", 39) + "word…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pt, err := payloads.NewType(turn.PayloadDef{Name: "reading_list", Source: "tool", Schema: json.RawMessage(`{"type": "object"}`), Summary: tt.template})
			if err != nil {
				t.Fatal(err)
			}
			decoded, _ := pt.Check(json.RawMessage(tt.data))
			if got := pt.Summarize(decoded); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRegistryAdd(t *testing.T) {
	r := newRegistry(t)
	add := func(name, marker string) error {
		pt, err := payloads.NewType(turn.PayloadDef{Name: name, Source: "llm", Marker: marker, Schema: json.RawMessage(`{"type": "object"}`)})
		if err != nil {
			t.Fatal(err)
		}
		return r.Add(pt)
	}
	if err := add("reading_list", "READING_LIST:"); err != nil || !r.Has("reading_list") {
		t.Errorf("got error %v, want a new type", err)
	}
	if err := add("report_list", "REPORT_LIST:"); err == nil || !strings.Contains(err.Error(), "report_list") {
		t.Errorf("got error %v, want one about the name report_list", err)
	}
	if err := add("other", "AI_COLUMN:"); err == nil || !strings.Contains(err.Error(), "ai_column_suggestion") {
		t.Errorf("got error %v, want one that names ai_column_suggestion", err)
	}
	if r.Has("other") {
		t.Error("got the type other, want none")
	}
}
