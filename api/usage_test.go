package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

type fakeUsage struct{ *testEnv }

func (f fakeUsage) Usage(_ context.Context, user schemas.User, q record.UsageQuery) (schemas.UsageReport, error) {
	day := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return t.Format(time.RFC3339)
	}
	f.call("Usage %s of %q from %s to %s", user.Name, q.User, day(q.From), day(q.To))
	if f.fails == nil && user.ID != alice.ID {
		return schemas.UsageReport{From: "2026-11-21", To: "2026-11-21"}, nil
	}
	return owned[schemas.UsageReport](f.testEnv, user, true, "getUsage")
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		name, query, bearer string
		asked               string
		items               int
	}{
		{"no query", "", "alice", `Usage alice of "" from - to -`, 2},
		{
			"all of it", "?from=2026-11-01&to=2026-11-21&user=test%7Cbob", "alice",
			`Usage alice of "test|bob" from 2026-11-01T00:00:00Z to 2026-11-21T00:00:00Z`, 2,
		},
		{"nothing used", "?from=2024-02-29", "bob", `Usage bob of "" from 2024-02-29T00:00:00Z to -`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, ts := newTestEnv(t, nil)
			got, req := send(t, ts.URL, "GET", "/api/usage"+tt.query, "", "Authorization", "Bearer "+tt.bearer)
			w.CheckResponse(t, req, got.status, got.header, got.body)
			var report struct{ Items []json.RawMessage }
			if err := json.Unmarshal(got.body, &report); err != nil || got.status != http.StatusOK || report.Items == nil || len(report.Items) != tt.items {
				t.Errorf("got %d %s, want %d items", got.status, got.body, tt.items)
			}
			if diff := cmp.Diff([]string{tt.asked}, w.calls); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUsageOfBadDays(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	for _, query := range []string{"from=yesterday", "to=2026-13-01", "to=2026-02-30", "from=2026-1-1", "from=0000-01-01", "from=2026-11-21T00:00:00Z"} {
		got, _ := send(t, ts.URL, "GET", "/api/usage?"+query, "")
		if p := got.problem(t); p.Status != http.StatusBadRequest || p.Code != schemas.CodeBadRequest {
			t.Errorf("%s: got %s", query, got.body)
		}
	}
	if len(w.calls) > 0 {
		t.Errorf("the service was asked: %v", w.calls)
	}
}

func TestBudgetIs429UntilMidnight(t *testing.T) {
	w, ts := newTestEnv(t, func(w *testEnv, _ *api.Options) {
		w.fails = &schemas.Error{Code: schemas.CodeBudget, Message: "used up", RetryAfter: 3600}
	})
	got, req := send(t, ts.URL, "POST", "/api/chat/stream", `{"message":"hi"}`)
	w.CheckResponse(t, req, got.status, got.header, got.body)
	if p := got.problem(t); p.Status != http.StatusTooManyRequests || p.Code != schemas.CodeBudget || got.header.Get("Retry-After") != "3600" {
		t.Errorf("got %d %s, Retry-After %q", got.status, got.body, got.header.Get("Retry-After"))
	}
}
