package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/turn"
)

// Data of a step that readers would refuse is left out; they show the step.
func TestProgressThatReadersRefuse(t *testing.T) {
	for data, want := range map[string]string{
		nested(31): nested(31), nested(32): "", `{"__proto__":1}`: "",
	} {
		var got turn.Progress
		(&turn.Call{Report: func(p turn.Progress) { got = p }}).Progress("s", "m", 0.5, json.RawMessage(data))
		if got.Message != "m" || string(got.Data) != want {
			t.Errorf("%.60s: the step is %q with %.60s, want %.60s", data, got.Message, got.Data, want)
		}
	}
}

// nested returns an object of that depth.
func nested(depth int) string {
	return `{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + "}"
}

// Brackets in texts are no nesting, and no name is hidden by escapes.
func TestShowable(t *testing.T) {
	texts := strings.Repeat(`[{\"`, 40)
	for data, want := range map[string]bool{
		`["` + texts + `"]`:                             true,
		`["\\",` + nested(30) + `,"` + texts + `"]`:     true,
		`["]]]\\\"]",` + nested(31) + `]`:               false,
		`{"` + texts + `":"]}","a":` + nested(31) + `}`: false,
		nested(31):                       true,
		`[` + nested(31) + `]`:           false,
		`{"\u005f_proto__":1}`:           false,
		`{"a":[{"__pr\u006Fto__":{}}]}`:  false,
		`{"a":"__proto__","b":"\u005f"}`: true,
	} {
		if !json.Valid([]byte(data)) {
			t.Fatalf("%s is not valid", data)
		}
		if err := turn.Showable("its data", []byte(data)); (err == nil) != want {
			t.Errorf("%.80s: %v, want that it is showable: %t", data, err, want)
		}
	}
}

func TestInput(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 30) + `{"k":1,"k":2}` + strings.Repeat(`}`, 30)
	for arguments, want := range map[string]string{
		"":                          "",
		" null ":                    "",
		"{}":                        "",
		` { "a" : [ 1, {"b":2} ] }`: "",
		`{"a":{"k":1},"b":{"k":1},"c":[{"k":1},{"k":1}],"k":"k","l":["k","k"]}`: "",
		`{"a":1`:                    "its arguments are not valid JSON: unexpected end of JSON input",
		`[{}]`:                      "its arguments must be a JSON object",
		`{"a":1,"a":1}`:             `its arguments give the field "a" more than once`,
		`{"a":1,"\u0061":2}`:        `its arguments give the field "a" more than once`,
		`{"x":{"a":1,"b":2,"a":3}}`: `its arguments give the field "a" more than once`,
		`{"x":[1,{"a":{},"a":[]}]}`: `its arguments give the field "a" more than once`,
		deep:                        `its arguments give the field "k" more than once`,
		`{"x":[{"__proto__":1}]}`:   `its arguments have the field "__proto__", which is not allowed`,
		nested(31):                  "",
		nested(32):                  "its arguments are nested more than 31 deep",
		nested(9_999):               "its arguments are nested more than 31 deep",
	} {
		input, err := turn.Input(arguments)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.60s: error %q, want %q", arguments, got, want)
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(input, &object) != nil || (err != nil) != (object["invalid_arguments"] != nil) {
			t.Errorf("%.60s: the input is %.80s", arguments, input)
		}
	}
}

func BenchmarkShowable(b *testing.B) {
	one := `{"article_id":1,"title":"A title \"quoted\" of an article","authors":["A B","C D"],"year":2024},`
	data := []byte(`{"articles":[` + strings.TrimSuffix(strings.Repeat(one, 10), ",") + `]}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := turn.Showable("its data", data); err != nil {
			b.Fatal(err)
		}
	}
}
