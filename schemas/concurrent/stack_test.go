package concurrent_test

import (
	"encoding/json"
	"runtime/metrics"
	"sync"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
)

// BenchmarkOnFreshStack measures the stack of a goroutine that waits after it has
// decoded a request: on its own stack, and on a fresh one.
func BenchmarkOnFreshStack(b *testing.B) {
	raw := []byte(`{"message":"hi","context":{"current_page":"orders"},"attachments":[{"name":"a","mime":"text/plain","content":"x"}]}`)
	decode := func() error { return json.Unmarshal(raw, new(schemas.ChatRequest)) }
	for _, tt := range []struct {
		name string
		call func(do func() error) error
	}{
		{"own", func(do func() error) error { return do() }},
		{"fresh", concurrent.OnFreshStack},
	} {
		b.Run(tt.name, func(b *testing.B) {
			const waiting = 2000
			for b.Loop() {
				before, end := stacks(), make(chan struct{})
				var ready, done sync.WaitGroup
				ready.Add(waiting)
				for range waiting {
					done.Go(func() {
						if err := tt.call(decode); err != nil {
							b.Error(err)
						}
						ready.Done()
						<-end
					})
				}
				ready.Wait()
				b.ReportMetric(float64(stacks()-before)/1024/waiting, "KiB-each")
				close(end)
				done.Wait()
			}
		})
	}
}

// BenchmarkGrowStack measures a request that is decoded on a new goroutine whose stack grows
// as it is needed, and on one that has grown before.
func BenchmarkGrowStack(b *testing.B) {
	raw := []byte(`{"message":"hi","context":{"current_page":"orders"},"attachments":[{"name":"a","mime":"text/plain","content":"x"}]}`)
	for _, tt := range []struct {
		name  string
		begin func()
	}{
		{"as needed", func() {}},
		{"before", concurrent.GrowStack},
	} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				done := make(chan error)
				go func() {
					tt.begin()
					done <- json.Unmarshal(raw, new(schemas.ChatRequest))
				}()
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// stacks returns the bytes of all stacks.
func stacks() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
