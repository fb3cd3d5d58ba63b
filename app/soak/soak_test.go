// Package soak puts a mixed load on the real program for as long as it is told, and then
// checks that nothing has failed and nothing is left over.
package soak

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// make soak sets these. It measures the program as it is built for operation: a test's
// binary also keeps the stacks of its allocations, more of them as time goes by.
var (
	length  = flag.Duration("for", 3*time.Second, "how long the load lasts")
	program = flag.String("program", "", "the path of the program; empty for the test's own binary")
)

const (
	// pace is how long a client waits between two rounds.
	pace = 50 * time.Millisecond
	// chatClients ask in chats; one client of each other kind does something else.
	chatClients = 4
	// settled is when the memory of the process has reached its size, and steady the
	// growth in an hour that is allowed after it.
	settled, steady = 10 * time.Minute, 0.01
	samples         = 1800
	// parts are the parts of the settled time whose means make the line.
	parts = 20
	// remembered is how many rules and requests the model's server keeps: many more than
	// are in use at a time.
	remembered = 1000
)

// load is what the clients have done.
type load struct {
	*apptest.System
	rounds map[string]*atomic.Int64 // by kind
}

func TestSoak(t *testing.T) {
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		system.Program = *program
		system.Start()
		l := &load{system, map[string]*atomic.Int64{}}
		l.answer(t) // connections to the database and the model are open
		idle, size := l.figure(t, "go_goroutines"), databaseSize(t, system.Database())

		ctx, stop := context.WithTimeout(t.Context(), *length+apptest.Limit)
		defer stop()
		var clients sync.WaitGroup
		end := time.Now().Add(*length)
		run := func(kind string, round func(ctx context.Context, n int) error) {
			count := l.rounds[kind]
			if count == nil {
				count = new(atomic.Int64)
				l.rounds[kind] = count
			}
			clients.Go(func() {
				for first := true; first || time.Now().Before(end) && !t.Failed(); first = false {
					if err := round(ctx, int(count.Add(1))); err != nil {
						t.Errorf("%s: %v", kind, err)
						return
					}
					time.Sleep(pace) //nolint:forbidigo // the pace of a client, which nothing waits for
				}
			})
		}
		for range chatClients {
			run("questions", l.question)
		}
		run("cancels", l.cancel)
		run("documents", l.document)
		run("sockets", l.socket)
		run("replies cut off by the model's server", l.cutOff)
		list := l.watch(t, end)
		clients.Wait()

		l.nothingLeft(t, idle)
		grown := databaseSize(t, system.Database()) - size
		runs := int64(0)
		for kind, count := range l.rounds {
			t.Logf("%6d %s", count.Load(), kind)
			if kind != "documents" {
				runs += count.Load()
			}
		}
		t.Logf("%6d bytes of the database for each answer", grown/runs)
		checkMemory(t, list)
	})
}

// answer asks one question and reads its answer.
func (l *load) answer(t *testing.T) {
	t.Helper()
	if err := l.question(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

// question asks with tools, loses its connection now and then, and checks all promises.
func (l *load) question(ctx context.Context, n int) error {
	c := l.NewConversation("chat-"+strconv.Itoa(n/10), "queue")
	if err := c.Run(ctx); err != nil {
		return err
	}
	return errors.Join(c.Check(ctx)...)
}

// cancel cancels its answer in the middle.
func (l *load) cancel(ctx context.Context, n int) error {
	c := l.NewConversation("cancelled-"+strconv.Itoa(n/10), "queue")
	c.CancelAt = l.Between(2, 20)
	if err := c.Run(ctx); err != nil {
		return err
	}
	return errors.Join(c.Check(ctx)...)
}

// document writes a document, exports and deletes it.
func (l *load) document(ctx context.Context, n int) error {
	id := "doc-" + strconv.Itoa(n)
	steps := []struct {
		method, path string
		body         any
	}{
		{http.MethodPost, "/api/documents", map[string]any{"id": id, "title": "Soak"}},
		{http.MethodPost, "/api/documents/" + id + "/blocks", map[string]any{"id": id + "-1", "type": "md", "content": strings.Repeat("# Gold\n\n", 100)}},
		{http.MethodPost, "/api/documents/" + id + "/blocks", map[string]any{"id": id + "-2", "type": "csv", "content": "year,tonnes\n2023,3000\n"}},
		{http.MethodPatch, "/api/blocks/" + id + "-1", map[string]any{"content": "# Gold in " + strconv.Itoa(n)}},
		{http.MethodGet, "/api/documents/" + id + "/export", nil},
		{http.MethodDelete, "/api/documents/" + id, nil},
	}
	for _, s := range steps {
		answer, err := l.Request(ctx, s.method, s.path, s.body)
		if err != nil {
			return err
		}
		content, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return err
		}
		if answer.StatusCode >= http.StatusMultipleChoices {
			return fmt.Errorf("%s %s: status %d: %s", s.method, s.path, answer.StatusCode, content)
		}
	}
	return nil
}

// socket asks over a websocket and reads to the end of the run.
func (l *load) socket(ctx context.Context, n int) error {
	c := l.NewConversation("", "queue")
	c.Plan(nil)
	l.Script(c.Question, c.Turns, nil)
	p, err := l.Current(ctx)
	if err != nil {
		return err
	}
	conn, answer, err := websocket.Dial(ctx, p.URL+"/api/ws", nil)
	if err != nil {
		return err
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 20)
	message := fmt.Sprintf(`{"name":"message","message":{"content":%q},"chat_id":"socket-%d"}`, c.Question, n/10)
	if err := conn.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
		return err
	}
	for {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var chunk schemas.Chunk
		if err := json.Unmarshal(frame, &chunk); err != nil {
			return err
		}
		if apptest.IsError(chunk) {
			return fmt.Errorf("got %s, want no error", frame)
		}
		if apptest.IsRunEnd(chunk) {
			return conn.Close(websocket.StatusNormalClosure, "")
		}
	}
}

