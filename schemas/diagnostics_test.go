package schemas_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
)

// A trace that an earlier release stored has only the texts of what was not shown.
func TestDroppedPartsOfEarlierTraces(t *testing.T) {
	var d schemas.Diagnostics
	if err := json.Unmarshal([]byte(`{"dropped_payloads": ["{\"query\": 7}", {"type": "chart", "reason": "it is not JSON", "text": "{,}"}]}`), &d); err != nil {
		t.Fatal(err)
	}
	want := []schemas.DroppedPart{{Text: `{"query": 7}`}, {Type: "chart", Reason: "it is not JSON", Text: "{,}"}}
	if diff := cmp.Diff(want, d.Dropped); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
