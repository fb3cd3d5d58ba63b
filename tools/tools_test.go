package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/toolstest"
)

type input struct {
	Query string   `json:"query" jsonschema:"what to look for"`
	Limit int      `json:"limit,omitempty" jsonschema:"how many"`
	Tags  []string `json:"tags,omitempty"`
	Sort  string   `json:"sort,omitempty"`
	Near  *struct {
		Lat float64 `json:"lat"`
	} `json:"near,omitempty"`
}

func find(_ context.Context, _ *tools.Call, in input) (tools.Result, error) {
	return tools.Text(fmt.Sprintf("%s/%d/%v", in.Query, in.Limit, in.Tags)), nil
}

func finder(opts ...tools.Option) turn.Tool {
	return tools.New("find", "Finds.", find, append([]tools.Option{tools.Refine(func(s *jsonschema.Schema) {
		most := 50.0
		s.Properties["limit"].Maximum = &most
		s.Properties["sort"].Enum = []any{"up", "down"}
	})}, opts...)...)
}

func TestNewSchema(t *testing.T) {
	var got, want any
	if err := json.Unmarshal(finder().InputSchema, &got); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal([]byte(`{
		"type": "object", "required": ["query"], "additionalProperties": false,
		"properties": {
			"query": {"type": "string", "description": "what to look for"},
			"limit": {"type": "integer", "description": "how many", "maximum": 50},
			"tags": {"type": "array", "items": {"type": "string"}},
			"sort": {"type": "string", "enum": ["up", "down"]},
			"near": {"type": "object", "required": ["lat"], "additionalProperties": false, "properties": {"lat": {"type": "number"}}}
		}}`), &want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("schema (-want +got):\n%s", d)
	}
	none := tools.NewText("none", "Nothing.", func(context.Context, *tools.Call, struct{}) (string, error) { return "", nil })
	if got, want := string(none.InputSchema), `{"type":"object","additionalProperties":false,"properties":{}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestASchemaWithoutPropertiesGetsThemOnce(t *testing.T) {
	for _, schema := range []string{`{"type":"object"}`, `{"type":"object","properties":{}}`} {
		tool := tools.NewRaw("raw", "Does.", json.RawMessage(schema), func(context.Context, *tools.Call) (tools.Result, error) { return tools.Result{}, nil })
		if got, want := string(tool.InputSchema), `{"type":"object","properties":{}}`; got != want {
			t.Errorf("the schema %s gives %s, want %s", schema, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	tool := finder()
	for _, tc := range []struct {
		name, input string
		want        []string // all of them in the message; none means it fits
	}{
		{"fits", `{"query":"a"}`, nil},
		{"all", `{"query":"a","limit":5,"tags":["x"],"sort":"up","near":{"lat":1.5}}`, nil},
		{"null for an optional one", `{"query":"a","limit":null,"tags":null}`, nil},
		{"whole number with a point", `{"query":"a","limit":5.0}`, nil},
		{"nothing", ``, []string{`"query" is required`, "a string", "what to look for"}},
		{"empty object", `{}`, []string{`"query" is required`}},
		{"null for a required one", `{"query":null}`, []string{`"query" must be a string`, "got null"}},
		{"no JSON", `{"query":`, []string{"not valid JSON"}},
		{"no object", `["a"]`, []string{"must be a JSON object", "an array"}},
		{"wrong type", `{"query":5}`, []string{`"query" must be a string`, "the number 5"}},
		{"number in a string", `{"query":"a","limit":"5"}`, []string{`"limit" must be an integer`, `the string "5"`}},
		{"fraction", `{"query":"a","limit":2.5}`, []string{`"limit" must be an integer`, "2.5"}},
		{"too big", `{"query":"a","limit":51}`, []string{`"limit"`, "at most 50", "51"}},
		{"not in the list", `{"query":"a","sort":"sideways"}`, []string{`one of "up", "down"`, `"sideways"`}},
		{"unknown", `{"query":"a","colour":"red"}`, []string{`no field "colour"`, "limit, near, query, sort, tags"}},
		{"inside a list", `{"query":"a","tags":[1]}`, []string{`"tags" must be an array of strings`, "want \"string\""}},
		{"inside an object", `{"query":"a","near":{"lat":"x"}}`, []string{`"near" must be an object`, "number"}},
		{"all at once", `{"limit":"x","colour":1}`, []string{`"query" is required`, `"limit" must be`, `no field "colour"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tool.Check(json.RawMessage(tc.input))
			if len(tc.want) == 0 {
				if err != nil {
					t.Errorf("got %v, want it to fit", err)
				}
				return
			}
			e, ok := errors.AsType[*schemas.Error](err)
			if !ok || e.Code != schemas.CodeInvalid {
				t.Fatalf("got %v, want a schemas.Error of code invalid", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(e.Message, want) || err.Error() != e.Message {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
		})
	}
}

func TestCheckIsBounded(t *testing.T) {
	args := map[string]any{"query": strings.Repeat("x", 100_000)}
	for i := range 1000 {
		args[fmt.Sprint("unknown", i)] = strings.Repeat("y", 1000)
	}
	raw, _ := json.Marshal(args)
	err := finder().Check(raw)
	if err == nil || len(err.Error()) > 5000 {
		t.Errorf("got a message of %d bytes, want one of at most 5000", len(fmt.Sprint(err)))
	}
}

func TestRun(t *testing.T) {
	for _, tc := range []struct{ input, want string }{
		{`{"query":"a","limit":5,"tags":["x"]}`, "a/5/[x]"},
		{`{"query":"a","limit":5.0}`, "a/5/[]"},
		{`{"query":"a","limit":1e1,"tags":null}`, "a/10/[]"},
	} {
		got, err := finder().Run(t.Context(), &tools.Call{Input: json.RawMessage(tc.input)})
		if err != nil || got.Text != tc.want {
			t.Errorf("%s: got %q, %v, want %q", tc.input, got.Text, err, tc.want)
		}
	}
	_, err := finder().Run(t.Context(), &tools.Call{Input: json.RawMessage(`{"query":5}`)})
	if schemas.Visible(err).Code != schemas.CodeInvalid {
		t.Errorf("got %v, want code invalid", err)
	}
}

// A large integer keeps its digits beside one that is written with a point.
func TestLargeInteger(t *testing.T) {
	type order struct {
		ID    int64 `json:"id"`
		Count int   `json:"count"`
	}
	tool := tools.NewText("order", "Orders.", func(_ context.Context, _ *tools.Call, in order) (string, error) { return fmt.Sprint(in), nil })
	got, err := tool.Run(t.Context(), &tools.Call{Input: json.RawMessage(`{"id":9007199254740993,"count":2.0}`)})
	if want := "{9007199254740993 2}"; err != nil || got.Text != want {
		t.Errorf("got %q, %v, want %q", got.Text, err, want)
	}
}

func TestOptions(t *testing.T) {
	got := finder(tools.Global(), tools.Idempotent(), tools.Serial(), tools.Confirm(), tools.Timeout(time.Second),
		tools.PayloadType("things"), tools.Roles("admin", "editor"))
	want := turn.Tool{
		Name: "find", Description: "Finds.", InputSchema: got.InputSchema, Global: true, Idempotent: true, Serial: true, Confirm: true,
		Timeout: time.Second, PayloadType: "things", Roles: []string{"admin", "editor"},
	}
	got.Check, got.Run = nil, nil
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("tool (-want +got):\n%s", d)
	}
}

