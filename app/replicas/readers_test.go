package replicas

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// door is a request that reads a run's stream.
type door struct {
	name   string
	method string
	path   func(c *apptest.Conversation) string
	body   func(c *apptest.Conversation) any
	header func(c *apptest.Conversation) []string
}

// doors are all requests whose response follows a run. Those with a cursor continue
// after the third event.
var doors = []door{
	{name: "its stream", path: func(c *apptest.Conversation) string { return "/api/chat/runs/" + c.RunID + "/stream" }},
	{name: "the dialect messages", path: func(c *apptest.Conversation) string { return "/api/chat/runs/" + c.RunID + "/stream?dialect=messages" }},
	{name: "its stream after a cursor", path: func(c *apptest.Conversation) string { return "/api/chat/runs/" + c.RunID + "/stream?after=3" }},
	{
		name: "the same question again", method: http.MethodPost, path: func(*apptest.Conversation) string { return "/api/chat/stream" },
		body: func(c *apptest.Conversation) any { return c.Body },
		header: func(c *apptest.Conversation) []string {
			return []string{"Idempotency-Key", c.Key, "Last-Event-ID", "3"}
		},
	},
	{
		name: "the same question again for an answer", method: http.MethodPost, path: func(*apptest.Conversation) string { return "/api/chat" },
		body:   func(c *apptest.Conversation) any { return c.Body },
		header: func(c *apptest.Conversation) []string { return []string{"Idempotency-Key", c.Key} },
	},
	{name: "the wire ui", path: func(c *apptest.Conversation) string { return "/api/ui/" + c.Body["chat_id"].(string) + "/stream" }},
}

// reading is one open stream.
type reading struct {
	mu   sync.Mutex
	text strings.Builder
	last string // the id of the last event; only the goroutine that reads uses it
	done chan error
}

// read opens a stream of a process and reads it to its end, with new connections if nobody
// has the run for long.
func (d door) read(t *testing.T, system *apptest.System, at *apptest.Process, c *apptest.Conversation) *reading {
	t.Helper()
	method, body, header := http.MethodGet, any(nil), []string(nil)
	if d.method != "" {
		method = d.method
	}
	if d.body != nil {
		body = d.body(c)
	}
	if d.header != nil {
		header = d.header(c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), apptest.Limit)
	t.Cleanup(cancel)
	req, err := apptest.NewRequest(ctx, method, at.URL+d.path(c), body, header...)
	if err != nil {
		t.Fatal(err)
	}
	r := &reading{done: make(chan error, 1)}
	go func() {
		for {
			again, err := d.once(t, system, req, r)
			if !again {
				r.done <- err
				return
			}
			req = req.Clone(ctx)
			req.Header.Set("Last-Event-ID", r.last)
			if req.GetBody != nil {
				if req.Body, err = req.GetBody(); err != nil {
					r.done <- err
					return
				}
			}
		}
	}()
	return r
}

// follows is how long a stream at least stays open while nobody has the run. The service
// gives up after five leases, which a busy machine may need for a takeover.
const follows = 6 * time.Second

// once reads one connection. Again reports that nobody had the run for long, so that the
// client has been told to come back.
func (d door) once(t *testing.T, system *apptest.System, req *http.Request, r *reading) (again bool, err error) {
	resp, err := system.Client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s: status %d, want 200: %s", d.name, resp.StatusCode, apptest.JSON(apptest.ReadProblem(t, resp)))
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	heard := time.Now()
	frame := "" // without comments: one that has nothing else says that the connection lives
	add := func() {
		r.mu.Lock()
		r.text.WriteString(frame)
		r.mu.Unlock()
		frame = ""
	}
	defer add()
	for lines.Scan() {
		line := lines.Text()
		if line == ": interrupted" && r.last != "" && time.Since(heard) >= follows {
			return true, nil
		}
		if strings.HasPrefix(line, ":") {
			continue // a keep-alive
		}
		if strings.HasPrefix(line, "data:") {
			heard = time.Now()
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			r.last = id
		}
		if line != "" || frame != "" {
			frame += line + "\n"
		}
		if line == "" {
			add()
		}
	}
	return false, lines.Err()
}

// seen returns what has been read so far.
func (r *reading) seen() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// whole waits for the end of the stream and returns everything that was read.
func (r *reading) whole(t *testing.T) string {
	t.Helper()
	if err := <-r.done; err != nil {
		t.Errorf("a stream ended with %v, want its end", err)
	}
	return r.seen()
}

