//go:build growth

// Package growth measures what a request costs in a large database, compared with
// the same request in a small one. It takes minutes: make bench-growth.
package growth

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

const (
	// rounds is how often each request is sent to each service, in turn.
	rounds = 41
	// most is how many times as long a request may take in the large database. Times
	// that differ by less than leeway count as equal.
	most, leeway = 2, 500 * time.Microsecond
)

// size is a database: the chats of the user with their messages, one chat with more,
// and the chats of other users. The messages of the long chat have 1 KiB each, so
// that the prompts of both databases are filled to their budget.
type size struct {
	chats, messages, long int
	others, eachHas       int
}

var (
	small = size{chats: 100, messages: 10, long: 100}
	large = size{chats: 10_000, messages: 10, long: 1000, others: 45_000, eachHas: 20}
)

func TestMain(m *testing.M) { apptest.Main(m) }

// TestGrowth fails if a request to a service with 1,000,000 messages takes more than
// twice as long as to one with 1,000.
func TestGrowth(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			few, many := newService(t, d, small), newService(t, d, large)
			for _, r := range requests {
				compare(t, r, few, many)
			}
		})
	}
}

// request is sent to both services.
type request struct {
	name string
	send func(t *testing.T, s *service)
}

var requests = []request{
	{"list the chats", func(t *testing.T, s *service) { s.get(t, "/api/chats") }},
	{"next page of chats", func(t *testing.T, s *service) { s.get(t, "/api/chats?cursor="+s.cursor) }},
	{"open a chat", func(t *testing.T, s *service) { s.get(t, fmt.Sprintf("/api/chats/%d", s.one)) }},
	{"open the long chat", func(t *testing.T, s *service) { s.get(t, fmt.Sprintf("/api/chats/%d", s.long)) }},
	{"search for a frequent word", func(t *testing.T, s *service) { s.get(t, "/api/chats?q=answer") }},
	{"search for a rare word", func(t *testing.T, s *service) { s.get(t, "/api/chats?q=zygomorphic") }},
	{"search for an unknown word", func(t *testing.T, s *service) { s.get(t, "/api/chats?q=nowhere") }},
	{"ask in a new chat", func(t *testing.T, s *service) { s.ask(t, "") }},
	{"ask in the long chat", func(t *testing.T, s *service) { s.ask(t, "long") }},
}

// compare sends a request to both services in turn, and compares the medians.
func compare(t *testing.T, r request, few, many *service) {
	t.Helper()
	var took [2][]time.Duration
	for range rounds {
		for i, s := range []*service{few, many} {
			began := time.Now()
			r.send(t, s)
			took[i] = append(took[i], time.Since(began))
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	a, b := took[0][rounds/2], took[1][rounds/2]
	t.Logf("%-28s %8.2f ms %8.2f ms  %.2f times", r.name, a.Seconds()*1e3, b.Seconds()*1e3, b.Seconds()/a.Seconds())
	if b > most*a && b-a > leeway {
		t.Errorf("%s: %v in the large database, %v in the small one, want at most %d times as long", r.name, b, a, most)
	}
}

// service is the program with a database of the size.
type service struct {
	url       string
	one, long int64 // ids of chats
	cursor    string
}

func newService(t *testing.T, d apptest.Database, n size) *service {
	t.Helper()
	model := upstream.New()
	t.Cleanup(model.Close)
	model.On(upstream.Any, upstream.Text("This ", "is ", "an ", "answer."))
	url := d.Fresh(t)
	start := func() *apptest.Process {
		return apptest.StartProcess(t, "DATABASE_URL="+url, "OPENAI_BASE_URL="+model.URL(), "OPENAI_API_KEY=key", "REQUESTS_PER_MINUTE=0")
	}
	first := start()
	s := &service{url: first.URL}
	s.ask(t, "template")
	first.Kill()
	began := time.Now()
	fill(t, url, n)
	s.url = start().URL
	t.Logf("%s: %d messages in %v", d.Name, n.chats*n.messages+n.long+n.others*n.eachHas, time.Since(began).Round(time.Second))
	page := s.list(t, "")
	s.one, s.cursor, s.long = page.Items[0].ConversationID, page.NextCursor, s.list(t, "?chat_id=long").Items[0].ConversationID
	return s
}

// list returns the chats that a query finds.
func (s *service) list(t *testing.T, query string) (list schemas.ChatList) {
	t.Helper()
	if err := json.Unmarshal(s.get(t, "/api/chats"+query), &list); err != nil || len(list.Items) == 0 {
		t.Fatalf("%d chats, %v; want some", len(list.Items), err)
	}
	return list
}

func (s *service) get(t *testing.T, path string) []byte {
	t.Helper()
	return s.do(t, http.MethodGet, path, nil)
}

// ask asks a question and reads the answer to its end.
func (s *service) ask(t *testing.T, chat string) {
	t.Helper()
	stream := s.do(t, http.MethodPost, "/api/chat/stream", schemas.Encode(map[string]string{"message": "What is there to say about it?", "chat_id": chat}))
	if !bytes.Contains(stream, []byte(`"type":"complete"`)) {
		t.Fatalf("the answer is not complete: %s", stream)
	}
}

func (s *service) do(t *testing.T, method, path string, body []byte) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: status %d, %v: %s", method, path, answer.StatusCode, err, read)
	}
	return read
}

