package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process into a group of its own, and has the kernel kill it
// when we die without a word.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
