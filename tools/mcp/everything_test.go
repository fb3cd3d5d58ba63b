//go:build everything

package mcp_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/porttest"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/mcp"
)

// everything returns node and the program of the server that `make
// mcp-everything` installs.
func everything(t *testing.T) (node, program string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	program, err = filepath.Abs("everything/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("run make mcp-everything first: %v", err)
	}
	return node, program
}

// everythingRemote starts the server over HTTP; its port is one that was free.
func everythingRemote(t *testing.T) mcp.Server {
	t.Helper()
	node, program := everything(t)
	address := porttest.Address(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, program, "streamableHttp") // ends with the test
	cmd.Env = []string{"PORT=" + port}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return mcp.Server{Name: "everything", URL: "http://" + address + "/mcp", TrustHints: true}
}

func TestEverything(t *testing.T) {
	for name, server := range map[string]func(*testing.T) mcp.Server{
		"stdio": func(t *testing.T) mcp.Server {
			node, program := everything(t)
			return mcp.Server{Name: "everything", Command: node, Args: []string{program, "stdio"}, Env: []string{"ONLY=this"}, TrustHints: true}
		},
		"HTTP": everythingRemote,
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t, nil, server(t))
			w.await("MCP server is connected") // over HTTP it takes some attempts until the server listens
			t.Run("calls", func(t *testing.T) { testEverythingCalls(t, w) })
			t.Run("progress", func(t *testing.T) { testEverythingProgress(t, w) })
			if name != "stdio" {
				return
			}
			if env := w.text("everything__get-env", "{}"); !strings.Contains(env, `"ONLY": "this"`) || strings.Contains(env, "HOME") {
				t.Errorf("the environment is %s", env)
			}
		})
	}
}

func testEverythingCalls(t *testing.T, w *testEnv) {
	tests := []struct{ tool, args, text, payload string }{
		{"echo", `{"message":"hi"}`, "Echo: hi", ""},
		{"get-sum", `{"a":2,"b":40}`, "42", ""},
		{"get-structured-content", `{"location":"Chicago"}`, "temperature", `"structured":{"conditions":`},
		{"get-tiny-image", `{}`, "an image of type image/png", `"images":[{"mime":"image/png","data":"`},
		{"get-resource-links", `{"count":2}`, "link to a resource", `"resources":[{"uri":"demo://`},
		{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`, "demo://resource/dynamic/text/1", `"text":"`},
	}
	for _, tt := range tests {
		got, err := w.call("everything__"+tt.tool, tt.args)
		payload := ""
		if got.Payload != nil {
			payload = string(got.Payload.Data)
		}
		if err != nil || got.IsError || !strings.Contains(got.Text, tt.text) || !strings.Contains(payload, tt.payload) || (tt.payload == "") != (payload == "") {
			t.Errorf("%s: got %+v, payload %.300s, %v", tt.tool, got, payload, err)
		}
	}
	// The server checks the arguments; its message is for the model.
	if got, err := w.call("everything__get-sum", `{"a":"two"}`); err != nil || !got.IsError || got.Text == "" {
		t.Errorf("wrong arguments: got %+v, %v", got, err)
	}
	if got := w.tool("everything__echo"); !got.Idempotent {
		t.Error("echo is not idempotent, want it idempotent by its hint")
	}
}

func testEverythingProgress(t *testing.T, w *testEnv) {
	var steps []turn.Progress
	call := &tools.Call{
		Input:  json.RawMessage(`{"duration":0.6,"steps":3}`),
		Report: func(p turn.Progress) { steps = append(steps, p) },
	}
	result, err := w.tool("everything__trigger-long-running-operation").Run(t.Context(), call)
	if err != nil || !strings.Contains(result.Text, "completed") {
		t.Fatalf("got %+v, %v", result, err)
	}
	// The last step comes with the result, and may be too late.
	if len(steps) < 2 || steps[0].Fraction <= 0.3 || steps[1].Fraction <= 0.6 {
		t.Errorf("the progress is %+v", steps)
	}
}
