package builtin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/builtin"
	"github.com/chattray/chattray/tools/toolstest"
)

// The payloads of the lists of reports are bounded, and no list of authors in them is null.
func TestPayloadsOfReports(t *testing.T) {
	data := sample()
	for i := range 60 {
		data.reports = append(data.reports, schemas.Report{ReportID: int64(100 + i), StreamID: 1, Title: fmt.Sprint("Report ", i)})
	}
	list := builtin.Research(data)
	for _, tt := range []struct {
		tool, input string
		page        string
		reports     int
	}{
		{"list_reports", `{}`, `{}`, 20},
		{"list_reports", `{"limit":50}`, `{}`, 50},
		{"list_reports", `{}`, `{"stream_id":-2}`, 20}, // no stream: all of them
		{"get_stream", `{"stream_id":1}`, `{}`, 50},
		{"get_stream", `{"stream_id":2}`, `{}`, 1},
	} {
		got, err := toolstest.Call(t, list, tt.tool, tt.input, on(tt.page))
		if err != nil {
			t.Fatalf("%s %s: %v", tt.tool, tt.input, err)
		}
		var payload struct{ Reports []schemas.Report }
		if err := json.Unmarshal(got.Payload.Data, &payload); err != nil || len(payload.Reports) != tt.reports {
			t.Errorf("%s %s on %s: %d reports (%v), want %d", tt.tool, tt.input, tt.page, len(payload.Reports), err, tt.reports)
		}
	}
	got, err := toolstest.Call(t, list, "get_report", `{"report_id":7}`, tools.Call{})
	if err != nil || strings.Contains(string(got.Payload.Data), `"authors":null`) || !strings.Contains(string(got.Payload.Data), `"authors":[]`) {
		t.Errorf("the payload of a report: %v, %s", err, got.Payload.Data)
	}
}