func TestNewRegistryReportsAllMistakes(t *testing.T) {
	type cycle struct {
		Next []cycle `json:"next"`
	}
	ok := func(name string) turn.Tool { return tools.New(name, "Does.", find) }
	_, err := tools.NewRegistry(
		ok("fine"), ok("fine"), ok(""), ok("no spaces"), ok(strings.Repeat("x", 65)),
		tools.New("mute", "", find),
		tools.New[input]("hollow", "Does.", nil),
		tools.NewText[input]("hollow_text", "Does.", nil),
		tools.New("round", "Does.", func(context.Context, *tools.Call, cycle) (tools.Result, error) { return tools.Result{}, nil }),
		tools.New("scalar", "Does.", func(context.Context, *tools.Call, string) (tools.Result, error) { return tools.Result{}, nil }),
		tools.NewRaw("raw", "Does.", json.RawMessage(`{"type":"object","properties":{"a":{"pattern":"("}}}`),
			func(context.Context, *tools.Call) (tools.Result, error) { return tools.Result{}, nil }),
		tools.NewRaw("garbage", "Does.", json.RawMessage(`{`),
			func(context.Context, *tools.Call) (tools.Result, error) { return tools.Result{}, nil }),
		turn.Tool{Name: "bare", Description: "Does."},
		tools.New("late", "Does.", find, tools.Timeout(-1)),
		tools.New("wordy", "Does.", find, tools.Words(strings.Repeat("x", 81), "")),
		tools.New("uncounted", "Does.", find, tools.Words("Does", "Did|Did many")),
		tools.New("three", "Does.", find, tools.Words("Does", "Did|Did {n}|Did all")),
		tools.New("half", "Does.", find, tools.Words("Does", "|Did {n}")),
	)
	if err == nil {
		t.Fatal("got no error, want one")
	}
	for _, want := range []string{
		`"fine": there is already a tool`, `"": its name`, `"no spaces": its name`, "xxx\": its name", `"mute": it has no description`,
		`"hollow": it has no function`, `"hollow_text": it has no function`, `"round": `, "cycle", `"scalar": the schema of its arguments is not of type object`,
		`"raw": the schema`, `"garbage": `, `"bare": it has no function`, `"late": its timeout`,
		`"wordy": its title`, `"uncounted": its done`, `"three": its done`, `"half": its done`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %q in it", err, want)
		}
	}
}

