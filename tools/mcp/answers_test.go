package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/mcp/transport"
)

// rawServer is a remote server with sessions whose tools write their HTTP answers themselves.
type rawServer struct {
	tools map[string]rawTool
	// resume answers the request that opens a call's stream again.
	resume func(w http.ResponseWriter, r *http.Request)
	// own answers the request for the server's own stream, if it is not nil.
	own func(w http.ResponseWriter, r *http.Request)
	// notified answers notifications, if it is not nil.
	notified func(w http.ResponseWriter)
	// list is the list of tools, if it is not empty.
	list string
	// listed gets the time of each request for the list of tools, if it is not nil.
	listed chan time.Time
	// refused makes the server refuse every request but those of a call.
	refused atomic.Bool

	sessions atomic.Int64
	mu       sync.Mutex
	live     string // the id of the live session
}

// rawTool writes the HTTP response to a call of the tool. The id is the JSON-RPC id of the call.
type rawTool func(w http.ResponseWriter, r *http.Request, id string)

func writes(status int, kind, body string) rawTool {
	return func(w http.ResponseWriter, _ *http.Request, id string) {
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", id))
	}
}

func rawResult(text string) string {
	return `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"` + text + `"}]}}`
}

// ServeHTTP implements http.Handler.
func (s *rawServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		if r.Header.Get("Last-Event-ID") != "" {
			s.resume(w, r)
			return
		}
		if s.own != nil && r.Method == http.MethodGet {
			s.own(w, r)
			return
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name, ProtocolVersion string }
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer := func(body string) { writes(http.StatusOK, "application/json", body)(w, r, string(m.ID)) }
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.Method == "tools/call":
		s.mu.Unlock()
		s.tools[m.Params.Name](w, r, string(m.ID))
		s.mu.Lock()
	case s.refused.Load():
		w.WriteHeader(http.StatusUnauthorized)
	case m.Method == "initialize":
		s.live = fmt.Sprint("session-", s.sessions.Add(1))
		w.Header().Set("Mcp-Session-Id", s.live)
		answer(`{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"` + m.Params.ProtocolVersion + `","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}}`)
	case len(m.ID) == 0 && m.Method == "notifications/cancelled" && s.notified != nil:
		s.notified(w)
	case len(m.ID) == 0:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/list":
		if s.listed != nil {
			s.listed <- time.Now()
		}
		var list []string
		for _, name := range slices.Sorted(maps.Keys(s.tools)) {
			list = append(list, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
		}
		if s.list != "" {
			list = []string{s.list}
		}
		answer(`{"jsonrpc":"2.0","id":ID,"result":{"tools":[` + strings.Join(list, ",") + `]}}`)
	default:
		answer(`{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no such method"}}`)
	}
}

// raw connects to a server with the given tools besides ok, which answers, and long, which
// answers after release is called.
func raw(t *testing.T, s *rawServer) (w *testEnv, release func()) {
	t.Helper()
	released := make(chan struct{})
	s.tools["ok"] = writes(http.StatusOK, "application/json", rawResult("fine"))
	s.tools["long"] = func(w http.ResponseWriter, r *http.Request, id string) {
		writes(http.StatusOK, "text/event-stream", ": begun\n\n"+
			`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"1","progress":1,"message":"begun"}}`+"\n\n")(w, r, id)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-released:
			_, _ = io.WriteString(w, "data: "+strings.ReplaceAll(rawResult("done"), "ID", id)+"\n\n")
		case <-r.Context().Done():
		}
	}
	remote := serveRemote(t, nil)
	remote.handler = s
	release = sync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	return newTestEnv(t, nil, remote.named("srv")), release
}

