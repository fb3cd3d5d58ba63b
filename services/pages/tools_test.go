package pages_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/pages"
	"github.com/chattray/chattray/services/pages/pagestest"
)

func TestPageToolsOfTheSettings(t *testing.T) {
	parts := pagestest.Parts()
	parts.PageTools = map[string][]string{"reports": {"get_stream"}, "edit_research_stream": {"get_report", "get_report"}}
	p, err := pages.Load(pages.Sources{}, parts)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ page, tab, tool string }{
		{"reports", "", "get_stream"}, {"reports", "articles", "get_stream"}, {"edit_stream", "semantic", "get_report"},
	} {
		o, err := p.Resolve(tt.page, tt.tab, "", schemas.User{})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(offerLine(o), " "+tt.tool); n != 1 {
			t.Errorf("%s %s has %s %d times, want once", tt.page, tt.tab, tt.tool, n)
		}
	}
	if o, _ := p.Resolve("streams", "", "", schemas.User{}); strings.Contains(offerLine(o), "get_report") {
		t.Error("another page has the tool too, want it only on its page")
	}
}

func TestInvalidPageToolsOfTheSettings(t *testing.T) {
	parts := pagestest.Parts()
	parts.PageTools = map[string][]string{"no_page": {"get_stream"}, "reports": {"no_tool"}}
	_, err := pages.Load(pages.Sources{}, parts)
	want := `the setting mcp_servers: there is no page "no_page"
the setting mcp_servers: unknown tool "no_tool" for the page "reports"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// An HTTP tool that may change something needs approval and is not repeated, unless its
// file says otherwise.
func TestPageHTTPToolsConfirm(t *testing.T) {
	for _, tt := range []struct {
		name, lines   string
		want, repeats bool
	}{
		{"get", "", false, true},
		{"head", "method: HEAD", false, true},
		{"get with confirm", "confirm: true", true, true},
		{"get once", "idempotent: false", false, false},
		{"post", "method: POST", true, false},
		{"post by its body", "body: '{}'", true, false},
		{"lower case", "method: post", true, false},
		{"put", "method: PUT", true, false},
		{"patch", "method: PATCH", true, false},
		{"delete", "method: DELETE", true, false},
		{"repeatable", "{method: PUT, idempotent: true}", true, true},
		{"unasked", "{method: POST, confirm: false}", false, false},
		{"asked", "{method: POST, confirm: true}", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := strings.NewReplacer("{", "", "}", "", ", ", "\n    ").Replace(tt.lines)
			if strings.Contains(tt.lines, "body") {
				lines = tt.lines
			}
			p := pagestest.Load(t, map[string]string{"shop.yaml": "http_tools:\n  - name: place_order\n    description: Places one.\n    url: https://shop.example/orders\n    " + lines + "\ntools: [place_order]\n"})
			o, err := p.Resolve("shop", "", "", schemas.User{})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(o.Tools, func(t turn.Tool) bool { return t.Name == "place_order" })
			if i < 0 || o.Tools[i].Confirm != tt.want || o.Tools[i].Idempotent != tt.repeats {
				t.Errorf("the tool %d asks: not %t, or is repeated: not %t", i, tt.want, tt.repeats)
			}
		})
	}
}
