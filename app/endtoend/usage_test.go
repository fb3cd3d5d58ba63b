package endtoend

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

const usageSecret = "secret-of-32-bytes-for-this-test"

// service is a client of a service with settings of the test.
type service struct{ *apptest.Client }

// serveWith runs the service with these settings until stop is called.
func serveWith(t *testing.T, database, settings string) (_ *service, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	path := settingsFile(t, settings)
	environ := []string{
		"CHATTRAY_ADDR=127.0.0.1:0", "CHATTRAY_DATABASE_URL=sqlite:" + database, "CHATTRAY_LOG_FORMAT=json", "CHATTRAY_JWT_SECRET=" + usageSecret,
	}
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, app.Program{Args: []string{"--config", path}, Environ: environ, Stdout: in})
		in.Close()
	}()
	s := &service{&apptest.Client{T: t, URL: "http://" + apptest.Listening(t, out), Tokens: map[string]string{}}}
	for name, roles := range map[string][]string{"ann": nil, "bob": nil, "root": {"admin"}} {
		token, err := auth.SignToken(usageSecret, "", schemas.User{Name: name, Roles: roles}, time.Now(), time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		s.Tokens[name] = token
	}
	return s, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with %v, want no error", err)
		}
	}
}

// settingsFile is a file with these settings.
func settingsFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chattray.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// send sends a request of the user's; body is JSON, "" for none.
func (s *service) send(user, method, path, body string) apptest.Reply {
	s.Helper()
	if body == "" {
		return s.Ask(user, method, path, "", nil)
	}
	return s.Ask(user, method, path, "", json.RawMessage(body))
}

// fetch sends a request that succeeds and returns its answer.
func fetch[T any](s *service, user, method, path, body string) T {
	s.Helper()
	got := s.send(user, method, path, body)
	if got.Status != http.StatusOK {
		s.Fatalf("%s %s: status %d, want 200: %s", method, path, got.Status, got.Body)
	}
	return apptest.Decode[T](s.T, got)
}

func (s *service) ask(user, body string) schemas.ChatResponsePayload {
	s.Helper()
	return fetch[schemas.ChatResponsePayload](s, user, "POST", "/api/chat", body)
}

func (s *service) usage(user, query string) schemas.UsageReport {
	s.Helper()
	return fetch[schemas.UsageReport](s, user, "GET", "/api/usage"+query, "")
}

// servers are two models' own servers and a common one.
type servers struct{ large, small, common *upstream.Server }

func newServers(t *testing.T) servers {
	s := servers{upstream.New(), upstream.New(), upstream.New()}
	t.Cleanup(func() { s.large.Close(); s.small.Close(); s.common.Close() })
	return s
}

func (s servers) settings(more string) string {
	return fmt.Sprintf(`
openai: {base_url: %s, api_key: key-common}
models:
  - {name: large, base_url: %s, api_key: key-large, price: {input: 2, output: 8}}
  - {name: small, base_url: %s, api_key: key-small, context_window: 8192, price: {input: 0.5, output: 1}}
  - {name: mine, api_key: key-mine}
  - plain
fallback: [large, small]
diagnostics: all
%s`, s.common.URL(), s.large.URL(), s.small.URL(), more)
}

// key is the key of a server's last request.
func key(up *upstream.Server) string {
	requests := up.Requests()
	return strings.TrimPrefix(requests[len(requests)-1].Header.Get("Authorization"), "Bearer ")
}

// Every scripted reply has ten input tokens and two output tokens.
const (
	largeCost = (10*2 + 2*8) * schemas.MicroDollar
	smallCost = (10*0.5 + 2*1) * schemas.MicroDollar
)

func replyUsage(cost schemas.USD) schemas.Usage {
	return schemas.Usage{InputTokens: 10, OutputTokens: 2, TotalTokens: 12, CostUSD: cost}
}

