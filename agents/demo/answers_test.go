package demo_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/demo"
	"github.com/chattray/chattray/schemas/turn"
)

// What tools say, in their form.
const (
	saidArticles = `2 articles match "BCL11A":

1. An enhancer | a title with a pipe
Bauer DE, Kamran SC. Science (2013). PMID 24115442. DOI 10.1126/science.1242088. category Mechanism. (article 8, report 1)
Variants in an enhancer.

2. Gold figures
The sample. journal not given (2025). category Figures. (article 50, report 6)
Figures about gold. ` + "```csv year,tonnes 2023,3000 2024,3300 ```" + `
`
	saidNone    = `No articles match "x".`
	saidReports = `2 reports, newest first; these are the first 2:

1. Gold supply and price (report 6, stream 2, 2025-04-21, 6 articles)
World mine production.

2. Safety (report 3, stream 1, 2025-04-14, 11 articles)
What may go wrong.
`
	saidReport = `Report 6: Gold supply and price
Stream 2, published 2025-04-21, 2 articles

World mine production of gold.

` + "```csv\nyear,tonnes,usd\n2023,3000,1950\n2024,3300,2400\n```" + `

Articles:

1. Is Gold a Hedge?
Baur DG, Lucey BM. Financ Rev (2010). DOI 10.1111/x. category Markets. (article 51, report 6)
A hedge on average.

2. Mercury in gold mining
Gibb H. Environ Health Perspect (2014). PMID 24682486. category Mining. (article 45, report 6)
Mercury is often high.
`
	saidStreams = `There are 2 research streams.

1. Gene editing (stream 1)
Follow CRISPR.

2. Gold (stream 2)
Follow gold.
`
	saidStream = `Stream 1: Gene editing
Purpose: Follow CRISPR.
Schema: {"semantic":{"topics":["BCL11A","base editing"],"inclusion":["trials"]},"retrieval":{"query":"(CRISPR OR \"gene editing\")"}}

1 reports, newest first:

1. Safety (report 3, stream 1, 2025-04-14, 11 articles)
What may go wrong.
`
	saidPlan     = "Planned the document with these blocks:\n1. block_id: p1 (md) Summary\n2. block_id: p2 (md)\n3. block_id: p3 (md)\n4. block_id: p4 (csv)\n5. block_id: p5 (interactive_chart)\n6. block_id: p6 (md) Sources"
	saidDocument = "Research report: gold\n\nblock_id: p1\ntype: md\n# Research report\n\nThis report draws on much. It was written by rules.\n\nblock_id: p2\ntype: interactive_chart\n{\"mark\":\"line\"}\n\nblock_id: p3\ntype: md\n## Sources\n\nOne."
)

// said is what the tools of the table say.
var said = map[string]string{
	"search_articles": saidArticles, "list_reports": saidReports, "get_report": saidReport,
	"list_streams": saidStreams, "get_stream": saidStream, "search_pubmed": saidArticles,
	"get_pubmed_article": "A title\nPMID: 33283989", "web_search": "The web search found 0 results.",
	"fetch_webpage": "# A page", "get_payload": "Payload 0123abcd of type report_list", "open_article": "An open title",
	"plan_document": saidPlan, "write_block": "Written.", "read_document": saidDocument,
	"delete_block": "Marked.", "move_block": "Moved.", "edit_block": "Edited.",
}

const system = `## IDENTITY
You are an assistant.

## CONTEXT
Page: reports
<data name="report 6">
  Title: Gold supply and price
  1. Is Gold a Hedge? | Baur DG | Financ Rev 2010 | article_id 51 | DOI 10.1111/x | category Markets
     A hedge on average.
</data>
<data name="stream 1">
  Schema: {"semantic":{"topics":["BCL11A"]},"retrieval":{"query":"CRISPR"}}
</data>

## CAPABILITIES
### Payloads you may write
- schema_proposal: write SCHEMA_PROPOSAL: {…}.
  SCHEMA_PROPOSAL: {"stream_id": 7, "changes": {"topics": ["an example"]}, "query": "an example"}
- validation_results: write VALIDATION_RESULTS: {…}.
- query_suggestion: write QUERY_SUGGESTION: {…}.
- stream_suggestions: write STREAM_SUGGESTIONS: {…}.
- presentation_categories: write PRESENTATION_CATEGORIES: {…}.
- ai_column_suggestion: write AI_COLUMN: {…}.
### Actions you may suggest
- close_chat (client): Closes the chat.
- apply_schema (server): Writes changes.

## GUIDELINES
- SUGGESTED_VALUES: [{"label": "Yes", "value": "Yes"}]
`

