//go:build wireclients

package wireclients

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
)

// TestExampleAISDK builds the example from the package registry, and asks the program
// through the server that serves its page.
func TestExampleAISDK(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/ai-sdk")); err != nil {
		t.Fatal(err)
	}
	s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	s.Start()
	s.Model.On(upstream.Any, upstream.Text("all is well"))
	npm := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), "npm", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "SERVICE_URL="+s.URL(t), "NO_COLOR=1")
		return c
	}
	for _, args := range [][]string{{"install", "--no-audit", "--no-fund", "--ignore-scripts"}, {"run", "build"}} {
		if out, err := npm(args...).CombinedOutput(); err != nil {
			t.Fatalf("npm %s: %v\n%s", args, err, out)
		}
	}
	preview := exec.CommandContext(t.Context(), "node_modules/.bin/vite", "preview", "--host", "127.0.0.1", "--port", "0")
	preview.Dir, preview.Env = dir, npm().Env
	out, err := preview.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := preview.Start(); err != nil {
		t.Fatal(err)
	}
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(lines.Text())
	}
	if page := read(t, http.MethodGet, address+"/", ""); !strings.Contains(page, "/assets/") {
		t.Errorf("the page is %q, want one with its script", page)
	}
	body := `{"id":"ai-sdk-example","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}]}]}`
	if answer := read(t, http.MethodPost, address+"/api/ui", body); !strings.Contains(answer, "all is well") || !strings.HasSuffix(answer, "data: [DONE]\n\n") {
		t.Errorf("the answer is %q, want what the model says", answer)
	}
	_ = preview.Process.Kill()
	_ = preview.Wait()
}

// read returns the body of an answer.
func read(t *testing.T, method, address, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b strings.Builder
	if _, err := bufio.NewReader(resp.Body).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
