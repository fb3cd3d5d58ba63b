package outage

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/runs"
)

const (
	// longHold is longer than the outages of these tests, shortHold shorter.
	longHold  = apptest.Limit
	shortHold = 100 * time.Millisecond
)

// onBreakable runs a test on every kind of database; the database can be made
// to fail.
func onBreakable(t *testing.T, hold time.Duration, test func(t *testing.T, system *apptest.System, o outage)) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			url, o := breakable(t, d)
			system := apptest.NewSystem(t, url)
			system.Settings = append(system.Settings, "DRAIN=5s", "DATABASE_TIMEOUT=5s")
			system.ServeHere(app.Options{Runs: func(r *runs.Options) {
				r.Hold = hold
				o.options(r)
			}})
			test(t, system, o)
		})
	}
}

// An unavailable database is reported before the stream begins, and nothing of
// the question is stored.
func TestOutageBeforeTheStream(t *testing.T) {
	onBreakable(t, longHold, func(t *testing.T, system *apptest.System, o outage) {
		c := system.NewConversation("chat", "reject")
		o.begin()
		for _, path := range []string{"/api/chat/stream", "/api/chat"} {
			resp := system.Send(t, http.MethodPost, path, c.Body)
			p := apptest.ReadProblem(t, resp)
			if resp.StatusCode != http.StatusServiceUnavailable || p.Code != schemas.CodeStoreUnavailable ||
				resp.Header.Get("Content-Type") != "application/problem+json" || resp.Header.Get("Retry-After") == "" {
				t.Errorf("%s: status %d, %v, problem %+v; want 503 store_unavailable with Retry-After", path, resp.StatusCode, resp.Header, p)
			}
		}
		o.end()
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, err := range c.Check(t.Context()) {
			t.Error(err)
		}
		if n := len(system.ModelCalls(c.Question)); n != len(c.Turns) {
			t.Errorf("the model was called %d times, want %d", n, len(c.Turns))
		}
	})
}

// phases of a run at whose beginning the database fails.
var outagePhases = []string{
	"the model writes", "the model asks for a tool", "the model ends", "a tool is called", "a tool answers",
}

// Commits are held if the database is unavailable for less than the hold, and
// the run continues as if nothing had happened.
func TestOutageWhileARunIsHeld(t *testing.T) {
	for _, phase := range outagePhases {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			onBreakable(t, longHold, func(t *testing.T, system *apptest.System, o outage) {
				c := bookAndLook(system)
				c.Steady = true
				system.OnPhase(phase, o.begin)
				done := c.Start(t)
				apptest.Eventually(t, "writes are held", func() bool { return o.refused() >= 3 })
				o.end()
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				for _, err := range c.Check(t.Context()) {
					t.Error(err)
				}
				if last := c.Frames[len(c.Frames)-1]; last.ID > 1_000_000 || last.Event.Type != schemas.TypeComplete {
					t.Errorf("the run ends with event %d, %s; want complete in the first attempt", last.ID, last.Event.Type)
				}
			})
		})
	}
}

// If the database is unavailable for longer, the stream ends without a terminal
// event and with a hint; once the database is back the run continues, and no
// call of the model or a tool is repeated.
func TestOutageLongerThanTheHold(t *testing.T) {
	for _, phase := range outagePhases {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			onBreakable(t, shortHold, func(t *testing.T, system *apptest.System, o outage) {
				c := bookAndLook(system)
				c.Steady = true
				c.Patient = true
				system.OnPhase(phase, o.begin)
				done := c.Start(t)
				untilGivenUp(t, c, done)
				o.end()
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				for _, err := range c.Check(t.Context()) {
					t.Error(err)
				}
				if last := c.Frames[len(c.Frames)-1]; last.Event.Type != schemas.TypeComplete {
					t.Errorf("the run ends with %s, want complete", last.Event.Type)
				}
				if n := len(system.ModelCalls(c.Question)); n != len(c.Turns) {
					t.Errorf("the model was called %d times, want %d", n, len(c.Turns))
				}
				for _, key := range c.Keys() {
					if n := len(system.ToolCalls(key)); n != 1 {
						t.Errorf("%s was called %d times, want 1", key, n)
					}
				}
			})
		})
	}
}

