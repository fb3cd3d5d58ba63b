package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

// crowd is how many threads run at a time in TestCancelOfThreads: half of them
// wait for the model, half for a tool.
const crowd = 8

// threadTools are tools that open threads: ask_all waits for all of them,
// ask_any for the first. A thread's question is its label. stuck ends when it is
// cancelled, and stands in the counter until then.
func threadTools(under *atomic.Int64) []turn.Tool {
	branches := func(call *tools.Call, labels []string) []concurrent.Branch[turn.Conclusion] {
		list := make([]concurrent.Branch[turn.Conclusion], len(labels))
		for i, label := range labels {
			list[i] = func(ctx context.Context) (turn.Conclusion, error) {
				return call.Converse(ctx, label, turn.Request{
					System: "Be brief.", Messages: []turn.Message{{Role: turn.User, Content: label}}, Tools: call.Tools("stuck"),
				})
			}
		}
		return list
	}
	return []turn.Tool{
		tools.NewText("ask_all", "Ask all.", func(ctx context.Context, call *tools.Call, in questionsInput) (string, error) {
			return fmt.Sprint(len(concurrent.All(ctx, concurrent.Options{}, branches(call, in.Questions)...))), context.Cause(ctx)
		}, tools.Global()),
		tools.NewText("ask_any", "Ask until one answers.", func(ctx context.Context, call *tools.Call, in questionsInput) (string, error) {
			first, err := concurrent.Any(ctx, concurrent.Options{}, branches(call, in.Questions)...)
			return first.Text, err
		}, tools.Global()),
		tools.NewText("stuck", "Wait for ever.", func(ctx context.Context, _ *tools.Call, _ struct{}) (string, error) {
			under.Add(1)
			defer under.Add(-1)
			<-ctx.Done()
			return "", context.Cause(ctx)
		}, tools.Global(), tools.Idempotent()),
	}
}

// questionsInput is what the tools that ask take.
type questionsInput struct {
	Questions []string `json:"questions"`
}

// asksThreads makes the model call a tool with these questions, and then answer.
func (w *world) asksThreads(tool string, questions []string, answer upstream.Reply) {
	w.model.On(upstream.Match(upstream.LastUser("begin")).After(0), upstream.Open(
		upstream.Say("I ask."), upstream.Call(0, "call_1", tool, toJSON(map[string]any{"questions": questions})), upstream.Finish("tool_calls"), upstream.Done()))
	w.model.On(upstream.Match(upstream.LastUser("begin")).After(1), answer)
}

// begin starts the run and returns its stream.
func (w *world) begin() *http.Response {
	w.t.Helper()
	return w.get(http.MethodPost, "/api/chat/stream", map[string]any{"message": "begin"})
}

// get makes a request whose answer is closed with the test.
func (w *world) get(method, path string, body any) *http.Response {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), talkLimit)
	w.t.Cleanup(cancel)
	req, err := request(ctx, method, w.url(w.t)+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// whole reads an answer to its end.
func whole(t *testing.T, resp *http.Response) []byte {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// A cancel stops all that the threads of a run are at within a second, and
// closes all levels, whoever watches and in whichever dialect.
func TestCancelOfThreads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apptest.SQLite.Fresh(t))
	var stuck atomic.Int64
	w.serveHere(Options{Tools: threadTools(&stuck)})
	var questions []string
	for n := range crowd {
		q := fmt.Sprintf("question %d of %d", n, crowd)
		questions = append(questions, q)
		if n%2 == 0 {
			w.model.On(upstream.LastUser(q), upstream.Open(upstream.Think("Hm."), upstream.Say("It is "), upstream.Hang()))
			continue
		}
		w.model.On(upstream.LastUser(q), upstream.Open(upstream.Say("I look."), upstream.Call(0, "call_1", "stuck", "{}"), upstream.Finish("tool_calls"), upstream.Done()))
	}
	w.asksThreads("ask_all", questions, upstream.Text("never said"))
	chat := w.begin()
	run := chat.Header.Get("X-Run-Id")
	messages := w.get(http.MethodGet, "/api/chat/runs/"+run+"/stream?dialect=messages", nil)
	eventually(t, "all threads wait", func() bool { return w.model.Running() == crowd/2 && stuck.Load() == crowd/2 })

	began := time.Now()
	if resp := w.get(http.MethodPost, "/api/chat/runs/"+run+"/cancel", nil); resp.StatusCode != http.StatusOK {
		t.Errorf("the cancel gets %d", resp.StatusCode)
	}
	eventually(t, "model and tools are stopped", func() bool { return w.model.Running() == 0 && stuck.Load() == 0 })
	if took := time.Since(began); took > cancelWithin {
		t.Errorf("it took %v to stop everything, want at most %v", took, cancelWithin)
	}
	if got := w.model.Disconnects(); got != crowd/2 {
		t.Errorf("%d calls of the model were cut, want %d", got, crowd/2)
	}

	contract := apitest.Load(t, "../openapi.yaml")
	again := w.get(http.MethodGet, "/api/chat/runs/"+run+"/stream", nil)
	for name, resp := range map[string]*http.Response{"live": chat, "again": again} {
		frames := contract.CheckFrames(t, whole(t, resp))
		apptest.CheckFrames(t, frames)
		if last := frames[len(frames)-1]; last.Type != schemas.TypeCancelled {
			t.Errorf("chat, %s: it ends with %s", name, last.Type)
		}
	}
	again = w.get(http.MethodGet, "/api/chat/runs/"+run+"/stream?dialect=messages", nil)
	for name, resp := range map[string]*http.Response{"live": messages, "again": again} {
		frames := apptest.MessageFrames(t, contract, whole(t, resp))
		apptest.CheckNesting(t, frames)
		cut := 0
		for _, f := range frames {
			if e := apptest.EventOf(f); e.Event == "thread_end" && e.Data.Status == "cancelled" {
				cut++
			}
		}
		if cut != crowd {
			t.Errorf("messages, %s: %d threads were cancelled, want %d", name, cut, crowd)
		}
	}
}

// Any hangs up on the model of the branch that lost at once: here the run goes
// on only when it has.
func TestLoserIsHungUpOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apptest.SQLite.Fresh(t))
	w.serveHere(Options{Tools: threadTools(new(atomic.Int64))})
	slow := make(chan struct{})
	var won, lost time.Time
	w.model.On(upstream.LastUser("slow"), upstream.Open(upstream.Say("Well, "), upstream.Signal(slow), upstream.Hang()))
	w.model.On(upstream.LastUser("fast"), upstream.Open(
		upstream.Wait(slow), upstream.Say("The fast one."), upstream.Do(func(http.ResponseWriter, *http.Request) { won = time.Now() }),
		upstream.Finish("stop"), upstream.Done()))
	w.asksThreads("ask_any", []string{"slow", "fast"}, upstream.Open(
		upstream.Wait(w.model.Gone()), upstream.Do(func(http.ResponseWriter, *http.Request) { lost = time.Now() }),
		upstream.Say("It is said."), upstream.Finish("stop"), upstream.Done()))
	body := whole(t, w.begin())
	frames := apitest.Load(t, "../openapi.yaml").CheckFrames(t, body)
	apptest.CheckFrames(t, frames)
	if last := frames[len(frames)-1]; last.Type != schemas.TypeComplete || !strings.Contains(string(last.Data), "The fast one.") {
		t.Errorf("the run ends with %s", last.Data)
	}
	if took := lost.Sub(won); took > cancelWithin || w.model.Running() != 0 {
		t.Errorf("the loser was hung up on after %v, %d calls go on", took, w.model.Running())
	}
}
