package endtoend

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/porttest"
)

// proxyProgram is a proxy program with its snippet in docs/operating.md.
type proxyProgram struct {
	program, language string
	// config makes a whole file of the snippet, and args are those with which
	// the program runs it in the foreground.
	config func(snippet, listen, dir string) string
	args   func(file, dir string) []string
	// cuts is true for a proxy in Go: it may cut a response that begins before it has
	// seen the end of the request's body (https://go.dev/issue/40747).
	cuts bool
}

var proxyPrograms = []proxyProgram{
	{
		program: "nginx", language: "nginx",
		config: func(snippet, listen, dir string) string {
			user := ""
			if os.Geteuid() == 0 {
				user = "user root;" // of a test's folders
			}
			return fmt.Sprintf("%s daemon off; pid %s/pid; error_log stderr;\nevents {}\nhttp {\naccess_log off; client_body_temp_path %[2]s/body; proxy_temp_path %[2]s/proxy;\n"+
				"fastcgi_temp_path %[2]s/fastcgi; uwsgi_temp_path %[2]s/uwsgi; scgi_temp_path %[2]s/scgi;\nserver { listen %[3]s;\n%[4]s}\n}\n", user, dir, listen, snippet)
		},
		args: func(file, dir string) []string { return []string{"-p", dir, "-c", file, "-e", "stderr"} },
	},
	{
		program: "haproxy", language: "haproxy",
		config: func(snippet, listen, _ string) string {
			return regexp.MustCompile(`bind .*`).ReplaceAllString(snippet, "bind "+listen)
		},
		args: func(file, _ string) []string { return []string{"-db", "-f", file} },
	},
	{
		program: "caddy", language: "caddyfile",
		config: func(snippet, listen, _ string) string {
			return "{\nadmin off\nauto_https off\n}\n" + strings.ReplaceAll(snippet, "chat.example", "http://"+listen)
		},
		args: func(file, _ string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} },
		cuts: true,
	},
	{
		program: "apache2", language: "apache",
		config: func(snippet, listen, dir string) string {
			user := ""
			if os.Geteuid() == 0 {
				user = "User nobody\nGroup nogroup\n"
			}
			var b strings.Builder
			for _, module := range []string{"mpm_event", "authz_core", "proxy", "proxy_http"} {
				fmt.Fprintf(&b, "LoadModule %s_module /usr/lib/apache2/modules/mod_%[1]s.so\n", module)
			}
			fmt.Fprintf(&b, "ServerRoot %s\nPidFile %[1]s/pid\nDefaultRuntimeDir %[1]s\n%[4]sMutex fcntl:%[1]s default\nServerName localhost\nListen %s\nErrorLog /dev/stderr\n"+
				"<VirtualHost *>\n%s</VirtualHost>\n", dir, listen, snippet, user)
			return b.String()
		},
		args: func(file, _ string) []string { return []string{"-X", "-f", file} },
	},
}

// startProxy runs a proxy before the service, as docs/operating.md says, and
// returns its address.
func startProxy(t *testing.T, p proxyProgram, service string) string {
	t.Helper()
	program, err := exec.LookPath(p.program)
	if err != nil {
		t.Skipf("no %s: .ci/setup installs it", p.program)
	}
	doc, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```" + p.language + "\n(.*?)```").FindSubmatch(doc)
	if found == nil {
		t.Fatalf("docs/operating.md has 0 examples in %s, want 1", p.language)
	}
	listen, dir := porttest.Address(t), t.TempDir()
	snippet := strings.ReplaceAll(string(found[1]), "127.0.0.1:8080", strings.TrimPrefix(service, "http://"))
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(p.config(snippet, listen, dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, p.args(file, dir)...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	var output apptest.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the proxy is told to stop
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(apptest.Limit):
			_ = cmd.Process.Kill()
		}
		if t.Failed() {
			t.Logf("%s says %s", p.program, output.String())
		}
	})
	apptest.Eventually(t, p.program+" listens", func() bool {
		conn, err := net.Dial("tcp", listen)
		if err == nil {
			err = conn.Close()
		}
		return err == nil
	})
	return "http://" + listen
}

// With each proxy configured as in docs/operating.md, tokens arrive one at a
// time, an interrupted stream resumes, a page's websocket opens, and
// attachments pass.
func TestProxies(t *testing.T) {
	for _, p := range proxyPrograms {
		t.Run(p.program, func(t *testing.T) {
			system := apptest.NewSystem(t, "sqlite:"+filepath.Join(t.TempDir(), "chat.db"))
			system.Settings = append(system.Settings, "DRAIN=1s")
			system.ServeHere(app.Options{})
			front := startProxy(t, p, system.URL(t))
			t.Run("tokens and resume", func(t *testing.T) { checkTokens(system, t, front, p.cuts) })
			t.Run("websocket", func(t *testing.T) { checkSocket(system, t, front) })
			t.Run("attachments", func(t *testing.T) { checkAttachments(system, t, front) })
		})
	}
}

