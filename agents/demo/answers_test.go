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
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// What tools return: text, and data for those whose data the rules read.
const (
	foundArticles = `{"articles": [
		{"article_id": 8, "report_id": 1, "title": "An enhancer | a title with a pipe", "year": 2013, "pmid": "24115442", "category": "Mechanism", "abstract": "Variants in an enhancer."},
		{"article_id": 50, "report_id": 6, "title": "Gold figures", "year": 2025, "category": "Figures", "abstract": "Figures about gold. ` + "```csv year,tonnes 2023,3000 2024,3300 ```" + `"}]}`
	foundNone = `{"articles": []}`
	reports   = `"reports": [
		{"report_id": 6, "stream_id": 2, "title": "Gold supply and price", "summary": "World mine production."},
		{"report_id": 3, "stream_id": 1, "title": "Safety", "summary": "What may go wrong."}]`
	report = `{"report": {"report_id": 6, "title": "Gold supply and price",
		"summary": "World mine production of gold.\n\n` + "```csv\\nyear,tonnes,usd\\n2023,3000,1950\\n2024,3300,2400\\n```" + `", "articles": [
		{"article_id": 51, "report_id": 6, "title": "Is Gold a Hedge?", "year": 2010, "category": "Markets", "abstract": "A hedge on average."},
		{"article_id": 45, "report_id": 6, "title": "Mercury in gold mining", "year": 2014, "pmid": "24682486", "category": "Mining", "abstract": "Mercury is often high."}]}}`
	streams = `{"streams": [{"stream_id": 1, "name": "Gene editing", "purpose": "Follow CRISPR."}, {"stream_id": 2, "name": "Gold", "purpose": "Follow gold."}]}`
	stream  = `{"stream": {"stream_id": 1, "name": "Gene editing", "purpose": "Follow CRISPR.", "schema":
		{"semantic": {"topics": ["BCL11A", "base editing"], "inclusion": ["trials"]}, "retrieval": {"query": "(CRISPR OR \"gene editing\")"}}}, ` + reports + `}`
	plan     = `{"blocks": [{"block_id": "p1"}, {"block_id": "p2"}, {"block_id": "p3"}, {"block_id": "p4"}, {"block_id": "p5"}, {"block_id": "p6"}]}`
	document = `{"blocks": [
		{"block_id": "p1", "type": "md", "content": "# Research report\n\nThis report draws on much. It was written by rules."},
		{"block_id": "p2", "type": "interactive_chart", "content": "year,tonnes\n2023,3000"},
		{"block_id": "p3", "type": "md", "content": "## Sources\n\nOne."}]}`
)

// returned is what the tools of the table return.
var returned = map[string]turn.Result{
	"search_articles": data(foundArticles), "list_reports": data("{" + reports + "}"), "get_report": data(report),
	"list_streams": data(streams), "get_stream": data(stream), "search_pubmed": data(foundArticles),
	"get_pubmed_article": {Text: "A title\nPMID: 33283989"}, "web_search": {Text: "The web search found 0 results."},
	"fetch_webpage": {Text: "# A page"}, "get_payload": {Text: "Payload 0123abcd of type report_list"}, "open_article": {Text: "An open title"},
	"plan_document": data(plan), "write_block": {Text: "Written."}, "read_document": data(document),
	"delete_block": {Text: "Marked."}, "move_block": {Text: "Moved."}, "edit_block": {Text: "Edited."}, "order_print": {Text: "Order 1 is placed."},
	"research": {Text: "Two findings [1]."},
}

// data is a result with data; its text has nothing that the rules could read.
func data(json string) turn.Result {
	return turn.Result{Text: "See the data.", Payload: &turn.Payload{Type: "any", Data: []byte(json)}}
}

// facts are those of a page that allows everything.
var facts = &turn.Facts{
	Context: schemas.Object{"report_id": []byte("6"), "stream_id": []byte("1")},
	Payloads: []turn.PayloadType{
		{Name: "schema_proposal", Marker: "SCHEMA_PROPOSAL:"},
		{Name: "validation_results", Marker: "VALIDATION_RESULTS:"},
		{Name: "query_suggestion", Marker: "QUERY_SUGGESTION:"},
		{Name: "stream_suggestions", Marker: "STREAM_SUGGESTIONS:"},
		{Name: "presentation_categories", Marker: "PRESENTATION_CATEGORIES:"},
		{Name: "ai_column_suggestion", Marker: "AI_COLUMN:"},
	},
	Actions: []schemas.Action{{Action: "close_chat", Handler: "client"}, {Action: "apply_schema", Handler: "server"}},
}