func TestUsageEndToEnd(t *testing.T) {
	up := newServers(t)
	s, stop := serveWith(t, filepath.Join(t.TempDir(), "c.db"), up.settings(""))
	defer stop()

	up.large.Push(upstream.Text("Hello"))
	first := s.ask("ann", `{"message":"hi"}`)
	if first.Usage != replyUsage(largeCost) || len(first.Warnings) > 0 {
		t.Errorf("usage %+v, warnings %q; want %+v and none", first.Usage, first.Warnings, replyUsage(largeCost))
	}

	up.large.Push(upstream.Status(http.StatusServiceUnavailable, `{"error":{"message":"no"}}`))
	up.small.Push(upstream.Text("Hello"))
	second := s.ask("ann", `{"message":"hi"}`)
	if second.Usage != replyUsage(smallCost) || len(second.Warnings) != 1 || second.Diagnostics == nil || second.Diagnostics.Model != "small" {
		t.Errorf("after a fallback: usage %+v, warnings %q, diagnostics %+v, want the usage of small and one warning", second.Usage, second.Warnings, second.Diagnostics)
	}
	if got := key(up.small); got != "key-small" || up.large.Calls() != 2 {
		t.Errorf("the second model was asked with %s and the first one %d times, want key-small and 2", got, up.large.Calls())
	}

	for model, want := range map[string]string{"mine": "key-mine", "plain": "key-common"} {
		up.common.Push(upstream.Text("Hello"))
		if got := s.ask("ann", `{"message":"hi","model":"`+model+`"}`); got.Usage != replyUsage(0) {
			t.Errorf("the usage of %s, which has no price, is %+v, want %+v", model, got.Usage, replyUsage(0))
		}
		if got := key(up.common); got != want {
			t.Errorf("%s was asked with %s, want %s", model, got, want)
		}
	}

	up.small.Push(upstream.Text("Hello"))
	got := s.send("bob", "POST", "/api/chat/stream?dialect=messages", `{"message":"hi","model":"small"}`)
	if !strings.Contains(got.Body, `"total_tokens":12,"cost_usd":0.000007}`) {
		t.Errorf("the stream lacks the usage of 12 tokens with their cost:\n%s", got.Body)
	}

	today := time.Now().UTC().Format(time.DateOnly)
	item := func(model string, cost schemas.USD) schemas.UsageItem {
		return schemas.UsageItem{Date: today, Model: model, Runs: 1, InputTokens: 10, OutputTokens: 2, CostUSD: cost}
	}
	report := s.usage("ann", "")
	want := []schemas.UsageItem{item("large", largeCost), item("mine", 0), item("plain", 0), item("small", smallCost)}
	if diff := cmp.Diff(want, report.Items); diff != "" {
		t.Errorf("usage of ann (-want +got):\n%s", diff)
	}
	if want := (schemas.UsageTotal{Runs: 4, InputTokens: 40, OutputTokens: 8, CostUSD: largeCost + smallCost}); report.Total != want {
		t.Errorf("the total is %+v, want %+v", report.Total, want)
	}
	bob := fetch[schemas.User](s, "bob", "GET", "/api/me", "").ID
	if diff := cmp.Diff([]schemas.UsageItem{item("small", smallCost)}, s.usage("root", "?user="+bob).Items); diff != "" {
		t.Errorf("usage of bob, asked by an admin (-want +got):\n%s", diff)
	}
	if got := s.send("ann", "GET", "/api/usage?user="+bob, ""); got.Status != http.StatusForbidden {
		t.Errorf("reading another user's usage: status %d, want 403: %s", got.Status, got.Body)
	}
	stored := fetch[schemas.Run](s, "ann", "GET", "/api/chat/runs/"+first.RunID, "")
	if stored.Usage != first.Usage {
		t.Errorf("the stored run used %+v, want %+v", stored.Usage, first.Usage)
	}
}

// TestUsageOfEveryCall counts calls that are no answers, and answers that are
// not whole.
func TestUsageOfEveryCall(t *testing.T) {
	up := newServers(t)
	s, stop := serveWith(t, filepath.Join(t.TempDir(), "c.db"), up.settings("history: {budget: 256}"))
	defer stop()

	t.Run("asking for a value again", func(t *testing.T) {
		up.large.Push(upstream.Stream(upstream.Say("Well. SUGGESTED_VALUES: [\"on"), upstream.Finish("length")), upstream.Text(`["one"]`))
		got := s.ask("ann", `{"message":"hi"}`)
		if want := replyUsage(largeCost).Add(replyUsage(largeCost)); got.Usage != want || len(got.SuggestedValues) != 1 {
			t.Errorf("usage %+v, values %v; want %+v and one", got.Usage, got.SuggestedValues, want)
		}
	})
	t.Run("a summary of older turns", func(t *testing.T) {
		text := strings.Repeat("many words to remember ", 20)
		up.large.Push(upstream.Text(text))
		chat := s.ask("ann", `{"message":"`+text+`"}`).ConversationID
		for range 4 {
			before := up.large.Calls()
			up.large.On(upstream.Any, upstream.Text(text))
			got := s.ask("ann", `{"message":"`+text+`","conversation_id":`+strconv.FormatInt(chat, 10)+`}`)
			calls := up.large.Calls() - before
			if got.Usage.InputTokens != 10*calls {
				t.Errorf("%d calls used %+v, want %d input tokens", calls, got.Usage, 10*calls)
			}
			if calls > 1 {
				return
			}
		}
		t.Error("no answer took more than one call, want one that summarizes older turns")
	})
	t.Run("broken off", func(t *testing.T) {
		up.large.Push(upstream.Open(upstream.Say("Twelve chars")))
		before := s.usage("bob", "").Total
		got := s.send("bob", "POST", "/api/chat", `{"message":"hi"}`)
		used := s.usage("bob", "").Total
		if got.Status != http.StatusBadGateway || used.OutputTokens-before.OutputTokens != 3 || used.InputTokens == 0 || used.CostUSD == 0 {
			t.Errorf("a broken answer: status %d, used %+v after %+v, want 502 and 3 more output tokens with a cost", got.Status, used, before)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		sent, before := make(chan struct{}), s.usage("bob", "").Total
		up.large.Push(upstream.Open(upstream.Say("Twelve chars"), upstream.Signal(sent), upstream.Wait(nil)))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.send("bob", "POST", "/api/chat/stream", `{"message":"hi","chat_id":"cancelled"}`)
		}()
		<-sent
		chats := fetch[schemas.ChatList](s, "bob", "GET", "/api/chats?limit=1", "")
		fetch[schemas.Run](s, "bob", "POST", "/api/chat/runs/"+chats.Items[0].ActiveRunID+"/cancel", "")
		<-ended
		if used := s.usage("bob", "").Total; used.Runs != before.Runs+1 || used.OutputTokens <= before.OutputTokens && used.InputTokens <= before.InputTokens {
			t.Errorf("after a cancelled run the usage is %+v, want one run and some tokens more than %+v", used, before)
		}
	})
}