// fill copies the chat "template" of the user, with new ids: its rows are as the
// service wrote them.
func fill(t *testing.T, url string, n size) {
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
	if c.sqlite { // each row enters the search index at once
		c.exec("UPDATE sweeps SET at = 1 << 60 WHERE kind IN ('chats_indexed', 'blocks_indexed')")
	}
	c.chats("mine", n.chats, n.messages, "owner")
	c.chats("long", 1, n.long, "owner")
	c.exec("UPDATE blocks SET current = " + c.wide() + " WHERE chat_id = (SELECT id FROM chats WHERE key = 'long')")
	c.exec("UPDATE blocks SET current = current || ' of zygomorphic flowers' WHERE chat_id IN (SELECT id FROM chats WHERE key IN ('mine-20', 'mine-40', 'mine-60'))")
	if n.others > 0 {
		c.chats("other", n.others, n.eachHas, "'someone-' || (i % 1000)")
	}
	if !c.sqlite {
		c.exec("ANALYZE")
		return
	}
	c.exec("UPDATE sweeps SET at = (SELECT MAX(id) FROM chats) WHERE kind = 'chats_indexed'")
	c.exec("UPDATE sweeps SET at = (SELECT MAX(seq) FROM blocks) WHERE kind = 'blocks_indexed'")
}

// copier copies rows of the chat "template".
type copier struct {
	t      *testing.T
	db     *sql.DB
	sqlite bool
}

// chats makes n chats with the number of messages; their owner is an SQL expression.
func (c *copier) chats(key string, n, messages int, owner string) {
	named := "'" + key + "-' || i"
	if n == 1 {
		named = "'" + key + "'"
	}
	c.copy("chats", "t.key = 'template'", c.numbers(n), map[string]string{
		"key": named, "title": "'Chat number ' || i", "owner": strings.Replace(owner, "owner", "t.owner", 1), "updated_at": "t.updated_at + i",
	}, "id")
	made := "(SELECT c.id AS chat, c.owner AS whose, k.i, (k.i + 1) / 2 AS turn FROM chats c, " + c.numbers(messages) + " k WHERE c.key LIKE '" + key + "%') n"
	c.copy("blocks", "t.chat_id = (SELECT id FROM chats WHERE key = 'template') AND t.role = CASE WHEN i % 2 = 1 THEN 'user' ELSE 'assistant' END", made, map[string]string{
		"id": "'m-' || chat || '-' || i", "owner": "whose", "chat_id": "chat", "run_id": "'r-' || chat || '-' || turn",
		"current": "t.current || ' word' || (i * 7919 % 1000) || ' of chat ' || chat", "created_at": "t.created_at + i",
	}, "seq")
	made = strings.Replace(made, "k.i, (k.i + 1) / 2 AS turn", "k.i", 1)
	made = strings.Replace(made, c.numbers(messages), c.numbers(messages/2), 1)
	c.copy("runs", "t.chat_id = (SELECT id FROM chats WHERE key = 'template')", made, map[string]string{
		"id": "'r-' || chat || '-' || i", "owner": "whose", "chat_id": "chat", "place": "t.place + chat",
		"user_message_id": "'m-' || chat || '-' || (2 * i - 1)", "message_id": "'m-' || chat || '-' || (2 * i)", "idempotency_key": "NULL",
	}, "")
}

// wide is the text of a message of about 1 KiB, an SQL expression.
func (c *copier) wide() string {
	if c.sqlite {
		return "current || replace(hex(zeroblob(64)), '00', 'ordinary words ')"
	}
	return "current || repeat('ordinary words ', 64)"
}

// numbers is a table with the column i, from 1 to n.
func (c *copier) numbers(n int) string {
	if c.sqlite {
		return fmt.Sprintf("(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s)", n)
	}
	return fmt.Sprintf("(SELECT i FROM generate_series(1, %d) AS s(i))", n)
}

// copy inserts a copy of the rows t that meet the condition for each row of another
// table, with some values replaced and without the generated column.
func (c *copier) copy(table, where, each string, replaced map[string]string, generated string) {
	c.t.Helper()
	rows, err := c.db.QueryContext(c.t.Context(), "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		c.t.Fatal(err)
	}
	all, err := rows.Columns()
	if err != nil || rows.Close() != nil {
		c.t.Fatal(err)
	}
	var names, values []string
	for _, name := range all {
		if name == generated {
			continue
		}
		value, ok := replaced[name]
		if !ok {
			value = "t." + name
		}
		names, values = append(names, name), append(values, value)
	}
	if !strings.Contains(each, ") n") {
		each += " n"
	}
	c.exec("INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") SELECT " + strings.Join(values, ", ") + " FROM " + each + ", " + table + " t WHERE " + where)
}

func (c *copier) exec(statement string) {
	c.t.Helper()
	if _, err := c.db.ExecContext(c.t.Context(), statement); err != nil {
		c.t.Fatalf("%v in %s", err, statement)
	}
}
