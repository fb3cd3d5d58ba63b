package app

import (
	"cmp"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// load puts n of something into a service and returns once everything is stored.
type load func(b *testing.B, s *Service, up *upstream.Server, n int)

// BenchmarkDisk measures how many bytes an ended run leaves in the database, its
// indexes included. It compares 300 runs with 100, without free pages and the journal: what
// that has depends on when it was flushed. DISK_COPY names a folder in which the measured
// copies are kept.
func BenchmarkDisk(b *testing.B) {
	for _, test := range []struct {
		name string
		load load
	}{
		{"tokens=5", answers(5, false, schemas.ChatRequest{})},
		{"tokens=240 tools=1", answers(240, true, schemas.ChatRequest{})},
		{"tokens=2000", answers(2000, false, schemas.ChatRequest{})},
	} {
		b.Run(test.name, func(b *testing.B) { growth(b, sqliteSize, test.load) })
	}
}

// BenchmarkSizes measures the rows of the table in docs/operating.md, on SQLite and, if
// TEST_DATABASE_URL names a server, on Postgres.
func BenchmarkSizes(b *testing.B) {
	sizes := map[string]func(*testing.B, load, int) int64{"sqlite": sqliteSize}
	if os.Getenv("TEST_DATABASE_URL") != "" {
		sizes["postgres"] = postgresSize
	}
	file := schemas.Attachment{Name: "notes.txt", MIME: "text/plain", Content: words(100 << 10)}
	for name, size := range sizes {
		for _, test := range []struct {
			name string
			load load
		}{
			{"answer of 5 tokens", answers(5, false, schemas.ChatRequest{})},
			{"answer of 240 tokens after a tool", answers(240, true, schemas.ChatRequest{})},
			{"answer of 2,000 tokens", answers(2000, false, schemas.ChatRequest{})},
			{"answer of 240 tokens after a tool, without its log", withoutLogs(answers(240, true, schemas.ChatRequest{}))},
			{"answer of 5 tokens to 10 KiB", answers(5, false, schemas.ChatRequest{Message: words(10 << 10)})},
			{"answer of 5 tokens to a file of 100 KiB", answers(5, false, schemas.ChatRequest{Attachments: []schemas.Attachment{file}})},
			{"document of 10 blocks of 1 KiB", written(10, 1<<10)},
		} {
			b.Run(name+"/"+test.name, func(b *testing.B) { growth(b, size, test.load) })
		}
	}
}

// growth reports how many bytes one more costs.
func growth(b *testing.B, size func(*testing.B, load, int) int64, load load) {
	b.Helper()
	for b.Loop() {
		few, many := size(b, load, 100), size(b, load, 300)
		b.ReportMetric(float64(many-few)/200, "B/run")
	}
	b.ReportMetric(0, "ns/op")
}

// emptyJournal deletes what the journal has of runs that have ended. Its limits are not
// those of a run.
const emptyJournal = "DELETE FROM journal"

// sqliteSize is the size of a SQLite file with n, without free pages and the journal.
func sqliteSize(b *testing.B, load load, n int) int64 {
	b.Helper()
	dir := b.TempDir()
	path := filepath.Join(dir, "bench.db")
	fill(b, "sqlite:"+path, load, n)
	for _, statement := range []string{
		emptyJournal,
		// What is new enters the search indexes later, when there is time.
		"INSERT INTO chats_search (rowid, owned) SELECT id, chattray_mark(owner) || chattray_lower(title) FROM chats WHERE id > (SELECT at FROM sweeps WHERE kind = 'chats_indexed')",
		"INSERT INTO blocks_search (rowid, owned) SELECT seq, chattray_mark(owner) || chattray_lower(substr(current, 1, 16384)) FROM blocks" +
			" WHERE seq > (SELECT at FROM sweeps WHERE kind = 'blocks_indexed') AND chat_id IS NOT NULL AND current IS NOT NULL",
		"INSERT INTO chats_search (chats_search) VALUES ('optimize')", "INSERT INTO blocks_search (blocks_search) VALUES ('optimize')",
	} {
		execute(b, "sqlite", path, statement)
	}
	packed := filepath.Join(cmp.Or(os.Getenv("DISK_COPY"), dir), strings.NewReplacer("/", "-", " ", "-").Replace(b.Name())+"-"+strconv.Itoa(n)+".db")
	execute(b, "sqlite", path, "VACUUM INTO '"+strings.ReplaceAll(packed, "'", "''")+"'")
	info, err := os.Stat(packed)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}

// postgresSize is the size of a Postgres database with n, without free pages and the journal.
func postgresSize(b *testing.B, load load, n int) (size int64) {
	b.Helper()
	server, err := url.Parse(os.Getenv("TEST_DATABASE_URL"))
	if err != nil {
		b.Fatal(err)
	}
	name := fmt.Sprintf("chattray_sizes_%d", time.Now().UnixNano())
	execute(b, "pgx", server.String(), "CREATE DATABASE "+name)
	defer execute(b, "pgx", server.String(), "DROP DATABASE "+name+" WITH (FORCE)")
	own := *server
	own.Path = "/" + name
	fill(b, own.String(), load, n)
	execute(b, "pgx", own.String(), emptyJournal)
	execute(b, "pgx", own.String(), "VACUUM FULL")
	db, err := sql.Open("pgx", own.String())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(b.Context(), "SELECT pg_database_size(current_database())").Scan(&size); err != nil {
		b.Fatal(err)
	}
	return size
}

// fill runs a service on a database, until nothing writes any more.
func fill(b *testing.B, url string, load load, n int) {
	b.Helper()
	up := upstream.NewMemory()
	defer up.Close()
	s := serviceOn(b, url, up, up.Transport(), settings.Limits{})
	load(b, s, up, n)
	s.runs.Shutdown(b.Context())
}

func execute(b *testing.B, driver, source, statement string) {
	b.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(b.Context(), statement); err != nil {
		b.Fatal(err)
	}
}

// answers returns a load of questions, each in its own chat.
func answers(tokens int, tool bool, request schemas.ChatRequest) load {
	request.Message = cmp.Or(request.Message, "What is there to say about it?")
	text := []upstream.Part{}
	for i := range tokens {
		text = append(text, upstream.Say("word"+strconv.Itoa(i*7919%1000)+" "))
	}
	text = append(text, upstream.Finish("stop"), upstream.Usage(200, tokens))
	return func(b *testing.B, s *Service, up *upstream.Server, n int) {
		b.Helper()
		for range n {
			if tool {
				up.Push(upstream.Stream(upstream.Call(0, "call_0", "list_streams", "{}"), upstream.Finish("tool_calls")))
			}
			up.Push(upstream.Stream(text...))
			end(b, s, schemas.User{ID: "local|dev"}, request)
		}
	}
}

// withoutLogs returns a load whose logs are then deleted, as retention.logs does.
func withoutLogs(first load) load {
	return func(b *testing.B, s *Service, up *upstream.Server, n int) {
		b.Helper()
		first(b, s, up, n)
		for at, more := int64(0), true; more; more = at > 0 {
			var err error
			if at, _, err = s.store.DropLogs(b.Context(), at, time.Now().Add(time.Hour), time.Now()); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// written returns a load of documents.
func written(blocks, size int) load {
	return func(b *testing.B, s *Service, _ *upstream.Server, n int) {
		b.Helper()
		user := schemas.User{ID: "local|dev"}
		for range n {
			doc, err := s.documents.Create(b.Context(), user, schemas.DocumentCreate{Title: "Sizes"})
			for range blocks {
				if err == nil {
					_, err = s.documents.Add(b.Context(), user, doc.ID, schemas.BlockCreate{Type: "md", Content: words(size)}, nil)
				}
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// words returns a text of about so many bytes, always the same.
func words(size int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for text.Len() < size {
		fmt.Fprintf(&text, "%s ", strconv.FormatUint(random.Uint64()%1_000_000, 36))
	}
	return text.String()
}

// end starts a run and waits for its end.
func end(b *testing.B, s *Service, user schemas.User, request schemas.ChatRequest) {
	b.Helper()
	run, err := s.runs.Start(b.Context(), user, &request, record.StartOptions{})
	if err != nil {
		b.Fatal(err)
	}
	events, err := s.runs.Follow(b.Context(), user, run.RunID, 0, 0)
	if err != nil {
		b.Fatal(err)
	}
	for _, err := range events {
		if err != nil {
			b.Fatal(err)
		}
	}
}
