package store_test

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/storetest"
)

// superseded returns a store with a chat whose question has been answered so many times, with
// long answers; only the last one is current.
func superseded(t *testing.T, url, series, long string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Fill(
		`INSERT INTO chats (owner, key, title, created_at, updated_at) VALUES ('x', 'x', '', 0, 0)`,
		`INSERT INTO blocks (seq, owner, id, chat_id, role, type, current, created_at, status, tail, kept, branch) SELECT i, 'x', 'm' || CAST(i AS TEXT),
			(SELECT MAX(id) FROM chats), 'assistant', 'md', `+long+`, i, CASE i WHEN 250 THEN 'complete' ELSE 'superseded' END,
			CASE WHEN i < 250 THEN 'm' || CAST(i AS TEXT) END, CASE WHEN i < 250 THEN 'complete' END, 'q' FROM `+series,
		"ANALYZE",
	); err != nil {
		t.Fatal(err)
	}
	return s
}

const sqliteSeries = "(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 250) SELECT i FROM s)"

// In SQLite a row is read through its text to know whether it is current. A chat with many
// superseded answers is read from indexes that know.
func TestSupersededAnswersAreNotRead(t *testing.T) {
	s := superseded(t, storetest.FreshSQLite(t), sqliteSeries, "'text'")
	var statements []string
	if err := s.OnRead(func(statement string) {
		if strings.Contains(statement, "blocks") {
			statements = append(statements, statement)
		}
	}); err != nil {
		t.Fatal(err)
	}
	messages, _, err := s.Messages(t.Context(), "x", 1, record.MessageQuery{})
	if err != nil || len(messages) != 1 || messages[0].Version == nil || messages[0].Version.Count != 250 || len(statements) != 2 {
		t.Fatalf("got %v, %v with the statements %q, want the last of 250 versions with two", messages, err, statements)
	}
	for i, index := range []string{"blocks_chat", "blocks_branch"} {
		choice := statements[i]
		if i == 0 { // of the columns that are shown, one is in the index
			choice = regexp.MustCompile("^SELECT .* FROM").ReplaceAllString(choice, "SELECT seq FROM")
		}
		plan, err := s.Plan("EXPLAIN QUERY PLAN ", choice)
		if err != nil || !strings.Contains(fmt.Sprint(plan), "USING COVERING INDEX "+index) {
			t.Errorf("got the plan %v, %v for %s, want it in the index %s", plan, err, choice, index)
		}
	}
}

// Messages of a tail or a branch are found without reading all of the chat, however large it is.
func TestVersionsAreFoundAlone(t *testing.T) {
	s := fillChats(t, 1, 2)
	for statement, index := range map[string]string{store.ReplacedWith: "blocks_tail", store.CurrentVersion: "blocks_branch", store.RestoreSummary(): "blocks_tail", store.RestoreAnswer(): "blocks_tail"} {
		plan, err := s.Plan("EXPLAIN QUERY PLAN ", strings.ReplaceAll(statement, "?", "'1'"))
		if err != nil || !strings.Contains(fmt.Sprint(plan), "INDEX "+index) {
			t.Errorf("got the plan %v, %v for %s, want it with the index %s", plan, err, statement, index)
		}
	}
}

// testVersionTexts checks that a list of versions is not made of all their texts.
func testVersionTexts(t *testing.T, s *store.Store) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	list, err := s.Versions(t.Context(), "x", 1, "m250")
	runtime.ReadMemStats(&after)
	if err != nil || len(list.Items) != 200 {
		t.Fatalf("got %d versions, %v, want the newest 200", len(list.Items), err)
	}
	if first, last := list.Items[0], list.Items[199]; first.Number != 51 || first.MessageID != "m51" || last.Number != 250 || !last.Current || len(last.Preview) < 200 {
		t.Errorf("got versions from %+v to %+v, want from 51 to 250, which is current", first, last)
	}
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 16 {
		t.Errorf("the list of 250 versions of 200 kB takes %d MiB of memory, want at most 16", made)
	}
}

func TestSQLiteVersionTexts(t *testing.T) {
	testVersionTexts(t, superseded(t, storetest.FreshSQLite(t), sqliteSeries, "hex(zeroblob(100000))"))
}

func TestPostgresVersionTexts(t *testing.T) {
	postgresURL(t)
	testVersionTexts(t, superseded(t, freshPostgres(t), "generate_series(1, 250) AS s(i)", "repeat('0', 200000)"))
}
