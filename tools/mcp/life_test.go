//go:build unix

package mcp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/mcp"
	"github.com/chattray/chattray/tools/mcp/logtest"
)

func TestDeathOfALocalServer(t *testing.T) {
	w := newTestEnv(t, nil, local(t, "srv"))
	w.await("MCP server is connected")
	slow := make(chan error, 1)
	begun := make(chan struct{})
	run := w.tool("srv__slow").Run
	go func() {
		_, err := run(t.Context(), &tools.Call{Report: func(turn.Progress) { close(begun) }})
		slow <- err
	}()
	<-begun
	_, err := w.call("srv__die", "")
	for _, err := range []error{err, <-slow} {
		const told = "the server srv disconnected during the call; whether the call had an effect is unknown"
		if got := visible(err); got != told {
			t.Errorf("got %q", got)
		}
		if cause := err.Error(); !strings.Contains(cause, told+" (") { // its caller logs it
			t.Errorf("the error %q has no cause", cause)
		}
	}
	if line := w.await("MCP"); !strings.Contains(line, "MCP server is not connected") || !strings.Contains(line, "retry_in") {
		t.Errorf("logged %q, want nothing of the calls, whose caller logs them", line)
	}
	w.await("MCP server is connected")
	if got := w.text("srv__greet", `{"name":"again"}`); got != "Hello again" {
		t.Errorf("got %q", got)
	}
}

func TestDeathOfARemoteServer(t *testing.T) {
	for name, o := range map[string]*sdk.StreamableHTTPOptions{"with sessions": nil, "without sessions": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			server := serveRemote(t, o)
			w := newTestEnv(t, nil, server.named("srv"))
			w.await("MCP server is connected")
			server.close()
			if _, err := w.call("srv__greet", `{"name":"x"}`); !strings.Contains(visible(err), "the server srv ") {
				t.Errorf("got %v", err)
			}
			line := w.await("MCP server is not connected")
			if strings.Contains(line, "/mcp") {
				t.Errorf("the log shows the URL: %s", line)
			}
			if _, err := w.call("srv__greet", `{"name":"x"}`); !strings.Contains(visible(err), "cannot be reached now") {
				t.Errorf("while the server is down: got %v", err)
			}
			server.start()
			w.await("MCP server is connected")
			if got := w.text("srv__greet", `{"name":"again"}`); got != "Hello again" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestServersThatAreDownDoNotStopTheStart(t *testing.T) {
	hung := make(chan struct{})
	silent := serveRemote(t, nil)
	silent.handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hung:
		case <-r.Context().Done():
		}
	})
	w := newTestEnv(t, func(o *mcp.Options) { o.Connect = 100 * time.Millisecond },
		mcp.Server{Name: "missing", Command: "/no/such/program"},
		mcp.Server{Name: "wrong", Command: "/bin/cat"},
		mcp.Server{Name: "ends", Command: "/bin/true"},
		mcp.Server{Name: "away", URL: "http://127.0.0.1:1/mcp"},
		silent.named("silent"))
	close(hung)
	if w.names() != "" {
		t.Errorf("there are tools: %s", w.names())
	}
	for _, name := range []string{"missing", "wrong", "ends", "away", "silent"} {
		w.await("MCP server is not connected", "mcp_server="+name)
	}
}

// The log says why a program does not come up: its exit status, and what it wrote.
func TestProgramThatFailsAtItsStart(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	w := newTestEnv(t, nil, mcp.Server{
		Name: "srv", Command: shell, Env: []string{"API_KEY=of-the-operator", "CREDENTIALS=of-the\noperator-too"},
		Args: []string{"-c", `printf '%0195d%s\n' 0 "$API_KEY" >&2; echo "$CREDENTIALS" >&2; echo "Error: $API_KEY is refused" >&2; echo "at line 7" >&2; exit 3`},
	})
	line := w.await("MCP server is not connected", "the program ended with exit status 3", "is refused\nat line 7")
	if strings.Contains(line, "of-t") || strings.Contains(line, "operator") {
		t.Errorf("a secret is in the log: %s", line)
	}
}

func TestProcessesEndWithTheService(t *testing.T) {
	w := newTestEnv(t, nil, local(t, "srv"))
	pids := strings.Fields(w.text("srv__child", ""))
	w.stop()
	if len(pids) == 0 {
		t.Error("the server names no process")
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if ended := gone(pid); !ended {
			t.Errorf("process %d of %v is still there", pid, pids)
		}
	}
}

