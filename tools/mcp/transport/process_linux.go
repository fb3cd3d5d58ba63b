package transport

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process into a group of its own, and has the kernel kill it
// if the service is killed.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
