package schemas_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
)

// AppendJSON and encoding/json write the same values.
func TestAppendJSONMeansTheSame(t *testing.T) {
	full := schemas.ChatResponsePayload{
		Message: "Hällo \"x\"\n\u2028\x01 </script>", ConversationID: 7, ChatID: "c", MessageID: "m", RunID: "r", StopReason: schemas.EndTurn,
		SuggestedValues:  []schemas.SuggestedValue{{Label: "a", Value: "b"}},
		SuggestedActions: []schemas.SuggestedAction{{Label: "l", Action: "a", Handler: "server", Data: json.RawMessage(`{"x":1}`)}},
		CustomPayload:    &schemas.CustomPayload{PayloadID: "01234567", Type: "t", Data: json.RawMessage(`[1,"<b>"]`), Summary: "s", Source: "tool", Outcome: "accepted"},
		Payloads:         []schemas.CustomPayload{{Type: "t", Data: json.RawMessage(`{}`)}, {Type: "u"}},
		ToolHistory: []schemas.ToolCall{
			{ToolName: "n", Input: json.RawMessage(`{"q":"x"}`), Output: "o\t", IsError: true, ToolUseID: "u", DurationMS: 4}, {ToolName: "m", Input: json.RawMessage(`{}`)},
		},
		Usage: schemas.Usage{InputTokens: 1, OutputTokens: 2, TotalTokens: 3}, Warnings: []string{"w"},
	}
	for name, p := range map[string]schemas.ChatResponsePayload{"full": full, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			want, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			got := p.AppendJSON(nil)
			var a, b any
			if err := json.Unmarshal(want, &a); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(got, &b); err != nil {
				t.Fatalf("%v in %s", err, got)
			}
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("json.Marshal, AppendJSON: %s", diff)
			}
		})
	}
}

// FuzzAppendString: the string comes back, except for invalid UTF-8, and it is
// on one line.
func FuzzAppendString(f *testing.F) {
	f.Add("a\"\\\n\r\t\x00\u0085\u2028\u2029ä😀\xff")
	f.Fuzz(func(t *testing.T, s string) {
		raw := schemas.AppendString(nil, s)
		for _, b := range raw {
			if b < ' ' {
				t.Fatalf("control character %#x in %q", b, raw)
			}
		}
		var got, want string
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		marshalled, _ := json.Marshal(s)
		if err := json.Unmarshal(marshalled, &want); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
