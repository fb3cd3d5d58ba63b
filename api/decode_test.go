package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

func parse(raw []byte) (schemas.ChatRequest, error) { return api.Parse(raw) }

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

// Queries at their limits are answered. The length of a text is in characters.
func TestQueriesAtTheirLimits(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for _, path := range []string{"/api/chats?q=" + strings.Repeat("%C3%A9", 200), "/api/chats?limit=1", "/api/chats?limit=200"} {
		if got, _ := send(t, ts.URL, "GET", path, ""); got.status != http.StatusOK {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
}
