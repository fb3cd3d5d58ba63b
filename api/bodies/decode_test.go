package bodies_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chattray/chattray/api/bodies"
	"github.com/chattray/chattray/schemas"
)

func parse(raw []byte) (schemas.ChatRequest, error) {
	return bodies.Parse[schemas.ChatRequest](raw, rules)
}

var rules = bodies.NewRules(100_000)

func TestGoodBodies(t *testing.T) {
	for _, tt := range []struct{ name, body string }{
		{"pair of surrogates", `{"message":"\ud83d\ude00 \\ud83d"}`},
		{"unknown keys in context", `{"message":"hi","context":{"user_id":"x","Message":null,"a":{"b":[1,null]}}}`},
		{"other members of earlier messages", `{"message":"hi","conversation_history":[{"role":"user","content":"x","id":"m","parts":[null]}]}`},
		{"empty message to ask again", `{"message":"","conversation_id":1,"regenerate_message_id":"m"}`},
		{"click", `{"message":"","interaction_type":"action_executed","action_metadata":{"action_identifier":"apply_schema","action_data":[1]}}`},
		{"longest message", `{"message":"` + strings.Repeat("é", 100_000) + `"}`},
		{"image", `{"message":"hi","attachments":[{"name":"a","mime":"image/png","content":"aGk="}]}`},
		{"YAML as some browsers call it", `{"message":"hi","attachments":[{"name":"a","mime":"application/x-yaml","content":"a: b"}]}`},
		{"2 MiB file", `{"message":"hi","attachments":[{"name":"a","mime":"text/plain; charset=utf-8","content":"` + strings.Repeat("a", 2<<20) + `"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := parse([]byte(tt.body)); err != nil {
				t.Errorf("refused: %v %v", err, schemas.Visible(err).Fields)
			}
		})
	}
}

// FuzzWellFormed compares the scanner of bodies with the standard library.
func FuzzWellFormed(f *testing.F) {
	for _, raw := range []string{
		"", " ", "{}", "[]", "null", "true", "tru", "nulll", `"a"`, `"a`, `"a" "b"`, "\"a\tb\"", "\"\xff\"", `"\ud83d"`, `"\u00zz"`, `"\u00`, `"\x"`, `"\`, "\ufeff{}",
		"0", "01", "-", "-0", "1.", ".5", "1.5", "1e", "1e+", "-1.5E-7", "+1", "[1,]", "[,1]", "[1 2]", "[1", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a":1 "b":2}`, "{]", "[}", "]", "}",
		strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
		strings.Repeat(`{"a":[`, 5001) + strings.Repeat("]}", 5001), "[" + strings.Repeat("[],", 10_001) + "1]",
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got, want := bodies.WellFormed(raw), json.Valid(raw) && utf8.Valid(raw); got != want {
			t.Errorf("%.100q is well-formed: got %t, want %t", raw, got, want)
		}
	})
}
