package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

const contractFile = "../openapi.yaml"

// The ids of the contract's examples; they belong to alice.
const (
	aRun       = "019ac0de-0000-7000-8000-000000000001"
	aMessage   = "019ac0de-0000-7000-8000-00000000000b"
	aPayload   = "abc12345"
	anApproval = "5f0c6d8e2b4a91c37e05d6f8"
	aChat      = 789
	aKey       = "my-key-1"
)

var alice = schemas.User{ID: "https://id.example|alice", Name: "alice", Roles: []string{"reader"}}

// testEnv is a server with fake services that return the contract's examples and
// record their calls.
type testEnv struct {
	apitest.Contract
	t *testing.T
	// fails, when set, is the error of every service.
	fails error
	ready error
	// breaks, when set, ends an export that has begun.
	breaks error
	// stream is the documented stream that every run gives.
	stream string
	// conns is told what becomes of each connection.
	conns func(net.Conn, http.ConnState)
	// trusted says that users may see diagnostics.
	trusted bool

	mu    sync.Mutex
	calls []string
}

func (w *testEnv) call(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, fmt.Sprintf(format, args...))
}

// newTestEnv starts the server; change may adapt its options.
func newTestEnv(t *testing.T, change func(*testEnv, *api.Options)) (*testEnv, *httptest.Server) {
	t.Helper()
	w := &testEnv{Contract: apitest.Load(t, contractFile), t: t, stream: "tool"}
	contract, err := os.ReadFile(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	plain := func(kind, text string) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(rw, text)
		})
	}
	o := api.Options{
		Auth: tokens{}, Runs: fakeRuns{w}, Streams: fakeStreams{w}, Chats: fakeChats{w}, Documents: fakeDocuments{w}, Research: fakeResearch{w}, Pages: fakePages{w}, Usage: fakeUsage{w}, UserData: fakeUserData{w}, Admin: fakeAdmin{w},
		Models: []schemas.ModelOffer{
			{Name: "gpt-4.1-mini", Default: true, ContextWindow: 128_000, Price: &schemas.ModelPrice{Input: 0.4, Output: 1.6}}, {Name: "local-model"},
		},
		Diagnostics: func(schemas.User) bool { return w.trusted },
		Ready:       func(context.Context) error { return w.ready },
		Metrics:     plain("text/plain; version=0.0.4", "chattray_active_runs 0\n"),
		Web:         plain("text/html; charset=utf-8", "<!doctype html><title>chat</title>"),
		OpenAPI:     contract, Log: slog.New(slog.DiscardHandler),
	}
	o.MCP = func(user schemas.User) http.Handler { return fakeMCP{w, user} }
	if change != nil {
		change(w, &o)
	}
	ts := httptest.NewUnstartedServer(nil)
	ts.Config = api.NewServer("", api.New(o))
	ts.Config.ConnState = w.conns
	ts.Start()
	t.Cleanup(ts.Close)
	return w, ts
}

// tokens knows the users alice and bob by their names.
type tokens struct{}

func (tokens) Authenticate(_ context.Context, bearer string) (schemas.User, time.Time, error) {
	switch bearer {
	case "alice":
		return alice, time.Time{}, nil
	case "bob":
		return schemas.User{ID: "test|bob", Name: "bob"}, time.Time{}, nil
	case "root":
		return schemas.User{ID: "test|root", Name: "root", Roles: []string{"admin"}}, time.Time{}, nil
	}
	return schemas.User{}, time.Time{}, schemas.NewError(schemas.CodeUnauthorized, "a bearer token is required")
}

// example returns the first example of an operation's answer as a T that takes
// every field of it.
func example[T any](w *testEnv, operation string) (T, error) {
	var v T
	for _, item := range w.Paths.Map() {
		for _, op := range item.Operations() {
			if op.OperationID != operation {
				continue
			}
			for _, ex := range op.Responses.Status(http.StatusOK).Value.Content.Get("application/json").Examples {
				raw, err := json.Marshal(ex.Value.Value)
				if err != nil {
					return v, err
				}
				dec := json.NewDecoder(bytes.NewReader(raw))
				dec.DisallowUnknownFields()
				return v, dec.Decode(&v)
			}
		}
	}
	return v, fmt.Errorf("no operation %s", operation)
}

// owned returns the example to its owner; others get not found.
func owned[T any](w *testEnv, user schemas.User, known bool, operation string) (T, error) {
	var none T
	switch {
	case w.fails != nil:
		return none, w.fails
	case user.ID != alice.ID || !known:
		return none, schemas.ErrNotFound
	}
	return example[T](w, operation)
}

type fakeRuns struct{ *testEnv }

func (f fakeRuns) Run(_ context.Context, user schemas.User, id string) (schemas.Run, error) {
	f.call("Run %s %s", user.Name, id)
	return owned[schemas.Run](f.testEnv, user, id == aRun, "getRun")
}

