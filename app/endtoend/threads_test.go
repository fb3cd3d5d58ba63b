package endtoend

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/app"
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
// cancelled, and is counted until then.
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
		tools.NewText("stuck", "Wait until it is cancelled.", func(ctx context.Context, _ *tools.Call, _ struct{}) (string, error) {
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

// scriptThreads makes the model call a tool with these questions, and then answer.
func scriptThreads(system *apptest.System, tool string, questions []string, answer upstream.Reply) {
	system.Model.On(upstream.Match(upstream.LastUser("begin")).After(0), upstream.Open(
		upstream.Say("I ask."), upstream.Call(0, "call_1", tool, apptest.JSON(map[string]any{"questions": questions})), upstream.Finish("tool_calls"), upstream.Done()))
	system.Model.On(upstream.Match(upstream.LastUser("begin")).After(1), answer)
}

// begin starts the run and returns its stream.
func begin(system *apptest.System) *http.Response {
	system.T.Helper()
	return system.Send(system.T, http.MethodPost, "/api/chat/stream", map[string]any{"message": "begin"})
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

// A cancel stops all calls in the threads of a run and closes all levels, in every
// dialect.
func TestCancelOfThreads(t *testing.T) {
	t.Parallel()
	system := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	var stuck atomic.Int64
	system.ServeHere(app.Options{Tools: threadTools(&stuck)})
	var questions []string
	for n := range crowd {
		q := fmt.Sprintf("question %d of %d", n, crowd)
		questions = append(questions, q)
		if n%2 == 0 {
			system.Model.On(upstream.LastUser(q), upstream.Open(upstream.Think("Hm."), upstream.Say("It is "), upstream.Hang()))
			continue
		}
		system.Model.On(upstream.LastUser(q), upstream.Open(upstream.Say("I look."), upstream.Call(0, "call_1", "stuck", "{}"), upstream.Finish("tool_calls"), upstream.Done()))
	}
	scriptThreads(system, "ask_all", questions, upstream.Text("never said"))
	chat := begin(system)
	run := chat.Header.Get("X-Run-Id")
	messages := system.Send(system.T, http.MethodGet, "/api/chat/runs/"+run+"/stream?dialect=messages", nil)
	apptest.Eventually(t, "all threads wait", func() bool { return system.Model.Running() == crowd/2 && stuck.Load() == crowd/2 })

	if resp := system.Send(system.T, http.MethodPost, "/api/chat/runs/"+run+"/cancel", nil); resp.StatusCode != http.StatusOK {
		t.Errorf("the cancel gets status %d, want 200", resp.StatusCode)
	}
	apptest.Eventually(t, "model and tools are stopped", func() bool { return system.Model.Running() == 0 && stuck.Load() == 0 })
	if got := system.Model.Disconnects(); got != crowd/2 {
		t.Errorf("%d calls of the model were cut, want %d", got, crowd/2)
	}

	contract := apitest.Load(t, "../../openapi.yaml")
	again := system.Send(system.T, http.MethodGet, "/api/chat/runs/"+run+"/stream", nil)
	for name, resp := range map[string]*http.Response{"live": chat, "again": again} {
		frames := contract.CheckFrames(t, whole(t, resp))
		apptest.CheckFrames(t, frames)
		if last := frames[len(frames)-1]; last.Type != schemas.TypeCancelled {
			t.Errorf("chat, %s: the stream ends with %s, want cancelled", name, last.Type)
		}
	}
	again = system.Send(system.T, http.MethodGet, "/api/chat/runs/"+run+"/stream?dialect=messages", nil)
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

// Any disconnects at once from the model of a lost branch: here the run
// continues only after that.
func TestLosersConnectionIsClosed(t *testing.T) {
	t.Parallel()
	system := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	system.ServeHere(app.Options{Tools: threadTools(new(atomic.Int64))})
	slow := make(chan struct{})
	system.Model.On(upstream.LastUser("slow"), upstream.Open(upstream.Say("Well, "), upstream.Signal(slow), upstream.Hang()))
	system.Model.On(upstream.LastUser("fast"), upstream.Open(
		upstream.Wait(slow), upstream.Say("The fast one."),
		upstream.Finish("stop"), upstream.Done()))
	scriptThreads(system, "ask_any", []string{"slow", "fast"}, upstream.Open(
		upstream.Wait(system.Model.Gone()),
		upstream.Say("It is said."), upstream.Finish("stop"), upstream.Done()))
	body := whole(t, begin(system))
	frames := apitest.Load(t, "../../openapi.yaml").CheckFrames(t, body)
	apptest.CheckFrames(t, frames)
	if last := frames[len(frames)-1]; last.Type != schemas.TypeComplete || !strings.Contains(string(last.Data), "The fast one.") {
		t.Errorf("the run ends with %s, want complete with the first answer", last.Data)
	}
	if got := system.Model.Running(); got != 0 {
		t.Errorf("%d calls of the model continue, want 0", got)
	}
}
