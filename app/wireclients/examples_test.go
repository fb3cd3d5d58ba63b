//go:build wireclients

package wireclients

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas/porttest"
)

// TestExampleAISDK asks the program on the page of the example, whose answer follows a
// reload.
func TestExampleAISDK(t *testing.T) {
	t.Parallel()
	s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	s.Start()
	gate := make(chan struct{})
	s.Model.On(upstream.Any, spoken(gate))
	b := openBrowser(t)
	b.do("open " + serveExample(t, s, "ai-sdk"))
	b.do("fill hi")
	b.do("click Send")
	b.do("see one two three")
	b.do("reload")
	b.do("see one two three")
	close(gate)
	b.do("see " + long)
}

// TestExampleCopilotKit talks to the program on the page of the example: with the service
// as the runtime, and with CopilotKit's own runtime in front of it. A question is answered,
// a tool of the page runs, a call is approved, and an answer goes on after a reload.
func TestExampleCopilotKit(t *testing.T) {
	t.Parallel()
	s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	s.Start()
	address := serveExample(t, s, "copilotkit", "VITE_PAGE=lab")
	for runtime, query := range map[string]string{"service": "", "own": "?runtime"} {
		t.Run(runtime, func(t *testing.T) {
			gate := make(chan struct{})
			s.Model.On(upstream.LastUser("hello "+runtime), upstream.Text("all is well"))
			s.Model.On(upstream.LastUser("title "+runtime), called("page_title", "{}"), upstream.Text("the page has a title"))
			s.Model.On(upstream.LastUser("book "+runtime), called("order", `{"key":"`+runtime+`"}`), upstream.Text("it is booked"))
			s.Model.On(upstream.LastUser("count "+runtime), spoken(gate))
			b := openBrowser(t)
			b.do("open " + address + "/" + query)
			b.do("ask hello " + runtime + " | all is well")
			b.do("ask title " + runtime + " | the page has a title")
			b.do("ask book " + runtime + " | Approve")
			b.do("click Approve")
			b.do("see it is booked")
			b.do("ask count " + runtime + " | one two three")
			b.do("reload")
			b.do("see one two three")
			close(gate)
			b.do("see " + long)
			b.do("see it is booked")
		})
	}
}

// TestExamplesStartWithOneCommand serves each page as its README says, with npm run dev alone, and
// asks a question on it.
func TestExamplesStartWithOneCommand(t *testing.T) {
	for _, name := range []string{"ai-sdk", "copilotkit"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
			s.Start()
			s.Model.On(upstream.LastUser("hello "+name), upstream.Text("all is well"))
			_, port, err := net.SplitHostPort(porttest.Address(t))
			if err != nil {
				t.Fatal(err)
			}
			c := exec.Command("npm", "run", "dev") // ended below, with the processes that it starts
			c.Dir, c.Env = "../../examples/"+name, append(os.Environ(), "SERVICE_URL="+s.URL(t), "PORT="+port, "NO_COLOR=1")
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			address := served(t, c, func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
			b := openBrowser(t)
			b.do("open " + address)
			b.do("ask hello " + name + " | all is well")
		})
	}
}

// called is a reply that calls a tool.
func called(tool, arguments string) upstream.Reply {
	return upstream.Open(upstream.Call(0, "call_"+tool, tool, arguments), upstream.Finish("tool_calls"), upstream.Usage(10, 2), upstream.Done())
}

// serveExample builds an example, serves it with one command, and returns the page's
// address. Its packages are those of its package-lock.json, as make installs them.
func serveExample(t *testing.T, s *apptest.System, name string, env ...string) string {
	t.Helper()
	built := t.TempDir()
	vite := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), "node_modules/.bin/vite", append(args, "--outDir", built)...)
		c.Dir, c.Env = "../../examples/"+name, append(append(os.Environ(), "SERVICE_URL="+s.URL(t), "NO_COLOR=1"), env...)
		return c
	}
	if out, err := vite("build").CombinedOutput(); err != nil {
		t.Fatalf("%s cannot be built, with its packages as make wire-clients installs them: %v\n%s", name, err, out)
	}
	preview := vite("preview", "--host", "127.0.0.1", "--port", "0")
	return served(t, preview, func() { _ = preview.Process.Kill() })
}

// served starts a command that serves a page, and returns the page's address. When the test ends,
// end ends the command.
func served(t *testing.T, c *exec.Cmd, end func()) string {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		_ = c.Wait()
	})
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if address := regexp.MustCompile(`http://(127\.0\.0\.1|localhost):\d+`).FindString(lines.Text()); address != "" {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return address
		}
	}
	t.Fatalf("the page is not served:\n%s", said.String())
	return ""
}

// browser is Chromium with a page.
type browser struct {
	t    *testing.T
	in   io.Writer
	said *bufio.Scanner
}

// openBrowser starts Chromium, as page.mjs says.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	node := exec.CommandContext(t.Context(), "node", "page.mjs")
	node.Dir, node.Stderr = clients, os.Stderr
	in, said := started(t, node)
	t.Cleanup(func() {
		_ = in.Close() // Chromium ends with its page
		_ = node.Wait()
	})
	return &browser{t, in, said}
}

// do has the page do something, and fails the test if it cannot.
func (b *browser) do(action string) {
	b.t.Helper()
	if _, err := io.WriteString(b.in, action+"\n"); err != nil {
		b.t.Fatal(err)
	}
	if !b.said.Scan() || !strings.HasPrefix(b.said.Text(), "ok") {
		b.t.Fatalf("%s: %s", action, b.said.Text())
	}
}
