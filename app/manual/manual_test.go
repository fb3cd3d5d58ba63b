// Package manual runs the commands of README.md and docs.
package manual

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// elsewhere are blocks that this test does not run, by a line in them, with the reason.
var elsewhere = map[string]map[string]string{
	"README.md": {
		"make run     # the service":      "make test runs this test; make run is in quick-start.md",
		"OPENAI_API_KEY=… go run .":       "needs a key and a model's server",
		"docker compose --profile search": "needs a container engine; TestCompose checks the file",
	},
	"docs/quick-start.md": {
		"make run":                  "each block runs against the service that it would start",
		"OPENAI_API_KEY=… go run .": "needs a key and a model's server",
	},
	"docs/operating.md": {
		"chattray backup":  "TestBackupWhileRunsAreWritten runs it",
		"mv data/chattray": "TestBackupWhileRunsAreWritten runs it",
		"pg_dump":          "TestBackupWhileRunsAreWritten runs it on Postgres",
		"pg_restore":       "TestBackupWhileRunsAreWritten runs it on Postgres",
	},
	"docs/evaluate.md": {
		"--judge gpt-4.1": "needs a key and a model's server; TestJudge runs it with a scripted one",
	},
	"docs/add-a-page.md": {
		"node orders.mjs": "web/e2e/add-a-page.test.js runs it",
		"--pages pages":   "web/e2e/add-a-page.test.js runs it",
		"make pack":       "web/e2e/add-a-page.test.js runs it",
		"npm run dev":     "web/e2e/add-a-page.test.js runs it",
	},
}

var (
	fence    = regexp.MustCompile("(?ms)^```(\\S*)([^\n]*)\n(.*?)^```")
	fileName = regexp.MustCompile(`file=(\S+)|\A# (pages/\S+\.yaml)\n`)
)

// Each block of commands is run as it is written, against a service with the page files
// that came before it, or is in the list of those that run elsewhere.
func TestCommandsOfThePages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../README.md") {
		name := filepath.ToSlash(strings.TrimPrefix(page, filepath.Join("..", "..")+string(filepath.Separator)))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			used := map[string]bool{}
			s := newTerminal(t)
			for _, m := range fence.FindAllStringSubmatch(string(content), -1) {
				language, info, block := m[1], m[2], m[3]
				if f := fileName.FindStringSubmatch(info + block); language == "yaml" && f != nil {
					write(t, filepath.Join(s.dir, f[1]+f[2]), block)
					s.stop() // page files are read at the start
				}
				if slices.Contains([]string{"", "bash", "shell", "console"}, language) {
					t.Errorf("a block has the language %q, want sh for commands and a language for everything else:\n%s", language, block)
				}
				if language != "sh" {
					continue
				}
				if line := listed(name, block); line != "" {
					used[line] = true
					continue
				}
				s.run(block)
			}
			for line := range elsewhere[name] {
				if !used[line] {
					t.Errorf("no block has the line %q, which is in the list of those that run elsewhere", line)
				}
			}
		})
	}
}