// cutOff asks a model whose server dies in the middle of its reply: the run ends with an
// error that the client sees.
func (l *load) cutOff(ctx context.Context, n int) error {
	question := "cut off " + strconv.Itoa(l.Mark())
	l.Model.On(func(r upstream.Request) bool { return strings.HasSuffix(r.Last("user").Text(), question) },
		upstream.Open(upstream.Say("Half of"), upstream.Abort()))
	body := map[string]any{"message": question, "chat_id": "cut-" + strconv.Itoa(n/10)}
	answer, err := l.Request(ctx, http.MethodPost, "/api/chat/stream", body)
	if err != nil {
		return err
	}
	list, err := apptest.NewStreamReader(answer.Body).Rest()
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if len(list) == 0 || list[len(list)-1].Event.Type != schemas.TypeError {
		return fmt.Errorf("the stream ends with\n%s\nwant an error", apptest.ListFrames(list))
	}
	return nil
}

// nothingLeft checks that the program is as idle as before, and has no rows of what is over.
func (l *load) nothingLeft(t *testing.T, idle float64) {
	t.Helper()
	l.CheckScripted()
	apptest.Eventually(t, "no run is active", func() bool { return l.figure(t, "chattray_runs_active") == 0 })
	apptest.Eventually(t, "no goroutine is left over", func() bool {
		l.HangUp()
		return l.figure(t, "go_goroutines") <= idle
	})
	db := apptest.Open(t, l.Database())
	for what, query := range map[string]string{
		"runs that have not ended":    "SELECT COUNT(*) FROM runs WHERE state IN ('queued', 'running', 'waiting')",
		"checkpoints":                 "SELECT COUNT(*) FROM checkpoints",
		"deleted documents":           "SELECT COUNT(*) FROM documents WHERE id LIKE 'doc-%'",
		"blocks of deleted documents": "SELECT COUNT(*) FROM blocks WHERE document_id LIKE 'doc-%'",
		"answers without a run":       "SELECT COUNT(*) FROM blocks WHERE run_id <> '' AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = blocks.run_id)",
	} {
		var n int
		if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if n > 0 {
			t.Errorf("%d %s are left over, want none", n, what)
		}
	}
	if strings.HasPrefix(l.Database(), "postgres") {
		apptest.CheckInvariants(t, l.System)
	}
}

// own is the memory of the process that no file holds. The resident memory is that and the
// parts of the program's file that have been used.
const own = "own_memory_bytes"

// memory are the figures that are measured: the memory of the process, which may not grow,
// and what it consists of, which tells where to look if it does.
var memory = []string{
	"process_resident_memory_bytes", "go_memstats_heap_inuse_bytes", "go_memstats_heap_idle_bytes", "go_memstats_heap_released_bytes",
	"go_memstats_heap_objects", "go_memstats_stack_inuse_bytes", "go_memstats_mspan_inuse_bytes", "go_memstats_gc_sys_bytes", "go_memstats_other_sys_bytes",
	"go_threads", "go_goroutines",
}

// sample has the figures of memory at a time.
type sample struct {
	at    time.Duration // since the start of the load
	value []float64
}

