package endtoend

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

// A cell is a value that is stored of a user: exported is what the export has of it, or
// says after notExported why it has nothing.
type cell struct {
	column   string
	value    any
	exported string
}

const (
	notExported = "not exported: "
	owner       = "local|ann"
	owned       = notExported + "the export is the owner's"
	place       = notExported + "a place in an order, which the lines have"
	inRequest   = notExported + "the request has it"
	inMessage   = notExported + "the message of the run has it"
	editing     = notExported + "how a pending change is undone"
	ofService   = notExported + "how the service works on it"
	passing     = notExported + "only while a run goes on, in other words also in the log"
)

// stored is a row of each table with data of users, and of blocks one of each kind. A new
// table or column of users belongs in it.
var stored = []struct {
	table string
	cells []cell
}{
	{"chats", []cell{
		{"id", 7, `"conversation_id":7`},
		{"owner", owner, owned},
		{"key", "key-of-chat", "key-of-chat"},
		{"title", "title-of-chat", "title-of-chat"},
		{"created_at", 1_000_000, "1970-01-01T00:00:01Z"},
		{"updated_at", 2_000_000, "1970-01-01T00:00:02Z"},
		{"summary", "summary-of-chat", "summary-of-chat"},
		{"summary_through", "answer", `"through":"answer"`},
		{"summary_at", 3_000_000, "1970-01-01T00:00:03Z"},
		{"pinned", 1, `"pinned":true`},
		{"archived", 1, `"archived":true`},
		{"unlisted", 1, `"unlisted":true`},
	}},
	{"runs", []cell{
		{"id", "run", `"run_id":"run"`},
		{"chat_id", 7, `"conversation_id":7`},
		{"owner", owner, owned},
		{"owner_name", "name-in-run", "name-in-run"},
		{"owner_roles", `["role-in-run"]`, "role-in-run"},
		{"state", "failed", `"state":"failed"`},
		{"attempt", 1, `"attempt":1`},
		{"request", []byte("\x00" + `{"message":"text-of-request"}`), "text-of-request"},
		{"user_message_id", "question", `"user_message_id":"question"`},
		{"message_id", "answer", `"message_id":"answer"`},
		{"last_seq", 4, `"last_sequence":4`},
		{"created_at", 4_000_000, "1970-01-01T00:00:04Z"},
		{"ended_at", 5_000_000, "1970-01-01T00:00:05Z"},
		{"stop_reason", "error", `"stop_reason":"error"`},
		{"input_tokens", 11, `"input_tokens":11`},
		{"output_tokens", 12, `"output_tokens":12`},
		{"total_tokens", 23, `"total_tokens":23`},
		{"error_code", "internal", `"code":"internal"`},
		{"error_message", "error-of-run", "error-of-run"},
		{"idempotency_key", "key-of-request", "key-of-request"},
		{"body_hash", "hash", ofService},
		{"cancel_requested", false, ofService},
		{"cost_nano", 0, inMessage},
		{"spared", 0, ofService},
		{"replica", "", ofService},
		{"format", 1, ofService},
		{"place", 1, place},
		{"page", "page", inRequest},
		{"model", "model", notExported + "the usage has the models"},
		{"owners", "", notExported + "whose document and page the run is for, as in the request"},
		{"replaced", "", ofService},
	}},
	{"blocks", []cell{
		{"seq", 1, place},
		{"turn", 3, place},
		{"owner", owner, owned},
		{"id", "answer", `"id":"answer"`},
		{"chat_id", 7, `"conversation_id":7`},
		{"role", "assistant", `"role":"assistant"`},
		{"type", "md", `"type":"md"`},
		{"current", "text-of-message", "text-of-message"},
		{"status", "complete", `"status":"complete"`},
		{"run_id", "run", `"run_id":"run"`},
		{"data", `{"warnings":["warning-of-message"],"attachments":[{"name":"name-of-file"}]}`, "warning-of-message"},
		{"feedback", `{"rating":"up","comment":"comment-of-user"}`, "comment-of-user"},
		{"created_at", 6_000_000, "1970-01-01T00:00:06Z"},
		{"branch", "", notExported + "which messages replace each other"},
		{"tail", "", notExported + "which messages replace each other"},
		{"kept", "", notExported + "the status before the message was replaced"},
	}},
	{"blocks", []cell{
		{"seq", 2, place},
		{"owner", owner, owned},
		{"id", "block", `"id":"block"`},
		{"document_id", "document", `"document_id":"document"`},
		{"type", "md", `"type":"md"`},
		{"current", "text-of-block", "text-of-block"},
		{"new", "proposed-text", "proposed-text"},
		{"meta", `{"m":"meta-of-block"}`, "meta-of-block"},
		{"new_meta", `{"m":"proposed-meta"}`, "proposed-meta"},
		{"state", "pending_edit", `"state":"pending_edit"`},
		{"position", "V", `"position":"V"`},
		{"new_position", "k", `"new_position":"k"`},
		{"revision", 3, `"revision":3`},
		{"created_at", 1, notExported + "the document has its time"},
		{"changed_at", 1, notExported + "the document has its time"},
		{"kept_plan", 0, editing},
		{"kept_state", nil, editing},
		{"decided", 0, editing},
		{"size", 13, notExported + "the size of the text"},
	}},
	{"blocks", []cell{ // an id that a run has reserved
		{"seq", 3, place},
		{"owner", owner, owned},
		{"id", "reserved", ofService},
		{"type", "md", ofService},
		{"run_id", "run", ofService},
		{"created_at", 1, ofService},
	}},
	{"attachments", []cell{
		{"owner", owner, owned},
		{"block_id", "answer", `"message_id":"answer"`},
		{"n", 0, place},
		{"name", "name-of-file", "name-of-file"},
		{"mime", "text/x-file", "text/x-file"},
		{"content", []byte("\x00content-of-file"), "content-of-file"},
	}},
	{"payloads", []cell{
		{"seq", 1, place},
		{"chat_id", 7, notExported + "it is in its chat's message"},
		{"payload_id", "payload", `"payload_id":"payload"`},
		{"run_id", "run", notExported + "it is in its run's message"},
		{"message_id", "answer", notExported + "it is in its message"},
		{"type", "type-of-payload", "type-of-payload"},
		{"source", "source-of-payload", "source-of-payload"},
		{"summary", "summary-of-payload", "summary-of-payload"},
		{"data", []byte("\x00" + `{"d":"data-of-payload"}`), "data-of-payload"},
		{"outcome", "outcome-of-payload", "outcome-of-payload"},
		{"decided_by", "run-that-decided", ofService},
		{"created_at", 1, notExported + "its message has its time"},
	}},
	{"tool_calls", []cell{
		{"run_id", "run", `"run_id":"run"`},
		{"idx", 0, `"index":0`},
		{"tool_use_id", "id-of-call", "id-of-call"},
		{"name", "tool-of-call", "tool-of-call"},
		{"state", "ok", ofService},
		{"attempt", 1, ofService},
		{"input", []byte("\x00" + `{"i":"input-of-call"}`), "input-of-call"},
		{"output", []byte("\x00output-of-call"), "output-of-call"},
		{"model_output", []byte("\x00output"), notExported + "a shorter output"},
		{"is_error", true, `"is_error":true`},
		{"payload", nil, notExported + "the message has the payload"},
		{"started_at", 1, notExported + "the run has its times"},
		{"duration_us", 77_000, `"duration_ms":77`},
	}},
	{"waits", []cell{
		{"run_id", "run", `"run_id":"run"`},
		{"idx", 0, `"index":0`},
		{"kind", "approval", `"kind":"approval"`},
		{"id", "id-of-approval", "id-of-approval"},
		{"tool_use_id", "id-of-call", "id-of-call"},
		{"tool", "tool-that-waits", "tool-that-waits"},
		{"input", []byte("\x00" + `{"i":"input-that-waits"}`), "input-that-waits"},
		{"created_at", 7_000_000, "1970-01-01T00:00:07Z"},
		{"expires_at", 8_000_000, "1970-01-01T00:00:08Z"},
		{"answer", "approved", `"answer":"approved"`},
		{"answered_at", 9_000_000, "1970-01-01T00:00:09Z"},
		{"edited", []byte("\x00" + `{"i":"input-of-user"}`), "input-of-user"},
		{"output", []byte("\x00output-of-page"), "output-of-page"},
		{"is_error", true, `"is_error":true`},
		{"reason", "writes", `"reason":"writes"`},
	}},
	{"documents", []cell{
		{"owner", owner, `"owner":"` + owner},
		{"id", "document", `"id":"document"`},
		{"title", "title-of-document", "title-of-document"},
		{"new_title", "proposed-title", "proposed-title"},
		{"revision", 3, `"revision":3`},
		{"created_at", 10_000_000, "1970-01-01T00:00:10Z"},
		{"changed_at", 11_000_000, "1970-01-01T00:00:11Z"},
		{"seq", 1, place},
		{"plans", `["title-of-document"]`, editing},
		{"planned_by", "run", editing},
		{"decided", 0, editing},
	}},
	{"document_versions", []cell{
		{"owner", owner, owned},
		{"document_id", "document", `"id":"document"`},
		{"revision", 2, `"revision":2`},
		{"title", "title-of-version", "title-of-version"},
		{"reason", "edited", notExported + "what was done then, which the version after it shows"},
		{"blocks", 1, notExported + "the number of blocks"},
		{"content", `[{"id":"block","type":"md","content":"text-of-version","position":"V"}]`, "text-of-version"},
		{"size", 70, notExported + "the size of the text"},
		{"created_at", 12_000_000, "1970-01-01T00:00:12Z"},
		{"seq", 1, place},
	}},
	{"model_usage", []cell{
		{"owner", owner, owned},
		{"day", "2026-01-31", "2026-01-31"},
		{"model", "model-that-was-used", "model-that-was-used"},
		{"runs", 31, `"runs":31`},
		{"input_tokens", 32, `"input_tokens":32`},
		{"output_tokens", 33, `"output_tokens":33`},
		{"cost_nano", 5_000_000_000, `"cost_usd":5`},
	}},
	{"segments", []cell{
		{"run_id", "run", notExported + "the log of a run, whose content the message and the calls have"},
		{"first_seq", 1, ofService},
		{"last_seq", 4, ofService},
		{"attempt", 1, ofService},
		{"data", []byte{0}, notExported + "the log of a run, whose content the message and the calls have"},
	}},
	{"traces", []cell{
		{"run_id", "run", notExported + "the trace of a run, which the operator has"},
		{"data", []byte{0}, notExported + "the trace of a run, which the operator has"},
	}},
	{"checkpoints", []cell{
		{"run_id", "run", passing},
		{"n", 1, passing},
		{"data", []byte{0}, passing},
	}},
	{"removed_blocks", []cell{
		{"owner", owner, owned},
		{"id", "gone", notExported + "ids of what was deleted, for some hours"},
		{"revision", 1, notExported + "ids of what was deleted, for some hours"},
		{"removed_at", 1, notExported + "ids of what was deleted, for some hours"},
	}},
	{"withdrawals", []cell{
		{"owner", owner, owned},
		{"run", "run", passing},
		{"document", "document", passing},
	}},
}

