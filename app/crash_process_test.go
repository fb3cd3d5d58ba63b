package app

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// asProgram in the environment makes the test binary the program itself, for
// the tests that kill it or stop it with a signal.
const asProgram = "TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(Program{Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	os.Exit(m.Run())
}

const (
	// startWait is how long a process may take to listen, stopWait how long one
	// that was told to end may take.
	startWait = 30 * time.Second
	stopWait  = 30 * time.Second
	// keptLines is how much of a process's log is shown when a test fails.
	keptLines = 60
)

// process is the program in a process of its own.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	url  string
	gone chan struct{} // closed when it has ended

	mu  sync.Mutex
	log []string // its last lines
}

// startProcess starts the program with these settings (NAME=VALUE, without
// CHATTRAY_) and waits until it listens. It is killed at the end of the test.
func startProcess(t testing.TB, settings ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0]), gone: make(chan struct{})}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CHATTRAY_") && !strings.HasPrefix(v, "OPENAI_") && !strings.HasPrefix(v, "OTEL_") {
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	p.cmd.Env = append(p.cmd.Env, asProgram+"=1", "CHATTRAY_ADDR=127.0.0.1:0", "CHATTRAY_LOG_FORMAT=json")
	for _, s := range settings {
		p.cmd.Env = append(p.cmd.Env, "CHATTRAY_"+s)
	}
	p.cmd.Dir = t.TempDir()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening := make(chan string, 1)
	go func() {
		defer close(p.gone)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.line(lines.Text(), listening)
		}
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() && len(p.log) > 0 {
			t.Logf("log of process %d:\n%s", p.cmd.Process.Pid, p.lastLines())
		}
	})
	select {
	case p.url = <-listening:
	case <-p.gone:
		t.Fatalf("the process ended before it listened:\n%s", p.lastLines())
	case <-time.After(startWait):
		t.Fatalf("the process does not listen:\n%s", p.lastLines())
	}
	return p
}

// line keeps a line of the log, and the address in it.
func (p *process) line(line string, listening chan<- string) {
	var said struct{ Level, Msg, URL string }
	_ = json.Unmarshal([]byte(line), &said) // what is no JSON is kept too
	if said.Msg == "listening" {
		listening <- said.URL
	}
	if said.Level == "INFO" || said.Level == "DEBUG" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log = append(p.log, line); len(p.log) > keptLines {
		p.log = p.log[1:]
	}
	if strings.Contains(line, "DATA RACE") || strings.HasPrefix(line, "panic:") {
		p.t.Errorf("the process says %s", line)
	}
}

func (p *process) lastLines() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log, "\n")
}

// kill ends the process as kill -9 does, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.gone
}

// signal sends a signal.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait waits for the process to end of itself and returns how it did.
func (p *process) wait() *os.ProcessState {
	p.t.Helper()
	select {
	case <-p.gone:
	case <-time.After(stopWait):
		p.t.Fatalf("the process does not end:\n%s", p.lastLines())
	}
	return p.cmd.ProcessState
}