// untilGivenUp waits until a stream of the conversation ends with a hint.
func untilGivenUp(t *testing.T, c *apptest.Conversation, done <-chan error) {
	t.Helper()
	apptest.Eventually(t, "the stream ends with a hint", func() bool {
		select {
		case err := <-done:
			t.Fatalf("the conversation is over after %d frames, %v, before its run was given up", len(c.Frames), err)
		default:
		}
		return c.Hints.Load() > 0
	})
}

// A run that waits for another one, which the outage delays, gets its turn.
func TestOutageWithAQueue(t *testing.T) {
	onBreakable(t, shortHold, func(t *testing.T, system *apptest.System, o outage) {
		first, second := bookAndLook(system), system.NewConversation("queue", "queue")
		first.Body["chat_id"] = "queue"
		first.Patient, second.Patient, first.Steady = true, true, true
		gate := make(chan struct{})
		system.OnPhase("the model asks for a tool", func() { <-gate }) // its reply has not ended then
		firstDone := first.Start(t)
		apptest.Eventually(t, "the first runs", func() bool { return len(system.ModelCalls(first.Question)) > 0 })
		secondDone := second.Start(t)
		apptest.Eventually(t, "the second waits", func() bool {
			var list schemas.ChatList
			status, err := system.Call(t.Context(), http.MethodGet, "/api/chats", &list)
			return err == nil && status == http.StatusOK && second.Accepted.Load()
		})
		o.begin()
		close(gate)
		untilGivenUp(t, first, firstDone)
		o.end()
		for _, done := range []<-chan error{firstDone, secondDone} {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		apptest.CheckAll(t, first, second)
	})
}

// A client that disconnects while its message is being stored never leaves a
// run without a terminal event.
func TestClientGoesAwayWhileItsMessageIsStored(t *testing.T) {
	onBreakable(t, longHold, func(t *testing.T, system *apptest.System, _ outage) {
		for range 20 {
			c := system.NewConversation(fmt.Sprintf("chat-%d", system.Mark()), "reject")
			ctx, cancel := context.WithCancel(t.Context())
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				if resp, err := c.Open(ctx, &apptest.Process{URL: system.URL(t)}); err == nil {
					_ = resp.Body.Close()
				}
			}()
			cancel()
			<-gone
			if err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, err := range c.Check(t.Context()) {
				t.Error(err)
			}
		}
	})
}

// bookAndLook is a question with both tools, one turn each.
func bookAndLook(system *apptest.System) *apptest.Conversation {
	c := system.NewConversation("both", "reject")
	c.Plan([][]string{{"book"}, {"look"}})
	return c
}

// A stop that cannot be stored is refused: a socket is not told that its answer stops.
func TestOutageBeforeAStop(t *testing.T) {
	onBreakable(t, longHold, func(t *testing.T, system *apptest.System, o outage) {
		gate := make(chan struct{})
		c := system.Gated("chat", "reject", gate)
		done := c.Start(t)
		system.AwaitModel(t, c)
		client := &apptest.Client{T: t, URL: system.URL(t)}
		socket := client.Dial("")
		o.begin()
		socket.Send(`{"name":"stop","chat_id":"chat"}`)
		if got := socket.Next(); got.Type != schemas.ChunkError || got.Code != schemas.CodeStoreUnavailable {
			t.Errorf("a stop that is not stored is answered with %s, want store_unavailable", apptest.ListChunks([]schemas.Chunk{got}))
		}
		o.end()
		close(gate)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if last := c.Frames[len(c.Frames)-1]; last.Event.Type != schemas.TypeComplete {
			t.Errorf("the run ends with %s, want complete", last.Event.Type)
		}
	})
}
