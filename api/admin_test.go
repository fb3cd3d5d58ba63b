package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// fakeAdmin gives the contract's examples to everybody who asks.
type fakeAdmin struct{ *testEnv }

func (f fakeAdmin) Runs(_ context.Context, q record.AdminRunQuery) (schemas.AdminRunList, error) {
	f.call("Runs %s|%s|%s|%s|%s from %s to %s, %d after %q", q.State, q.Owner, q.Page, q.Model, q.Code, day(q.From), day(q.To), q.Limit, q.Cursor)
	if f.fails == nil && q.State == "failed" {
		return schemas.AdminRunList{NextCursor: "more"}, nil
	}
	return owned[schemas.AdminRunList](f.testEnv, alice, true, "adminRuns")
}

func (f fakeAdmin) Timeline(_ context.Context, id string) (schemas.AdminTimeline, error) {
	return owned[schemas.AdminTimeline](f.testEnv, alice, id == aRun, "adminTimeline")
}

func (f fakeAdmin) Events(_ context.Context, id string, after int64, limit int) ([]runlog.Event, int64, error) {
	f.call("Events of %s after %d, %d", id, after, limit)
	if _, err := owned[schemas.AdminEventList](f.testEnv, alice, id == aRun, "adminEvents"); err != nil {
		return nil, 0, err
	}
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC).UnixMilli()
	return []runlog.Event{
		{Seq: 1, Time: at + 10, Body: &runlog.Status{Message: "Thinking..."}}, {Seq: 2, Time: at + 400, Body: &runlog.Text{Text: "I found"}},
	}, 2, nil
}

func (f fakeAdmin) Diagnostics(_ context.Context, id string) (schemas.Diagnostics, error) {
	return owned[schemas.Diagnostics](f.testEnv, alice, id == aRun, "adminDiagnostics")
}

func (f fakeAdmin) Stats(_ context.Context, first, last time.Time, top int) (schemas.AdminStats, error) {
	f.call("Stats from %s to %s, %d", day(first), day(last), top)
	return owned[schemas.AdminStats](f.testEnv, alice, true, "adminStats")
}

func (f fakeAdmin) Processes(context.Context) ([]schemas.AdminReplica, error) {
	list, err := owned[schemas.AdminReplicaList](f.testEnv, alice, true, "adminReplicas")
	return list.Items, err
}

func (f fakeAdmin) MCPServers() []schemas.AdminMCPServer {
	list, _ := example[schemas.AdminMCPServerList](f.testEnv, "adminMCPServers")
	return list.Items
}

func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.DateOnly)
}

const adminRun = "/api/admin/runs/" + aRun

// adminPaths are the requests of admins; contents says whether they show what users and
// models have written.
var adminPaths = map[string]bool{
	"/api/admin/runs": false, adminRun + "/timeline": false, adminRun + "/events": true, adminRun + "/diagnostics": true,
	"/api/admin/stats": false, "/api/admin/replicas": false, "/api/admin/mcp_servers": false,
}

func TestAdminRoutesAreForAdmins(t *testing.T) {
	for _, r := range api.Table() {
		path := strings.Replace(r.Path, ":run_id", aRun, 1)
		if _, listed := adminPaths[path]; strings.HasPrefix(path, "/api/admin") && !listed {
			t.Errorf("%s is not tested", path)
		}
	}
	for path, contents := range adminPaths {
		for _, tt := range []struct {
			bearer  string
			trusted bool
			want    int
		}{
			{"alice", true, http.StatusForbidden},
			{"bob", false, http.StatusForbidden},
			{"root", true, http.StatusOK},
			{"root", false, map[bool]int{true: http.StatusForbidden, false: http.StatusOK}[contents]},
		} {
			w, ts := newTestEnv(t, nil)
			w.trusted = tt.trusted
			got, req := send(t, ts.URL, "GET", path, "", "Authorization", "Bearer "+tt.bearer)
			w.CheckResponse(t, req, got.status, got.header, got.body)
			if got.status != tt.want {
				t.Errorf("%s of %s, who sees diagnostics: %v, gives %d %s, want %d", path, tt.bearer, tt.trusted, got.status, got.body, tt.want)
			}
			if got.status == http.StatusForbidden && len(w.calls) > 0 {
				t.Errorf("%s of %s: the service was asked: %v", path, tt.bearer, w.calls)
			}
		}
	}
}

func TestAdminQueries(t *testing.T) {
	for path, want := range map[string]string{
		"/api/admin/runs":  "Runs |||| from - to -, 50 after \"\"",
		"/api/admin/stats": "Stats from - to -, 0",
		"/api/admin/runs?state=completed&user=test%7Cbob&page=p&model=m&error=upstream&from=2026-11-01&to=2026-11-21&limit=7&cursor=c": "Runs completed|test|bob|p|m|upstream from 2026-11-01 to 2026-11-22, 7 after \"c\"",
		adminRun + "/events?after=5&limit=3":                   "Events of " + aRun + " after 5, 3",
		"/api/admin/stats?from=2026-11-01&to=2026-11-02&top=3": "Stats from 2026-11-01 to 2026-11-02, 3",
	} {
		w, ts := newTestEnv(t, nil)
		w.trusted = true
		got, req := send(t, ts.URL, "GET", path, "", "Authorization", "Bearer root")
		w.CheckResponse(t, req, got.status, got.header, got.body)
		if diff := cmp.Diff([]string{want}, w.calls); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestAdminRunsWithoutItems(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	got, req := send(t, ts.URL, "GET", "/api/admin/runs?state=failed", "", "Authorization", "Bearer root")
	w.CheckResponse(t, req, got.status, got.header, got.body)
	var list struct {
		Items      []json.RawMessage
		NextCursor string `json:"next_cursor"`
	}
	if err := json.Unmarshal(got.body, &list); err != nil || list.Items == nil || list.NextCursor != "more" {
		t.Errorf("got %s, want no items and a cursor", got.body)
	}
}

func TestAdminRefusesBadQueries(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	w.trusted = true
	for path, want := range map[string]int{
		"/api/admin/runs?from=yesterday":                        http.StatusBadRequest,
		"/api/admin/runs?from=0001-01-01":                       http.StatusBadRequest,
		"/api/admin/runs?limit=201":                             http.StatusUnprocessableEntity,
		"/api/admin/runs?user=" + strings.Repeat("x", 1025):     http.StatusUnprocessableEntity,
		adminRun + "/events?after=-1":                           http.StatusUnprocessableEntity,
		adminRun + "/events?after=x":                            http.StatusBadRequest,
		"/api/admin/stats?top=101":                              http.StatusUnprocessableEntity,
		"/api/admin/stats?to=2026-13-01":                        http.StatusBadRequest,
		"/api/admin/runs/no.id/timeline":                        http.StatusNotFound,
		strings.Replace(adminRun, "1", "2", 1) + "/diagnostics": http.StatusNotFound,
	} {
		got, req := send(t, ts.URL, "GET", path, "", "Authorization", "Bearer root")
		w.CheckResponse(t, req, got.status, got.header, got.body)
		if got.status != want {
			t.Errorf("%s gives %d %s, want %d", path, got.status, got.body, want)
		}
	}
	if len(w.calls) > 0 {
		t.Errorf("the service was asked: %v", w.calls)
	}
}