// badAnswers are the answers to a call that cannot be used, by tool, and what the model reads
// of them.
var badAnswers = map[string]struct {
	answer rawTool
	resume rawTool // also called when the stream is opened again
	want   string
}{
	"html":        {writes(200, "text/html; charset=utf-8", "<html>login</html>"), nil, "(status 200, text/html)"},
	"no_type":     {writes(202, "", ""), nil, "(status 202, no content type)"},
	"broken_json": {writes(200, "application/json", `{"jsonrpc":`), nil, "(status 200, application/json: it is not a JSON-RPC message)"},
	"other_id":    {writes(200, "application/json", `{"jsonrpc":"2.0","id":"other","result":{}}`), nil, "(status 200, application/json: it is not an answer to the call)"},
	"request":     {writes(200, "application/json", `{"jsonrpc":"2.0","id":ID,"method":"ping"}`), nil, "(status 200, application/json: it is not an answer to the call)"},
	"too_large":   {writes(200, "application/json", `{"a":"`+strings.Repeat("x", transport.MaxMessage)), nil, "(status 200, application/json: the answer is too large)"},
	"s400":        {writes(400, "application/json", `{"error":"secret trace"}`), nil, "(status 400, application/json)"},
	"s401":        {writes(401, "text/plain", "secret trace"), nil, "(status 401, text/plain)"},
	"s403":        {writes(403, "", ""), nil, "(status 403, no content type)"},
	"s429":        {writes(429, "text/plain", "secret trace"), nil, "(status 429, text/plain)"},
	"s500":        {writes(500, "text/plain", "secret trace"), nil, "(status 500, text/plain)"},
	"s503":        {writes(503, "text/html", "secret trace"), nil, "(status 503, text/html)"},
	"elsewhere": {func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, "http://127.0.0.2:1/mcp", http.StatusTemporaryRedirect)
	}, nil, "(status 307, no content type: it redirects to another address)"},
	"around": {func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, "/mcp", http.StatusTemporaryRedirect)
	}, nil, "(status 307, no content type: too many redirects)"},
	"cut_event":    {writes(200, "text/event-stream", `data: {"jsonrpc"`), nil, "(status 200, text/event-stream: it ended before the call was answered)"},
	"no_event":     {writes(200, "text/event-stream", "<html>\n<p>\n\n</html>\n\n"), nil, "(status 200, text/event-stream: it ended before the call was answered)"},
	"broken_event": {writes(200, "text/event-stream", "data: {}\n\n"), nil, "(status 200, text/event-stream: it is not a JSON-RPC message)"},
	"large_event":  {writes(200, "text/event-stream", "id: 1\n\ndata: "+strings.Repeat("x", transport.MaxMessage)), nil, "(status 200, text/event-stream: the answer is too large)"},
	"not_resumed": {
		writes(200, "text/event-stream", "id: 1\nretry: 1\n\n"), writes(405, "", ""), "(status 405, no content type)",
	},
	"never_ends": {
		writes(200, "text/event-stream", "id: 1\nretry: 1\n\n"), writes(200, "text/event-stream", "id: 1\nretry: 1\n\n"),
		"(status 200, text/event-stream: it ended before the call was answered)",
	},
}

// A bad answer to a call of a remote server ends only that call. The log has the cause.
func TestBadAnswerEndsOnlyItsCall(t *testing.T) {
	for name, tt := range badAnswers {
		t.Run(name, func(t *testing.T) {
			s := &rawServer{tools: map[string]rawTool{"bad": tt.answer}, resume: func(w http.ResponseWriter, r *http.Request) { tt.resume(w, r, "") }}
			w, release := raw(t, s)
			begun, long := make(chan struct{}), make(chan string, 1)
			run := w.tool("srv__long").Run
			go func() {
				got, err := run(t.Context(), &tools.Call{Report: func(turn.Progress) { close(begun) }})
				long <- fmt.Sprint(got.Text, " ", err)
			}()
			<-begun
			_, err := w.call("srv__bad", "")
			got := visible(err)
			if !strings.HasPrefix(got, "the server srv gave an answer that cannot be used "+tt.want) ||
				!strings.HasSuffix(got, "; whether the call had an effect is unknown") || strings.Contains(got, "secret") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if cause := fmt.Sprint(err); !strings.Contains(cause, "status") || strings.Contains(cause, "secret") { // its caller logs it
				t.Errorf("the cause is %q", cause)
			}
			if got := w.text("srv__ok", ""); got != "fine" {
				t.Errorf("the next call: got %q", got)
			}
			release()
			if got := <-long; got != "done <nil>" {
				t.Errorf("another call: got %q", got)
			}
			if n := s.sessions.Load(); n != 1 {
				t.Errorf("there were %d sessions, want 1", n)
			}
		})
	}
}

