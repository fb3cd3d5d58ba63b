package payloads_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/payloads"
)

// A payload that is not shown says why: to the user in a few words, to developers
// exactly.
func TestRefusedPayloads(t *testing.T) {
	checked := turn.PayloadType{Name: "order_list", Check: func(data json.RawMessage) (any, error) {
		if string(data) != `{}` {
			return nil, errors.New("orders must be a list")
		}
		return nil, nil
	}}
	large := `"` + strings.Repeat("x", 2<<20) + `"`
	for _, tt := range []struct{ name, kind, data, reason, warning string }{
		{"misfit", "order_list", `{"orders":1}`, "orders must be a list", "A card (order list) could not be shown: its data was not valid."},
		{"no JSON", "free", `{,}`, "invalid character ',' looking for beginning of object key string", "A card (free) could not be shown: its data was not valid."},
		{"too large", "free", large, "it has more than 2097152 bytes", "A card (free) could not be shown: it was too large."},
		{"nested deep", "free", strings.Repeat("[", 32) + strings.Repeat("]", 32), "its data are nested more than 31 deep", "A card (free) could not be shown: its data was not valid."},
		{"a name that readers refuse", "free", `{"a":[{"__proto__":1}]}`, `its data have the field "__proto__", which is not allowed`, "A card (free) could not be shown: its data was not valid."},
	} {
		l := payloads.New("run")
		l.Use([]turn.PayloadType{checked}, nil)
		_, got := l.Add(turn.Payload{Type: tt.kind, Data: json.RawMessage(tt.data)}, "tool", 0)
		if got == nil || got.Warning != tt.warning || got.Dropped.Type != tt.kind || got.Dropped.Reason != tt.reason || got.Dropped.Text != tt.data[:min(len(tt.data), 256<<10)] {
			t.Errorf("%s: got %+v, want reason %q and warning %q", tt.name, got, tt.reason, tt.warning)
		}
	}
	l := payloads.New("run")
	l.Use([]turn.PayloadType{checked}, nil)
	for range 64 {
		if _, refused := l.Add(turn.Payload{Type: "order_list", Data: json.RawMessage(`{}`)}, "tool", 0); refused != nil {
			t.Fatal(refused.Warning)
		}
	}
	if _, got := l.Add(turn.Payload{Type: "order_list", Data: json.RawMessage(`{}`)}, "tool", 0); got == nil || got.Dropped.Reason != "an answer shows at most 64 payloads" {
		t.Errorf("the 65th: got %+v, want it refused", got)
	}
}
