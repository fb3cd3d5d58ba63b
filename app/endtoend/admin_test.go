package endtoend

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/schemas"
)

// TestAdminEndToEnd checks what an admin sees of runs of others: a run that a second
// model answered, and one that failed.
func TestAdminEndToEnd(t *testing.T) {
	up := newServers(t)
	s, stop := serveWith(t, filepath.Join(t.TempDir(), "c.db"), up.settings(""))
	defer stop()
	up.large.Push(upstream.Status(http.StatusServiceUnavailable, `{"error":{"message":"no"}}`))
	up.small.Push(upstream.Text("Hel", "lo"))
	answer := s.ask("ann", `{"message":"hi","context":{"current_page":"reports"}}`)
	up.large.Push(upstream.Status(http.StatusUnauthorized, `{"error":{"message":"no"}}`))
	if got := s.send("bob", "POST", "/api/chat", `{"message":"hi","context":{"current_page":"not a page"},"model":"large"}`); got.Status == http.StatusOK {
		t.Fatalf("the second run did not fail: %s", got.Body)
	}

	if got := s.send("ann", "GET", "/api/admin/runs", ""); got.Status != http.StatusForbidden {
		t.Errorf("a user gets %d %s, want 403", got.Status, got.Body)
	}
	list := fetch[schemas.AdminRunList](s, "root", "GET", "/api/admin/runs", "")
	if len(list.Items) != 2 || list.Items[0].State != schemas.RunFailed || list.Items[0].Error == nil || list.Items[0].Page != "" {
		t.Fatalf("the runs are %+v, want a failed one without a page first", list.Items)
	}
	list = fetch[schemas.AdminRunList](s, "root", "GET", "/api/admin/runs?page=reports&model=small&state=completed", "")
	if len(list.Items) != 1 || list.Items[0].RunID != answer.RunID {
		t.Fatalf("the runs on the page are %+v, want %s", list.Items, answer.RunID)
	}

	timeline := fetch[schemas.AdminTimeline](s, "root", "GET", "/api/admin/runs/"+answer.RunID+"/timeline", "")
	kinds := map[schemas.SpanKind]schemas.AdminSpan{}
	for _, span := range timeline.Spans {
		kinds[span.Kind] = span
	}
	call := kinds[schemas.SpanModel]
	if len(timeline.Spans) != 2 || kinds[schemas.SpanQueue].EndedAt == nil || call.FirstTokenAt == nil || call.EndedAt == nil || call.Usage == nil || call.Usage.TotalTokens != 12 || call.Name != "small" {
		t.Errorf("the spans are %+v, want a queue and a call of small", timeline.Spans)
	}
	if len(timeline.Attempts) != 1 || timeline.Attempts[0].Replica == "" || timeline.Attempts[0].StartedAt == nil || len(timeline.Commits) != 2 {
		t.Errorf("attempts %+v, commits %+v", timeline.Attempts, timeline.Commits)
	}
	events := fetch[schemas.AdminEventList](s, "root", "GET", "/api/admin/runs/"+answer.RunID+"/events", "")
	text := ""
	for _, e := range events.Items {
		if e.Event.String("type") == schemas.TypeTextDelta {
			text += e.Event.String("text")
		}
	}
	if text != "Hello" || events.Next != 0 {
		t.Errorf("the events have the text %q, next %d", text, events.Next)
	}
	trace := fetch[schemas.Diagnostics](s, "root", "GET", "/api/admin/runs/"+answer.RunID+"/diagnostics", "")
	if trace.SystemPrompt == "" || len(trace.Iterations) != 1 {
		t.Errorf("the trace has the prompt %q and %d iterations", trace.SystemPrompt, len(trace.Iterations))
	}

	stats := fetch[schemas.AdminStats](s, "root", "GET", "/api/admin/stats", "")
	if len(stats.Days) != 1 || stats.Days[0].Runs != 2 || stats.Days[0].Failed != 1 || stats.Days[0].Fallbacks != 1 || len(stats.Errors) != 1 || len(stats.Pages) != 2 {
		t.Errorf("the totals are %+v", stats)
	}
	processes := fetch[schemas.AdminReplicaList](s, "root", "GET", "/api/admin/replicas", "").Items
	if len(processes) != 1 || !processes[0].This || !processes[0].Live || processes[0].OpenRuns != 0 {
		t.Errorf("the processes are %+v", processes)
	}
	if servers := fetch[schemas.AdminMCPServerList](s, "root", "GET", "/api/admin/mcp_servers", "").Items; len(servers) != 0 {
		t.Errorf("the MCP servers are %+v, want none", servers)
	}
}