// converse runs the loop with tools that say what said has for them and returns
// the calls in order and all text.
func converse(t *testing.T, system, question string, without ...string) (calls []string, text string) {
	t.Helper()
	req := turn.Request{System: system, Messages: []turn.Message{
		{Role: turn.User, Content: "hi"},
		{Role: turn.Assistant, Content: "Hello."},
		{Role: turn.User, Content: question},
	}}
	for name, output := range said {
		if strings.Contains(" "+strings.Join(without, " ")+" ", " "+name+" ") {
			continue
		}
		req.Tools = append(req.Tools, turn.Tool{Name: name, Run: func(context.Context, *turn.Call) (turn.Result, error) {
			return turn.Result{Text: output}, nil
		}})
	}
	for e, err := range agents.New(demo.New(0), agents.Options{}).Run(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case turn.ToolStart:
			calls = append(calls, e.Name+" "+string(e.Input))
		case turn.TextDelta:
			text += e.Text
		case turn.Reply:
			text += "\n"
		}
	}
	return calls, text
}

func TestAnswers(t *testing.T) {
	noDocument := []string{"plan_document", "write_block", "read_document", "edit_block"}
	for _, tc := range []struct {
		ask     string
		without []string
		calls   []string
		says    []string
	}{
		{
			ask:   "Find articles about BCL11A",
			calls: []string{`search_articles {"query":"BCL11A"}`},
			says:  []string{"2 articles", "| 2013 | [24115442](https://pubmed.ncbi.nlm.nih.gov/24115442/)", "PMID 24115442", `SUGGESTED_VALUES: [{"label":"Summarize report 1"`},
		},
		{
			ask:   "Search articles about mercury and list the reports",
			calls: []string{`search_articles {"query":"mercury"}`, `list_reports {}`},
			says:  []string{"| 6 | Gold supply and price |"},
		},
		{ask: "Summarize report 6", calls: []string{`get_report {"report_id":6}`}, says: []string{"### Gold supply and price", "2 articles", "| 2010 | – |", "PMID |"}},
		{ask: "What does this report say?", calls: []string{`get_report {"report_id":6}`}, says: []string{"World mine production of gold."}},
		{ask: "List the reports", calls: []string{`list_reports {}`}, says: []string{"I know 2 reports, newest", "| 3 | Safety |"}},
		{ask: "Which streams are there? Show all streams", calls: []string{`list_streams {}`}, says: []string{"**Gene editing** (stream 1): Follow CRISPR."}},
		{ask: "Tell me about stream 1", calls: []string{`get_stream {"stream_id":1}`}, says: []string{"BCL11A, base editing"}},
		{
			ask:   "Compare stream 1 and stream 2",
			calls: []string{`get_stream {"stream_id":1}`, `get_stream {"stream_id":2}`},
			says:  []string{"| **Topics** | BCL11A, base editing |"},
		},
		{ask: "Search PubMed for base editing", calls: []string{`search_pubmed {"max_results":10,"query":"base editing"}`}, says: []string{"PMID 24115442"}},
		{ask: "PMID 33283989", calls: []string{`get_pubmed_article {"pmid":"33283989"}`}, says: []string{"> **get_pubmed_article**: A title"}},
		{ask: "search the web for gold price", calls: []string{`web_search {"query":"gold price"}`}, says: []string{"0 results"}},
		{ask: "Read https://example.com/a_b?c=d.", calls: []string{`fetch_webpage {"url":"https://example.com/a_b?c=d"}`}, says: []string{"# A page"}},
		{ask: "open article 8", calls: []string{`open_article {"article_id":8}`}, says: []string{"An open title"}},
		{ask: "show payload 0123abcd", calls: []string{`get_payload {"payload_id":"0123abcd"}`}, says: []string{"report_list"}},
		{
			ask: "hello", without: []string{"get_stream", "list_streams", "write_block"},
			says: []string{`SUGGESTED_VALUES: [{"label":"Find articles about BCL11A","value":"Find articles about BCL11A"},{"label":"Summarize report 1","value":"Summarize report 1"}]`},
		},
		{ask: "search the web for gold", without: []string{"web_search"}, says: []string{"`web_search`", "does not offer"}},
		{ask: "tool error", calls: []string{`get_report {"no_such_argument":true}`}, says: []string{"It said"}},
		{ask: `call list_reports {"stream_id":2}`, calls: []string{`list_reports {"stream_id":2}`}, says: []string{"came back", "> **list_reports**: 2 reports"}},
		{ask: "call list_streams", calls: []string{`list_streams {}`}},
		{ask: "call list_streams {2", says: []string{"must be JSON"}},
		{ask: "Which group of drugs did you check for close relatives?", calls: []string{`search_articles {"query":"group drugs check close relatives"}`}},
		{ask: "Close the chat", says: []string{"close_chat"}},
		{ask: "bye", says: []string{`SUGGESTED_ACTIONS: [{"label":"Close the chat","action":"close_chat","handler":"client"`}},

		{ask: "Delete the last block", calls: []string{`read_document {}`, `delete_block {"block_id":"p3"}`}, says: []string{"block `p3`"}},
		{ask: "Move the chart to the top", calls: []string{`read_document {}`, `move_block {"block_id":"p2","after_block_id":""}`}},
		{ask: "Move the chart section down", calls: []string{`read_document {}`, `move_block {"block_id":"p2","after_block_id":"p3"}`}},
		{
			ask:   "Shorten the summary",
			calls: []string{`read_document {}`, `edit_block {"block_id":"p1","content":"# Research report\n\nThis report draws on much."}`},
		},
		{ask: "Read the document", calls: []string{`read_document {}`}, says: []string{"3 blocks"}},
		{ask: "Create a research report about gold", without: noDocument, says: []string{"the Document page"}},
	} {
		t.Run(tc.ask, func(t *testing.T) {
			calls, text := converse(t, system, tc.ask, tc.without...)
			if diff := cmp.Diff(tc.calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			for _, s := range tc.says {
				if !strings.Contains(text, s) {
					t.Errorf("the answer lacks %q:\n%s", s, text)
				}
			}
			if strings.Contains(text, "no key") {
				t.Error("the second answer introduces the model again")
			}
		})
	}
}

func TestNothingFound(t *testing.T) {
	old := said["search_articles"]
	said["search_articles"] = saidNone
	defer func() { said["search_articles"] = old }()
	calls, text := converse(t, system, "Find articles about NDM-1 in purple elephants")
	want := []string{`search_articles {"query":"NDM-1 purple elephants"}`, `search_articles {"query":"NDM-1","report_id":0,"stream_id":0}`}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if !strings.Contains(text, "I found nothing about **NDM-1 purple elephants**") {
		t.Error(text)
	}
	calls, text = converse(t, system, "Create a report about unicorns", "list_reports")
	if len(calls) != 1 || !strings.Contains(text, "wrote nothing") {
		t.Errorf("calls %v, text %s", calls, text)
	}
}

func TestPayloads(t *testing.T) {
	for _, tc := range []struct{ ask, marker, want string }{
		{
			"Propose a schema with prime editing", "SCHEMA_PROPOSAL:",
			`{"changes":{"semantic.inclusion":["trials","studies of prime editing"],"semantic.topics":["BCL11A","base editing","prime editing"]},` +
				`"rationale":"You asked for it: the stream then also finds studies of prime editing.","stream_id":1,"title":"Add prime editing"}`,
		},
		{
			"Propose a schema with prime editing", "SUGGESTED_ACTIONS:",
			`[{"label":"Apply changes","action":"apply_schema","handler":"server","data":{"changes":{"semantic.inclusion":["trials","studies of prime editing"],` +
				`"semantic.topics":["BCL11A","base editing","prime editing"]},"stream_id":1},"style":"primary"}]`,
		},
		{
			"Validate the schema", "VALIDATION_RESULTS:",
			`{"results":[{"item":"semantic.topics","status":"valid"},{"item":"semantic.inclusion","status":"valid"},` +
				`{"item":"semantic.exclusion","message":"Say what to leave out.","status":"warning"},{"item":"retrieval.query","status":"valid"}],"summary":"3 of 4 parts hold."}`,
		},
		{
			"Suggest a query for prime editing", "QUERY_SUGGESTION:",
			`{"explanation":"Every word in title or abstract.","query":"prime[Title/Abstract] AND editing[Title/Abstract]","source":"pubmed"}`,
		},
		{
			"Suggest a query", "QUERY_SUGGESTION:",
			`{"explanation":"The stream's query, narrowed to clinical trials and reviews.",` +
				`"query":"((CRISPR OR \"gene editing\")) AND (clinical trial[Publication Type] OR review[Publication Type])","source":"pubmed"}`,
		},
		{"Categorize the articles", "PRESENTATION_CATEGORIES:", `{"categories":[{"article_ids":[51],"name":"Markets"},{"article_ids":[45],"name":"Mining"}]}`},
		{
			"Add a column for study design", "AI_COLUMN:",
			`{"description":"What the article says about design.","name":"Design",` +
				`"prompt":"In at most ten words: what does this article say about design? Answer \"not stated\" when it says nothing.","type":"text"}`,
		},
	} {
		t.Run(tc.ask+" "+tc.marker, func(t *testing.T) {
			_, text := converse(t, system, tc.ask)
			if got := behind(text, tc.marker); got != tc.want {
				t.Errorf("got  %s\nwant %s\nin %s", got, tc.want, text)
			}
			if _, text := converse(t, "", tc.ask); strings.Contains(text, tc.marker) || !strings.Contains(text, "lets me suggest no") {
				t.Errorf("the page does not allow it, and yet: %s", text)
			}
		})
	}
	_, text := converse(t, system, "Suggest streams about phage therapy")
	var streams struct {
		Suggestions []struct{ Name, Purpose string }
	}
	if err := json.Unmarshal([]byte(behind(text, "STREAM_SUGGESTIONS:")), &streams); err != nil || len(streams.Suggestions) != 2 {
		t.Errorf("%v in %s", err, text)
	}
}

// behind returns the rest of the line behind marker.
func behind(text, marker string) string {
	_, rest, _ := strings.Cut(text, "\n"+marker+" ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

func TestDocument(t *testing.T) {
	calls, text := converse(t, system, "Create a research report about gold, please")
	var names []string
	var written []map[string]any
	for _, c := range calls {
		name, args, _ := strings.Cut(c, " ")
		names = append(names, name)
		var m map[string]any
		if err := json.Unmarshal([]byte(args), &m); err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		if name == "write_block" {
			written = append(written, m)
		}
	}
	want := []string{"search_articles", "list_reports", "get_report", "plan_document", "write_block", "write_block", "write_block", "write_block", "write_block", "write_block"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("calls (-want +got):\n%s", diff)
	}
	for i, kind := range []string{"md", "md", "md", "csv", "interactive_chart", "md"} {
		if written[i]["type"] != kind || written[i]["block_id"] != "p"+string(rune('1'+i)) {
			t.Errorf("block %d is %v of type %v, want p%d of type %s", i, written[i]["block_id"], written[i]["type"], i+1, kind)
		}
	}
	const table = "year,tonnes,usd\n2023,3000,1950\n2024,3300,2400\n"
	for _, i := range []int{3, 4} {
		if written[i]["content"] != table {
			t.Errorf("block %d holds %q", i, written[i]["content"])
		}
	}
	encoding, _ := written[4]["meta"].(map[string]any)["encoding"].(map[string]any)
	if y, _ := encoding["y"].(map[string]any); y["field"] != "tonnes" {
		t.Errorf("the chart is %v", written[4]["meta"])
	}
	if !strings.Contains(text, "6 blocks") || !strings.Contains(written[5]["content"].(string), "PMID 24682486") {
		t.Errorf("text %s, sources %v", text, written[5])
	}
}

func TestDocumentWithoutReports(t *testing.T) {
	calls, _ := converse(t, system, "Create a research report about gold", "list_reports", "get_report")
	for _, c := range calls {
		if strings.Contains(c, `"type":"csv"`) && strings.Contains(c, `year,tonnes\n2023,3000\n2024,3300\n`) {
			return
		}
	}
	t.Errorf("no CSV block from the article's table: %q", calls)
}

func TestContentStandsLast(t *testing.T) {
	calls, _ := converse(t, system, "Create a research report about gold")
	last := regexp.MustCompile(`^write_block \{"type":.*"content":"(?:[^"\\]|\\.)*"\}$`)
	for _, c := range calls {
		if strings.HasPrefix(c, "write_block") && !last.MatchString(c) {
			t.Errorf("%.200s", c)
		}
	}
}

func TestReportsAboutATopic(t *testing.T) {
	_, text := converse(t, system, "List the reports about gold")
	if !strings.Contains(text, "I know 1 report about **gold**") || strings.Contains(text, "| 3 | Safety |") {
		t.Error(text)
	}
	if _, text = converse(t, system, "List the reports about elephants"); !strings.Contains(text, "nothing about **elephants**") {
		t.Error(text)
	}
}
