// Package upgrades opens databases of the first programs that stored something with
// today's program, and checks that nothing is lost.
package upgrades

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
)

// The files of testdata. A program of each name made a database on SQLite and one on
// Postgres, with the demo model and without settings except for auth.jwt_secret: start is the first
// program with a store, documents the first one that also has documents and usage. ann
// and bob had answers with tools, payloads, attachments, a failed tool, feedback, an
// earlier history and a document, and a cancelled answer; ann's document has blocks that
// are accepted, changed and waiting. NAME.DATABASE.jsonl has what that program answered
// to each path, a line each. The last line is a run of ada during which the program was
// killed.
var programs = []string{"start", "documents"}

// tables are those whose rows stay as they are. The logs of runs, their checkpoints and
// tool calls move; what they say is compared as the API shows it.
var tables = []string{"chats", "blocks", "attachments", "payloads", "runs", "streams", "reports", "articles", "documents", "model_usage"}

// record is a line of NAME.DATABASE.jsonl.
type record struct {
	User, Path string
	Answer     any
	Events     []any
	Left       bool
}

func TestUpgrade(t *testing.T) {
	for _, d := range apptest.Databases() {
		for _, program := range programs {
			t.Run(d.Name+"/"+program, func(t *testing.T) {
				name := filepath.Join("testdata", program+"."+d.Name)
				url := d.Load(t, apptest.Unpacked(t, name+".gz"))
				before := rows(t, url)
				out, err := apptest.Command(t, []string{"CHATTRAY_DATABASE_URL=" + url}, "migrate", "up")
				if err != nil || !strings.Contains(out, "the database is being migrated") || !strings.Contains(out, "the database is migrated") {
					t.Fatalf("migrate up: %v, want its beginning and its end in the log\n%s", err, out)
				}
				compareRows(t, before, rows(t, url))

				old := apptest.Database{Name: d.Name, Fresh: func(testing.TB) string { return url }}
				c := apptest.ServeOn(t, old, app.Options{}, []string{"CHATTRAY_DIAGNOSTICS=all", "CHATTRAY_RETENTION_LOGS=0", "CHATTRAY_OTHER_REQUESTS_PER_MINUTE=0"})
				lines := bufio.NewReader(bytes.NewReader(apptest.Unpacked(t, name+".jsonl.gz")))
				for {
					line, err := lines.ReadBytes('\n')
					if err == io.EOF {
						break
					}
					var r record
					if err := json.Unmarshal(line, &r); err != nil {
						t.Fatal(err)
					}
					compareAnswer(t, c, &r)
				}
			})
		}
	}
}

// compareAnswer asks for what the old program answered.
func compareAnswer(t *testing.T, c *apptest.Client, r *record) {
	t.Helper()
	got := c.Ask(r.User, http.MethodGet, r.Path, "", nil)
	if got.Status != http.StatusOK {
		t.Errorf("%s: status %d, want 200: %s", r.Path, got.Status, got.Body)
		return
	}
	var answer any
	if strings.HasSuffix(r.Path, "/stream") {
		answer = events(t, got.Body)
	} else if err := json.Unmarshal([]byte(got.Body), &answer); err != nil {
		t.Fatal(err)
	}
	switch {
	case r.Left:
		list := answer.([]any)
		if last := list[len(list)-1].(map[string]any); last["type"] != "complete" {
			t.Errorf("%s ends with %v, want complete", r.Path, last)
		}
	case r.Events != nil:
		lost(t, r.Path, r.Events, answer)
	default:
		lost(t, r.Path, r.Answer, answer)
	}
}

// events returns the events of a stream.
func events(t *testing.T, body string) (list []any) {
	t.Helper()
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var e any
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
			list = append(list, e)
		}
	}
	return list
}

// elsewhere are the payloads of calls in a trace, which the program start repeated there.
// They are compared where they belong, in the chat.
var elsewhere = regexp.MustCompile(`\.diagnostics\.iterations\[\d+\]\.tool_calls\[\d+\]\.payload$`)

// lost reports what is in old and not in now. Now may have more fields.
func lost(t *testing.T, path string, old, now any) {
	t.Helper()
	switch old := old.(type) {
	case map[string]any:
		if now, ok := now.(map[string]any); ok {
			for key, value := range old {
				if !elsewhere.MatchString(path + "." + key) {
					lost(t, path+"."+key, value, now[key])
				}
			}
			return
		}
	case []any:
		if now, ok := now.([]any); ok && len(now) == len(old) {
			for i, value := range old {
				lost(t, fmt.Sprintf("%s[%d]", path, i), value, now[i])
			}
			return
		}
	}
	if !cmp.Equal(old, now) {
		t.Errorf("%s: got %.300v, want %.300v as before", path, now, old)
	}
}

// rows returns all rows of the tables that exist.
func rows(t *testing.T, url string) map[string][]map[string]any {
	t.Helper()
	db := apptest.Open(t, url)
	all := map[string][]map[string]any{}
	for _, table := range tables {
		found, err := db.QueryContext(t.Context(), "SELECT * FROM "+table+" ORDER BY 1, 2, 3")
		if err != nil && strings.Contains(err.Error(), table) {
			continue // the first program did not have it
		}
		if err != nil {
			t.Fatal(err)
		}
		all[table] = readRows(t, found)
	}
	return all
}

func readRows(t *testing.T, found *sql.Rows) (list []map[string]any) {
	t.Helper()
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for found.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := map[string]any{}
		for i, c := range columns {
			row[c] = values[i]
		}
		list = append(list, row)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// compareRows fails the test if a row is missing, or has another value in a column that
// still exists.
func compareRows(t *testing.T, before, after map[string][]map[string]any) {
	t.Helper()
	for _, table := range slices.Sorted(maps.Keys(before)) {
		if len(before[table]) == 0 {
			t.Errorf("%s: the old program left no rows, want some to compare", table)
		}
		if got, want := len(after[table]), len(before[table]); got != want {
			t.Errorf("%s: got %d rows, want %d", table, got, want)
			continue
		}
		for i, row := range before[table] {
			for column, want := range row {
				if got, ok := after[table][i][column]; ok && !cmp.Equal(got, want) {
					t.Errorf("%s, row %d: %s is %.200v, want %.200v", table, i, column, got, want)
				}
			}
		}
	}
}
