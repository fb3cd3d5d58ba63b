package payloads_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/payloads"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// table is testdata/markers.json, which the web page's tests read too.
type table struct {
	Types []struct {
		Name   string          `json:"name"`
		Marker string          `json:"marker"`
		Schema json.RawMessage `json:"schema"`
	} `json:"types"`
	Actions []schemas.Action `json:"actions"`
	Rows    []tableRow       `json:"rows"`
}

type tableRow struct {
	Name      string                    `json:"name"`
	Text      string                    `json:"text"`
	Truncated bool                      `json:"truncated"`
	Visible   string                    `json:"visible"`
	Payloads  []turn.Payload            `json:"payloads"`
	Values    []schemas.SuggestedValue  `json:"values"`
	Actions   []schemas.SuggestedAction `json:"actions"`
	Warnings  int                       `json:"warnings"`
	Dropped   []schemas.DroppedPart     `json:"dropped"`
	Cut       *turn.CutValue            `json:"cut"`
}

func readTable(t testing.TB) (table, func() *payloads.Filter) {
	t.Helper()
	raw, err := os.ReadFile("testdata/markers.json")
	if err != nil {
		t.Fatal(err)
	}
	var tab table
	if err := json.Unmarshal(raw, &tab); err != nil {
		t.Fatal(err)
	}
	var types []turn.PayloadType
	for _, def := range tab.Types {
		pt, err := payloads.NewType(turn.PayloadDef{Name: def.Name, Source: payloads.SourceLLM, Marker: def.Marker, Schema: def.Schema})
		if err != nil {
			t.Fatal(err)
		}
		fits := pt.Check
		pt.Check = func(data json.RawMessage) (any, error) { // the reason's wording follows a map's order
			if _, err := fits(data); err != nil {
				return nil, errors.New("misfit")
			}
			return nil, nil
		}
		types = append(types, pt)
	}
	return tab, func() *payloads.Filter { return payloads.NewFilter(types, tab.Actions, refuseMisfit) }
}

// refuseMisfit refuses data with the key misfit.
func refuseMisfit(action string, data json.RawMessage) error {
	if strings.Contains(string(data), `"misfit":`) {
		return errors.New(action + " takes no misfit")
	}
	return nil
}

// sameJSON compares raw JSON by value.
var sameJSON = cmp.Transformer("json", func(raw json.RawMessage) any {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	return v
})

// result is what a filter makes of a reply.
type result struct {
	Visible string
	Found   turn.Found
}

// feed gives the pieces to the filter one by one and checks that what is shown
// meanwhile is a beginning of want.
func feed(t *testing.T, f *payloads.Filter, truncated bool, want string, pieces ...string) result {
	t.Helper()
	visible := ""
	for _, p := range pieces {
		visible += f.Feed(p)
		if !strings.HasPrefix(want, visible) {
			t.Fatalf("pieces %q: shown so far %q, want a beginning of %q", pieces, visible, want)
		}
	}
	rest, found := f.End(truncated)
	return result{visible + rest, found}
}

func TestFilterTable(t *testing.T) {
	tab, newFilter := readTable(t)
	if len(tab.Rows) < 60 {
		t.Errorf("got %d rows, want at least 60", len(tab.Rows))
	}
	for _, row := range tab.Rows {
		t.Run(row.Name, func(t *testing.T) {
			f := newFilter()
			whole := feed(t, f, row.Truncated, row.Visible, row.Text)
			got := tableRow{
				Name: row.Name, Text: row.Text, Truncated: row.Truncated,
				Visible: whole.Visible, Payloads: whole.Found.Payloads, Values: whole.Found.Values, Actions: whole.Found.Actions,
				Warnings: len(whole.Found.Warnings), Dropped: whole.Found.Dropped, Cut: whole.Found.Cut,
			}
			if diff := cmp.Diff(row, got, sameJSON); diff != "" {
				t.Fatalf("whole reply (-want +got):\n%s", diff)
			}
			for i := range len(row.Text) + 1 {
				split := feed(t, f, row.Truncated, row.Visible, row.Text[:i], row.Text[i:])
				if diff := cmp.Diff(whole, split); diff != "" {
					t.Fatalf("split at %d (-whole +split):\n%s", i, diff)
				}
			}
			bytewise := feed(t, f, row.Truncated, row.Visible, strings.Split(strings.ToValidUTF8(row.Text, ""), "")...)
			if diff := cmp.Diff(whole, bytewise); diff != "" {
				t.Fatalf("rune by rune (-whole +split):\n%s", diff)
			}
			pieces := make([]string, len(row.Text))
			for i := range pieces {
				pieces[i] = row.Text[i : i+1]
			}
			bytewise = feed(t, f, row.Truncated, row.Visible, pieces...)
			if diff := cmp.Diff(whole, bytewise); diff != "" {
				t.Fatalf("byte by byte (-whole +split):\n%s", diff)
			}
		})
	}
}
