//go:build unix

package app

import "syscall"

// descriptors returns how many files and connections this process may have open.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return knownDescriptors
	}
	return int(min(uint64(limit.Cur), mostDescriptors))
}
