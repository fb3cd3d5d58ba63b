package responses_test

import (
	"testing"

	"github.com/chattray/chattray/api/wires/responses"
)

const (
	run    = "019ac0de-0000-7000-8000-000000000001"
	digits = "019ac0de000070008000000000000001"
)

func TestIDsOfResponses(t *testing.T) {
	if id := responses.ResponseID(digits, 25); id != "resp_"+digits+"_25" {
		t.Errorf("the id is %s", id)
	}
	for _, tt := range []struct {
		id     string
		number int64
		known  bool
	}{
		{"resp_" + digits + "_0", 0, true},
		{"resp_" + digits + "_2000009", 2000009, true},
		{"resp_" + digits, 0, false},
		{"resp_" + digits + "_", 0, false},
		{"resp_" + digits + "_-1", 0, false},
		{"resp_" + digits + "_x", 0, false},
		{"resp_" + digits + "_00", 0, false},
		{"resp_" + digits + "_+1", 0, false},
		{"resp_" + digits[1:] + "_0", 0, false},
		{"resp_019AC0DE000070008000000000000001_0", 0, false},
		{"msg_" + digits + "_0", 0, false},
		{"", 0, false},
	} {
		got, number, ok := responses.ParseID(tt.id, "resp_")
		if ok != tt.known || number != tt.number || ok && got != run {
			t.Errorf("%q is %d of %q (%v), want %d (%v)", tt.id, number, got, ok, tt.number, tt.known)
		}
	}
}

func TestItemsNameTheirRun(t *testing.T) {
	for _, prefix := range []string{"msg_", "rs_", "mcp_", "mcpr_", "fc_", "resp_"} {
		for _, id := range []string{prefix + digits + "_7", prefix + digits + "_7_2"} { // the second of a later attempt
			if got, ok := responses.RunOf(id); got != run || !ok {
				t.Errorf("%s is of the run %q (%v), want %s", id, got, ok, run)
			}
		}
	}
	for _, id := range []string{"", "msg_1", "msg_68a1b2c3d4e5f6", "item_" + digits + "_7"} {
		if got, ok := responses.RunOf(id); ok {
			t.Errorf("%q is of the run %q, want none", id, got)
		}
	}
}
