package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/builtin"
)

func preset(t *testing.T, tool turn.Tool, set string) (turn.Tool, error) {
	t.Helper()
	var args schemas.Object
	if err := json.Unmarshal([]byte(set), &args); err != nil {
		t.Fatal(err)
	}
	return tools.WithArguments(tool, args)
}

// Arguments that are set are part of each call; models neither see nor change
// them.
func TestWithArguments(t *testing.T) {
	plain := builtin.CompareModels([]string{"one", "two", "three"})[0]
	tool, err := preset(t, plain, `{"mode":"race","models":["two","three"]}`)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(tool.InputSchema); strings.Contains(s, `"mode"`) || strings.Contains(s, `"models"`) || !strings.Contains(s, `"question"`) {
		t.Errorf("models see %s, want the question alone", s)
	}
	if !strings.Contains(string(plain.InputSchema), `"mode"`) || plain.Preset != nil {
		t.Error("the given tool has changed, want a copy changed")
	}
	want := `{"mode":"race","models":["two","three"],"question":"Who?"}`
	for _, input := range []string{`{"question":"Who?"}`, `{"question":"Who?","mode":"all"}`} {
		if got := string(tool.Fill(json.RawMessage(input))); got != want {
			t.Errorf("%s: a call has %s, want %s", input, got, want)
		}
	}
	for input, want := range map[string]string{
		`{"question":"Who?"}`:               "",
		`{"question":"Who?","mode":"race"}`: "",
		`{"question":"Who?","mode":"any"}`:  `"mode" is set by the page to "race"`,
		`{}`:                                `"question" is required`,
		`[]`:                                `they must be a JSON object`,
	} {
		if err := tool.Check(json.RawMessage(input)); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", input, err, want)
		}
	}
}

// A required argument need not be given where it is set; this also holds for a
// tool whose schema an operator wrote.
func TestWithRequiredArguments(t *testing.T) {
	tool := tools.NewRaw("look", "Looks.", json.RawMessage(`{"type":"object","required":["state"],"properties":{"state":{"type":"string"},"n":{"type":"integer"}}}`),
		func(_ context.Context, call *tools.Call) (tools.Result, error) {
			return tools.Text(string(call.Input)), nil
		})
	set, err := preset(t, tool, `{"state":"open"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(set.InputSchema); got != `{"type":"object","properties":{"n":{"type":"integer"}}}` {
		t.Errorf("models see %s", got)
	}
	if err := set.Check(json.RawMessage(`{}`)); err != nil {
		t.Errorf("without arguments: %v", err)
	}
}

func TestArgumentsThatCannotBeSet(t *testing.T) {
	compare := builtin.CompareModels([]string{"one", "two"})[0]
	streams := turn.Tool{Name: "w", InputSchema: json.RawMessage(`{"type":"object"}`), Streams: &turn.StreamedArgument{Argument: "content"}}
	for _, tt := range []struct {
		tool      turn.Tool
		set, want string
	}{
		{compare, `{"speed":1}`, `there is no argument "speed"; the arguments are: mode, models, question`},
		{compare, `{"mode":"fast"}`, `"mode" must be one of "all", "any", "race"`},
		{compare, `{"models":["one","four"]}`, `"models" must be an array of strings`},
		{streams, `{"content":"x"}`, "they are read while the model writes them"},
	} {
		if _, err := preset(t, tt.tool, tt.set); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.set, err, tt.want)
		}
	}
}
