package mcp_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/tools/mcp"
)

// asNoise is the variable that makes the test's server print lines that are not messages,
// at the start and during calls of print.
const asNoise = "CHATTRAY_TEST_MCP_NOISE"

var noise = []string{
	"My MCP Server running on stdio", "", "  \t ", "[INFO] up", "{ name: 'x' }", "{", "  \"a\": 1", "}", "[]", "[1, 2]", "[{}]", "{not json}",
	`{"level":"info","msg":"up"}`, "äöü\x00\x1b[31m", strings.Repeat("x", 9<<20), strings.Repeat(" ", 100_000) + "late", "null", "12",
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"cannot parse"}}`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`,
}

func makeNoise() {
	for _, line := range noise {
		fmt.Fprintln(os.Stdout, line)
	}
}

func TestLinesThatAreNoMessage(t *testing.T) {
	server := local(t, "srv")
	server.Env = append(server.Env, asNoise+"=1")
	w := newTestEnv(t, nil, server)
	w.await("MCP server printed a line that is not a message", "line=My MCP Server running on stdio")
	w.await("MCP server printed a line that is not a message", "[INFO] up")
	w.await("MCP server printed a line that is not a message", `{"level":"info","msg":"up"}`)
	w.await("MCP server is connected")
	for range 3 {
		if got := w.text("srv__print", ""); got != "printed" {
			t.Fatalf("a call that prints: got %q", got)
		}
	}
	for line := range strings.SplitSeq(w.await("MCP server printed a line that is not a message", "line=xxx"), "\n") {
		if len(line) > 2000 {
			t.Errorf("a line of %d bytes is in the log", len(line))
		}
	}
}

// A message over the limit still ends the connection, and so does a line that begins like
// a message and never ends.
func TestLongMessagesEndTheConnection(t *testing.T) {
	server := local(t, "srv")
	server.Env = append(server.Env, asNoise+"=endless")
	w := newTestEnv(t, nil, server)
	w.await("MCP server is not connected", "the server sent a message that is too large")
}

// A remote server that restarts repeatedly is found again soon each time.
func TestRemoteServerThatRestartsOften(t *testing.T) {
	server := serveRemote(t, nil)
	w := newTestEnv(t, func(o *mcp.Options) { o.FirstDelay, o.LastDelay = 20*time.Millisecond, time.Hour }, server.named("srv"))
	w.await("MCP server is connected")
	for range 12 { // doubled each time, the last wait would be more than 40 s
		server.close()
		if _, err := w.call("srv__greet", `{"name":"x"}`); err == nil {
			t.Fatal("a call to a stopped server succeeded, want an error")
		}
		w.await("MCP server is not connected")
		server.start()
		w.await("MCP server is connected")
	}
}
