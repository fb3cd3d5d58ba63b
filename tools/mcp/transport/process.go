package transport

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/chattray/chattray/schemas/text"
)

// The limits of a local server's process.
const (
	// stopWait is how long the process may take to end after its input is
	// closed, and again after the signal to terminate.
	stopWait = time.Second
	// maxLine is how much of a line of its error output is read, in bytes, and maxLogLine how
	// much of it is logged, in characters. logBurst lines are logged at once, then logRate per
	// second.
	maxLine    = 8 << 10
	maxLogLine = 1_000
	logBurst   = 100
	logRate    = 5
	// lastLines is how many lines of its error output say why it did not start.
	lastLines = 20
)

// process is a local server. It ends with the service. On Unix, so does
// everything that it starts in its process group.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	errors *lineLog
	exited chan struct{}
	killed bool // by stop
}

// startProcess runs the command, which speaks the protocol over its input and
// output. Its error output goes to the log, at debug.
func (o Options) startProcess() (*process, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		_, _ = theirIn.Close(), in.Close()
		return nil, err
	}
	p := &process{cmd: exec.Command(o.Command, o.Args...), in: in, out: out, exited: make(chan struct{})} //nolint:gosec,noctx // the operator names the command; stop ends it
	p.cmd.Env = append([]string{}, o.Env...)                                                              // never nil, which would mean our own environment
	p.cmd.Stdin, p.cmd.Stdout = theirIn, theirOut
	p.errors = o.lineLog("MCP server says")
	p.cmd.Stderr = p.errors
	p.cmd.WaitDelay = stopWait
	ownGroup(p.cmd)
	started := make(chan error)
	go p.watch(started)
	err = <-started
	_, _ = theirIn.Close(), theirOut.Close() // the process has its own copies
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, fmt.Errorf("%s: %w", o.Command, err)
	}
	return p, nil
}

// watch starts the process and waits for its end. It stays on its thread: on
// Linux the process gets its death signal when the thread that started it ends.
func (p *process) watch(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait()  // its exit status does not matter
	killGroup(p.cmd)  // also the processes that it started
	_ = p.out.Close() // even if another process still holds the other end
	close(p.exited)
}

// stop ends the process: by closing its input, then by a signal, then by force.
// It returns when the process has ended. A nil process is allowed.
func (p *process) stop() {
	if p == nil {
		return
	}
	_ = p.in.Close()
	for _, next := range []func(*exec.Cmd){terminateGroup, killGroup} {
		select {
		case <-p.exited:
			return
		case <-time.After(stopWait):
			p.killed = true
			next(p.cmd)
		}
	}
	<-p.exited
}

// NotStarted is the error of a local server whose handshake failed.
type NotStarted struct {
	error
	// Said is the end of its error output, which usually has the cause. It may have secrets
	// and characters that cannot be printed.
	Said []string
}

// Unwrap returns the error of the handshake.
func (e *NotStarted) Unwrap() error { return e.error }

// explain adds to the error of a failed handshake what the process, which has been stopped,
// leaves behind. A nil process is allowed.
func (p *process) explain(err error) error {
	if p == nil {
		return err
	}
	if end := p.cmd.ProcessState; end != nil && !end.Success() && !p.killed {
		err = fmt.Errorf("the program ended with %s: %w", end, err)
	}
	return &NotStarted{err, p.errors.end()}
}

// lineLog logs what is written to it, line by line.
type lineLog struct {
	log     *slog.Logger
	says    string // the message of the log lines
	secrets *strings.Replacer
	limit   *rate.Limiter
	line    []byte
	dropped int

	mu   sync.Mutex
	last []string
}

func (o Options) lineLog(says string) *lineLog {
	return &lineLog{log: o.Logger, says: says, secrets: o.Secrets, limit: rate.NewLimiter(logRate, logBurst)}
}

// end returns the last lines that were written.
func (l *lineLog) end() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.last)
}

func (l *lineLog) keep(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == lastLines {
		l.last = append(l.last[:0], l.last[1:]...)
	}
	l.last = append(l.last, line)
}

// Write implements io.Writer. It never fails.
func (l *lineLog) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		l.line = append(l.line, part[:min(len(part), maxLine-len(l.line))]...)
		if whole {
			l.flush()
		}
		rest = after
	}
	return len(p), nil
}

func (l *lineLog) flush() {
	defer func() { l.line = l.line[:0] }()
	if len(bytes.TrimSpace(l.line)) == 0 {
		return
	}
	l.keep(string(l.line))
	switch {
	case !l.limit.Allow():
		l.dropped++
	default:
		l.log.Debug(l.says, "line", text.Printable(l.secrets.Replace(string(l.line)), maxLogLine), "lines_dropped", l.dropped)
		l.dropped = 0
	}
}
