package apptest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// keptLines is how much of a process's log is shown when a test fails.
const keptLines = 60

// keptStacks is how many lines are shown that a process writes which tells where it stands,
// and tellWait is how long that may take.
const (
	keptStacks = 1000
	tellWait   = 10 * time.Second
)

// Process is the program in a process of its own.
type Process struct {
	t    testing.TB
	cmd  *exec.Cmd
	out  io.Closer // the reading end of its log
	URL  string
	gone chan struct{} // closed when the process has ended
	idle float64       // its goroutines at its start, of one of several replicas

	mu  sync.Mutex
	log []string // the last lines of its log
	// telling is true once it is told to write its stacks.
	telling bool
}

// noExitSleep spares the second that a program with the race detector sleeps before
// it exits.
const noExitSleep = "GORACE=atexit_sleep_ms=0"

// StartProcess starts the program with these settings (NAME=VALUE, without
// CHATTRAY_) and waits until it listens. It is killed at the end of the test.
func StartProcess(t testing.TB, settings ...string) *Process {
	t.Helper()
	if !mayStart {
		t.Fatal("TestMain of the package does not call apptest.Main, want it called")
	}
	return startProgram(t, os.Args[0], settings...)
}

// notPassed are the beginnings of what the program does not inherit from the tests. Without
// GOGC it tunes the collector as it does in operation.
var notPassed = []string{"CHATTRAY_", "OPENAI_", "OTEL_", "GOGC="}

// startProgram is StartProcess for the program at a path, which may be of another release.
func startProgram(t testing.TB, path string, settings ...string) *Process {
	t.Helper()
	p := &Process{t: t, cmd: exec.Command(path), gone: make(chan struct{})}
	for _, v := range os.Environ() {
		if !slices.ContainsFunc(notPassed, func(prefix string) bool { return strings.HasPrefix(v, prefix) }) {
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	p.cmd.Env = append(p.cmd.Env, noExitSleep, asProgram+"=1", "CHATTRAY_ADDR=127.0.0.1:0", "CHATTRAY_LOG_FORMAT=json")
	for _, s := range settings {
		p.cmd.Env = append(p.cmd.Env, "CHATTRAY_"+s)
	}
	p.cmd.Dir = t.TempDir()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr, p.out = p.cmd.Stdout, out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening := make(chan string, 1)
	go func() {
		defer close(p.gone)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.line(lines.Text(), listening)
		}
		_ = p.cmd.Wait() // ProcessState has the result
	}()
	t.Cleanup(func() {
		if t.Failed() {
			p.tell()
		}
		p.Kill()
		if t.Failed() && len(p.log) > 0 {
			t.Logf("log of process %d:\n%s", p.cmd.Process.Pid, p.LastLines())
		}
	})
	select {
	case p.URL = <-listening:
	case <-p.gone:
		t.Fatalf("the process ended, want it to listen:\n%s", p.LastLines())
	case <-time.After(Limit):
		t.Fatalf("the process does not listen after %v:\n%s", Limit, p.LastLines())
	}
	return p
}

// line keeps a line of the log, and the address in it.
func (p *Process) line(line string, listening chan<- string) {
	var entry struct{ Level, Msg, URL string }
	_ = json.Unmarshal([]byte(line), &entry) // a line that is not JSON is kept too
	if entry.Msg == "listening" {
		listening <- entry.URL
	}
	if entry.Level == "INFO" || entry.Level == "DEBUG" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := keptLines
	if p.telling {
		kept = keptStacks
		if strings.HasPrefix(line, "\t") && !strings.Contains(line, "/chattray/") { // where in libraries
			return
		}
	}
	if p.log = append(p.log, line); len(p.log) > kept {
		p.log = p.log[1:]
	}
	if strings.Contains(line, "DATA RACE") || strings.HasPrefix(line, "panic:") {
		p.t.Errorf("the process logs %s, want neither a race nor a panic", line)
	}
}

// tell has the process end with the stacks of its goroutines in its log.
func (p *Process) tell() {
	p.mu.Lock()
	p.telling = true
	p.mu.Unlock()
	_ = wake(p.cmd.Process) // it may already have ended, and be awake
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.gone:
	case <-time.After(tellWait):
	}
}

// CloseLog closes the other end of the process's log.
func (p *Process) CloseLog() {
	p.t.Helper()
	if err := p.out.Close(); err != nil {
		p.t.Fatal(err)
	}
}

// LastLines returns the last lines of the log above the level info.
func (p *Process) LastLines() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log, "\n")
}

// Kill ends the process like kill -9, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may already have ended
	<-p.gone
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// Wait waits until the process ends by itself and returns its state.
func (p *Process) Wait() *os.ProcessState {
	p.t.Helper()
	select {
	case <-p.gone:
	case <-time.After(Limit):
		p.t.Fatalf("the process continues after %v, want its end:\n%s", Limit, p.LastLines())
	}
	return p.cmd.ProcessState
}

// Metric returns the value of a metric of the process, 0 if there is none of that name.
func (p *Process) Metric(name string) float64 {
	p.t.Helper()
	resp, err := http.Get(p.URL + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if n, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			figure, err := strconv.ParseFloat(n, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return figure
		}
	}
	return 0
}