func TestResolve(t *testing.T) {
	make := func(name string, opts ...tools.Option) turn.Tool { return tools.New(name, "Does.", find, opts...) }
	r, err := tools.NewRegistry(make("page"), make("everywhere", tools.Global()), make("tab"),
		make("secret", tools.Global(), tools.Roles("admin", "editor")), make("guarded", tools.Roles("admin")), make("also", tools.Global()))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		names []string
		roles []string
		want  []string
	}{
		{"only global", nil, nil, []string{"everywhere", "also"}},
		{"named, in their order", []string{"tab", "page"}, nil, []string{"everywhere", "also", "tab", "page"}},
		{"once each", []string{"tab", "also", "tab", "page", "tab"}, nil, []string{"everywhere", "also", "tab", "page"}},
		{"not for everybody", []string{"guarded"}, []string{"editor"}, []string{"everywhere", "secret", "also"}},
		{"for admins", []string{"guarded"}, []string{"x", "admin"}, []string{"everywhere", "secret", "also", "guarded"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := r.Resolve(tc.names, schemas.User{Roles: tc.roles})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, toolstest.Names(got)); d != "" {
				t.Errorf("tools (-want +got):\n%s", d)
			}
		})
	}
	if _, err := r.Resolve([]string{"page", "x", "y"}, schemas.User{}); err == nil || !strings.Contains(err.Error(), `"x"`) || !strings.Contains(err.Error(), `"y"`) {
		t.Errorf("got %v, want an error that names x and y", err)
	}
}

// A page may name a built-in tool whose service is not configured here.
func TestBuiltinNamesAreKnown(t *testing.T) {
	r, err := tools.NewRegistry(tools.New("one", "Does.", find))
	if err != nil {
		t.Fatal(err)
	}
	expected := []string{"web_search", "get_payload", "search_articles", "get_stream"}
	r.Expect(expected...)
	for _, name := range expected {
		if !r.Has(name) {
			t.Errorf("%s is not known", name)
		}
	}
	got, err := r.Resolve([]string{"web_search", "one"}, schemas.User{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"one"}, toolstest.Names(got)); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"one"}, r.Names()); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
}

func TestAdd(t *testing.T) {
	r, err := tools.NewRegistry(tools.New("one", "Does.", find))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Add(tools.New("two", "Does.", find), tools.New("one", "Does.", find)); err == nil {
		t.Error("got no error for a name in use, want one")
	}
	if r.Has("two") {
		t.Error("a part of a refused Add was added, want nothing added")
	}
	if err := r.Add(tools.New("two", "Does.", find)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"one", "two"}, r.Names()); d != "" || !r.Has("two") || r.Has("three") {
		t.Errorf("names (-want +got):\n%s", d)
	}
}
