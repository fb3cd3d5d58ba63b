package builtin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools/builtin"
)

func TestSampleOrderNeedsApproval(t *testing.T) {
	order := builtin.Sample()[0]
	if !order.Confirm || order.Idempotent || !order.Global {
		t.Errorf("order_print has Confirm %t, Idempotent %t, Global %t", order.Confirm, order.Idempotent, order.Global)
	}
	for input, fits := range map[string]bool{
		`{"report_id": 1, "copies": 2}`: true, `{"report_id": 1, "copies": 0}`: false, `{"report_id": 1, "copies": 21}`: false, `{"copies": 1}`: false,
	} {
		if err := order.Check(json.RawMessage(input)); (err == nil) != fits {
			t.Errorf("%s: %v", input, err)
		}
	}
	got, err := order.Run(t.Context(), &turn.Call{RunID: "run", Name: "order_print", Input: json.RawMessage(`{"report_id": 1, "copies": 2}`)})
	if err != nil || !strings.Contains(got.Text, "2 printed copies of report 1") {
		t.Errorf("got %q, %v", got.Text, err)
	}
}
