package runlog_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas/runlog"
)

// A level encoded by hand is the level encoded by reflection.
func TestLevelAppendJSON(t *testing.T) {
	for name, level := range map[string]runlog.Level{
		"empty":   {},
		"one":     {Status: "completed"},
		"all":     {Type: "tool_call", Label: "search", Ref: "b1,b2", Status: "error", Tool: "search", ToolUseID: "toolu_1"},
		"hostile": {Label: "\"\\\n<b>\u2028\x00 é 🧬", ToolUseID: "\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := json.Marshal(level)
			if err != nil {
				t.Fatal(err)
			}
			got := level.AppendJSON([]byte("x"))
			var a, b map[string]any
			if err := json.Unmarshal(got[1:], &a); err != nil {
				t.Fatalf("%v: %s", err, got)
			}
			if err := json.Unmarshal(want, &b); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(b, a); diff != "" || got[0] != 'x' {
				t.Errorf("differs (-want +got):\n%s%s", diff, got)
			}
		})
	}
}
