package pages_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/pages"
	"github.com/chattray/chattray/services/pages/pagestest"
)

// Arguments that a level sets are also set in the levels inside it, which may
// set others; the mode agent keeps them.
func TestArgumentsOfPageFiles(t *testing.T) {
	files := fstest.MapFS{"shop.yaml": {Data: []byte(`tools: [compare_models, get_report]
arguments:
  compare_models: {mode: race, models: [a, b]}
  search_pubmed: {limit: 5}
  get_report: {id: 7}
  own: {state: open, since: 2024-01-31, shop: 0123, area: 089, limit: 1_000, share: 0.5, none: 0}
http_tools:
  - {name: own, description: Looks., url: https://a}
tabs:
  quick:
    arguments: {compare_models: '{"mode": "any"}'}
`)}, "document.yaml": {Data: []byte("tools: [get_report, read_document]\n")}}
	p, err := pages.Load(pages.Sources{Bundled: files}, pagestest.Parts())
	if err != nil {
		t.Fatal(err)
	}
	agent := schemas.Object{"current_page": []byte(`"shop"`), turn.ContextMode: []byte(`"agent"`)}
	for _, tt := range []struct {
		name  string
		offer func() (pages.Offer, error)
		want  string
	}{
		{"page", func() (pages.Offer, error) { return p.Resolve("shop", "", "", schemas.User{}) }, `compare_models={"mode":"race","models":["a","b"]} get_report={"id":7} own={"area":"089","limit":1000,"none":0,"share":0.5,"shop":"0123","since":"2024-01-31","state":"open"} search_pubmed={"limit":5}`},
		{"tab", func() (pages.Offer, error) { return p.Resolve("shop", "quick", "", schemas.User{}) }, `compare_models={"mode":"any","models":["a","b"]} get_report={"id":7} own={"area":"089","limit":1000,"none":0,"share":0.5,"shop":"0123","since":"2024-01-31","state":"open"} search_pubmed={"limit":5}`},
		{"agent", func() (pages.Offer, error) { return p.OfferFor(agent, nil, schemas.User{}) }, `compare_models={"mode":"race","models":["a","b"]} get_report={"id":7} own={"area":"089","limit":1000,"none":0,"share":0.5,"shop":"0123","since":"2024-01-31","state":"open"} search_pubmed={"limit":5}`},
		{"another page", func() (pages.Offer, error) { return p.Resolve("document", "", "", schemas.User{}) }, ""},
	} {
		o, err := tt.offer()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range o.Tools {
			if len(o.Tools[i].Preset) > 0 {
				got = append(got, o.Tools[i].Name+"="+string(schemas.Encode(o.Tools[i].Preset)))
			}
		}
		slices.Sort(got)
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, s, tt.want)
		}
	}
}

func TestInvalidArgumentsOfPageFiles(t *testing.T) {
	parts := pagestest.Parts()
	parts.Tools = withGroup{parts.Tools}
	for lines, want := range map[string]string{
		"arguments: {no_tool: {a: 1}}":                              `a.yaml:1: arguments are set of the unknown tool "no_tool"`,
		"arguments: {compare_models: {mode: race}}":                 `a.yaml:1: arguments are set of "compare_models", which is not a tool here; name it under tools`,
		"tools: [compare_models]\narguments: {compare_models: [1]}": `a.yaml:2: the arguments of "compare_models" must be a mapping of names to values`,
		"arguments: {compare_models: null}":                         `a.yaml:1: the arguments of "compare_models" must be a mapping of names to values`,
		"arguments: [compare_models]":                               `a.yaml:1: arguments must be a mapping`,
		"arguments: {get_payload: {wrong: 1}}":                      `a.yaml:1: arguments of "get_payload": there is no argument "wrong"`,
		"tools: [files__read]\narguments: {files__read: {a: 1}}":    `a.yaml:2: arguments of "files__read" cannot be set: it is a tool of an MCP server, which may change`,
		"tools: [web_search]\narguments: {web_search: {a: 1}}":      "",
	} {
		_, err := pages.Load(pages.Sources{Bundled: fstest.MapFS{"a.yaml": {Data: []byte(lines + "\n")}}}, parts)
		if got := strings.ReplaceAll(errorText(err), "bundled pages/", ""); got != want {
			t.Errorf("%s: got %q, want %q", lines, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// withGroup has a tool of a group beside others, and one that is not configured.
type withGroup struct{ pages.Tools }

func (g withGroup) Has(name string) bool {
	return name == "files__read" || name == "web_search" || g.Tools.Has(name)
}
