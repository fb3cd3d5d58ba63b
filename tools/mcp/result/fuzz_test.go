package result_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/tools/mcp/result"
)

// FuzzResult reads any answer to a call: the model gets some text within the limit, and the
// page JSON or nothing; what the library can decode is the same when it is decoded by parts.
func FuzzResult(f *testing.F) {
	for _, answer := range []string{
		`{}`, `[]`, `null`, `{"content":null}`, `{"content":"So."}`, `{"content":[{"type":"text","text":"So."},{"type":"video","text":"A cat."},7,null]}`,
		`{"isError":true,"content":[{"type":"image","mimeType":"image/png","data":"cG5n"}]}`, `{"content":[{"type":"resource","resource":{"uri":"a:b","blob":"eA=="}}],"structuredContent":[1]}`,
		`{"content":[{"type":"resource_link","uri":"a:b","name":"n","size":-1},{"type":"audio","data":""}],"structuredContent":{"a":"\u0000"}}`,
	} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		got, readable := result.Partly("srv", "tool", answer)
		if !readable {
			return
		}
		if got.Text == "" || len(got.Text) > result.MaxText || !utf8.ValidString(got.Text) {
			t.Errorf("the model gets %d bytes: %.200q", len(got.Text), got.Text)
		}
		if got.Payload != nil && !json.Valid(got.Payload.Data) {
			t.Errorf("the page gets %q", got.Payload.Data)
		}
		var whole sdk.CallToolResult
		if json.Unmarshal(answer, &whole) == nil {
			if want := result.Of("srv", "tool", &whole); want.Text != got.Text || want.IsError != got.IsError {
				t.Errorf("by parts: %q, error %t; want %q, %t", got.Text, got.IsError, want.Text, want.IsError)
			}
		}
	})
}