func (f fakeRuns) ByKey(_ context.Context, user schemas.User, key string) (schemas.Run, error) {
	f.call("ByKey %s %s", user.Name, key)
	list, err := owned[schemas.RunList](f.testEnv, user, key == aKey, "findRun")
	if err != nil {
		return schemas.Run{}, err
	}
	return list.Items[0], nil
}

func (f fakeRuns) Waits(_ context.Context, user schemas.User, id string) ([]schemas.Wait, error) {
	f.call("Waits %s %s", user.Name, id)
	list, err := owned[schemas.WaitList](f.testEnv, user, id == aRun, "getWaits")
	return list.Items, err
}

func (f fakeRuns) CancelAll(_ context.Context, user schemas.User, stored func(), ids ...string) error {
	f.call("CancelAll %s %v", user.Name, ids)
	stored()
	return nil
}

func (f fakeRuns) Cancel(_ context.Context, user schemas.User, id string) (schemas.Run, error) {
	f.call("Cancel %s %s", user.Name, id)
	return owned[schemas.Run](f.testEnv, user, id == aRun, "cancelRun")
}

func (f fakeRuns) Approve(_ context.Context, user schemas.User, id, approval string, a schemas.ApprovalAnswer) (schemas.Run, error) {
	f.call("Approve %s %s %s %v %s", user.Name, id, approval, a.Approved, a.Input)
	return owned[schemas.Run](f.testEnv, user, id == aRun && approval == anApproval, "postApproval")
}

func (f fakeRuns) ToolResult(_ context.Context, user schemas.User, id string, r schemas.ClientToolResult) (schemas.Run, error) {
	f.call("ToolResult %s %s %s %s %v", user.Name, id, r.ToolUseID, r.Output, r.IsError)
	return owned[schemas.Run](f.testEnv, user, id == aRun && r.ToolUseID == "toolu_1", "postToolResult")
}

func (f fakeRuns) Answer(_ context.Context, user schemas.User, id string, list []record.CallAnswer) ([]error, error) {
	f.call("Answer %s %s %v", user.Name, id, list)
	return owned[[]error](f.testEnv, user, id == aRun, "answer")
}

func (f fakeRuns) Diagnostics(_ context.Context, user schemas.User, id string) (schemas.Diagnostics, error) {
	f.call("Diagnostics %s %s", user.Name, id)
	return owned[schemas.Diagnostics](f.testEnv, user, id == aRun, "getDiagnostics")
}

func (f fakeRuns) ToolCall(_ context.Context, user schemas.User, id string, index int) (schemas.ToolCall, error) {
	f.call("ToolCall %s %s %d", user.Name, id, index)
	return owned[schemas.ToolCall](f.testEnv, user, id == aRun && index == 0, "getToolCall")
}

type fakeChats struct{ *testEnv }

func (f fakeChats) List(_ context.Context, user schemas.User, q record.ChatQuery) (schemas.ChatList, error) {
	f.call("List %s %+v", user.Name, q)
	if f.fails == nil && user.ID != alice.ID {
		return schemas.ChatList{}, nil
	}
	return owned[schemas.ChatList](f.testEnv, user, true, "listChats")
}

func (f fakeChats) Get(_ context.Context, user schemas.User, id int64, q record.MessageQuery) (schemas.Chat, error) {
	f.call("Get %s %d %+v", user.Name, id, q)
	return owned[schemas.Chat](f.testEnv, user, id == aChat, "getChat")
}

func (f fakeChats) ByKey(_ context.Context, user schemas.User, key string) (schemas.Chat, error) {
	f.call("ByKey %s %s", user.Name, key)
	return owned[schemas.Chat](f.testEnv, user, key == "my-own-key", "getChat")
}

func (f fakeChats) Patch(_ context.Context, user schemas.User, id int64, p schemas.ChatPatch) (schemas.Chat, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return schemas.Chat{}, err
	}
	f.call("Patch %s %d %s", user.Name, id, raw)
	return owned[schemas.Chat](f.testEnv, user, id == aChat, "patchChat")
}

func (f fakeChats) Versions(_ context.Context, user schemas.User, id int64, message string) (schemas.VersionList, error) {
	f.call("Versions %s %d %s", user.Name, id, message)
	return owned[schemas.VersionList](f.testEnv, user, id == aChat && message == aMessage, "getVersions")
}

func (f fakeChats) SelectVersion(_ context.Context, user schemas.User, id int64, message string) (schemas.Chat, error) {
	f.call("SelectVersion %s %d %s", user.Name, id, message)
	return owned[schemas.Chat](f.testEnv, user, id == aChat && message == aMessage, "selectVersion")
}

func (f fakeChats) Export(_ context.Context, user schemas.User, id int64, format string) (schemas.Chat, iter.Seq2[[]byte, error], error) {
	f.call("Export %s %d %s", user.Name, id, format)
	chat, err := owned[schemas.Chat](f.testEnv, user, id == aChat, "getChat")
	return chat, func(yield func([]byte, error) bool) {
		if yield([]byte("# "+chat.Title+"\n"), nil) && f.breaks != nil {
			yield(nil, f.breaks)
		}
	}, err
}

