package chunks_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/app/apptest/chunks"
	"github.com/chattray/chattray/schemas"
)

// TestFold runs the table that the client in TypeScript runs, too.
func TestFold(t *testing.T) {
	raw, err := os.ReadFile("testdata/fold.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Name   string          `json:"name"`
		Chunks []schemas.Chunk `json:"chunks"`
		Want   any             `json:"want"`
	}
	if err := json.Unmarshal(raw, &rows); err != nil || len(rows) < 30 {
		t.Fatalf("%d rows (%v)", len(rows), err)
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			raw, err := json.Marshal(chunks.Of(row.Chunks...))
			if err != nil {
				t.Fatal(err)
			}
			var got any
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.Want, pruned(got)); diff != "" {
				t.Errorf("folded (-want +got):\n%s", diff)
			}
		})
	}
}

// pruned leaves out what is empty, which the two languages write differently.
func pruned(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
	case map[string]any:
		for key, one := range v {
			one = pruned(one)
			v[key] = one
			list, isList := one.([]any)
			object, isObject := one.(map[string]any)
			if one == nil || one == "" || isList && len(list) == 0 || isObject && len(object) == 0 {
				delete(v, key)
			}
		}
	}
	return v
}
