package payloads

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/chattray/chattray/schemas/turn"
)

// bundledType is one row of the table of bundled types. Its schema, which has
// the description, is in schemas/NAME.json. The model writes types with a
// marker, on the pages that declare them. Types without a marker come from
// tools and are allowed wherever their tool is offered.
type bundledType struct {
	name         string
	marker       string
	summary      string
	instructions string
}

// payloadType reads the row's schema. It is compiled for the first payload of the type:
// compiling all of them would take a sixth of the time of a start.
func (b bundledType) payloadType() (turn.PayloadType, error) {
	schema, err := schemaFiles.ReadFile("schemas/" + b.name + ".json")
	if err != nil {
		return turn.PayloadType{}, err
	}
	var head struct {
		Type        string `json:"type"`
		Description string `json:"description"`
	}
	if err := json.Unmarshal(schema, &head); err != nil {
		return turn.PayloadType{}, fmt.Errorf("schemas/%s.json: %w", b.name, err)
	}
	def := turn.PayloadDef{
		Name:         b.name,
		Description:  head.Description,
		Source:       sourceTool,
		Marker:       b.marker,
		Instructions: b.instructions,
		Schema:       schema,
		Summary:      b.summary,
	}
	if b.marker != "" {
		def.Source = sourceLLM
	}
	compiled := sync.OnceValues(func() (turn.PayloadType, error) { return NewType(def) })
	return turn.PayloadType{
		Name:         def.Name,
		Description:  def.Description,
		Schema:       def.Schema,
		Array:        head.Type == "array",
		Source:       def.Source,
		Marker:       def.Marker,
		Instructions: def.Instructions,
		Global:       def.Source == sourceTool,
		Check: func(data json.RawMessage) (any, error) {
			t, err := compiled()
			if err != nil {
				return nil, err
			}
			return t.Check(data)
		},
		Summarize: func(data any) string {
			t, err := compiled()
			if err != nil {
				return ""
			}
			return t.Summarize(data)
		},
	}, nil
}

