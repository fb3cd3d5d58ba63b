package schemas_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
)

func TestHeaderRow(t *testing.T) {
	long := strings.Repeat("long ", 7000)
	for _, tt := range []struct {
		name, csv, row string
		whole          bool
	}{
		{"nothing", "", "", false},
		{"no end", "year,price", "", false},
		{"one row", "year,price\n", "year,price\n", true},
		{"two rows", "year,price\r\n2026,4100\n", "year,price\r\n", true},
		{"an empty row", "\nyear", "\n", true},
		{"a break in quotes", "\"year\nof\",price\n2026", "\"year\nof\",price\n", true},
		{"no end of the quotes", "year,\"price\n2026,4100\n", "", false},
		{"a quote in quotes", "\"a \"\"b\"\"\nc\",d\ne", "\"a \"\"b\"\"\nc\",d\n", true},
		{"a quote in a field", "12\" pipe,price\n1,2\n", "12\" pipe,price\n", true},
		{"too long", "\"" + long + "\n" + long, "\"" + long + "\n" + long, true},
	} {
		n, whole := schemas.HeaderRow(tt.csv)
		if tt.csv[:n] != tt.row || whole != tt.whole {
			t.Errorf("%s: the row is %.40q, whole %v; want %.40q, %v", tt.name, tt.csv[:n], whole, tt.row, tt.whole)
		}
	}
}

// inViews returns a view in others, n levels deep.
func inViews(n int, view string) string {
	return strings.Repeat(`{"spec":`, n) + view + strings.Repeat("}", n)
}

func TestCheckChart(t *testing.T) {
	for header, want := range map[string]string{
		`{"mark":"bar","encoding":{"x":{"field":"data"}}}`:                                                            "",
		`{"mark":"bar","transform":[{"filter":"datum.x > 1"},{"lookup":"x","from":{"param":"chosen","key":"x"}}, 7]}`: "",
		`[]`:                                  "must be a JSON object",
		`null`:                                "must be a JSON object",
		`{"mark":"bar","data":{"values":[]}}`: "without data:",
		`{"mark":"bar","datasets":{}}`:        "without datasets:",
		`{"layer":[{"mark":"bar"},{"mark":"bar","data":null}]}`:                                         "without data:",
		`{"facet":{"field":"a"},"spec":{"hconcat":[{"data":{"url":"x"}}]}}`:                             "without data:",
		`{"mark":"bar","transform":[{"lookup":"x","from":{"data":{"url":"x"},"key":"x"}}]}`:             "without data:",
		`{"vconcat":[{"mark":"bar","transform":[1,{"lookup":"x","from":{"key":"x","data":{"a":1}}}]}]}`: "without data:",
		inViews(19, `{"mark":"bar"}`):               "",
		inViews(19, `{"mark":"bar","data":null}`):   "without data:",
		inViews(20, `{"mark":"bar"}`):               "at most 20 views in each other",
		inViews(7000, `{"mark":"bar","data":null}`): "at most 20 views in each other", // each level would be read 7,000 times
	} {
		err := schemas.CheckChart(json.RawMessage(header))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", header, err, want)
		}
	}
}
