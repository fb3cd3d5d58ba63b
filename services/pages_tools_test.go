package services_test

import (
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services"
)

func TestPageToolsOfTheSettings(t *testing.T) {
	parts := testParts()
	parts.PageTools = map[string][]string{"reports": {"get_stream"}, "edit_research_stream": {"get_report", "get_report"}}
	p, err := services.LoadPages(services.PageSources{}, parts)
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
		t.Error("another page has the tool too")
	}
}

func TestPageToolsOfTheSettingsThatAreWrong(t *testing.T) {
	parts := testParts()
	parts.PageTools = map[string][]string{"no_page": {"get_stream"}, "reports": {"no_tool"}}
	_, err := services.LoadPages(services.PageSources{}, parts)
	want := `the settings: there is no page "no_page"
the settings: unknown tool "no_tool" for the page "reports"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
