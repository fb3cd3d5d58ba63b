//go:build everything

package endtoend

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

// TestEverythingInARun calls the protocol's own test server through a run; `make
// mcp-everything` installs it.
func TestEverythingInARun(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs("../../tools/mcp/everything/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	up := calling(t, "everything__trigger-long-running-operation", `{"duration":0.6,"steps":3}`)
	s, stop := serveWith(t, filepath.Join(t.TempDir(), "c.db"), fmt.Sprintf(`
openai: {base_url: %s, api_key: k}
mcp_servers:
  - {name: everything, command: %s, args: [%s, stdio], pages: [reports], confirm: false}
`, up.URL(), node, program))
	defer stop()
	apptest.Eventually(t, "the server is connected", func() bool { // a busy machine may take longer than the start waits
		return strings.Contains(s.send("root", "GET", "/api/admin/mcp_servers", "").Body, `"connected":true`)
	})
	got := s.send("ann", "POST", "/api/chat/stream", `{"message":"Take your time.","context":{"current_page":"reports"}}`)
	// The last step comes with the result, and may be too late.
	if progress := frames(t, got.Body, "tool_progress"); len(progress) < 2 {
		t.Errorf("the progress is %v, want at least 2 steps", progress)
	}
	complete := frames(t, got.Body, "complete")
	if len(complete) != 1 || !strings.Contains(fmt.Sprint(complete[0]), "Long running operation completed") {
		t.Errorf("the answer has status %d, want the operation completed:\n%s", got.Status, got.Body)
	}
}
