package app

import (
	"cmp"
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// BenchmarkDisk measures how many bytes an ended run leaves in the database, its
// indexes included. It compares 300 runs with 100, without free pages. DISK_COPY
// names a folder in which the measured copies are kept.
func BenchmarkDisk(b *testing.B) {
	for _, test := range []struct {
		name   string
		tokens int
		tool   bool
	}{
		{"tokens=5", 5, false}, {"tokens=240 tools=1", 240, true}, {"tokens=2000", 2000, false},
	} {
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				few, many := diskUse(b, test.tokens, test.tool, 100), diskUse(b, test.tokens, test.tool, 300)
				b.ReportMetric(float64(many-few)/200, "B/run")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// diskUse is the size of a database with n ended runs.
func diskUse(b *testing.B, tokens int, tool bool, n int) int64 {
	b.Helper()
	up := upstream.NewMemory()
	defer up.Close()
	text := []upstream.Part{}
	for i := range tokens {
		text = append(text, upstream.Say("word"+strconv.Itoa(i*7919%1000)+" "))
	}
	text = append(text, upstream.Finish("stop"), upstream.Usage(200, tokens))
	dir := b.TempDir()
	s := serviceAt(b, filepath.Join(dir, "bench.db"), up, up.Transport(), settings.Limits{})
	for range n {
		if tool {
			up.Push(upstream.Stream(upstream.Call(0, "call_0", "list_streams", "{}"), upstream.Finish("tool_calls")))
		}
		up.Push(upstream.Stream(text...))
		end(b, s, schemas.User{ID: "local|dev"})
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "bench.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	packed := filepath.Join(cmp.Or(os.Getenv("DISK_COPY"), dir), strconv.Itoa(tokens)+"-"+strconv.Itoa(n)+".db")
	if _, err := db.ExecContext(b.Context(), "VACUUM INTO ?", packed); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(packed)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}

// end starts a run and waits for its end.
func end(b *testing.B, s *Service, user schemas.User) {
	b.Helper()
	run, err := s.runs.Start(b.Context(), user, &schemas.ChatRequest{Message: "What is there to say about it?"}, record.StartOptions{})
	if err != nil {
		b.Fatal(err)
	}
	events, err := s.runs.Follow(b.Context(), user, run.RunID, 0, 0)
	if err != nil {
		b.Fatal(err)
	}
	for _, err := range events {
		if err != nil {
			b.Fatal(err)
		}
	}
}
