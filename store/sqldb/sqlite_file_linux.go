package sqldb

import "syscall"

// accessWrite asks access(2) for the right to write.
const accessWrite = 2

// mayWrite returns an error if this process may not write to a file.
func mayWrite(path string) error { return syscall.Access(path, accessWrite) }

// freeSpace returns how many bytes this process can still store on the disk of a folder.
func freeSpace(folder string) (free uint64, known bool) {
	var disk syscall.Statfs_t
	if syscall.Statfs(folder, &disk) != nil {
		return 0, false
	}
	return disk.Bavail * uint64(disk.Bsize), true //nolint:gosec // the size of a block is not negative
}
