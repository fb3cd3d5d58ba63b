package endtoend

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
)

// The model is told the type of the block that its answer goes into, and how content of
// that type is written.
func TestTargetsAreTold(t *testing.T) {
	targets := []struct {
		block, content string
		meta           map[string]any
		told           string
	}{
		{"md", "x", map[string]any{}, "The block is Markdown."},
		{"csv", "a,b\n1,2", map[string]any{}, "The answer is not Markdown, whatever the guidelines say: write no heading, no code fence and nothing before or after it. The block is a table: write CSV (RFC 4180), the header with the names of the columns in the first row."},
		{"interactive_chart", "x,y\n1,1", map[string]any{"mark": "line"}, "The block is a chart: write its header as one JSON object on the first line, a Vega-Lite specification without data, then its data as CSV"},
	}
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			up := upstream.NewMemory()
			up.On(upstream.Any, upstream.Text("x,y\n5,6"))
			c := apptest.ServeOn(t, d, app.Options{Models: up.Transport()}, apptest.Scripted())
			c.Must(http.MethodPost, "/api/documents", map[string]any{"id": "d", "title": "T"})
			for i, target := range targets {
				c.Must(http.MethodPost, "/api/documents/d/blocks", map[string]any{"id": target.block, "type": target.block, "content": target.content, "meta": target.meta})
				c.Must(http.MethodPost, "/api/chat", map[string]any{
					"message": "Write it", "context": map[string]any{"current_page": "document", "document_id": "d", "block_ids": target.block, "mode": "chat"},
				})
				prompt := up.Requests()[i].Messages[0].Text()
				for _, other := range targets {
					if got, want := strings.Contains(prompt, other.told), other.block == target.block; got != want {
						t.Errorf("the prompt for a block of the type %s says %q: %t, want %t", target.block, other.told, got, want)
					}
				}
			}
		})
	}
}

// The mode agent keeps the page: its tools, its identity and its data. It adds the tools of
// documents.
func TestAgentKeepsThePage(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			up := upstream.NewMemory()
			up.On(upstream.Any, upstream.Text("Hello."))
			c := apptest.ServeOn(t, d, app.Options{Models: up.Transport()}, apptest.Scripted())
			var offered [2][]string
			for i, mode := range []string{"chat", "agent"} {
				c.Must(http.MethodPost, "/api/chat", map[string]any{"message": "Hi", "context": map[string]any{"current_page": "reports", "report_id": 1, "mode": mode}})
				asked := up.Requests()[i]
				for _, tool := range asked.Tools {
					offered[i] = append(offered[i], tool.Function.Name)
				}
				for _, want := range []string{"You are the research assistant beside a report", "CRISPR in sickle cell disease: from BCL11A to the clinic"} {
					if prompt := asked.Messages[0].Text(); !strings.Contains(prompt, want) {
						t.Errorf("in the mode %s the prompt lacks %q:\n%s", mode, want, prompt)
					}
				}
			}
			want := slices.Concat(offered[0], []string{"read_document", "plan_document", "write_block", "edit_block", "delete_block", "move_block"})
			slices.Sort(want)
			slices.Sort(offered[1])
			if !slices.Contains(want, "get_report") || !slices.Equal(offered[1], want) {
				t.Errorf("the mode agent offers %q, want %q", offered[1], want)
			}
		})
	}
}