// The answers that the library takes: an error with any status, and a stream that is opened
// again.
func TestAnswersOfARawServer(t *testing.T) {
	refusal := `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"nope"}}`
	for name, tt := range map[string]struct {
		answer rawTool
		want   string
	}{
		"error":            {writes(200, "application/json", refusal), "the server srv refused the call: nope"},
		"error with 400":   {writes(400, "application/json", refusal), "the server srv refused the call: nope"},
		"error with 404":   {writes(404, "application/json", refusal), "the server srv refused the call: nope"},
		"error with 500":   {writes(500, "application/json", refusal), "the server srv refused the call: nope"},
		"lines with CRLF":  {writes(200, "text/event-stream", "event: message\r\ndata: "+rawResult("hi")+"\r\n\r\n"), "hi"},
		"an empty event":   {writes(200, "text/event-stream", "id: 1\ndata: \n\ndata: "+rawResult("hi")+"\n\n"), "hi"},
		"lines of no type": {writes(200, "text/event-stream", "data\nhm\nevent: other\ndata: x\n\ndata: "+rawResult("hi")+"\n\n"), "hi"},
		"more after it":    {writes(200, "text/event-stream", "data: "+rawResult("hi")+"\n\ndata: {}\n\n"), "hi"},
		"another session": {func(w http.ResponseWriter, r *http.Request, id string) {
			w.Header().Set("Mcp-Session-Id", "another")
			writes(200, "application/json", rawResult("hi"))(w, r, id)
		}, "hi"},
		"resumed": {writes(200, "text/event-stream", "id: ID\nretry: 1\n\nid: half"), "resumed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &rawServer{tools: map[string]rawTool{"it": tt.answer}, resume: func(w http.ResponseWriter, r *http.Request) {
				writes(200, "text/event-stream", "data: "+rawResult("resumed")+"\n\n")(w, r, r.Header.Get("Last-Event-ID"))
			}}
			w, _ := raw(t, s)
			got, err := w.call("srv__it", "")
			if err != nil || got.Text != tt.want {
				t.Errorf("got %q, %v, want %q", got.Text, err, tt.want)
			}
			if n := s.sessions.Load(); n != 1 {
				t.Errorf("there were %d sessions, want 1", n)
			}
		})
	}
}

