package store_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/storetest"
)

// manyRuns fills a database with runs of many users, pages and models, from a table s
// with numbers i.
func manyRuns(numbers string) []string {
	return []string{
		`INSERT INTO chats (owner, key, title, created_at, updated_at) VALUES ('x', 'x', '', 0, 0)`,
		`INSERT INTO runs (id, chat_id, owner, owner_name, owner_roles, state, attempt, request, user_message_id, message_id, created_at, ended_at,
			place, page, model, error_code, replica) SELECT 'r' || CAST(i AS TEXT), (SELECT MAX(id) FROM chats), 'user' || CAST(i % 500 AS TEXT), '', '[]',
			CASE WHEN i % 20 = 0 THEN 'failed' WHEN i % 19 = 0 THEN 'cancelled' ELSE 'completed' END, 1, CAST('' AS {blob}), '', '',
			1700000000000000 + CAST(i AS BIGINT) * 1000000, 1700000000000001 + CAST(i AS BIGINT) * 1000000, 1000000 + i, 'page' || (i % 10), 'model' || (i % 4),
			CASE WHEN i % 20 = 0 THEN 'upstream_error' ELSE '' END, '' FROM ` + numbers,
		`INSERT INTO model_usage (owner, day, model, runs, input_tokens, output_tokens, cost_nano)
			SELECT 'user' || CAST(i % 500 AS TEXT), '2025-' || (10 + i / 500 % 3) || '-' || (10 + i / 1500 % 15), 'model', 1, 1, 1, 1 FROM ` + numbers + ` ON CONFLICT DO NOTHING`,
		`INSERT INTO daily_runs (day, replica, page, model, code, runs, cancelled, fallbacks, input_tokens, output_tokens, cost_nano)
			SELECT '2025-' || (10 + i % 3) || '-' || (10 + i / 3 % 15), '', 'page' || i, 'model', '', 1, 0, 0, 1, 1, 1 FROM ` + numbers,
	}
}

func fill(t *testing.T, s *store.Store, sqlite bool, n int) {
	t.Helper()
	numbers, blob := fmt.Sprintf("generate_series(1, %d) AS s(i)", n), "BYTEA"
	if sqlite {
		numbers, blob = fmt.Sprintf("(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s) WHERE true", n), "BLOB"
	}
	for _, statement := range append(manyRuns(numbers), "ANALYZE") {
		statement = strings.ReplaceAll(statement, "{blob}", blob)
		if !strings.Contains(statement, "ON CONFLICT") {
			statement = strings.ReplaceAll(statement, " WHERE true", "")
		}
		if err := s.Fill(statement); err != nil {
			t.Fatalf("%v in %s", err, statement)
		}
	}
}

// scansTable matches the line of a plan that reads a whole table.
var scansTable = regexp.MustCompile(`Seq Scan on (runs|model_usage|daily_runs)|SCAN (runs|model_usage|daily_runs)( |$)`)

// usesIndex matches such a line of SQLite that goes along an index.
var usesIndex = regexp.MustCompile(`SCAN (runs|model_usage|daily_runs) USING (COVERING )?INDEX`)

// adminQueries are reads of admins.
var adminQueries = map[string]record.AdminRunQuery{
	"all":         {},
	"of a user":   {Owner: "user7"},
	"on a page":   {Page: "page3"},
	"by a model":  {Model: "model1"},
	"failed":      {State: "failed"},
	"cancelled":   {State: "cancelled"},
	"running":     {State: "running"},
	"completed":   {State: "completed"},
	"by error":    {Code: "upstream_error"},
	"in a time":   {From: time.UnixMicro(1700005000000000), To: time.UnixMicro(1700006000000000)},
	"of all sort": {Owner: "user7", Page: "page3", Model: "model1", State: "completed"},
}

func testAdminPlans(t *testing.T, url, explain string) {
	s, err := store.Open(t.Context(), url, store.Options{Database: sqldb.Options{ReadTimeout: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	fill(t, s, strings.HasPrefix(url, "sqlite:"), 20_000)
	asked := ""
	statements := map[string]string{}
	if err := s.OnRead(func(statement string) { statements[statement] = asked }); err != nil {
		t.Fatal(err)
	}
	for name, q := range adminQueries {
		asked = "runs: " + name
		list, err := s.AdminRuns(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", asked, err)
		}
		if asked += ", next page"; list.NextCursor != "" {
			q.Cursor = list.NextCursor
			if _, err := s.AdminRuns(t.Context(), q); err != nil {
				t.Fatalf("%s: %v", asked, err)
			}
		}
	}
	asked = "totals"
	if _, err := s.AdminStats(t.Context(), record.AdminStatsQuery{From: "2025-11-12", To: "2025-11-13", Top: 5}); err != nil {
		t.Fatal(err)
	}
	asked = "open runs"
	if _, err := s.OpenRuns(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked = ""
	found := 0
	for statement, name := range statements {
		if name == "" {
			continue
		}
		found++
		plan, err := s.Plan(explain, statement)
		if err != nil {
			t.Fatalf("%s: %v in %s", name, err, statement)
		}
		for _, row := range plan {
			for _, value := range row {
				if line := fmt.Sprint(value); scansTable.MatchString(line) && !usesIndex.MatchString(line) {
					t.Errorf("%s reads a whole table: %s\n%s", name, line, statement)
				}
			}
		}
	}
	if want := 2 * len(adminQueries); found < want {
		t.Errorf("found %d statements, want at least %d", found, want)
	}
}

func TestSQLiteAdminPlans(t *testing.T) {
	testAdminPlans(t, storetest.FreshSQLite(t), "EXPLAIN QUERY PLAN ")
}

func TestPostgresAdminPlans(t *testing.T) {
	postgresURL(t)
	testAdminPlans(t, freshPostgres(t), "EXPLAIN ")
}
