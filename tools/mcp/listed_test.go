package mcp_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/tools/mcp"
)

// A tool that cannot be used is in the log once, however often the list is read. Of two tools
// of the same name the first one counts.
func TestListThatIsReadOften(t *testing.T) {
	const rest = `"inputSchema":{"type":"object"}}`
	s := &rawServer{listed: make(chan time.Time, 10_000), list: strings.Join([]string{
		`{"name":"twice","description":"The first.",` + rest, `{"name":"twice","description":"The second.",` + rest, `{"name":"bad\nname",` + rest,
	}, ",")}
	remote := serveRemote(t, nil)
	remote.handler = s
	var log strings.Builder
	w := newTestEnv(t, func(o *mcp.Options) {
		o.Refresh, o.Logger = time.Millisecond, slog.New(slog.NewTextHandler(&log, nil))
	}, remote.named("srv"))
	for range 5 {
		<-s.listed
	}
	if got := w.tool("srv__twice").Description; got != "The first." {
		t.Errorf("the tool is described as %q, want the first", got)
	}
	w.stop()
	if n := strings.Count(log.String(), "a tool of an MCP server is left out"); n != 1 {
		t.Errorf("the log says %d times that the tool is left out, want once", n)
	}
}
