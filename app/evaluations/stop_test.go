package evaluations

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/evaluate"
	"github.com/chattray/chattray/store"
)

// emptyTemp makes a folder for temporary files, which must be empty at the end of the test.
func emptyTemp(t *testing.T) {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Cleanup(func() {
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v, want nothing", left, err)
		}
	})
}

// An answer that takes too long has failed.
func TestTimeout(t *testing.T) {
	emptyTemp(t)
	l := newLab(t)
	file := l.records(rec("slow?", "A."))
	l.model.On(upstream.LastUser("slow?"), upstream.Open(upstream.Say("Half "), upstream.Hang()))
	report, _ := l.run(file, "--timeout=100ms")
	if i := report.Items[0]; i.Verdict != evaluate.Failed || i.New.Error == nil || i.New.Error.Code != "run_timeout" {
		t.Errorf("got %s, want that the time was over", jsonText(i))
	}
}

// A command that is stopped cancels the run, and writes what was answered before.
func TestStop(t *testing.T) {
	emptyTemp(t)
	l := newLab(t)
	file, name := l.records(rec("fast?", "A."), rec("slow?", "A.")), filepath.Join(l.dir, "report")
	l.say("fast?", "B.")
	asked := make(chan struct{}, 1)
	l.model.On(upstream.LastUser("slow?"), upstream.Open(upstream.Say("Half "), upstream.Signal(asked), upstream.Hang()))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		select {
		case <-asked:
			cancel()
		case <-ctx.Done():
		}
	}()
	var out bytes.Buffer
	err := app.Run(ctx, app.Program{Args: []string{"eval", "run", file, "--parallel=1", "--output", name}, Environ: l.environ, Stdout: &out})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v and %q, want that the command was stopped", err, out.String())
	}
	if report := l.report(name); len(report.Items) != 1 || report.Items[0].Record.Question != "fast?" || report.Summary.LeftOut != 1 {
		t.Errorf("got %s, want the answer before", jsonText(report))
	}
}

// The tools of MCP servers are offered as the service offers them: not with definitions
// that have changed since they were accepted.
func TestChangedMCPTools(t *testing.T) {
	server := apptest.ServeWith(t, []string{"CHATTRAY_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "server.db")}, app.Options{})
	l := newLab(t)
	config := l.file("chattray.yaml", "mcp_servers: [{name: remote, url: '"+server+"/mcp', global: true}]\n")
	r := rec("which tools?", "A.")
	r.SystemPrompt = ""
	file := l.records(r)
	offered := func() []string {
		t.Helper()
		l.say("which tools?", "These.")
		l.run(file, "--config", config)
		requests := l.model.Requests()
		var names []string
		for _, tool := range requests[len(requests)-1].Tools {
			if name, ok := strings.CutPrefix(tool.Function.Name, "remote__"); ok {
				names = append(names, name)
			}
		}
		return names
	}
	data, err := store.Open(t.Context(), "sqlite:"+filepath.Join(l.dir, "never.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	var before []string
	apptest.Eventually(t, "the tools of the server are offered", func() bool { // one that connects slowly is not waited for
		before = offered()
		return len(before) > 1
	})
	if _, err := data.SeeMCPTools(t.Context(), "remote", []record.MCPTool{{Server: "remote", Tool: before[0], Hash: "earlier", Definition: json.RawMessage(`{}`)}}); err != nil {
		t.Fatal(err)
	}
	apptest.Eventually(t, "all but the changed tool are offered", func() bool { return slices.Equal(offered(), before[1:]) })
}