// converse runs the loop with tools that return what returned has for them. It returns
// the calls in order and all text.
func converse(t *testing.T, facts *turn.Facts, question string, without ...string) (calls []string, text string) {
	t.Helper()
	req := turn.Request{System: "Whatever it says.", Facts: facts, Messages: []turn.Message{
		{Role: turn.User, Content: "hi"},
		{Role: turn.Assistant, Content: "Hello."},
		{Role: turn.User, Content: question},
	}}
	for name, result := range returned {
		if strings.Contains(" "+strings.Join(without, " ")+" ", " "+name+" ") {
			continue
		}
		req.Tools = append(req.Tools, turn.Tool{Name: name, Run: func(context.Context, *turn.Call) (turn.Result, error) {
			return result, nil
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
			ask: "hello", without: []string{"get_stream", "list_streams", "write_block", "research", "order_print"},
			says: []string{`SUGGESTED_VALUES: [{"label":"Summarize report 1","value":"Summarize report 1"},{"label":"Find articles about BCL11A","value":"Find articles about BCL11A"}]`},
		},
		{ask: "search the web for gold", without: []string{"web_search"}, says: []string{"`web_search`", "does not offer"}},
		{ask: "Research base editing and gold", calls: []string{`research {"question":"base editing and gold"}`}, says: []string{"Two findings [1]."}},
		{ask: "Order 2 printed copies of report 1", calls: []string{`order_print {"copies":2,"report_id":1}`}, says: []string{"Order 1 is placed."}},
		{ask: "tool error", calls: []string{`get_report {"no_such_argument":true}`}, says: []string{"It said"}},
		{ask: "say NOTE: {\"a\": 1}\nand More", says: []string{"NOTE: {\"a\": 1}\nand More"}},
		{ask: `call list_reports {"stream_id":2}`, calls: []string{`list_reports {"stream_id":2}`}, says: []string{"came back", "> **list_reports**: See the data"}},
		{ask: "call list_streams", calls: []string{`list_streams {}`}},
		{ask: "call list_streams {2", says: []string{"must be JSON"}},
		{ask: "Which group of drugs did you check for close relatives?", calls: []string{`search_articles {"query":"group drugs check close relatives"}`}},
		{ask: "Close the chat", says: []string{"close_chat"}},
		{ask: "bye", says: []string{`SUGGESTED_ACTIONS: [{"label":"Close the chat","action":"close_chat","handler":"client"`}},

		{ask: "Delete the last block", calls: []string{`read_document {}`, `delete_block {"block_id":"p3"}`}, says: []string{"I found the block."}},
		{ask: "Move the chart to the top", calls: []string{`read_document {}`, `move_block {"after_block_id":"","block_id":"p2"}`}},
		{ask: "Move the chart section down", calls: []string{`read_document {}`, `move_block {"after_block_id":"p3","block_id":"p2"}`}},
		{
			ask:   "Shorten the summary",
			calls: []string{`read_document {}`, `edit_block {"block_id":"p1","content":"# Research report\n\nThis report draws on much."}`},
		},
		{ask: "Read the document", calls: []string{`read_document {}`}, says: []string{"3 blocks"}},
		{
			ask: "Create a research report about gold", without: noDocument,
			calls: []string{`search_articles {"query":"gold"}`, `list_reports {}`, `get_report {"report_id":6}`},
			says:  []string{"# Research report: gold\n", "## Sources", "the Document page"},
		},
		{
			ask: "Hi, I would like to create a research report about gold please", without: noDocument,
			calls: []string{`search_articles {"query":"gold"}`, `list_reports {}`, `get_report {"report_id":6}`},
			says:  []string{"# Research report: gold\n"},
		},
		{
			ask:  "What is in the file?\n\nAttached file (text/plain):\n<data name=\"a \\\"b\\\".txt\">\n  Gold.\n  </data>\n</data>\n\nAttached file (text/csv):\n<data name=\"c.csv\">\n  x,y\n</data>",
			says: []string{"the files begin", "> **a \"b\".txt**: Gold.\n>   </data>\n", "> **c.csv**: x,y\n"},
		},
		{
			ask:   "Find articles about gold\n\nAttached file (text/plain):\n<data name=\"a.txt\">\n  Gold.\n</data>",
			calls: []string{`search_articles {"query":"gold"}`},
		},
		{ask: "Is it heavy?\n\nAttached file (text/plain):\n<data name=\"a.txt\">\n  Gold.\n</data>", says: []string{"the file begins"}},
		{ask: "Write a report about gold", without: append([]string{"search_articles"}, noDocument...), says: []string{"does not offer"}},
	} {
		t.Run(tc.ask, func(t *testing.T) {
			calls, text := converse(t, facts, tc.ask, tc.without...)
			if diff := cmp.Diff(tc.calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			for _, s := range tc.says {
				if !strings.Contains(text, s) {
					t.Errorf("the answer lacks %q:\n%s", s, text)
				}
			}
		})
	}
}

func TestTopics(t *testing.T) {
	for question, want := range map[string]string{
		"Could you please tell me something about base editing?": "base editing",
		"I need an overview on NDM-1, thanks":                    "NDM-1",
		"I want to know more regarding mercury":                  "mercury",
		"What is it all about?":                                  "",
		"Semaglutide and weight":                                 "Semaglutide weight",
		"Find drugs like semaglutide":                            "drugs semaglutide",
	} {
		calls, _ := converse(t, facts, "Search PubMed: "+question)
		var got []string
		if want != "" {
			got = []string{`search_pubmed {"max_results":10,"query":"` + want + `"}`}
		}
		if diff := cmp.Diff(got, calls); diff != "" {
			t.Errorf("calls for %q (-want +got):\n%s", question, diff)
		}
	}
}

func TestNothingFound(t *testing.T) {
	defer func() { returned["search_articles"] = data(foundArticles) }()
	returned["search_articles"] = data(foundNone)
	calls, text := converse(t, facts, "Find articles about NDM-1 in purple elephants")
	want := []string{`search_articles {"query":"NDM-1 purple elephants"}`, `search_articles {"query":"NDM-1","report_id":0,"stream_id":0}`}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if !strings.Contains(text, "I found nothing about **NDM-1 purple elephants**") {
		t.Error(text)
	}
	calls, text = converse(t, facts, "Create a report about unicorns", "list_reports")
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
			_, text := converse(t, facts, tc.ask)
			if got := after(text, tc.marker); got != tc.want {
				t.Errorf("got  %s\nwant %s\nin %s", got, tc.want, text)
			}
			if _, text := converse(t, new(turn.Facts), tc.ask); strings.Contains(text, tc.marker) || !strings.Contains(text, "does not offer me") {
				t.Errorf("got a payload that the page does not allow: %s", text)
			}
		})
	}
	_, text := converse(t, facts, "Suggest streams about phage therapy")
	var streams struct {
		Suggestions []struct{ Name, Purpose string }
	}
	if err := json.Unmarshal([]byte(after(text, "STREAM_SUGGESTIONS:")), &streams); err != nil || len(streams.Suggestions) != 2 {
		t.Errorf("%v in %s", err, text)
	}
}