// Every stream of a run gives the same bytes at another process, while the model writes.
func TestReadElsewhere(t *testing.T) {
	over(t, []carrier{none, overNATS, inMemory}, func(t *testing.T, system *apptest.System) {
		owner := system.StartReplica(apptest.LongLease, nil)
		gate := make(chan struct{})
		c := one(system, gate, []string{"look", "book"})
		done := c.Start(t)
		system.AwaitModel(t, c)
		other := system.StartReplica(apptest.LongLease, nil)
		system.OnlyUse(owner)
		at := map[*apptest.Process][]*reading{}
		for _, p := range []*apptest.Process{owner, other, other} {
			for _, d := range doors {
				at[p] = append(at[p], d.read(t, system, p, c))
			}
		}
		for i, d := range doors {
			if d.name != "the same question again for an answer" {
				for _, r := range []*reading{at[owner][i], at[other][i], at[other][i+len(doors)]} {
					apptest.Eventually(t, d.name+" shows what the model wrote before the gate", func() bool { return strings.Contains(r.seen(), "This") || strings.Contains(r.seen(), "turn") })
				}
			}
		}
		var run schemas.Run
		system.OnlyUse(other)
		if status, err := system.Call(t.Context(), http.MethodGet, "/api/chat/runs/"+c.RunID, &run); err != nil || status != http.StatusOK || run.LastSequence < 3 {
			t.Errorf("the run is at %d (status %d, %v), want the number of an event that was read", run.LastSequence, status, err)
		}
		system.OnlyUse(owner, other)
		close(gate)
		for i, d := range doors {
			want := at[owner][i].whole(t)
			for _, r := range []*reading{at[other][i], at[other][i+len(doors)]} {
				if got := r.whole(t); got != want {
					t.Errorf("%s: another process sends\n%s\nwant as its own\n%s", d.name, got, want)
				}
			}
		}
		ends(t, system, map[*apptest.Conversation]<-chan error{c: done})
	})
}

// frames parses a stream of the dialect chat and checks that it has the events of the log
// after the cursor.
func (r *reading) frames(t *testing.T, c *apptest.Conversation, after int64) []apptest.ChatFrame {
	t.Helper()
	list, err := apptest.NewStreamReader(io.NopCloser(strings.NewReader(r.whole(t)))).Rest()
	if err != nil {
		t.Fatal(err)
	}
	log, err := c.Log(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	log = slices.DeleteFunc(log, func(f apptest.ChatFrame) bool { return f.ID <= after })
	if got, want := apptest.WithoutVoided(list), apptest.WithoutVoided(log); !slices.EqualFunc(got, want, apptest.SameFrame) {
		t.Errorf("one connection gave\n%s\nwant the events of the log\n%s", apptest.ListFrames(got), apptest.ListFrames(want))
	}
	return list
}

// A stream of another process continues, on the same connection unless that takes long, when
// the owner of the run is killed and the run continues elsewhere.
func TestOwnerOfFollowedKilled(t *testing.T) {
	over(t, []carrier{none, overNATS}, func(t *testing.T, system *apptest.System) {
		owner := system.StartReplica(apptest.ShortLease, nil)
		gate := make(chan struct{})
		c := one(system, gate, []string{"book"}, []string{"look"})
		done := c.Start(t)
		system.AwaitModel(t, c)
		others := []*apptest.Process{system.StartReplica(apptest.TakerLease, nil), system.StartReplica(apptest.TakerLease, nil)}
		var all []*reading
		for _, p := range others {
			all = append(all, doors[0].read(t, system, p, c))
		}
		for _, r := range all {
			apptest.Eventually(t, "the stream has begun", func() bool { return strings.Contains(r.seen(), "turn") })
		}
		system.OnlyUse(others...)
		owner.Kill()
		apptest.Eventually(t, "the run is taken", func() bool { return attempt(system, c) == 2 })
		close(gate)
		for _, r := range all {
			if list := r.frames(t, c, 0); list[len(list)-1].ID < 1_000_000 {
				t.Errorf("the last event is %d, want one of the next attempt", list[len(list)-1].ID)
			}
		}
		ends(t, system, map[*apptest.Conversation]<-chan error{c: done})
	})
}

// A process that hands its runs over lets their streams continue for a while, with what the
// next process writes.
func TestStreamsOfHandedOver(t *testing.T) {
	over(t, []carrier{none, overNATS}, func(t *testing.T, system *apptest.System) {
		owner := system.StartReplica(apptest.LongLease, nil)
		gate := make(chan struct{})
		c := one(system, gate, []string{"look"})
		done := c.Start(t)
		system.AwaitModel(t, c)
		other := system.StartReplica(apptest.LongLease, nil)
		var all []*reading
		for range 8 {
			all = append(all, doors[0].read(t, system, owner, c))
		}
		for _, r := range all {
			apptest.Eventually(t, "the stream has begun", func() bool { return strings.Contains(r.seen(), "turn") })
		}
		system.OnlyUse(other)
		owner.Signal(syscall.SIGTERM)
		close(gate)
		later := 0
		for _, r := range all {
			if text := r.whole(t); strings.Contains(text, `"type":"complete"`) || strings.Contains(text, "retry: ") && strings.Contains(text, `"attempt":2`) {
				later++
			}
		}
		if later == 0 {
			t.Error("no stream of the process that stops has events of the next attempt, want most of them")
		}
		if end := owner.Wait(); end.ExitCode() != 0 {
			t.Errorf("the process ended with %v, want exit status 0", end)
		}
		ends(t, system, map[*apptest.Conversation]<-chan error{c: done})
		noFailedAttempts(t, system)
	})
}
