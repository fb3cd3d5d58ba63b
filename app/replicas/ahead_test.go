package replicas

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
)

// A reader that has seen far more of a run than its process has stored continues at another
// process where it was: it is not taken for one whose cursor is of no event.
func TestCursorAheadElsewhere(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		way := apptest.NewWay(t, system.Database())
		p := pair{T: t, system: system, owner: system.StartReplica(apptest.LongLease, way), b: system.StartReplica(apptest.LongLease, nil)}
		c := system.NewConversation("chat", "queue")
		begin, end := make(chan struct{}), make(chan struct{})
		words := make([]string, 3000)
		for i := range words {
			words[i] = fmt.Sprintf("word%d ", i)
		}
		system.Model.On(upstream.LastUser(c.Question), upstream.Open(
			upstream.Say("First "), upstream.Wait(begin), upstream.Say(words...), upstream.Wait(end), upstream.Finish("stop"), upstream.Done()))

		first := p.open(p.owner, http.MethodPost, "/api/chat/stream", c.Body, "Idempotency-Key", c.Key)
		defer first.Body.Close()
		run := first.Header.Get("X-Run-Id")
		seen := bufio.NewScanner(first.Body)
		nextID(t, seen, func(id int64) bool { return id > 1 })
		way.Stall(true, true)
		close(begin)
		cursor := nextID(t, seen, func(id int64) bool { return id > 2000 })

		got := map[string]chan int64{}
		for _, path := range []string{"/api/chat/runs/" + run + "/stream", "/api/chat/runs/" + run + "/stream?dialect=messages"} {
			next := make(chan int64, 1)
			got[path] = next
			go func() {
				resp := p.open(p.b, http.MethodGet, path, nil, "Last-Event-ID", strconv.FormatInt(cursor, 10))
				defer resp.Body.Close()
				next <- nextID(t, bufio.NewScanner(resp.Body), func(int64) bool { return true })
			}()
		}
		apptest.Eventually(t, "the readers have come", func() bool { return metric(t, p.b, "chattray_streams_active") == float64(len(got)) })
		way.Stall(false, false)
		for path, next := range got {
			if id := <-next; id <= cursor {
				t.Errorf("%s after %d begins with %d", path, cursor, id)
			}
		}
		close(end)
	})
}

// nextID reads a stream up to an event whose number is wanted, and returns it.
func nextID(t *testing.T, lines *bufio.Scanner, wanted func(int64) bool) int64 {
	for lines.Scan() {
		id, err := strconv.ParseInt(strings.TrimPrefix(lines.Text(), "id: "), 10, 64)
		if err == nil && wanted(id) {
			return id
		}
	}
	t.Errorf("the stream ended: %v", lines.Err())
	return 0
}