// An answer of the right form that is not a result of a tool is not called a lost connection.
func TestAnswerThatIsNoResult(t *testing.T) {
	number := `{"content":7}`
	server := local(t, "srv")
	server.Env = append(server.Env, asMangler+"="+number)
	onHTTP := &rawServer{tools: map[string]rawTool{
		"mangle": writes(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":`+number+`}`),
	}}
	onStream := &rawServer{tools: map[string]rawTool{
		"mangle": writes(200, "text/event-stream", `data: {"jsonrpc":"2.0","id":ID,"result":`+number+"}\n\n"),
	}}
	for name, open := range map[string]func() *testEnv{
		"stdio":      func() *testEnv { return newTestEnv(t, nil, server) },
		"HTTP":       func() *testEnv { w, _ := raw(t, onHTTP); return w },
		"SSE stream": func() *testEnv { w, _ := raw(t, onStream); return w },
	} {
		t.Run(name, func(t *testing.T) {
			w := open()
			_, err := w.call("srv__mangle", "")
			if got := visible(err); got != "the server srv gave an answer that is not a tool's result; whether the call had an effect is unknown" {
				t.Errorf("got %q", got)
			}
			if cause := fmt.Sprint(err); !strings.Contains(cause, "cannot unmarshal") {
				t.Errorf("the cause is %q", cause)
			}
		})
	}
}

// 404 for a session means that it has expired: there is a new one, whatever the body says.
func TestExpiredSession(t *testing.T) {
	for name, body := range map[string]string{"text": "gone", "JSON-RPC error": `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"expired"}}`} {
		t.Run(name, func(t *testing.T) {
			w, _ := raw(t, &rawServer{tools: map[string]rawTool{"expired": func(w http.ResponseWriter, r *http.Request, id string) {
				if r.Header.Get("Mcp-Session-Id") == "session-1" {
					writes(404, "application/json", body)(w, r, id)
					return
				}
				writes(200, "application/json", rawResult("new"))(w, r, id)
			}}})
			w.await("MCP server is connected")
			if _, err := w.call("srv__expired", ""); err == nil {
				t.Error("a call of an expired session succeeded, want an error")
			}
			w.await("MCP server is connected")
			if got := w.text("srv__expired", ""); got != "new" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// A server that takes the headers no longer is not connected, as the state says.
func TestHeadersThatAreNoLongerTaken(t *testing.T) {
	s := &rawServer{tools: map[string]rawTool{"bad": writes(401, "text/plain", "")}}
	w, _ := raw(t, s)
	s.refused.Store(true)
	if _, err := w.call("srv__bad", ""); !strings.Contains(visible(err), "(status 401, text/plain)") {
		t.Errorf("got %v", err)
	}
	w.await("MCP server is not connected", "Unauthorized")
	if got := w.clients.State()[0]; got.Connected || !strings.Contains(got.Error, "Unauthorized") {
		t.Errorf("the state is %+v", got)
	}
}

// A bad answer to the notice that a call was cancelled ends nothing.
func TestBadAnswerToACancellation(t *testing.T) {
	answered := make(chan struct{})
	s := &rawServer{tools: map[string]rawTool{}, notified: func(w http.ResponseWriter) {
		defer close(answered)
		writes(403, "text/html", "<html>")(w, nil, "")
	}}
	w, _ := raw(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := w.tool("srv__long").Run(ctx, &tools.Call{Report: func(turn.Progress) { cancel() }}); err == nil {
		t.Error("a cancelled call succeeded, want an error")
	}
	<-answered
	for range 2 { // the second one comes after the answer has been read
		if got := w.text("srv__ok", ""); got != "fine" {
			t.Errorf("got %q", got)
		}
	}
	if n := s.sessions.Load(); n != 1 {
		t.Errorf("there were %d sessions, want 1", n)
	}
}

// A result with a part that cannot be read keeps the others, and the model reads what is
// missing.
func TestPartsThatCannotBeRead(t *testing.T) {
	const video = "[a part of the type video was left out: it cannot be read here]"
	for name, tt := range map[string]struct{ result, want string }{
		"an unknown type":               {`{"content":[{"type":"text","text":"So."},{"type":"video","data":"x"},{"type":"text","text":"Yes."}]}`, "So.\n\n" + video + "\n\nYes."},
		"an unknown type alone":         {`{"content":[{"type":"video"}]}`, video},
		"an unknown type with text":     {`{"content":[{"type":"video","text":"A cat."}]}`, video + "\n\nA cat."},
		"an unknown type and structure": {`{"content":[{"type":"video"}],"structuredContent":{"a":1}}`, video + "\n\n" + `{"a":1}`},
		"an unknown type in an error":   {`{"isError":true,"content":[{"type":"video"},{"type":"text","text":"no luck"}]}`, video + "\n\nno luck"},
		"no type":                       {`{"content":[{"type":"text","text":"So."},{},null,7]}`, "So." + strings.Repeat("\n\n[a part without a type was left out]", 3)},
		"an odd field":                  {`{"content":[{"type":"text","text":"So."},{"type":"image","data":7}]}`, "So.\n\n[a part of the type image was left out: it cannot be read here]"},
		"text with odd annotations":     {`{"content":[{"type":"text","text":"So.","annotations":{"audience":"user"}}],"_meta":[]}`, "So."},
		"many":                          {`{"content":[` + strings.Repeat(`{"type":"text","text":"a"},`, 1_000) + `{"type":"video"}]}`, strings.Repeat("a\n\n", 1_000) + "[the result has more than 1000 parts; the rest was left out]"},
		"content that is a part":        {`{"content":{"type":"text","text":"So."}}`, "So."},
		"content that is text":          {`{"content":"So."}`, "So."},
		"a call as content":             {`{"content":[{"type":"text","text":"So."},{"type":"tool_use","id":"1","name":"f","input":{}}]}`, "So.\n\n[a part that is no result of a tool was left out]"},
		"structure without content":     {`{"structuredContent":{"a":1}}`, `{"a":1}`},
		"structure and an image":        {`{"content":[{"type":"image","mimeType":"image/png","data":"cG5n"}],"structuredContent":{"a":1}}`, "[an image of type image/png and 3 bytes, shown to the user]\n\n" + `{"a":1}`},
		"structure and a link":          {`{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}],"structuredContent":{"a":1}}`, "[link to a resource, a, file:///a]\n\n" + `{"a":1}`},
		"structure and text":            {`{"content":[{"type":"text","text":"one"}],"structuredContent":{"a":1}}`, "one"},
		"audio":                         {`{"content":[{"type":"audio","mimeType":"audio/wav","data":"d2F2"}]}`, "[audio, audio/wav, 3 bytes]"},
		"a resource without content":    {`{"content":[{"type":"resource"}]}`, "[a resource without content]"},
		"nothing":                       {`{"content":[]}`, "The tool returned no content."},
		"an error with nothing in it":   {`{"content":[],"isError":true}`, "The tool failed and did not say why."},
		"an error with structure":       {`{"isError":true,"structuredContent":{"a":1}}`, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			message := `{"jsonrpc":"2.0","id":ID,"result":` + tt.result + `}`
			server := local(t, "srv")
			server.Env = append(server.Env, asMangler+"="+tt.result)
			w, _ := raw(t, &rawServer{tools: map[string]rawTool{
				"json":   writes(200, "application/json", message),
				"stream": writes(200, "text/event-stream", "data: "+message+"\n\n"),
			}})
			stdio := newTestEnv(t, nil, server)
			for how, call := range map[string]func() (tools.Result, error){
				"stdio":      func() (tools.Result, error) { return stdio.call("srv__mangle", "") },
				"HTTP":       func() (tools.Result, error) { return w.call("srv__json", "") },
				"SSE stream": func() (tools.Result, error) { return w.call("srv__stream", "") },
			} {
				got, err := call()
				if err != nil || got.Text != tt.want || got.IsError != strings.Contains(tt.result, "isError") {
					t.Errorf("%s: got %q, error %t, %v; want %q", how, got.Text, got.IsError, err, tt.want)
				}
			}
		})
	}
}