// withoutUsers are tables, and a column, that say nothing of a user, or only while something
// goes on.
var withoutUsers = map[string]string{
	"forgotten": "users whose data was deleted: their usage of today goes when the day is over",
	"articles":  "research data", "reports": "research data", "streams": "research data, whose owner the operator's file names",
	"daily_runs": "sums of all users", "mcp_tools": "tools", "goose_db_version": "migrations", "sweeps": "how far old data is deleted",
	"journal": "what running runs have written, which ends with them", "sqlite_sequence": "numbers",
	"replicas": "processes", "service": "processes", "reading": "readers of a run that runs", "claims": "blocks that a run is writing",
	"tickets": "a token for a minute", "segments.n": "a number that SQLite gives",
}

// Everything that is stored of a user is exported, or there is a reason not to, and all of it
// is deleted. A new table or column fails this test until it is in stored or withoutUsers.
func TestUserDataOfAllTables(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			url := d.Fresh(t)
			environ := []string{"CHATTRAY_DATABASE_URL=" + url}
			db := apptest.Open(t, url)
			rows := func(query string) (list []string) {
				t.Helper()
				found, err := db.QueryContext(t.Context(), query)
				if err != nil {
					t.Fatal(err)
				}
				defer found.Close()
				for found.Next() {
					var s string
					if err := found.Scan(&s); err != nil {
						t.Fatal(err)
					}
					list = append(list, s)
				}
				if err := found.Err(); err != nil {
					t.Fatal(err)
				}
				return list
			}
			schema := "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = current_schema()"
			overriding := " OVERRIDING SYSTEM VALUE" // numbers that Postgres gives
			if d.Name == "sqlite" {
				overriding = ""
				schema = `SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c
					WHERE m.type = 'table' AND m.name NOT LIKE '%\_search%' ESCAPE '\'`
			}
			columns := rows(schema)
			var exported []cell
			var listed, tables []string
			for _, row := range stored {
				var names, marks []string
				var values []any
				for i, c := range row.cells {
					column := row.table + "." + c.column
					if !slices.Contains(columns, column) {
						t.Errorf("there is no column %s", column)
					}
					listed = append(listed, column)
					if !strings.HasPrefix(c.exported, notExported) {
						exported = append(exported, cell{column, c.value, c.exported})
					}
					mark := fmt.Sprintf("$%d", i+1)
					if d.Name == "sqlite" {
						mark = "?"
					}
					names, marks, values = append(names, c.column), append(marks, mark), append(values, c.value)
				}
				statement := "INSERT INTO " + row.table + " (" + strings.Join(names, ", ") + ")" + overriding + " VALUES (" + strings.Join(marks, ", ") + ")"
				if _, err := db.ExecContext(t.Context(), statement, values...); err != nil {
					t.Fatalf("%s: %v", row.table, err)
				}
				if !slices.Contains(tables, row.table) {
					tables = append(tables, row.table)
				}
			}
			for _, column := range columns {
				table, _, _ := strings.Cut(column, ".")
				if withoutUsers[table] == "" && withoutUsers[column] == "" && !slices.Contains(listed, column) {
					t.Errorf("the column %s is not in this test: is it exported and deleted?", column)
				}
			}

			out, err := apptest.Command(t, environ, "user", "export", owner)
			if err != nil {
				t.Fatal(err)
			}
			exportedKinds := exportedLines(t, out)
			for _, c := range exported {
				if !strings.Contains(out, c.exported) {
					t.Errorf("the export lacks %s of %s", c.exported, c.column)
				}
			}
			if t.Failed() {
				t.Logf("the export with lines of %v:\n%s", exportedKinds, out)
			}
			if out, err := apptest.Command(t, environ, "user", "delete", owner, "--confirm", "1-1-1"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, table := range tables {
				if left := rows("SELECT CAST(COUNT(*) AS TEXT) FROM " + table); left[0] != "0" {
					t.Errorf("%s rows of %s are left, want none", left[0], table)
				}
			}
		})
	}
}

// exportedLines returns the kinds of lines of an export, in order.
func exportedLines(t *testing.T, out string) []string {
	var kinds []string
	for kind := range exported(t, out) {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, cmp.Compare)
	return kinds
}