// gone waits until a process has ended; a zombie that its new parent has not
// collected counts.
func gone(pid int) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(logtest.Patience); time.Now().Before(late); <-tick.C {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if _, after, ok := strings.Cut(string(stat), ") "); err != nil || ok && strings.HasPrefix(after, "Z") {
			return true
		}
	}
	return false
}

func TestStubbornProcessIsKilled(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	w := newTestEnv(t, func(o *mcp.Options) {
		o.Connect = 50 * time.Millisecond // a shell that comes up later is started again
	},
		mcp.Server{Name: "ignores_term", Command: shell, Args: []string{"-c", "trap '' TERM; echo $$ >&2; while :; do read x || :; done"}})
	line := w.await("MCP server says", "line=")
	pid, err := strconv.Atoi(strings.Fields(line[strings.Index(line, "line=")+len("line="):])[0])
	if err != nil {
		t.Fatal(err)
	}
	if !gone(pid) {
		t.Errorf("process %d is still there", pid)
	}
}

func TestServersGetNoEnvironmentOfOurs(t *testing.T) {
	t.Setenv("CHATTRAY_TEST_SECRET", "ours")
	server := local(t, "srv")
	server.Env = append(server.Env, "TEAM=theirs")
	w := newTestEnv(t, nil, server)
	if got := w.text("srv__environment", ""); got != asServer+"=1 "+noWait+" TEAM=theirs" {
		t.Errorf("the process has the environment %q", got)
	}
	if line := w.await("MCP server says"); !strings.Contains(line, "line=the server is[31m up") {
		t.Errorf("its errors are logged as %q", line)
	}
}

// The model does not read what is secret in a server's environment.
func TestEnvironmentThatIsRepeated(t *testing.T) {
	server := local(t, "srv")
	server.Env = append(server.Env, "API_KEY=of-the-operator", "SMTP_PASS=operators-mail", "MYSQL_PWD=operators-tables", "TOOLSETS=the-tools")
	w := newTestEnv(t, nil, server)
	if got := w.text("srv__environment", ""); strings.Contains(got, "operator") || !strings.Contains(got, "the-tools") {
		t.Errorf("the model reads %q", got)
	}
}

// A server that repeats the headers of a request shows neither the model nor the page the
// secrets in them; those that are no secrets stay.
func TestHeadersThatAreRepeated(t *testing.T) {
	repeated := `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"Bearer of-the-operator, the tools"}],"structuredContent":{"seen":["of-the-operator","the tools"]}}}`
	s := &rawServer{tools: map[string]rawTool{
		"echo": writes(http.StatusOK, "application/json", repeated),
		"fail": writes(http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"not for of-the-operator"}}`),
		"bad":  writes(http.StatusBadGateway, "text/plain", "not for of-the-operator"),
	}}
	remote := serveRemote(t, nil)
	remote.handler = s
	server := remote.named("srv")
	server.Headers["X-Toolsets"] = "the tools"
	w := newTestEnv(t, nil, server)
	got, err := w.call("srv__echo", "")
	if err != nil || got.Payload == nil {
		t.Fatal(got, err)
	}
	if all := got.Text + string(got.Payload.Data); strings.Contains(all, "operator") || strings.Count(got.Text, "the tools") == 0 || !strings.Contains(all, `["[redacted]","the tools"]`) {
		t.Errorf("the result has %s", all)
	}
	for _, name := range []string{"srv__fail", "srv__bad"} {
		if got, err := w.call(name, ""); strings.Contains(fmt.Sprint(got.Text, err), "operator") {
			t.Errorf("%s: got %q, %v", name, got.Text, err)
		}
	}
}

// The secrets in a server's URL are hidden: the user and the password, which are sent in a
// header, and parameters.
func TestSecretsOfTheURLThatAreRepeated(t *testing.T) {
	remote := serveRemote(t, nil)
	remote.handler = &rawServer{tools: map[string]rawTool{"echo": func(w http.ResponseWriter, r *http.Request, id string) {
		_, password, _ := r.BasicAuth()
		said := strings.Join([]string{r.Header.Get("Authorization"), password, r.URL.Query().Get("shopKey"), r.URL.Query().Get("team")}, " ")
		writes(http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"`+said+`"}]}}`)(w, r, id)
	}}}
	server := remote.named("srv")
	server.Headers, server.URL = nil, strings.Replace(server.URL, "://", "://shop:of-the-operator@", 1)+"?shopKey=key-of-the-operator&team=sellers"
	w := newTestEnv(t, nil, server)
	if got := w.text("srv__echo", ""); !strings.Contains(got, "Basic [redacted] [redacted] [redacted] sellers") {
		t.Errorf("the model reads %q", got)
	}
}

