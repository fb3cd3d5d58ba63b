package payloads_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/payloads"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// feedAll feeds text in pieces of size bytes.
func feedAll(f *payloads.Filter, text string, size int) result {
	visible := ""
	for i := 0; i < len(text); i += size {
		visible += f.Feed(text[i:min(i+size, len(text))])
	}
	rest, found := f.End(false)
	return result{visible + rest, found}
}

func TestValueTooLarge(t *testing.T) {
	_, newFilter := readTable(t)
	long := strings.Repeat("x", payloads.MaxValue)
	for _, size := range []int{7, 1 << 20} {
		got := feedAll(newFilter(), `a SCHEMA_PROPOSAL: {"changes": {"a": "`+long+`"}} b NOTES: [1]`, size)
		if got.Visible != "a b " || len(got.Found.Payloads) != 1 || len(got.Found.Warnings) != 1 || len(got.Found.Dropped[0].Text) != payloads.MaxValue {
			t.Errorf("pieces of %d: got text %q, %d payloads, warnings %q; want the large value hidden, the other taken", size,
				got.Visible, len(got.Found.Payloads), got.Found.Warnings)
		}
		got = feedAll(newFilter(), `a SCHEMA_PROPOSAL: {"`+long, size)
		if got.Visible != "a " || got.Found.Cut == nil || len(got.Found.Cut.Text) != payloads.MaxValue {
			t.Errorf("pieces of %d: got text %q, want a cut value of %d bytes", size, got.Visible, payloads.MaxValue)
		}
	}
	fits := `["` + long[:payloads.MaxValue-4] + `"]`
	if got := feedAll(newFilter(), "SUGGESTED_VALUES: "+fits, 1<<20); len(got.Found.Values) != 1 {
		t.Errorf("got warnings %q, want a value of exactly MaxValue taken", got.Found.Warnings)
	}
}

func TestValueTooDeep(t *testing.T) {
	_, newFilter := readTable(t)
	for depth, want := range map[int]int{1_000: 1, 1_001: 0, 9_990: 0} {
		action := `SUGGESTED_ACTIONS: [{"label":"x","action":"close_chat","data":` + strings.Repeat("[", depth-2) + strings.Repeat("]", depth-2) + "}]"
		got := feedAll(newFilter(), "a "+action+" b", 7)
		if len(got.Found.Actions) != want || len(got.Found.Warnings) != 1-want || got.Visible != "a b" {
			t.Errorf("%d levels: got %d actions, warnings %q and text %q; want %d actions", depth, len(got.Found.Actions), got.Found.Warnings, got.Visible, want)
		}
	}
}

func TestCountsAreBounded(t *testing.T) {
	_, newFilter := readTable(t)
	got := feedAll(newFilter(), strings.Repeat("NOTES: [1]\n", 100), 5).Found
	if len(got.Payloads) != payloads.MaxPayloads || len(got.Warnings) != 32 || len(got.Dropped) != 32 {
		t.Errorf("got %d payloads, %d warnings, %d dropped; want %d, 32, 32", len(got.Payloads), len(got.Warnings), len(got.Dropped), payloads.MaxPayloads)
	}
}

// TestSalvageIsBounded nests broken values deeper than they are searched.
func TestSalvageIsBounded(t *testing.T) {
	_, newFilter := readTable(t)
	for _, tt := range []struct{ broken, want int }{{8, 1}, {9, 0}, {5000, 0}} {
		got := feedAll(newFilter(), strings.Repeat("SCHEMA_PROPOSAL: {oops\n", tt.broken)+"NOTES: [1]", 1<<20)
		if len(got.Found.Payloads) != tt.want || got.Visible != "" {
			t.Errorf("%d broken values: got %d payloads and text %q, want %d and none", tt.broken, len(got.Found.Payloads), got.Visible, tt.want)
		}
	}
}

// TestHeldText says what is held at each point: the longest end that may still
// become an occurrence, and nothing else.
func TestHeldText(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a word", "Hello", "Hello"},
		{"a line break", "Hello\n", "Hello\n"},
		{"a space", "Hello ", "Hello "},
		{"the beginning of a marker", "Use S", "Use "},
		{"more of it", "Use SUGGESTED_VALUES", "Use "},
		{"all of it", "Use SUGGESTED_VALUES: ", "Use "},
		{"a fence after it", "Use SUGGESTED_VALUES:\n```json\n", "Use "},
		{"not any more", "Use SUGGESTED_VALUES: a", "Use SUGGESTED_VALUES: a"},
		{"another capital", "Use T", "Use T"},
		{"inside a word", "UseS", "UseS"},
		{"wrapper", "a **", "a "},
		{"wrapper of something else", "a **b", "a **b"},
		{"wrapper that is too long", "a *****", "a *****"},
		{"code fence", "a\n```", "a\n```"},
		{"in a code fence", "```\n  SUGGESTED_VALUES: [1", "```\n  SUGGESTED_VALUES: [1"},
		{"bracket", "see [", "see "},
		{"two brackets", "see [[", "see "},
		{"link", "see [[a", "see [[a"},
		{"value", `a NOTES: [1, "]`, "a "},
		{"after a value", "a NOTES: [1]", "a "},
		{"white space after a value", "a NOTES: [1] \n  ", "a \n"},
		{"text after a value", "a NOTES: [1] \n  b", "a \n  b"},
	}
	_, newFilter := readTable(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := newFilter().Feed(tt.text); got != tt.want {
				t.Errorf("got %q shown, want %q", got, tt.want)
			}
		})
	}
}

