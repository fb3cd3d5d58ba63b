//go:build unix && !linux

package transport

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process into a group of its own. If the service is killed,
// the process's input ends, which also ends a server.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
