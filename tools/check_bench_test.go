package tools_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/tools"
)

// BenchmarkCheck measures the check of a call's arguments on a new goroutine, as the loop makes
// one for each call: whose stack grows as it is needed, and that has grown before.
func BenchmarkCheck(b *testing.B) {
	type arguments struct {
		Query string `json:"query"`
		Limit int    `json:"limit,omitempty"`
	}
	tool := tools.New("search", "Search.", func(context.Context, *tools.Call, arguments) (tools.Result, error) { return tools.Result{}, nil })
	for _, tt := range []struct {
		name  string
		begin func()
	}{
		{"as needed", func() {}},
		{"8 KiB before", concurrent.GrowStack},
		{"before", concurrent.GrowDeepStack},
	} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				done := make(chan error)
				go func() {
					tt.begin()
					done <- tool.Check(json.RawMessage(`{"query":"treatment","limit":3}`))
				}()
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
