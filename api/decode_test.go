package api_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

func parse(raw []byte) (schemas.ChatRequest, error) { return api.Parse(raw) }

func TestGoodBodies(t *testing.T) {
	for _, tt := range []struct{ name, body string }{
		{"pair of surrogates", `{"message":"\ud83d\ude00 \\ud83d"}`},
		{"unknown keys in context", `{"message":"hi","context":{"user_id":"x","Message":null,"a":{"b":[1,null]}}}`},
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

func FuzzParse(f *testing.F) {
	for _, b := range badBodies {
		if len(b.body) < 1000 {
			f.Add([]byte(b.body))
		}
	}
	f.Add([]byte(`{"message":"hi","context":{"a":[1,{"b":null}]},"chat_id":"k","attachments":[{"name":"n","mime":"text/plain","content":"c"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := parse(raw)
		if err != nil {
			if seen := schemas.Visible(err); seen.Code != schemas.CodeBadRequest && seen.Code != schemas.CodeInvalid {
				t.Fatalf("refused as %v", err)
			}
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("accepted, but cannot be written: %v", err)
		}
		if !utf8.Valid(again) || bytes.Contains(again, []byte(`\u0000`)) && !bytes.Contains(again, []byte(`\\u0000`)) {
			t.Fatalf("accepted text that cannot be stored: %q", again)
		}
		if _, err := parse(again); err != nil {
			t.Fatalf("%s is refused, although it was accepted before: %v", again, err)
		}
	})
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
		if got, want := api.WellFormed(raw), json.Valid(raw) && utf8.Valid(raw); got != want {
			t.Errorf("%.100q is well-formed: got %t, want %t", raw, got, want)
		}
	})
}