func (f fakeChats) Delete(_ context.Context, user schemas.User, id int64) error {
	f.call("Delete %s %d", user.Name, id)
	_, err := owned[schemas.Chat](f.testEnv, user, id == aChat, "getChat")
	return err
}

func (f fakeChats) Payload(_ context.Context, user schemas.User, id int64, payload string) (schemas.CustomPayload, error) {
	f.call("Payload %s %d %s", user.Name, id, payload)
	return owned[schemas.CustomPayload](f.testEnv, user, id == aChat && payload == aPayload, "getPayload")
}

func (f fakeChats) Resolve(_ context.Context, user schemas.User, id int64, payload, outcome string) (schemas.CustomPayload, error) {
	f.call("Resolve %s %d %s %s", user.Name, id, payload, outcome)
	return owned[schemas.CustomPayload](f.testEnv, user, id == aChat && payload == aPayload, "resolvePayload")
}

func (f fakeChats) SetFeedback(_ context.Context, user schemas.User, id int64, message string, b schemas.Feedback) (schemas.Message, error) {
	f.call("SetFeedback %s %d %s %+v", user.Name, id, message, b)
	return owned[schemas.Message](f.testEnv, user, id == aChat && message == aMessage, "postFeedback")
}

type fakeResearch struct{ *testEnv }

func (f fakeResearch) Streams(context.Context) ([]schemas.Stream, error) {
	l, err := owned[schemas.StreamList](f.testEnv, alice, true, "listStreams")
	return l.Items, err
}

func (f fakeResearch) Stream(_ context.Context, id int64) (schemas.Stream, error) {
	f.call("Stream %d", id)
	return owned[schemas.Stream](f.testEnv, alice, id == 1, "getResearchStream")
}

func (f fakeResearch) UpdateStream(_ context.Context, user schemas.User, id int64, u schemas.StreamUpdate) (schemas.Stream, error) {
	f.call("UpdateStream %s %d %s", user.Name, id, u.Schema)
	return owned[schemas.Stream](f.testEnv, alice, id == 1, "putResearchStream")
}

func (f fakeResearch) Reports(_ context.Context, stream int64) ([]schemas.Report, error) {
	f.call("Reports %d", stream)
	l, err := owned[schemas.ReportList](f.testEnv, alice, true, "listReports")
	return l.Items, err
}

func (f fakeResearch) Report(_ context.Context, id int64) (schemas.Report, error) {
	f.call("Report %d", id)
	return owned[schemas.Report](f.testEnv, alice, id == 1, "getReport")
}

type fakePages struct{ *testEnv }

func (f fakePages) List() []schemas.Page {
	l, err := example[schemas.PageList](f.testEnv, "listPages")
	if err != nil {
		f.t.Error(err)
	}
	return l.Items
}

func (f fakePages) Page(name string) (schemas.Page, bool) {
	p, err := example[schemas.Page](f.testEnv, "getPage")
	if err != nil {
		f.t.Error(err)
	}
	return p, strings.Contains("edit_stream edit_research_stream orders/open:1", name)
}

func (f fakePages) Tools(page, tab, subtab string, user schemas.User) ([]schemas.Tool, error) {
	f.call("Tools %s/%s/%s %s", page, tab, subtab, user.Name)
	l, err := owned[schemas.ToolList](f.testEnv, alice, true, "listTools")
	return l.Items, err
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request as alice, unless header says otherwise ("-" removes).
func send(t *testing.T, base, method, path, body string, header ...string) (answer, *http.Request) {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, base+path, r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice")
	req.Header.Set("X-Request-Id", "test-1")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i+1] == "-" {
			req.Header.Del(header[i])
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, got}, req
}

// problem returns the problem of an answer, which must be one.
func (a answer) problem(t *testing.T) schemas.Problem {
	t.Helper()
	var p schemas.Problem
	if code := a.header.Get("X-Error-Code"); code != "" { // a wire sends only the sentence, or OpenAI's form
		p = schemas.Problem{Status: a.status, Code: schemas.Code(code), Detail: strings.TrimSpace(string(a.body))}
		var v struct{ Error struct{ Message string } }
		if json.Unmarshal(a.body, &v) == nil {
			p.Detail = v.Error.Message
		}
		return p
	}
	if kind := a.header.Get("Content-Type"); kind != "application/problem+json" {
		t.Errorf("the answer %d is %s, want application/problem+json: %s", a.status, kind, a.body)
		return p
	}
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Errorf("the problem is no JSON: %v", err)
	}
	if p.Status != a.status || p.RequestID != a.header.Get("X-Request-Id") || p.Title != http.StatusText(a.status) {
		t.Errorf("the problem does not fit its answer (status %d, header %v): %s", a.status, a.header, a.body)
	}
	return p
}
