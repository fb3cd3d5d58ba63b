package schemas_test

import (
	"encoding/json"
	"testing"

	"github.com/chattray/chattray/schemas"
)

// TestObjectInt reads ids as pages and OpenAI's clients send them.
func TestObjectInt(t *testing.T) {
	for raw, want := range map[string]int64{
		`7`: 7, `"7"`: 7, `"-7"`: -7, `9007199254740993`: 9007199254740993, `"9007199254740993"`: 9007199254740993,
		`1.5`: 0, `"1.5"`: 0, `"report 7"`: 0, `""`: 0, `" 7"`: 0, `99999999999999999999`: 0, `"99999999999999999999"`: 0,
		`null`: 0, `true`: 0, `[7]`: 0, `{"id":7}`: 0,
	} {
		if got := (schemas.Object{"report_id": json.RawMessage(raw)}).Int("report_id"); got != want {
			t.Errorf("%s is %d, want %d", raw, got, want)
		}
	}
	if got := schemas.Object(nil).Int("report_id"); got != 0 {
		t.Errorf("an absent id is %d", got)
	}
}
