package endtoend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/schemas"
)

// A run keeps little of the large results of its tools in memory. Outputs are stored whole up
// to 16 MiB together; of later ones there is what the model got. The trace has them as the
// history has.
func TestLargeResults(t *testing.T) {
	const rounds, each, size = 3, 16, 1_000_000
	line := strings.Repeat("0123456789", 10) + "\n"
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprint(w, strings.Repeat(line, size/len(line)))
	}))
	defer outside.Close()
	folder := t.TempDir()
	file := fmt.Sprintf("http_tools:\n  - {name: dump, description: Dumps., url: '%s/'}\ntools: [dump]\n", outside.URL)
	if err := os.WriteFile(filepath.Join(folder, "lab.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	up := upstream.New()
	defer up.Close()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for round := range rounds {
		parts := make([]upstream.Part, 0, each+1)
		for i := range each {
			parts = append(parts, upstream.Call(i, fmt.Sprintf("call_%d_%d", round, i), "dump", "{}"))
		}
		up.Push(upstream.Stream(append(parts, upstream.Finish("tool_calls"))...))
	}
	var before, after int64
	up.Push(upstream.Stream(upstream.Do(func(http.ResponseWriter, *http.Request) { after = heap() }), upstream.Say("Done."), upstream.Finish("stop")))
	s, stop := serveWith(t, filepath.Join(t.TempDir(), "c.db"), fmt.Sprintf("openai: {base_url: %s, api_key: k}\npages: %s\ndiagnostics: all\n", up.URL(), folder))
	defer stop()
	before = heap()
	got := s.send("ann", "POST", "/api/chat", `{"message":"Dump it all.","context":{"current_page":"lab"}}`)
	if more := (after - before) >> 20; more > 16 {
		t.Errorf("while the last reply is written, results of %d MB take %d MiB, want at most 16", rounds*each*size/1_000_000, more)
	}
	var answer schemas.ChatResponsePayload
	if err := json.Unmarshal([]byte(got.Body), &answer); err != nil || answer.Message == "" {
		t.Fatalf("got %v from %.200s", err, got.Body)
	}
	whole, last := 0, ""
	for i := range rounds * each {
		var call schemas.ToolCall
		raw := s.send("ann", "GET", fmt.Sprintf("/api/chat/runs/%s/tools/%d", answer.RunID, i), "").Body
		if err := json.Unmarshal([]byte(raw), &call); err != nil {
			t.Fatal(err)
		}
		if len(call.Output) > size/2 {
			whole++
		}
		last = call.Output
	}
	if whole != 16<<20/size {
		t.Errorf("%d outputs are stored whole, want %d", whole, 16<<20/size)
	}
	if !strings.Contains(last, "characters left out") || len(last) > 20_000 {
		t.Errorf("the last output has %d bytes, and begins %.100q", len(last), last)
	}
	if trace := s.send("ann", "GET", "/api/chat/runs/"+answer.RunID+"/diagnostics", "").Body; len(trace) > rounds*each*3*20_000 {
		t.Errorf("the trace has %d bytes", len(trace))
	}
}
