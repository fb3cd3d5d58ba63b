package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/app/telemetry"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services"
)

const (
	// longHold is longer than the outages of these tests, shortHold shorter.
	longHold  = 20 * time.Second
	shortHold = 100 * time.Millisecond
	// eventualWait bounds what comes about in its own time.
	eventualWait = 20 * time.Second
)

// eventually asks again until the condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(eventualWait); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("after %v not yet: %s", eventualWait, what)
		}
	}
}

// serveHere starts the service of the world in this process.
func (w *world) serveHere(with Options) {
	w.t.Helper()
	var environ []string
	for _, s := range w.settings {
		environ = append(environ, "CHATTRAY_"+s)
	}
	c, _, err := settings.Load(nil, environ, "")
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	log := slog.New(slog.DiscardHandler)
	watch, err := telemetry.New(ctx, telemetry.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := Build(ctx, c, with, watch, log)
	if err != nil {
		w.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Answer(ctx, c, listener, log) }()
	w.t.Cleanup(func() {
		cancel()
		err := <-stopped
		s.mcp.stop()
		if err := errors.Join(err, s.store.Close(), watch.Close(context.Background())); err != nil {
			w.t.Error(err)
		}
	})
	w.come(&process{t: w.t, url: "http://" + listener.Addr().String()})
	if status, err := w.call(w.t.Context(), http.MethodGet, "/healthz", nil); err != nil || status != http.StatusOK {
		w.t.Fatalf("the service does not come up: %d, %v", status, err)
	}
}

// onFragile runs a test on every kind of database, which can be taken away.
func onFragile(t *testing.T, hold time.Duration, test func(t *testing.T, w *world, o outage)) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			url, o := fragile(t, d)
			w := newWorld(t, url)
			w.settings = append(w.settings, "DRAIN=5s")
			w.serveHere(Options{Runs: func(r *services.RunsOptions) {
				r.Hold = hold
				o.options(r)
			}})
			test(t, w, o)
		})
	}
}

// A database that is away is told before the stream begins, and nothing is left
// of the question.
func TestOutageBeforeTheStream(t *testing.T) {
	onFragile(t, longHold, func(t *testing.T, w *world, o outage) {
		k := w.newTalk("chat", "reject")
		o.begin()
		for _, path := range []string{"/api/chat/stream", "/api/chat"} {
			req, err := request(t.Context(), http.MethodPost, w.url(t)+path, k.body)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := w.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			var p schemas.Problem
			if err := errors.Join(json.NewDecoder(resp.Body).Decode(&p), resp.Body.Close()); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != http.StatusServiceUnavailable || p.Code != schemas.CodeStoreUnavailable ||
				resp.Header.Get("Content-Type") != "application/problem+json" || resp.Header.Get("Retry-After") == "" {
				t.Errorf("%s: status %d, %v, problem %+v", path, resp.StatusCode, resp.Header, p)
			}
		}
		o.end()
		if err := k.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, err := range k.check(t.Context()) {
			t.Error(err)
		}
		if n := len(w.asksOf(k.question)); n != len(k.turns) {
			t.Errorf("the model was called %d times for %d turns", n, len(k.turns))
		}
	})
}

// phases of a run at whose first moment the database goes away.
var outagePhases = []string{
	"the model writes", "the model asks for a tool", "the model ends", "a tool is called", "a tool answers",
}

// Commits are held while the database is away for less than the hold, and the
// run goes on as if nothing had been.
func TestOutageWhileARunIsHeld(t *testing.T) {
	for _, phase := range outagePhases {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			onFragile(t, longHold, func(t *testing.T, w *world, o outage) {
				k := w.bookAndLook()
				w.when(phase, o.begin)
				done := k.going(t)
				eventually(t, "writes are held", func() bool { return o.refused() >= 3 })
				o.end()
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				for _, err := range k.check(t.Context()) {
					t.Error(err)
				}
				if last := k.got[len(k.got)-1]; last.id > 1_000_000 || last.event.Type != schemas.TypeComplete {
					t.Errorf("the run ends with event %d, %s", last.id, last.event.Type)
				}
			})
		})
	}
}

// When the database is away for longer, the stream ends without a terminal
// event and with a hint; once it is back the run goes on, and no call of the
// model and no tool is repeated.
func TestOutageLongerThanTheHold(t *testing.T) {
	for _, phase := range outagePhases {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			onFragile(t, shortHold, func(t *testing.T, w *world, o outage) {
				k := w.bookAndLook()
				k.patient = true
				w.when(phase, o.begin)
				done := k.going(t)
				eventually(t, "the stream ends", func() bool { return k.hints.Load() > 0 })
				o.end()
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				for _, err := range k.check(t.Context()) {
					t.Error(err)
				}
				if last := k.got[len(k.got)-1]; last.event.Type != schemas.TypeComplete {
					t.Errorf("the run ends with %s", last.event.Type)
				}
				if n := len(w.asksOf(k.question)); n != len(k.turns) {
					t.Errorf("the model was called %d times for %d turns", n, len(k.turns))
				}
				for _, key := range k.keys() {
					if n := len(w.hitsOf(key)); n != 1 {
						t.Errorf("%s was called %d times", key, n)
					}
				}
			})
		})
	}
}

// A run that waits behind one which the outage holds up gets its turn.
func TestOutageWithAQueue(t *testing.T) {
	onFragile(t, shortHold, func(t *testing.T, w *world, o outage) {
		first, second := w.bookAndLook(), w.newTalk("queue", "queue")
		first.body["chat_id"] = "queue"
		first.patient, second.patient = true, true
		gate := make(chan struct{})
		w.when("the model ends", func() { <-gate })
		firstDone := first.going(t)
		eventually(t, "the first runs", func() bool { return len(w.asksOf(first.question)) > 0 })
		secondDone := second.going(t)
		eventually(t, "the second waits", func() bool {
			var list schemas.ChatList
			status, err := w.call(t.Context(), http.MethodGet, "/api/chats", &list)
			return err == nil && status == http.StatusOK && second.answered.Load()
		})
		o.begin()
		close(gate)
		eventually(t, "the first is given up", func() bool { return first.hints.Load() > 0 })
		o.end()
		for _, done := range []<-chan error{firstDone, secondDone} {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		holds(t, first, second)
	})
}

// A run without a terminal event is never left behind by a client that goes
// away while its message is being stored.
func TestClientGoesAwayWhileItsMessageIsStored(t *testing.T) {
	onFragile(t, longHold, func(t *testing.T, w *world, _ outage) {
		for range 20 {
			k := w.newTalk(fmt.Sprintf("chat-%d", w.note()), "reject")
			ctx, cancel := context.WithCancel(t.Context())
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				if resp, err := k.open(ctx, &process{url: w.url(t)}); err == nil {
					_ = resp.Body.Close()
				}
			}()
			cancel()
			<-gone
			if err := k.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, err := range k.check(t.Context()) {
				t.Error(err)
			}
		}
	})
}

// bookAndLook is a question with both tools, one turn each.
func (w *world) bookAndLook() *talk {
	k := w.newTalk("both", "reject")
	k.plan([][]string{{"book"}, {"look"}})
	return k
}