// watch measures the memory of the process until the end of the load.
func (l *load) watch(t *testing.T, end time.Time) (list []sample) {
	t.Helper()
	start := time.Now()
	tick := time.NewTicker(max(*length/samples, 100*time.Millisecond))
	defer tick.Stop()
	for now := start; now.Before(end) && !t.Failed(); now = <-tick.C {
		l.Model.Trim(remembered)
		figures := l.figures(t, memory...)
		list = append(list, sample{now.Sub(start), append(figures, l.own(t, figures[0]))})
	}
	return list
}

// own returns the bytes of the process that no file holds, or those that are given where the
// system does not tell.
func (l *load) own(t *testing.T, resident float64) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.Process().PID()))
	if errors.Is(err, fs.ErrNotExist) {
		return resident
	}
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^RssAnon:\s+(\d+) kB$`).FindSubmatch(status)
	if found == nil {
		return resident
	}
	kib, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib * 1024
}

// checkMemory fits a line to the memory after it has settled. The collector moves the
// memory up and down by more than an hour may add, over minutes, so that samples that are
// close to each other are one: the line goes through the means of parts. The load fails
// if the growth is over the limit by more than the line is uncertain. A short load has no
// time to settle, and its slope is only logged.
func checkMemory(t *testing.T, list []sample) {
	t.Helper()
	after, long := settled, *length > settled
	if !long {
		after = *length / 3
	}
	list = slices.DeleteFunc(list, func(s sample) bool { return s.at < after })
	for i, name := range slices.Concat(memory, []string{own}) {
		var hours, values []float64
		for part := range slices.Chunk(list, max(1, (len(list)+parts-1)/parts)) {
			var x, y float64
			for _, s := range part {
				x, y = x+s.at.Hours(), y+s.value[i]
			}
			hours, values = append(hours, x/float64(len(part))), append(values, y/float64(len(part)))
		}
		if len(hours) < 3 {
			return
		}
		slope, uncertain, mean := line(hours, values)
		t.Logf("%12.0f %s on average, %+.2f %% an hour, plus or minus %.2f", mean, name, slope/mean*100, uncertain/mean*100)
		if i == 0 && long && (slope-uncertain)/mean > steady {
			t.Errorf("the memory grows by %.2f %% an hour, plus or minus %.2f, want at most %.0f %%", slope/mean*100, uncertain/mean*100, steady*100)
		}
	}
}

// line fits a line by least squares. It returns its slope, twice the standard error of
// that, and the mean of y.
func line(x, y []float64) (slope, uncertain, mean float64) {
	n, middle := float64(len(x)), 0.0
	for i := range x {
		middle, mean = middle+x[i]/n, mean+y[i]/n
	}
	var xx, xy, rest float64
	for i := range x {
		xx, xy = xx+(x[i]-middle)*(x[i]-middle), xy+(x[i]-middle)*(y[i]-mean)
	}
	slope = xy / xx
	for i := range x {
		off := y[i] - mean - slope*(x[i]-middle)
		rest += off * off
	}
	return slope, 2 * math.Sqrt(rest/(n-2)/xx), mean
}

// A leak of a tenth in an hour is found among swings of a hundredth.
func TestLine(t *testing.T) {
	var x, flat, leak []float64
	for i := range parts {
		hour, swing := float64(i)/60, float64(i%3-1)
		x, flat, leak = append(x, hour), append(flat, 100+swing), append(leak, 100+10*hour+swing)
	}
	for _, c := range []struct {
		name  string
		y     []float64
		grows bool
	}{{"flat", flat, false}, {"leak", leak, true}} {
		slope, uncertain, mean := line(x, c.y)
		if grows := (slope-uncertain)/mean > steady; grows != c.grows {
			t.Errorf("%s: slope %.3f, uncertain by %.3f, mean %.3f: grows %t, want %t", c.name, slope, uncertain, mean, grows, c.grows)
		}
	}
}

// figure reads a metric of the program.
func (l *load) figure(t *testing.T, name string) float64 {
	t.Helper()
	return l.figures(t, name)[0]
}

// figures reads metrics of the program at one time.
func (l *load) figures(t *testing.T, names ...string) (values []float64) {
	t.Helper()
	answer := l.Send(t, http.MethodGet, "/metrics", nil)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(content)
		if found == nil {
			t.Fatalf("there is no metric %s", name)
		}
		value, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	return values
}

// databaseSize returns the bytes of the database, with its logs on SQLite.
func databaseSize(t *testing.T, url string) (size int64) {
	t.Helper()
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		files, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
		return size
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), "SELECT pg_database_size(current_database())").Scan(&size); err != nil {
		t.Fatal(err)
	}
	return size
}