// after returns the rest of the line after the marker.
func after(text, marker string) string {
	_, rest, _ := strings.Cut(text, "\n"+marker+" ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

func TestDocument(t *testing.T) {
	calls, text := converse(t, facts, "Create a research report about gold, please")
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
	calls, _ := converse(t, facts, "Create a research report about gold", "list_reports", "get_report")
	for _, c := range calls {
		if strings.Contains(c, `"type":"csv"`) && strings.Contains(c, `year,tonnes\n2023,3000\n2024,3300\n`) {
			return
		}
	}
	t.Errorf("no CSV block from the article's table: %q", calls)
}

func TestContentComesLast(t *testing.T) {
	calls, _ := converse(t, facts, "Create a research report about gold")
	last := regexp.MustCompile(`^write_block \{"type":.*"content":"(?:[^"\\]|\\.)*"\}$`)
	written := 0
	for _, c := range calls {
		if !strings.HasPrefix(c, "write_block") {
			continue
		}
		if written++; !last.MatchString(c) {
			t.Errorf("%.200s", c)
		}
	}
	if written == 0 {
		t.Errorf("no block is written: %q", calls)
	}
}

func TestReportsAboutATopic(t *testing.T) {
	_, text := converse(t, facts, "List the reports about gold")
	if !strings.Contains(text, "I know 1 report about **gold**") || strings.Contains(text, "| 3 | Safety |") {
		t.Error(text)
	}
	if _, text = converse(t, facts, "List the reports about elephants"); !strings.Contains(text, "nothing about **elephants**") {
		t.Error(text)
	}
}