func TestBudgetEndToEnd(t *testing.T) {
	up := newServers(t)
	up.large.On(upstream.Any, upstream.Text("Hello"))
	database := filepath.Join(t.TempDir(), "c.db")
	s, stop := serveWith(t, database, up.settings("limits: {budget_usd: 0.00007}")) // two runs, the second one goes beyond it
	for range 2 {
		s.ask("ann", `{"message":"hi"}`)
	}
	refused := func() {
		t.Helper()
		calls := up.large.Calls()
		got := s.send("ann", "POST", "/api/chat/stream", `{"message":"hi"}`)
		var p schemas.Problem
		if err := json.Unmarshal([]byte(got.Body), &p); err != nil || got.Status != http.StatusTooManyRequests || p.Code != schemas.CodeBudget {
			t.Errorf("a request over the budget: status %d, want 429 budget_exceeded: %s", got.Status, got.Body)
		}
		left := time.Until(time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour))
		after, err := strconv.Atoi(got.Header.Get("Retry-After"))
		if err != nil || (time.Duration(after)*time.Second-left).Abs() > time.Minute {
			t.Errorf("Retry-After is %q, want %s", got.Header.Get("Retry-After"), left)
		}
		if up.large.Calls() != calls {
			t.Errorf("the model was called %d times, want %d", up.large.Calls(), calls)
		}
	}
	refused()
	s.ask("bob", `{"message":"hi"}`)
	stop()

	s, stop = serveWith(t, database, up.settings("limits: {budget_usd: 0.00007}"))
	refused()
	stop()
	s, stop = serveWith(t, database, up.settings("limits: {budget_tokens: 25}"))
	defer stop()
	s.ask("ann", `{"message":"hi"}`)
	refused()
}

// TestUsageOutlivesAStop interrupts a run in the middle of a reply. What the
// run had used counts together with what it uses in the next process.
func TestUsageOutlivesAStop(t *testing.T) {
	up := newServers(t)
	sent := make(chan struct{})
	up.large.Push(upstream.Open(upstream.Say("Twelve chars"), upstream.Signal(sent), upstream.Wait(nil)), upstream.Text("Hello"))
	database := filepath.Join(t.TempDir(), "c.db")
	s, stop := serveWith(t, database, up.settings("drain: 50ms"))
	read := make(chan string)
	go func() {
		read <- s.send("ann", "POST", "/api/chat/stream", `{"message":"hi","chat_id":"interrupted"}`).Body
	}()
	<-sent
	run := fetch[schemas.ChatList](s, "ann", "GET", "/api/chats", "").Items[0].ActiveRunID
	stop()
	if got := <-read; !strings.Contains(got, "Twelve chars") {
		t.Fatalf("before the stop the stream lacks Twelve chars:\n%s", got)
	}

	s, stop = serveWith(t, database, up.settings(""))
	defer stop()
	s.send("ann", "GET", "/api/chat/runs/"+run+"/stream", "")
	ended := fetch[schemas.Run](s, "ann", "GET", "/api/chat/runs/"+run, "")
	if u := ended.Usage; ended.State != schemas.RunCompleted || ended.Attempt != 2 || u.OutputTokens != 3+2 || u.InputTokens <= 10 {
		t.Errorf("the run is %+v, want it completed by attempt 2 with the tokens of both", ended)
	}
	if got := s.usage("ann", "").Total; got.Runs != 1 || got.OutputTokens != ended.Usage.OutputTokens || got.InputTokens != ended.Usage.InputTokens {
		t.Errorf("the total is %+v, want one run with %+v", got, ended.Usage)
	}
}
