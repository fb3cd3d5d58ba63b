package crash

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// startWithDrain starts the program on SQLite with this drain time.
func startWithDrain(t *testing.T, drain string) *apptest.System {
	t.Helper()
	system := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	system.Settings = append(system.Settings, "DRAIN="+drain)
	system.Start()
	return system
}

// After SIGTERM readiness fails and new runs are refused; a run that ends within
// the drain time ends normally, and the program with status 0.
func TestStopLetsRunsFinish(t *testing.T) {
	t.Parallel()
	system, gate := startWithDrain(t, "3m"), make(chan struct{})
	p := system.Process()
	c := system.Gated("chat", "reject", gate)
	c.Patient, c.Steady = false, true
	done := c.Start(t)
	system.AwaitModel(t, c)
	p.Signal(syscall.SIGTERM)
	system.AwaitStop(t)

	resp := system.Send(t, http.MethodPost, "/api/chat/stream", map[string]any{"message": "one more"})
	problem := apptest.ReadProblem(t, resp)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "1" || problem.Code != schemas.CodeShuttingDown {
		t.Errorf("a new run gets status %d, %v, %+v; want 503 shutting_down with Retry-After: 1", resp.StatusCode, resp.Header, problem)
	}

	close(gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if end := p.Wait(); end.ExitCode() != 0 {
		t.Errorf("the program ended with %v, want exit status 0", end)
	}
	system.Start()
	apptest.CheckAll(t, c)
	if last := c.Frames[len(c.Frames)-1]; last.Event.Type != schemas.TypeComplete || last.ID > 1_000_000 {
		t.Errorf("the run ended with event %d, %s; want complete in the first attempt", last.ID, last.Event.Type)
	}
}

// Runs that do not end within the drain time, and those that wait for their
// turn, are recovered by the next start; their streams end with a hint.
func TestStopInterruptsTheRest(t *testing.T) {
	t.Parallel()
	system, gate := startWithDrain(t, "100ms"), make(chan struct{})
	first, second := system.Gated("chat", "queue", gate), system.Gated("chat", "queue", gate)
	first.Steady, second.Steady = true, true
	firstDone := first.Start(t)
	system.AwaitModel(t, first)
	secondDone := second.Start(t)
	apptest.Eventually(t, "the second waits", second.Accepted.Load)
	system.Stop()
	system.Start()
	close(gate)
	for c, done := range map[*apptest.Conversation]<-chan error{first: firstDone, second: secondDone} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if c.Hints.Load() != 1 {
			t.Errorf("%s: the stream ended with %d hints, want 1", c.Question, c.Hints.Load())
		}
		if last := c.Frames[len(c.Frames)-1]; last.Event.Type != schemas.TypeComplete {
			t.Errorf("%s ended with %s, want complete", c.Question, last.Event.Type)
		}
	}
	apptest.CheckAll(t, first, second)
	if n := len(system.ModelCalls(first.Question)); n != 2 {
		t.Errorf("the interrupted call of the model was made %d times, want 2", n)
	}
}

// The program is killed at the moment at which a socket is told that its answers stop.
// The next process ends them: the model is not called again.
func TestKilledWhenTold(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			const secret, chats = "secret-of-32-bytes-for-this-test", 4
			up := upstream.New()
			t.Cleanup(up.Close)
			up.On(upstream.Any, upstream.Open(upstream.Say("Half of"), upstream.Hang()))
			settings := []string{"DATABASE_URL=" + d.Fresh(t), "JWT_SECRET=" + secret, "OPENAI_BASE_URL=" + up.URL(), "OPENAI_API_KEY=key"}
			token, err := auth.SignToken(secret, "", schemas.User{Name: "ann"}, time.Now(), time.Now().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			one := &apptest.Client{T: t, Tokens: map[string]string{"ann": token}}
			for n := range chats {
				p := apptest.StartProcess(t, settings...)
				one.URL = p.URL
				c := one.Dial("ann")
				c.Send(fmt.Sprintf(`{"name":"message","message":{"content":"First"},"chat_id":"c%d"}`, n))
				c.Until(apptest.IsContent)
				c.Send(fmt.Sprintf(`{"name":"message","id":"e%d","message":{"content":"Second"},"chat_id":"c%d"}`, n, n))
				c.Until(func(c schemas.Chunk) bool { return c.Type == schemas.ChunkAck })
				c.Send(fmt.Sprintf(`{"name":"stop","chat_id":"c%d"}`, n))
				c.Until(func(c schemas.Chunk) bool { return c.Type == schemas.ChunkStatus && *c.Content == "Stopping..." })
				p.Kill()
			}

			one.URL = apptest.StartProcess(t, settings...).URL
			apptest.Eventually(t, "all runs end", func() bool {
				list := apptest.Decode[schemas.ChatList](t, one.Must("GET", "/api/chats", nil))
				return len(list.Items) == chats && !slices.ContainsFunc(list.Items, func(c schemas.Chat) bool { return c.ActiveRunID != "" })
			})
			if n := len(up.Requests()); n != chats {
				t.Errorf("the model was called %d times, want %d", n, chats)
			}
		})
	}
}

// A second SIGTERM ends the program at once.
func TestSecondSignalStops(t *testing.T) {
	t.Parallel()
	system, gate := startWithDrain(t, "1h"), make(chan struct{})
	p := system.Process()
	c := system.Gated("chat", "reject", gate)
	done := c.Start(t)
	system.AwaitModel(t, c)
	p.Signal(syscall.SIGTERM)
	system.AwaitStop(t)
	system.ExpectEnd()
	p.Signal(syscall.SIGTERM)
	end := p.Wait()
	if status, ok := end.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("the program ended with %v, want by SIGTERM", end)
	}
	system.Start()
	close(gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	apptest.CheckAll(t, c)
}

// A terminal that is closed stops the program in order.
func TestHangUp(t *testing.T) {
	// Where the signal is ignored, as under nohup, the program would inherit that.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(signals) })
	d := apptest.Databases()[0]
	p := apptest.StartProcess(t, "DATABASE_URL="+d.Fresh(t))
	p.Signal(syscall.SIGHUP)
	if end := p.Wait(); end.ExitCode() != 0 {
		t.Errorf("the process ended with %v, want exit status 0", end)
	}
}

// The service goes on when nobody reads its log any longer, and still stops in order.
func TestLogWithoutReader(t *testing.T) {
	d := apptest.Databases()[0]
	p := apptest.StartProcess(t, "DATABASE_URL="+d.Fresh(t))
	p.CloseLog()
	for range 2 {
		apptest.Get(t, p.URL+"/api/chats") // which is logged
	}
	p.Signal(syscall.SIGTERM)
	if end := p.Wait(); end.ExitCode() != 0 {
		t.Errorf("the process ended with %v, want exit status 0", end)
	}
}