func TestFeedDoesNotAllocate(t *testing.T) {
	_, newFilter := readTable(t)
	f := newFilter()
	f.Feed("The answer")
	for _, token := range []string{" word", " Sure", "end.\n", "**bold**", "naïve"} {
		if n := testing.AllocsPerRun(100, func() { f.Feed(token) }); n != 0 {
			t.Errorf("token %q: got %v allocations, want none", token, n)
		}
	}
}

func TestRecover(t *testing.T) {
	_, newFilter := readTable(t)
	f := newFilter()
	f.Feed(`SCHEMA_PROPOSAL: {"changes": {"a`)
	_, found := f.End(true)
	if found.Cut == nil {
		t.Fatal("got no cut value, want one")
	}
	tests := []struct{ name, reply string }{
		{"the value alone", ` {"changes": {"a": 1}}`},
		{"in a code fence", "```json\n{\"changes\": {\"a\": 1}}\n```"},
		{"with its marker", "Here it is.\n\nSCHEMA_PROPOSAL: {\"changes\": {\"a\": 1}}"},
	}
	want := turn.Found{Payloads: []turn.Payload{{Type: "schema_proposal", Data: []byte(`{"changes":{"a":1}}`)}}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(want, f.Recover(*found.Cut, tt.reply)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestBundledFilter runs the bundled types together.
func TestBundledFilter(t *testing.T) {
	r := newRegistry(t)
	var types []turn.PayloadType
	text := "Answer.\n\n"
	for _, name := range r.Names() {
		pt := mustType(t, r, name)
		types = append(types, pt)
		if _, example, ok := strings.Cut(pt.Instructions, "\n\n"); ok {
			text += example + "\n\n"
		}
	}
	visible, found := payloads.NewFilter(types, []schemas.Action{}, nil).Parse(text)
	if visible != "Answer.\n\n" || len(found.Payloads) != len(fromModel) || len(found.Warnings) != 0 {
		t.Errorf("got text %q, %d payloads, warnings %q; want the answer and %d payloads", visible, len(found.Payloads), found.Warnings, len(fromModel))
	}
}

// A value that would take too long to check is not checked.
func TestCheckIsBounded(t *testing.T) {
	pt, err := payloads.NewType(turn.PayloadDef{
		Name: "list", Source: "llm", Marker: "LIST:",
		Schema: []byte(`{"type":"array","items":{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 30) + `{"type":"integer"}]}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	numbers := make([]string, 40_000)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i)
	}
	for n, fits := range map[int]bool{100: true, len(numbers): false} {
		if _, err := pt.Check([]byte("[" + strings.Join(numbers[:n], ",") + "]")); (err == nil) != fits {
			t.Errorf("%d items: %v, want them taken: %t", n, err, fits)
		}
	}
}

// White space after each of two values is kept.
func TestLinesBetweenValues(t *testing.T) {
	_, newFilter := readTable(t)
	for _, size := range []int{1, 5, 1 << 20} {
		got := feedAll(newFilter(), "a\n\nNOTES: [1]\n\nb NOTES: [2]\n\nc", size)
		if want := "a\n\nb \n\nc"; got.Visible != want {
			t.Errorf("pieces of %d: got %q, want %q", size, got.Visible, want)
		}
	}
}

// Numbers that are too large for an integer of 64 bits are numbers, and no digits of one with a
// large exponent are computed.
func TestLargeNumbers(t *testing.T) {
	for _, tt := range []struct {
		item, number string
		fits         bool
	}{
		{`{"type":"integer"}`, "1000000000000000000000", true},
		{`{"type":"number","minimum":0}`, "123456789012345678901234", true},
		{`{"type":"number"}`, "1e999999", true},
		{`{"type":"string"}`, "1000000000000000000000", false},
		{`{"maximum":5}`, "1e999999", false},
		{`{"minimum":5}`, "-1e999999", false},
		{`{"enum":[1]}`, "1e999999", false},
	} {
		p, err := payloads.NewType(turn.PayloadDef{
			Name: "x", Description: "d", Source: "tool",
			Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"array","items":` + tt.item + `}}}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		data, err := p.Check(json.RawMessage(`{"a":[` + tt.number + `]}`))
		if (err == nil) != tt.fits || err != nil && len(err.Error()) > 1000 {
			t.Errorf("%s with %s: got %.200v, want it to fit: %t", tt.item, tt.number, err, tt.fits)
		}
		if got := data.(map[string]any)["a"].([]any)[0]; got != json.Number(tt.number) {
			t.Errorf("a summary gets %v, want %s", got, tt.number)
		}
	}
}
