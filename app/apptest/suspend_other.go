//go:build !unix

package apptest

import "os"

// Suspend skips the test: processes cannot be suspended here.
func (p *Process) Suspend() { p.t.Skip("processes cannot be suspended on this system") }

// Resume lets a process continue that was suspended.
func (*Process) Resume() {}

func wake(*os.Process) error { return nil }
