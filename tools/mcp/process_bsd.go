//go:build unix && !linux

package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process into a group of its own. When we die without a word
// its input ends, which ends a server too.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