var bundled = []bundledType{
	{name: "pubmed_search_results", summary: `PubMed search: {{.query}} ({{len .articles}} of {{.total}})`},
	{name: "pubmed_article", summary: `PubMed article {{.pmid}}: {{.title}}`},
	{name: "web_search_results", summary: `Web search: {{.query}} ({{count .results "result"}})`},
	{name: "webpage_content", summary: `Web page: {{or .title .url}}{{if .truncated}} (beginning){{end}}`},
	{name: "article_search_results", summary: `Article search: {{.query}} ({{len .articles}} of {{.total}})`},
	{name: "report_list", summary: `{{count .reports "report"}}{{with .reports}}, newest: {{(index . 0).title}}{{end}}`},
	{name: "report_summary", summary: `Report {{.report.report_id}}: {{.report.title}} ({{if eq .report.article_count 1}}1 article{{else}}{{.report.article_count}} articles{{end}})`},
	{name: "stream_list", summary: `{{count .streams "research stream"}}{{range $i, $s := .streams}}{{if $i}}, {{else}}: {{end}}{{$s.name}}{{end}}`},
	{name: "stream_details", summary: `Research stream {{.stream.stream_id}}: {{.stream.name}}{{with .reports}} ({{count . "report"}}){{end}}`},
	{name: "mcp_result", summary: `Result of {{.tool}} ({{.server}}){{with .images}}, {{count . "image"}}{{end}}{{with .resources}}, {{count . "resource"}}{{end}}`},
	{
		name:    "schema_proposal",
		marker:  "SCHEMA_PROPOSAL:",
		summary: `Schema proposal: {{or .title "changes"}} ({{len .changes}} changed)`,
		instructions: `When the user wants the research stream's schema changed, or when a change would clearly help, propose it. First say in a sentence or two what you would change and why, then write the marker on a line of its own with one JSON object after it. "changes" maps dotted paths in the schema to their new values; a value replaces what is there, so give lists whole. "stream_id", "title" and "rationale" may be left out. Nothing is changed until the user accepts. Example:

SCHEMA_PROPOSAL: {"stream_id": 1, "title": "Add base editing", "rationale": "Recent reports keep missing base editors.", "changes": {"semantic.topics": ["CRISPR", "base editing"], "retrieval.from_year": 2020}}`,
	},
	{
		name:    "query_suggestion",
		marker:  "QUERY_SUGGESTION:",
		summary: `Query suggestion: {{.query}}`,
		instructions: `When the user wants a search query written or improved, say what it looks for and then write the marker on a line of its own with one JSON object after it. "query" is the whole query, ready to run. "source" is "pubmed", "web" or "articles"; "explanation" says how the query is built. Suggest one query at a time. Example:

QUERY_SUGGESTION: {"query": "(\"gene editing\"[Title/Abstract] OR CRISPR[Title/Abstract]) AND \"clinical trial\"[Publication Type]", "source": "pubmed", "explanation": "Either term in title or abstract, narrowed to clinical trials."}`,
	},
	{
		name:    "stream_suggestions",
		marker:  "STREAM_SUGGESTIONS:",
		summary: `{{count .suggestions "stream suggestion"}}{{range $i, $s := .suggestions}}{{if $i}}, {{else}}: {{end}}{{$s.name}}{{end}}`,
		instructions: `When the user asks what to follow, or describes an interest that no research stream covers, recommend streams to set up. Write the marker on a line of its own with one JSON object after it, best suggestion first, at most five. Each has "name" and "purpose" (the standing question) and may have "topics", "query" (for PubMed) and "rationale". Example:

STREAM_SUGGESTIONS: {"suggestions": [{"name": "Base editing in the clinic", "purpose": "Which base editors have reached trials in people, and with what results?", "topics": ["base editing", "clinical trials"], "rationale": "Your two streams stop at animal studies."}]}`,
	},
	{
		name:    "presentation_categories",
		marker:  "PRESENTATION_CATEGORIES:",
		summary: `{{if eq (len .categories) 1}}1 category{{else}}{{len .categories}} categories{{end}}{{range $i, $c := .categories}}{{if $i}}, {{else}}: {{end}}{{$c.name}}{{end}}`,
		instructions: `When the user wants the articles of a report sorted into groups, propose the groups in the order in which to show them. Write the marker on a line of its own with one JSON object after it. Each category has a "name", may have a "description", and names its articles by "article_ids" or by "pmids" as the context or a tool gave them; never make up an id, and put an article in one category only. Example:

PRESENTATION_CATEGORIES: {"categories": [{"name": "Clinical trials", "description": "Studies in people.", "article_ids": [11, 14]}, {"name": "Delivery", "pmids": ["31234567"]}]}`,
	},
	{
		name:    "ai_column_suggestion",
		marker:  "AI_COLUMN:",
		summary: `AI column: {{.name}} ({{.type}})`,
		instructions: `When the user wants to compare articles by something that the table does not show, suggest a column that a model fills in for each article. Write the marker on a line of its own with one JSON object after it. "type" is "text", "number", "boolean" or "enum"; only for "enum" give "options". "prompt" is the question asked about one article, so it must make sense without this chat. Example:

AI_COLUMN: {"name": "Study design", "description": "How the study was done.", "type": "enum", "prompt": "Which design does the study of this article have?", "options": ["randomized trial", "cohort", "case report", "review", "other"]}`,
	},
	{
		name:    "validation_results",
		marker:  "VALIDATION_RESULTS:",
		summary: `Validation: {{or .summary (count .results "result")}}`,
		instructions: `When the user asks you to check something that has several parts, such as a stream's schema, report part by part. Write the marker on a line of its own with one JSON object after it. Each result has "item" (what was checked), "status" ("valid", "warning" or "invalid") and, unless it is valid, a "message" that says what is wrong and what to do; "summary" is the outcome in a sentence. Example:

VALIDATION_RESULTS: {"results": [{"item": "topics.include", "status": "valid"}, {"item": "filters.min_year", "status": "invalid", "message": "2050 lies in the future; use a year up to now."}], "summary": "One of two parts needs a change."}`,
	},
}
