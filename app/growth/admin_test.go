//go:build growth

package growth

import (
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
)

const (
	// adminRuns is how many runs the large database has, adminWithin what 95 of 100
	// requests of an admin may take.
	adminRuns   = 1_000_000
	adminWithin = 100 * time.Millisecond
	adminRounds = 40
)

// adminRequests are what the operator's page asks for.
var adminRequests = []string{
	"/api/admin/runs", "/api/admin/runs?user=user7", "/api/admin/runs?page=page3", "/api/admin/runs?model=model1", "/api/admin/runs?state=failed",
	"/api/admin/runs?state=running", "/api/admin/runs?error=upstream_error", "/api/admin/runs?from=2026-10-01&to=2026-10-02",
	"/api/admin/runs?user=user7&page=page3&model=model1&state=completed", "/api/admin/runs?page=page3&model=nothing",
	"/api/admin/stats?from=2026-10-01&to=2026-10-30", "/api/admin/stats?from=2026-01-01&to=2026-12-31", "/api/admin/replicas",
}

// TestAdminRequests fails if 95 of 100 requests of an admin take longer than adminWithin in
// a database with a million runs.
func TestAdminRequests(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			model := upstream.New()
			t.Cleanup(model.Close)
			model.On(upstream.Any, upstream.Text("This ", "is ", "an ", "answer."))
			url := d.Fresh(t)
			process := apptest.StartProcess(t, "DATABASE_URL="+url, "OPENAI_BASE_URL="+model.URL(), "OPENAI_API_KEY=key", "REQUESTS_PER_MINUTE=0")
			s := &service{url: process.URL}
			s.ask(t, "template")
			fillRuns(t, url)
			for _, path := range adminRequests {
				took := make([]time.Duration, adminRounds)
				for i := range took {
					began := time.Now()
					s.do(t, http.MethodGet, path, nil)
					took[i] = time.Since(began)
				}
				slices.Sort(took)
				p95 := took[adminRounds*95/100]
				t.Logf("%-75s median %7.2f ms, p95 %7.2f ms", path, took[adminRounds/2].Seconds()*1e3, p95.Seconds()*1e3)
				if p95 > adminWithin {
					t.Errorf("%s: p95 is %v, want at most %v", path, p95, adminWithin)
				}
			}
		})
	}
}

// fillRuns copies the run of the chat "template" many times, over 90 days, with the usage
// of 1,000 users.
func fillRuns(t *testing.T, url string) {
	t.Helper()
	driver, source := "pgx", url
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		driver, source = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=cache_size(-200000)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := copier{t: t, db: db, sqlite: driver == "sqlite"}
	const first = 1785542400000000 // 2026-08-01 in microseconds
	step := fmt.Sprint(int64(90*24*time.Hour/time.Microsecond) / adminRuns)
	c.copy("runs", "t.chat_id = (SELECT id FROM chats WHERE key = 'template')", c.numbers(adminRuns), map[string]string{
		"id": "'r-' || CAST(i AS TEXT)", "owner": "'user' || CAST(i % 1000 AS TEXT)", "place": "t.place + i", "idempotency_key": "NULL",
		"user_message_id": "'u-' || CAST(i AS TEXT)", "message_id": "'m-' || CAST(i AS TEXT)",
		"created_at": fmt.Sprintf("%d + CAST(i AS BIGINT) * %s", first, step), "ended_at": fmt.Sprintf("%d + CAST(i AS BIGINT) * %s", first+2_000_000, step),
		"state": "CASE WHEN i % 50 = 0 THEN 'failed' ELSE 'completed' END", "error_code": "CASE WHEN i % 50 = 0 THEN 'upstream_error' ELSE '' END",
		"page": "'page' || CAST(i % 10 AS TEXT)", "model": "'model' || CAST(i % 4 AS TEXT)",
	}, "")
	day := func(of string) string {
		if c.sqlite {
			return "date('2026-08-01', (" + of + ") || ' days')"
		}
		return "to_char(DATE '2026-08-01' + (" + of + "), 'YYYY-MM-DD')"
	}
	c.exec("INSERT INTO model_usage (owner, day, model, runs, input_tokens, output_tokens, cost_nano) SELECT 'user' || CAST(i % 1000 AS TEXT), " + day("i / 1000") +
		", 'model1', 11, 100, 10, i FROM " + c.numbers(90_000) + " n")
	c.exec("INSERT INTO daily_runs (day, replica, page, model, code, runs, cancelled, fallbacks, input_tokens, output_tokens, cost_nano) SELECT " + day("i / 240") +
		", 'replica' || CAST(i % 3 AS TEXT), 'page' || CAST(i / 3 % 10 AS TEXT), 'model' || CAST(i / 30 % 4 AS TEXT), CASE WHEN i / 120 % 2 = 0 THEN '' ELSE 'upstream_error' END, 90, 1, 1, 100, 10, i FROM " + c.numbers(90*240) + " n")
	if !c.sqlite {
		c.exec("ANALYZE")
	}
}
