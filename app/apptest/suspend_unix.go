//go:build unix

package apptest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Suspend stops all threads of the process until Resume. It waits until they have
// stopped: on a busy machine some continue for a while after the signal.
func (p *Process) Suspend() {
	p.t.Helper()
	p.Signal(syscall.SIGSTOP)
	Eventually(p.t, "all threads of the process have stopped", func() bool { return stopped(p.cmd.Process.Pid) })
}

// stopped reports whether all threads of a process have stopped. A system without /proc
// does not tell, and counts as stopped.
func stopped(pid int) bool {
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	if err != nil {
		return false
	}
	for _, name := range threads {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// Resume lets a process continue that was suspended.
func (p *Process) Resume() {
	p.t.Helper()
	if err := wake(p.cmd.Process); err != nil {
		p.t.Fatal(err)
	}
}

func wake(process *os.Process) error { return process.Signal(syscall.SIGCONT) }