// checkTokens lets the model write each token only after the one before was
// read. The connection is cut in the middle. What the proxy cuts by itself, if it may, is
// resumed, as clients do.
func checkTokens(system *apptest.System, t *testing.T, front string, cuts bool) {
	const tokens, cut = 8, 4
	next := make(chan struct{}, 1)
	whole, parts := "", []upstream.Part(nil)
	for n := range tokens {
		token := fmt.Sprintf("token%d ", n)
		whole += token
		parts = append(parts, upstream.Wait(next), upstream.Say(token))
	}
	system.Model.Push(upstream.Stream(append(parts, upstream.Finish("stop"))...))
	ctx, cancel := context.WithTimeout(t.Context(), apptest.Limit)
	defer cancel()
	seen, last, text, runID := 0, int64(0), "", ""
	read := func(ctx context.Context, method, path string, body any, enough int, header ...string) bool {
		ctx, hangUp := context.WithCancel(ctx)
		defer hangUp()
		req, err := apptest.NewRequest(ctx, method, front+path, body, header...)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := system.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		runID = resp.Header.Get("X-Run-Id")
		for in := apptest.NewStreamReader(resp.Body); ; {
			f, err := in.Next()
			if err != nil && cuts && method == http.MethodPost {
				t.Logf("the proxy cut the response after %d tokens: %v", seen, err)
				return false
			}
			if err != nil {
				t.Fatalf("reading after %d tokens, %q: %v", seen, text, err)
			}
			if f.ID <= last {
				t.Fatalf("event %d comes after event %d, want a greater id", f.ID, last)
			}
			last = f.ID
			if f.Event.Type == schemas.TypeTextDelta {
				text += *f.Event.Text
			}
			for seen < strings.Count(text, "token") {
				seen++
				if seen < enough || seen == tokens {
					next <- struct{}{}
				}
			}
			if f.Event.Terminal() {
				return true
			}
			if seen == enough {
				return false
			}
		}
	}
	resume := func(enough int) bool {
		return read(ctx, http.MethodGet, "/api/chat/runs/"+runID+"/stream", nil, enough, "Last-Event-ID", fmt.Sprint(last))
	}
	next <- struct{}{}
	ended := read(ctx, http.MethodPost, "/api/chat/stream", map[string]any{"message": "one by one"}, cut)
	if !ended && seen < cut {
		ended = resume(cut)
	}
	if ended {
		t.Fatalf("the run ended after %d tokens, want it to wait for more", seen)
	}
	next <- struct{}{}
	if !resume(tokens + 1) {
		t.Fatalf("the stream ended after %d tokens, want all", seen)
	}
	if text != whole {
		t.Errorf("the tokens came as %q, want %q", text, whole)
	}
}

// checkSocket asks a question over a websocket through the proxy.
func checkSocket(system *apptest.System, t *testing.T, front string) {
	system.Model.Push(upstream.Text("Hello", " there"))
	ctx, cancel := context.WithTimeout(t.Context(), apptest.Limit)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, front+"/api/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {front}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	if err := conn.Write(ctx, websocket.MessageText, []byte(`{"name":"message","message":{"content":"over the socket"},"chat_id":"socket"}`)); err != nil {
		t.Fatal(err)
	}
	text := ""
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("reading the socket after %q: %v", text, err)
		}
		var c schemas.Chunk
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		if c.Content != nil {
			text += *c.Content
		}
		if c.Status == schemas.RunCompleted {
			break
		}
	}
	if !strings.HasSuffix(text, "Hello there") { // after what the status says
		t.Errorf("the socket gave %q, want Hello there at the end", text)
	}
}

// checkAttachments sends a body of several megabytes. The refusal comes from
// the service, for which these files are too large, and not from the proxy.
func checkAttachments(system *apptest.System, t *testing.T, front string) {
	var files []schemas.Attachment
	for n := range 5 {
		files = append(files, schemas.Attachment{Name: fmt.Sprintf("%d.txt", n), MIME: "text/plain", Content: strings.Repeat("line of text\n", 80_000)})
	}
	req, err := apptest.NewRequest(t.Context(), http.MethodPost, front+"/api/chat", map[string]any{"message": "read them", "attachments": files})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := system.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	p := apptest.ReadProblem(t, resp)
	if resp.StatusCode != http.StatusUnprocessableEntity || p.Code != schemas.CodeInvalid || len(p.Errors) == 0 {
		t.Errorf("the answer is %d %+v, want 422 invalid with the fields", resp.StatusCode, p)
	}
}