// listed returns the line by which the block is listed, "" if it is not.
func listed(page, block string) string {
	for line := range elsewhere[page] {
		if strings.Contains(block, line) {
			return line
		}
	}
	return ""
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// terminal runs commands as a reader does: a stream goes on in one terminal while the
// next command is typed in another, and ids are copied from what the stream has shown.
type terminal struct {
	*testing.T
	dir      string
	settings []string // of the service
	service  *apptest.Process
	environ  []string // of the commands
	vars     string   // the assignments so far
	streams  []*stream
}

// stream is a command that runs until its answer has ended.
type stream struct {
	file  string
	ended chan struct{}
}

// event is what a reader copies ids from.
type event struct {
	Type       string
	RunID      string `json:"run_id"`
	ApprovalID string `json:"approval_id"`
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	s := &terminal{T: t, dir: t.TempDir()}
	write(t, filepath.Join(s.dir, ".curlrc"), "fail-with-body\nsilent\nshow-error\n") // a refused request fails the test
	write(t, filepath.Join(s.dir, "pages", "empty.yaml"), "identity: You help.\n")
	program := filepath.Join(s.dir, "bin", "chattray")
	write(t, program, "#!/bin/sh\nTEST_AS_PROGRAM=1 exec '"+os.Args[0]+"' \"$@\"\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	s.settings = []string{"DATABASE_URL=sqlite:" + filepath.Join(s.dir, "data", "chattray.db"), "FETCH_ALLOW=127.0.0.0/8", "PAGES=" + filepath.Join(s.dir, "pages")}
	s.environ = append(os.Environ(), "CURL_HOME="+s.dir, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	for _, setting := range s.settings {
		s.environ = append(s.environ, "CHATTRAY_"+setting)
	}
	return s
}

// stop ends the service. The next block starts it again.
func (s *terminal) stop() {
	if s.service != nil {
		s.service.Kill()
		s.service = nil
	}
}

// run runs the commands of a block, and reads its streams to their ends.
func (s *terminal) run(block string) {
	s.Helper()
	if s.service == nil {
		s.service = apptest.StartProcess(s.T, s.settings...)
	}
	s.streams = nil
	for _, command := range commands(block) {
		s.copyIDs()
		switch {
		case strings.HasPrefix(command, "curl -N"):
			s.stream(command)
		case strings.HasPrefix(command, "export "):
			s.vars += command + "\n"
		case strings.HasPrefix(command, "run=$("):
			s.vars += "run=" + strings.TrimSpace(s.do(command+"\necho $run")) + "\n"
		default:
			s.do(command)
		}
	}
	for _, one := range s.streams {
		select {
		case <-one.ended:
		case <-time.After(apptest.Limit):
			s.Fatalf("a stream of this block does not end:\n%s", block)
		}
		if list := s.events(one); len(list) == 0 || list[len(list)-1].Type == "error" {
			s.Errorf("a stream of this block has %d events, want some, and no error at the end:\n%s", len(list), block)
		}
	}
}

// command returns the command with the service's own address, and the program that is
// built already instead of "go run .".
func (s *terminal) command(text string) *exec.Cmd {
	text = strings.NewReplacer("http://127.0.0.1:8080", s.service.URL, "go run . ", "chattray ").Replace(s.vars + text)
	cmd := exec.CommandContext(s.Context(), "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir, cmd.Env = s.dir, s.environ
	return cmd
}

// do runs a command to its end and returns its output.
func (s *terminal) do(text string) string {
	s.Helper()
	out, err := s.command(text).CombinedOutput()
	if err != nil {
		s.Fatalf("%v\n%s\n%s", err, text, out)
	}
	return string(out)
}

// stream starts a command whose output is a stream.
func (s *terminal) stream(text string) {
	s.Helper()
	out, err := os.CreateTemp(s.dir, "stream")
	if err != nil {
		s.Fatal(err)
	}
	cmd := s.command(text)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	one := &stream{out.Name(), make(chan struct{})}
	s.streams = append(s.streams, one)
	go func() {
		defer close(one.ended)
		if err := errors.Join(cmd.Wait(), out.Close()); err != nil && s.Context().Err() == nil {
			s.Errorf("%v\n%s\n%+v", err, text, s.events(one))
		}
	}()
}

// copyIDs waits until the last stream has ended or waits for its user, and sets the ids
// that it has shown.
func (s *terminal) copyIDs() {
	s.Helper()
	if len(s.streams) == 0 {
		return
	}
	last := s.streams[len(s.streams)-1]
	apptest.Eventually(s, "the stream waits or ends", func() bool {
		for _, e := range s.events(last) {
			if e.RunID != "" {
				s.vars += "run=" + e.RunID + "\n"
			}
			if e.ApprovalID != "" {
				s.vars += "approval_id=" + e.ApprovalID + "\n"
			}
			if e.Type == "approval_request" || e.Type == "client_tool_call" {
				return true
			}
		}
		select {
		case <-last.ended:
			return true
		default:
			return false
		}
	})
}

// events returns the whole events that a stream has so far.
func (s *terminal) events(one *stream) (list []event) {
	content, err := os.ReadFile(one.file)
	if err != nil {
		s.Error(err)
	}
	for line := range strings.Lines(string(content)) {
		data, ok := strings.CutPrefix(line, "data: ")
		var e event
		if ok && strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(data), &e) == nil {
			list = append(list, e)
		}
	}
	return list
}

// commands splits a block into its commands, each with its continued lines.
func commands(block string) (list []string) {
	command := ""
	for line := range strings.Lines(block) {
		command += line
		if trimmed := strings.TrimRight(line, "\n"); strings.HasSuffix(trimmed, "\\") || strings.Count(command, "$(") > strings.Count(command, ")") {
			continue
		}
		if strings.TrimSpace(command) != "" {
			list = append(list, strings.TrimSpace(command))
		}
		command = ""
	}
	return list
}

// The index names each page, and every link between pages leads to a file and to a heading
// in it.
func TestLinksOfThePages(t *testing.T) {
	index, err := os.ReadFile("../../docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, pattern := range []string{"docs/*.md", "*.md", "web/README.md", "web/examples/*.md", "examples/*.md", "examples/*/*.md", ".github/*.md"} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("there are no pages %s (%v)", pattern, err)
		}
		pages = append(pages, found...)
	}
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	for _, page := range pages {
		name := filepath.Base(page)
		if filepath.Base(filepath.Dir(page)) == "docs" && name != "README.md" && !strings.Contains(string(index), "("+name+")") {
			t.Errorf("docs/README.md does not name %s", name)
		}
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(string(content), ""), -1) {
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s has a link to %s, which does not exist", page, m[1])
			} else if m[2] != "" && !slices.Contains(headings(t, target), m[2]) {
				t.Errorf("%s has a link to %s#%s, and there is no such heading", page, m[1], m[2])
			}
		}
	}
}

// headings returns the names by which links find the headings of a page.
func headings(t *testing.T, page string) (list []string) {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	left := regexp.MustCompile(`[^\pL\pN _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(fence.ReplaceAllString(string(content), ""), -1) {
		list = append(list, strings.ReplaceAll(left.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return list
}
