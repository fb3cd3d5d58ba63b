package pages_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/pages"
	"github.com/chattray/chattray/services/pages/pagestest"
)

func offerLine(o pages.Offer) string {
	var tools, types, actions []string
	for _, t := range o.Tools {
		tools = append(tools, t.Name)
	}
	for _, t := range o.PayloadTypes {
		types = append(types, t.Name)
	}
	for _, a := range o.Actions {
		actions = append(actions, a.Action+"/"+a.Handler)
	}
	return fmt.Sprintf("%s.%s.%s known=%t builder=%s\ntools: %s\npayloads: %s\nactions: %s",
		o.Page, o.Tab, o.Subtab, o.Identity != "", o.ContextBuilder, strings.Join(tools, " "), strings.Join(types, " "), strings.Join(actions, " "))
}

func TestBundledPagesOffer(t *testing.T) {
	p := pagestest.Load(t, nil)
	for _, tc := range []struct{ name, page, tab, subtab, want string }{
		{"reports", "reports", "", "", "reports.. known=true builder=report\ntools: search_pubmed get_payload get_report search_articles list_reports research compare_models\n" +
			"payloads: webpage_content pubmed_search_results\nactions: close_chat/client"},
		{"articles", "reports", "articles", "", "reports.articles. known=true builder=report\ntools: search_pubmed get_payload get_report search_articles list_reports research compare_models\n" +
			"payloads: webpage_content presentation_categories ai_column_suggestion pubmed_search_results\nactions: close_chat/client"},
		{"streams", "streams", "", "", "streams.. known=true builder=stream\ntools: search_pubmed get_payload list_streams get_stream research compare_models\n" +
			"payloads: webpage_content stream_suggestions pubmed_search_results\nactions: close_chat/client"},
		{"alias", "edit_research_stream", "semantic", "", "edit_stream.semantic. known=true builder=stream\ntools: search_pubmed get_payload list_streams get_stream\n" +
			"payloads: webpage_content schema_proposal validation_results pubmed_search_results\nactions: close_chat/client apply_schema/server"},
		{"retrieval", "edit_stream", "retrieval", "x", "edit_stream.retrieval.x known=true builder=stream\ntools: search_pubmed get_payload list_streams get_stream\n" +
			"payloads: webpage_content query_suggestion pubmed_search_results\nactions: close_chat/client"},
		{"document", "document", "", "", "document.. known=true builder=document\n" +
			"tools: search_pubmed get_payload get_report list_reports read_document plan_document write_block edit_block delete_block move_block\n" +
			"payloads: webpage_content pubmed_search_results\nactions: close_chat/client"},
		{"unknown tab", "streams", "nowhere", "", "streams.nowhere. known=true builder=stream\ntools: search_pubmed get_payload list_streams get_stream research compare_models\n" +
			"payloads: webpage_content stream_suggestions pubmed_search_results\nactions: close_chat/client"},
		{"unknown page", "inventory", "t", "s", "inventory.t.s known=false builder=\ntools: search_pubmed get_payload\npayloads: webpage_content pubmed_search_results\nactions: close_chat/client"},
		{"no page", "", "", "", ".. known=false builder=\ntools: search_pubmed get_payload\npayloads: webpage_content pubmed_search_results\nactions: close_chat/client"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, err := p.Resolve(tc.page, tc.tab, tc.subtab, schemas.User{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, offerLine(o)); diff != "" {
				t.Errorf("offer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOfferIsForTheUser(t *testing.T) {
	p := pagestest.Load(t, nil)
	tools, err := p.Tools("document", "", "", schemas.User{Roles: []string{"admin"}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(tools, func(t schemas.Tool) bool { return t.Name == "admin_tool" }) {
		t.Errorf("an admin is offered %v, without admin_tool", tools)
	}
}

func TestOwnPage(t *testing.T) {
	var headers map[string]string
	parts := pagestest.Parts()
	makeTool := parts.MakeHTTPTool
	parts.MakeHTTPTool = func(def turn.HTTPTool) (turn.Tool, error) { headers = def.Headers; return makeTool(def) }
	p, err := pages.Load(pages.Sources{Dir: pagestest.Folder(t, map[string]string{"inventory.yaml": pagestest.Inventory, "notes.txt": "{"})}, parts)
	if err != nil {
		t.Fatal(err)
	}
	o, err := p.Resolve("stock", "orders", "open", schemas.User{})
	if err != nil {
		t.Fatal(err)
	}
	want := "inventory.orders.open known=true builder=\ntools: search_pubmed get_payload get_report list_reports stock_level\n" +
		"payloads: webpage_content reorder scoped pubmed_search_results\nactions: close_chat/client open_item/client"
	if diff := cmp.Diff(want, offerLine(o)); diff != "" {
		t.Errorf("offer (-want +got):\n%s", diff)
	}
	if o.Identity != "You watch open orders." || o.Actions[0].Description != "Puts the chat away." || !o.Tools[4].Idempotent || !o.Tools[4].Confirm {
		t.Errorf("got identity %q, action %v, idempotent GET %t, to confirm %t", o.Identity, o.Actions[0], o.Tools[4].Idempotent, o.Tools[4].Confirm)
	}
	if diff := cmp.Diff(map[string]string{"Authorization": "Bearer s3cret"}, headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	words := turn.Words{Title: "Look up the stock", Done: "Looked up the stock|Looked up {n} stocks"}
	if got := p.Words("stock_level", schemas.User{}); got != words {
		t.Errorf("for a stored call of the page's tool users read %v, want %v", got, words)
	}
	if got := p.Words("get_report", schemas.User{}); got != (turn.Words{Title: "Read a report"}) {
		t.Errorf("for a stored call of the registry's tool users read %v", got)
	}
	if got := p.Words("gone", schemas.User{}); got != (turn.Words{}) {
		t.Errorf("a tool that no longer exists has the words %v, want none", got)
	}
	page, ok := p.Page("inventory")
	if !ok {
		t.Fatal("List does not have the page, want it under its name")
	}
	page.PayloadTypes = page.PayloadTypes[1:2]
	wantPage := schemas.Page{
		Page: "inventory", Aliases: []string{"stock"}, Tools: []string{"search_pubmed", "get_payload", "list_reports", "stock_level"},
		PayloadTypes: []schemas.PayloadType{{
			Name: "reorder", Source: "llm", ParseMarker: "REORDER:",
			Schema: json.RawMessage(`{"properties":{"sku":{"type":"string"}},"required":["sku"],"type":"object"}`),
		}},
		Actions: []schemas.Action{
			{Action: "close_chat", Description: "Closes the chat.", Handler: "client"},
			{Action: "open_item", Description: "Opens the item.", Handler: "client"},
		},
		Tabs: []schemas.Tab{{
			Tab: "orders", Tools: []string{},
			PayloadTypes: []schemas.PayloadType{{Name: "scoped", Source: "tool", Schema: json.RawMessage(`{"type":"object"}`)}},
			Actions:      []schemas.Action{{Action: "close_chat", Description: "Puts the chat away.", Handler: "client"}},
			Subtabs: []schemas.Subtab{
				{Subtab: "open", Tools: []string{"get_report"}, PayloadTypes: []schemas.PayloadType{}, Actions: []schemas.Action{}},
				{Subtab: "closed", Tools: []string{}, PayloadTypes: []schemas.PayloadType{}, Actions: []schemas.Action{}},
			},
		}},
	}
	if diff := cmp.Diff(wantPage, page); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestFolderOverridesBundled(t *testing.T) {
	p := pagestest.Load(t, map[string]string{
		"reports.yml": "identity: Ours.\n",
		"mine.yaml":   "page: edit_research_stream\nidentity: Mine.\n",
		".hidden.yml": "no: page\n",
	})
	for page, want := range map[string]string{"reports": "Ours.", "edit_research_stream": "Mine."} {
		if o, err := p.Resolve(page, "", "", schemas.User{}); err != nil || o.Identity != want {
			t.Errorf("%s: got identity %q, %v, want %q", page, o.Identity, err, want)
		}
	}
	var names []string
	for _, page := range p.List() {
		names = append(names, page.Page)
		if page.Page == "edit_stream" && len(page.Aliases) > 0 {
			t.Errorf("edit_stream keeps the alias %v that is a page now", page.Aliases)
		}
	}
	if diff := cmp.Diff([]string{"document", "edit_research_stream", "edit_stream", "reports", "streams"}, names); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// A folder whose page files lie one folder deeper has a mistake: without them the service offers other
// pages than its operator believes.
func TestNestedPageFiles(t *testing.T) {
	load := func(files ...string) error {
		dir := t.TempDir()
		for _, name := range files {
			name = filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("identity: Ours.\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := pages.Load(pages.Sources{Dir: dir}, pagestest.Parts())
		return err
	}
	for _, nested := range []string{"pages/mine.yaml", "pages/MINE.YAML"} {
		if err := load(nested); err == nil || !strings.Contains(err.Error(), nested+", are not read") {
			t.Errorf("got %v, want an error that names the nested file %s", err, nested)
		}
	}
	if err := load("mine.yaml", "YOURS.YAML"); err == nil || !strings.Contains(err.Error(), "YOURS.YAML: is not read") {
		t.Errorf("got %v, want an error that names the file in capitals", err)
	}
	for _, files := range [][]string{{}, {"README.md", "docs/a.txt"}, {"mine.yaml", "old/mine.yaml"}, {"..data/mine.yaml", "pages/.hidden.yaml"}} {
		if err := load(files...); err != nil {
			t.Errorf("%v: %v", files, err)
		}
	}
}

func TestEveryMistakeIsReportedAtOnce(t *testing.T) {
	files := fstest.MapFS{
		"a.yaml": {Data: []byte(`identiy: typo
aliases: [b, b]
tools: [no_tool, get_report, get_report, trakcer__close]
payloads:
  - no_payload
context:
  builder: nobody
  template: "{{.Pge}}"
actions:
  - {action: x, handler: moon}
  - {action: y, handler: server}
  - {action: close_chat, handler: server}
  - {description: nameless}
tools: [get_stream]
payload_types:
  - {name: webpage_content, schema: {}}
  - {name: own, marker: "SCHEMA_PROPOSAL:", schema: {type: object}}
  - {name: empty}
http_tools:
  - name: get_report
    url: https://a
  - name: bad
    url: ftp://a
    headers: {X: "${nothing}", Y: "{{.id}}"}
    payload_type: nowhere
    idempotent: perhaps
tabs:
  t:
    payloads: [schema_proposal]
    context: {template: "{{if}}"}
    subtabs: {s: {subtabs: {}}}
    tools: some
arguments: {get_report: all}
`)},
		"b.yaml":      {Data: []byte("aliases: [c]\n")},
		"c.yaml":      {Data: []byte("page: b\n")},
		"broken.yaml": {Data: []byte("tools: [\n  : }\n")},
		"empty.yaml":  {Data: []byte("# nothing\n")},
		"two.yaml":    {Data: []byte("identity: a\n---\nidentity: b\n")},
		"list.yaml":   {Data: []byte("- a\n")},
		"huge.yaml":   {Data: []byte("identity: " + strings.Repeat("x", 1<<20))},
		"long.yaml":   {Data: []byte("identity: " + strings.Repeat("x", 20_001))},
	}
	_, err := pages.Load(pages.Sources{Bundled: files, Dir: "/nowhere/at/all"}, pagestest.Parts())
	if err == nil {
		t.Fatal("Load returned no error, want one for each mistake")
	}
	got := strings.ReplaceAll(err.Error(), "bundled pages/", "")
	for _, want := range []string{
		`a.yaml:1: unknown key "identiy" in page; it may have actions, aliases, arguments, context, http_tools, identity, page, payload_types, payloads, tabs, tools`,
		`a.yaml:2: alias "b" is a name or an alias of the page in`,
		`a.yaml:3: unknown tool "no_tool"`,
		`a.yaml:3: unknown tool "trakcer__close"; mcp_servers in the settings has no server "trakcer"`,
		`a.yaml:3: tool "get_report" is given twice`,
		`a.yaml:5: unknown payload type "no_payload"`,
		`a.yaml:7: unknown context builder "nobody"; there are: document, report, stream`,
		`a.yaml:8: template: there is no .Pge; there are .Page, .Tab and .Subtab, and .Context has the values that the page sent, as in {{.Context.Pge}}`,
		`a.yaml:10: handler of action "x" must be client or server, not "moon"`,
		`a.yaml:11: action "y" has no handler on the server; those that have: apply_schema`,
		`a.yaml:12: action "close_chat" has no handler on the server`,
		`a.yaml:13: an action needs a name`,
		`a.yaml:14: "tools" is given twice`,
		`a.yaml:16: the payload type "webpage_content" already exists`,
		`a.yaml:18: schema: is absent`,
		`a.yaml:20: the tool "get_report" already exists`,
		`a.yaml:22: tool "bad": url: no https`,
		`a.yaml:24: the settings have no secret "nothing"`,
		`a.yaml:24: the header Y must not have placeholders; only url and body have them`,
		`a.yaml:22: tool "bad" makes the unknown payload type "nowhere"`,
		`a.yaml:26: idempotent must be true or false`,
		`a.yaml:28: payload types "own" and "schema_proposal" have the same marker SCHEMA_PROPOSAL:`,
		`a.yaml:30: template: `,
		`a.yaml:31: unknown key "subtabs" in subtab`,
		`a.yaml:32: tools must be a list`,
		`a.yaml:33: get_report must be a mapping, or one as JSON text`,
		`c.yaml:1: page "b" is declared in b.yaml too`,
		`broken.yaml:1: is not valid YAML`,
		`empty.yaml: is empty`,
		`two.yaml:2: there is a second document`,
		`list.yaml:1: page must be a mapping`,
		`huge.yaml: has more than 1048576 bytes`,
		`long.yaml:1: identity has more than 20000 characters`,
		`/nowhere/at/all: is not a folder of page files`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("not reported: %s", want)
		}
	}
	if n := strings.Count(got, "\n") + 1; n != 34 {
		t.Errorf("got %d mistakes, want 34:\n%s", n, got)
	}
	if strings.Contains(got, "s3cret") {
		t.Error("the error has a secret in it, want none")
	}
}

// A name that the template's data never has stops the start, wherever it is used.
func TestNamesOfTemplates(t *testing.T) {
	for template, want := range map[string]string{
		"{{.filter}}":                                "filter",
		"{{if .Context.a}}{{.filter}}{{end}}":        "filter",
		"{{if .filter}}a{{end}}":                     "filter",
		"{{range .Context.list}}{{$.filter}}{{end}}": "filter",
		"{{with .filter}}{{.x}}{{end}}":              "filter",
		"{{len .list.items}}":                        "list",
		"{{(index .Context.a 0).b}} {{.Page}}":       "",
		"{{with .Context.row}}{{.id}}{{end}}":        "",
		"{{range $i, $r := .Context.rows}}{{$i}}{{$r.id}}{{else}}{{.Tab}}{{end}}": "",
		"": "",
	} {
		files := fstest.MapFS{"a.yaml": {Data: []byte("context:\n  template: '" + template + "'\n")}}
		_, err := pages.Load(pages.Sources{Bundled: files}, pagestest.Parts())
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", template, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), "there is no ."+want+"; there are .Page, .Tab and .Subtab, and .Context has the values that the page sent, as in {{.Context."+want+"}}")):
			t.Errorf("%s: got %v", template, err)
		}
	}
}

// Actions with http have a handler where they are declared, and nowhere else.
func TestActionsWithHTTP(t *testing.T) {
	files := fstest.MapFS{"shop.yaml": {Data: []byte(`actions:
  - {action: look, description: Looks., http: {url: https://a, headers: {Authorization: "${stock_key}"}}}
tabs:
  orders:
    actions:
      - action: refund
        description: Refunds.
        handler: server
        payload_type: schema_proposal
        http: {url: https://a, body: '{}', input_schema: {type: object}}
`)}, "other.yaml": {Data: []byte("identity: a\n")}}
	p, err := pages.Load(pages.Sources{Bundled: files}, pagestest.Parts())
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[[2]string]string{
		{"shop", ""}: "look:Looks. GET s3cret", {"shop", "orders"}: "look:Looks. GET s3cret|refund:Refunds. POST ", {"other", ""}: "", {"nowhere", ""}: "",
	} {
		o, err := p.Resolve(place[0], place[1], "", schemas.User{})
		var got []string
		for _, h := range o.Handlers {
			got = append(got, h.Name+":"+h.Description)
		}
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%v: got %q, %v, want %q", place, got, err, want)
		}
		if slices.ContainsFunc(o.Tools, func(t turn.Tool) bool { return t.Name == "refund" || t.Name == "look" }) {
			t.Errorf("%v: a model may call an action", place)
		}
	}
	page, _ := p.Page("shop")
	refund := page.Tabs[0].Actions[0]
	if refund.Handler != "server" || refund.PayloadType != "schema_proposal" || string(refund.Schema) != `{"type":"object"}` {
		t.Errorf("the page shows %+v", refund)
	}
	if !p.DeclaresAction("refund") || p.DeclaresAction("drop") {
		t.Error("DeclaresAction: want true for refund and false for drop")
	}
	for action, want := range map[string]string{
		`{action: a, handler: client, http: {url: https://a}}`:  `action "a" has http, so its handler is server`,
		`{action: apply_schema, http: {url: https://a}}`:        `action "apply_schema" already has a handler and must not have http`,
		`{action: close_chat, http: {url: https://a}}`:          `action "close_chat" already has a handler and must not have http`,
		`{action: a, http: {}}`:                                 `url: is absent`,
		`{action: a, http: {url: https://a, confirm: true}}`:    `unknown key "confirm" in http`,
		`{action: a, payload_type: nothing}`:                    `action "a" accepts the unknown payload type "nothing"`,
		`{action: a, http: {url: https://a, payload_type: no}}`: `action "a" makes the unknown payload type "no"`,
		`{action: a, handler: server}`:                          `action "a" has no handler on the server; those that have: apply_schema, and those with http`,
	} {
		files := fstest.MapFS{"a.yaml": {Data: []byte("actions:\n  - " + action + "\n")}}
		if _, err := pages.Load(pages.Sources{Bundled: files}, pagestest.Parts()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", action, err, want)
		}
	}
}

// What breaks the form of YAML is mostly a text without quotation marks, or the indentation.
func TestMistakesInYAML(t *testing.T) {
	for file, want := range map[string]string{
		"identity: You help: with orders.":                      `a.yaml: is not valid YAML: mapping values are not allowed in this context; a text with ": " in it needs quotation marks`,
		"page: a\ntools:\n\t- web_search":                       "a.yaml:3: is not valid YAML: found character that cannot start any token; indent with spaces, not tabs",
		"identity: @me":                                         "a text that begins with @, % or ` needs quotation marks",
		"identity: *me":                                         "a.yaml: is not valid YAML: unknown anchor 'me' referenced; a text that begins with * needs quotation marks",
		"page: a\ntools: [web_search\nidentity: b":              "did not find expected ',' or ']'; the entries of one mapping or list have the same indentation; each bracket and quotation mark needs its end",
		"http_tools:\n  - name: x\n    body: {\"id\": {{.id}}}": "a.yaml:3: body must be text; one that begins with { or [ needs quotation marks",
	} {
		_, err := pages.Load(pages.Sources{Bundled: fstest.MapFS{"a.yaml": {Data: []byte(file)}}}, pagestest.Parts())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", file, err, want)
		}
	}
}

func TestContentNote(t *testing.T) {
	for kind, want := range map[string]string{
		"": "Markdown", "md": "Markdown", "csv": "the header with the names of the columns in the first row", "interactive_chart": "one JSON object on the first line",
		"text/x-go": "only content of that type",
	} {
		if got := pages.ContentNote(kind); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", kind, got, want)
		}
	}
}

// The note of the mode agent about the document names the tools of its page.
func TestNoteNamesTheDocumentTools(t *testing.T) {
	for tools, want := range map[string]string{
		"":                             "use the document tools: plan_document and then write_block for each planned block for a new one, edit_block to change one. What",
		"[edit_block]":                 "use the document tools: edit_block to change one. What",
		"[read_document]":              "",
		"[plan_document]":              "",
		"[write_block, plan_document]": "use the document tools: plan_document and then write_block for each planned block for a new one. What",
	} {
		from := pages.Sources{}
		if tools != "" {
			from.Dir = pagestest.Folder(t, map[string]string{"document.yaml": "tools: " + tools + "\n"})
		}
		p, err := pages.Load(from, pagestest.Parts())
		if err != nil {
			t.Fatal(err)
		}
		offer, err := p.OfferFor(schemas.Object{"mode": json.RawMessage(`"agent"`)}, nil, schemas.User{})
		if err != nil || !strings.Contains(offer.Note, want) || (want == "") != (offer.Note == "") {
			t.Errorf("tools %s: got %q and %v, want %q in it", tools, offer.Note, err, want)
		}
	}
}
