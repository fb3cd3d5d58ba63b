package sqldb_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/search"
	"github.com/chattray/chattray/store/sqldb"
)

// A search finds a word with either sigma, in the rows that an index has and in new ones.
func TestSearchIndexHasBothSigmas(t *testing.T) {
	db, s := openAt(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
	for id, text := range []string{"σίσυφος", "ΣΊΣΥΦΟΣ", "Σίσυφος σσς"} {
		run(t, db, fmt.Sprintf("INSERT INTO chats (owner, key, title, created_at, updated_at) VALUES ('ann', 'k%d', '', 1, %d)", id, id))
		run(t, db, fmt.Sprintf("INSERT INTO blocks (owner, id, chat_id, role, type, current, status, created_at) VALUES ('ann', 'm%d', %d, 'user', 'md', '%s', 'complete', 1)", id, id+1, text))
	}
	for _, indexed := range []bool{false, true} {
		for text, want := range map[string]int{"σίσυφος": 3, "ΣΊΣΥΦΟΣ": 3, "σίσυφοσ": 3, "φος": 3, "ΣΣΣ": 1, "ςςς": 1, "σισ": 0} {
			if list, err := s.Chats(t.Context(), "ann", record.ChatQuery{Text: text}); err != nil || len(list.Items) != want {
				t.Errorf("indexed: %v: %q finds %d chats, %v; want %d", indexed, text, len(list.Items), err, want)
			}
		}
		db.IndexFrom(1)
		if err := s.Tend(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := numberOf(t, db, "SELECT at FROM sweeps WHERE kind = 'blocks_indexed'"); n != 3 {
			t.Fatalf("%d messages are in the index, want 3", n)
		}
	}
}

// Whatever happens to chats and messages before and after they enter their index: a search
// finds those that are there, and the index has exactly the rows up to where it has come.
func TestSearchIndexFollows(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			db, s := openAt(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
			random := rand.New(rand.NewPCG(seed, 1))
			texts := map[int64]string{} // the title of each chat
			const owner = "ann"
			for step := range 150 {
				ids := slices.Sorted(func(yield func(int64) bool) {
					for id := range texts {
						if !yield(id) {
							return
						}
					}
				})
				word := fmt.Sprintf("word%03dx", step)
				switch n := random.IntN(12); {
				case n < 5 || len(ids) == 0:
					run(t, db, fmt.Sprintf("INSERT INTO chats (owner, key, title, created_at, updated_at) VALUES ('%s', 'k%d', '%s', 1, %d)", owner, step, word, step))
					id := numberOf(t, db, "SELECT MAX(id) FROM chats")
					run(t, db, fmt.Sprintf("INSERT INTO blocks (owner, id, chat_id, role, type, current, status, created_at) VALUES ('%s', 'm%d', %d, 'user', 'md', 'In %s', 'complete', 1)", owner, step, id, word))
					texts[id] = word
				case n < 7:
					id := ids[random.IntN(len(ids))]
					run(t, db, fmt.Sprintf("UPDATE chats SET title = '%s' WHERE id = %d", word, id))
					run(t, db, fmt.Sprintf("UPDATE blocks SET current = 'In %s' WHERE chat_id = %d", word, id))
					texts[id] = word
				case n < 8: // the last message moves to the end, as one that is restored
					run(t, db, fmt.Sprintf("UPDATE blocks SET seq = (SELECT MAX(seq) + 1 FROM blocks) WHERE chat_id = %d", ids[random.IntN(len(ids))]))
				case n < 9: // the seq of the last message is used again
					id := ids[len(ids)-1]
					run(t, db, fmt.Sprintf("DELETE FROM chats WHERE id = %d", id))
					delete(texts, id)
				case n < 10:
					id := ids[random.IntN(len(ids))]
					run(t, db, fmt.Sprintf("DELETE FROM chats WHERE id = %d", id))
					delete(texts, id)
				default:
					db.IndexFrom(1 + random.Int64N(20))
					if err := s.Tend(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				for table, column := range map[string]string{"chats": "id", "blocks": "seq"} {
					at := fmt.Sprintf("(SELECT at FROM sweeps WHERE kind = '%s_indexed')", table)
					var got, want []int64
					rows(t, db, &got, fmt.Sprintf(`SELECT rowid FROM %s_search WHERE %s_search MATCH '"' || %s('%s') || '"' ORDER BY rowid`, table, table, search.OwnerMark, owner))
					rows(t, db, &want, fmt.Sprintf("SELECT %s FROM %s WHERE %s <= %s ORDER BY %s", column, table, column, at, column))
					if !slices.Equal(got, want) {
						t.Fatalf("step %d: the index of %s has %v; want %v", step, table, got, want)
					}
				}
				for id, text := range texts {
					for _, search := range []string{text, "in " + text} {
						list, err := s.Chats(t.Context(), owner, record.ChatQuery{Text: search})
						if err != nil || len(list.Items) != 1 || list.Items[0].ConversationID != id {
							t.Fatalf("step %d: %q finds %v, %v; want chat %d", step, search, list.Items, err, id)
						}
					}
					if step%10 != 0 {
						break // one of them is enough
					}
				}
				const limit = 20
				if list, err := s.Chats(t.Context(), owner, record.ChatQuery{Text: "ord", Limit: limit}); err != nil || len(list.Items) != min(len(texts), limit) {
					t.Fatalf("step %d: found %d of %d chats, %v", step, len(list.Items), len(texts), err)
				}
			}
			if at := numberOf(t, db, "SELECT at FROM sweeps WHERE kind = 'blocks_indexed'"); at == 0 {
				t.Error("nothing has entered the index")
			}
		})
	}
}

// What commits bring enters the index while nothing waits, of long messages a few at a
// time. If very many are new, commits bring in some, too.
func TestIndexIsBroughtUpToDate(t *testing.T) {
	db, s := openAt(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
	run(t, db, "INSERT INTO chats (id, owner, key, title, created_at, updated_at) VALUES (1, 'ann', 'a', 'x', 1, 1)")
	add := func(n, length int) {
		run(t, db, fmt.Sprintf(`INSERT INTO blocks (owner, id, chat_id, role, type, current, status, created_at)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT 'ann', 'm' || i || '-' || %d, 1, 'user', 'md', printf('%%.*c', %d, 'y'), 'complete', 1 FROM n`, n, length, length))
	}
	brings := func(do func() error) (rows int64) {
		indexed := "SELECT at FROM sweeps WHERE kind = 'blocks_indexed'"
		before := numberOf(t, db, indexed)
		if err := do(); err != nil {
			t.Fatal(err)
		}
		return numberOf(t, db, indexed) - before
	}
	tend := func() int64 { return brings(func() error { return s.Tend(t.Context()) }) }
	commit := func() int64 {
		return brings(func() error { return s.Commit(t.Context(), []*record.Write{{RunID: "none"}}) })
	}
	const long, step = 300, sqldb.IndexText/40_000 + 1
	add(long, 40_000)
	for range 2 * sqldb.IndexLook {
		if n := commit(); n != 0 {
			t.Fatalf("a commit brought in %d", n)
		}
	}
	left := int64(long)
	for ; left >= sqldb.IndexRows; left -= step {
		if n := tend(); n != step {
			t.Fatalf("with %d new ones %d are brought in; want %d", left, n, step)
		}
	}
	if n := tend(); n != 0 {
		t.Fatalf("with %d new ones %d are brought in", left, n)
	}
	const short = 10_000
	add(short, 10)
	left += short
	for range sqldb.IndexLook - 1 {
		if n := commit(); n != 0 {
			t.Fatalf("a commit brought in %d", n)
		}
	}
	if n, want := commit(), left/sqldb.IndexMany*sqldb.IndexText/40_000+1; n != want {
		t.Errorf("after %d commits, of %d new ones %d are brought in; want %d", sqldb.IndexLook, left, n, want)
	}
	for times := 0; tend() > 0; times++ {
		if times > long/step+short/sqldb.IndexRows {
			t.Fatal("the rest is not brought in")
		}
	}
	if n := numberOf(t, db, "SELECT MAX(seq) - at FROM blocks, sweeps WHERE kind = 'blocks_indexed'"); n >= sqldb.IndexRows {
		t.Errorf("%d are still new", n)
	}
	list, err := s.Chats(t.Context(), "ann", record.ChatQuery{Text: strings.Repeat("y", 50)})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("found %v, %v; want the chat", list.Items, err)
	}
}

// What is not in an index is read along the ids of what is new, and along the index of long
// messages: never all of a user's rows.
func TestSearchPlan(t *testing.T) {
	db, _ := openAt(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
	query, args := db.Search().Indexed("ann", "some text", "some text")
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			run(t, db, "INSERT INTO chats (id, owner, key, title, created_at, updated_at) VALUES (1, 'ann', 'a', 'x', 1, 1)")
			run(t, db, `INSERT INTO blocks (owner, id, chat_id, role, type, current, created_at)
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT 'ann', 'm' || i, 1, 'user', 'md', 'y', 1 FROM n`)
			run(t, db, "ANALYZE")
		}
		var plan []struct{ Detail string }
		if err := db.Read(t.Context()).Raw("EXPLAIN QUERY PLAN "+query, args...).Scan(&plan).Error; err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(plan)
		for _, want := range []string{
			"SEARCH chats USING INTEGER PRIMARY KEY (rowid>?)", "SEARCH blocks USING INTEGER PRIMARY KEY (rowid>?)", "SEARCH blocks USING INDEX blocks_long (owner=?)",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("analyzed %t: the plan is without %q: %s", analyzed, want, got)
			}
		}
	}
}

// openAt opens a database and its store.
func openAt(t *testing.T, url string) (*sqldb.DB, *store.Store) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), url, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Upkeep().Close(); err != nil {
			t.Error(err)
		}
	})
	return db, store.New(db, store.Options{})
}

func numberOf(t *testing.T, db *sqldb.DB, query string) int64 {
	t.Helper()
	n, err := sqldb.Number(db.Read(t.Context()), query)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func rows(t *testing.T, db *sqldb.DB, into *[]int64, query string) {
	t.Helper()
	if err := db.Read(t.Context()).Raw(query).Scan(into).Error; err != nil {
		t.Fatal(err)
	}
}