// A server that repeats the headers in its list of tools.
func TestHeadersThatAreRepeatedInADefinition(t *testing.T) {
	remote := serveRemote(t, nil)
	remote.handler = &rawServer{list: `{"name":"echo","description":"Echoes for of-the-operator.","inputSchema":{"type":"object","properties":{"word":{"type":"string","description":"not of-the-operator"}}}}`}
	tool := newTestEnv(t, nil, remote.named("srv")).tool("srv__echo")
	if read := tool.Description + string(tool.InputSchema); strings.Contains(read, "operator") || !strings.Contains(read, "Echoes for [redacted].") || !strings.Contains(read, `"not [redacted]"`) {
		t.Errorf("the model reads %s", read)
	}
}

// A server that repeats the headers when it refuses the handshake or the list shows their
// secrets neither in the log nor to an operator.
func TestHeadersThatAreRepeatedBeforeACall(t *testing.T) {
	for _, method := range []string{"initialize", "tools/list"} {
		t.Run(method, func(t *testing.T) {
			remote := serveRemote(t, nil)
			known := remote.handler
			remote.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				var m struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
				}
				if _ = json.Unmarshal(body, &m); m.Method != method && m.Method != "server/discover" {
					known.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":%q}}`, m.ID, "refused: "+r.Header.Get("Authorization"))
			})
			w := newTestEnv(t, nil, remote.named("srv"))
			line := w.await("MCP server is not connected", "refused")
			if shown := line + w.clients.State()[0].Error; strings.Contains(shown, "operator") {
				t.Errorf("a secret is shown: %s", shown)
			}
		})
	}
}

// The lines of a local server in the log have no secrets, on both its outputs.
func TestLinesWithSecrets(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	w := newTestEnv(t, nil, mcp.Server{
		Name: "srv", Command: shell, Env: []string{"API_KEY=of-the-operator"},
		Args: []string{"-c", `echo "begins with $API_KEY" >&2; echo "has $API_KEY"`},
	})
	for _, parts := range [][]string{{"MCP server says", "begins with"}, {"is not a message", "has"}} {
		if line := w.await(parts...); strings.Contains(line, "operator") {
			t.Errorf("a secret is in the log: %s", line)
		}
	}
}

func TestHeadersGoToTheServerOnly(t *testing.T) {
	elsewhere := serveRemote(t, nil)
	server := serveRemote(t, nil)
	own := server.handler
	redirect := false
	server.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if redirect && r.Method == http.MethodPost {
			http.Redirect(w, r, "http://"+elsewhere.addr+"/mcp", http.StatusTemporaryRedirect)
			return
		}
		own.ServeHTTP(w, r)
	})
	w := newTestEnv(t, nil, server.named("srv"))
	w.text("srv__greet", `{"name":"x"}`)
	server.mu.Lock()
	for _, h := range server.headers {
		if h.Get("Authorization") != "Bearer of-the-operator" || h.Get("X-Team") != "a" {
			t.Errorf("a request has the headers %v", h)
		}
	}
	redirect = true
	server.mu.Unlock()
	if _, err := w.call("srv__greet", `{"name":"x"}`); err == nil {
		t.Error("a redirect to another origin was followed, want it refused")
	}
	elsewhere.mu.Lock()
	defer elsewhere.mu.Unlock()
	if len(elsewhere.headers) > 0 {
		t.Errorf("the other origin got %v", elsewhere.headers)
	}
}

// A message that breaks the protocol ends the connection. The calls are not refused: nobody
// knows what they did.
func TestBrokenMessageIsNoRefusal(t *testing.T) {
	server := local(t, "srv")
	server.Env = append(server.Env, asNoise+"=1")
	w := newTestEnv(t, nil, server)
	for range 20 { // either end of the call may come first
		w.await("MCP server is connected")
		result, err := w.call("srv__break", "{}")
		if err == nil || !strings.HasSuffix(visible(err), "whether the call had an effect is unknown") {
			t.Fatalf("got %+v, %v", result, err)
		}
	}
}
