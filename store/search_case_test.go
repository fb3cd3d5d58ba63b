package store_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/storetest"
)

// databaseWith makes a database with the options of CREATE DATABASE, which is dropped at the
// end of the test, and returns its url.
func databaseWith(t *testing.T, options string) string {
	t.Helper()
	u, err := url.Parse(postgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	name := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	onServer(t, "CREATE DATABASE "+name+" TEMPLATE template0 "+options)
	t.Cleanup(func() { onServer(t, "DROP DATABASE "+name+" WITH (FORCE)") })
	u.Path = "/" + name
	return u.String()
}

// onServer runs a statement on the server of the tests.
func onServer(t *testing.T, statement string) {
	t.Helper()
	db, err := sql.Open("pgx", postgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// serverVersion returns the version of the server of the tests, 150018 for 15.18.
func serverVersion(t *testing.T) (version int) {
	t.Helper()
	db, err := sql.Open("pgx", postgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRow("SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}

// cases are the messages of the oldest chats, and what finds which of them, by their place.
var cases = []string{"caseprobe Über", "caseprobe über", "Istanbul", "İSTANBUL", "istanbul", "ıstanbul", "ΟΔΥΣΣΕΥΣ", "οδυσσεύς, Οδυσσευσ", "Вики", "ВИКИ", "AIモデル", "Tiếng VIỆT", "σίσυφος", "ΣΊΣΥΦΟΣ", "groß gesagt", "GROẞ GESAGT", "kelvinprobe", "\u212AELVINPROBE"}

var caseSearches = map[string][]int64{
	"caseprobe über": {2, 1}, "CASEPROBE ÜBER": {2, 1}, "istanbul": {5, 4, 3}, "ISTANBUL": {5, 4, 3}, "İst": {5, 4, 3}, "ıstan": {6},
	"οδυσσευσ": {8, 7}, "οδυσσεύς": {8}, "вики": {10, 9}, "aiモデ": {11}, "モデル": {11}, "việt": {12}, "be ü": {2, 1}, "üb": {2, 1},
	"σίσυφος": {14, 13}, "ΣΊΣΥΦΟΣ": {14, 13}, "σίσυφοσ": {14, 13}, "ος": {14, 13}, "ΟΣ": {14, 13}, "οδυσσευς": {8, 7},
	"groß": {16, 15}, "GROẞ": {16, 15}, "gross": nil, "kelvinprobe": {18, 17}, "KELVINPROBE": {18, 17}, "\u212Aelvinpr": {18, 17},
	"kelv": {18, 17}, "\u212Aelv": {18, 17},
}

// testSearchCases searches in many messages, so that an index is used.
func testSearchCases(t *testing.T, url, explain, index string) {
	s, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	const chats, each = 1000, 20
	numbers := func(n int) string {
		if strings.HasPrefix(url, "sqlite:") {
			return fmt.Sprintf("(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s)", n)
		}
		return fmt.Sprintf("generate_series(1, %d) AS s(i)", n)
	}
	message := `INSERT INTO blocks (owner, id, seq, chat_id, role, type, current, status, created_at) `
	statements := []string{
		"INSERT INTO chats (owner, key, title, created_at, updated_at) SELECT 'ann', 'k' || CAST(i AS TEXT), '', i, i FROM " + numbers(chats),
		fmt.Sprintf(message+"SELECT 'ann', 'm' || CAST(i AS TEXT), i, i / %d + 1, 'user', 'md', 'Filler of many words, number ' || CAST(i AS TEXT), 'complete', i FROM ", each) + numbers(chats*each-each),
	}
	for i, text := range cases {
		statements = append(statements, fmt.Sprintf(message+"VALUES ('ann', 'c%d', %d, %d, 'user', 'md', '%s', 'complete', 1)", i, chats*each+i, i+1, text))
	}
	if err := s.Fill(append(statements, "ANALYZE")...); err != nil {
		t.Fatal(err)
	}
	var read []string
	if err := s.OnRead(func(statement string) { read = append(read, statement) }); err != nil {
		t.Fatal(err)
	}
	for text, want := range caseSearches {
		read = nil
		list, err := s.Chats(t.Context(), "ann", record.ChatQuery{Text: text})
		var got []int64
		for _, c := range list.Items {
			got = append(got, c.ConversationID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q finds %v, %v; want %v", text, got, err, want)
		}
		if !strings.Contains(text, "istanbul") && !strings.Contains(text, "caseprobe") && !strings.Contains(text, "kelvinprobe") {
			continue // with the locale C an index has entries of a to z alone
		}
		found := slices.IndexFunc(read, func(statement string) bool { return strings.Contains(statement, "AS found") })
		if found < 0 {
			t.Fatalf("%q: no index is asked in %q", text, read)
		}
		if plan, err := s.Plan(explain, read[found]); err != nil || !strings.Contains(fmt.Sprint(plan), index) {
			t.Errorf("%q: got the plan %v, %v; want it along the index", text, plan, err)
		}
	}
}

func TestSQLiteSearchCases(t *testing.T) {
	testSearchCases(t, storetest.FreshSQLite(t), "EXPLAIN QUERY PLAN ", "blocks_search")
}

// A search finds the same whatever letters the database's locale knows.
func TestPostgresSearchCases(t *testing.T) {
	locales := map[string]string{
		"server's": "ENCODING 'UTF8'",
		"C":        "ENCODING 'UTF8' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C'",
		"English":  "ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LC_COLLATE 'C' LC_CTYPE 'C'",
		"Turkish":  "ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LC_COLLATE 'C' LC_CTYPE 'C'",
		"any":      "ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'und' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'",
	}
	if serverVersion(t) >= 170000 {
		locales["builtin"] = "ENCODING 'UTF8' LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LC_COLLATE 'C' LC_CTYPE 'C'"
	}
	for name, options := range locales {
		t.Run(name, func(t *testing.T) {
			testSearchCases(t, databaseWith(t, options), "EXPLAIN ", "Bitmap Index Scan on blocks_search")
		})
	}
}
