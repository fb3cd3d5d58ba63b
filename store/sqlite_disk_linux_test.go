package store_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/chattray/chattray/store/storetest"
)

// A full disk is reported before a write fails, and after one has failed.
func TestSQLiteDiskFull(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	storetest.RunFullDisk(t, "sqlite:"+filepath.Join(folder, "data.db"), func(left int64) error {
		ballast := filepath.Join(folder, "ballast")
		if err := os.RemoveAll(ballast); err != nil {
			return err
		}
		var disk syscall.Statfs_t
		if err := syscall.Statfs(folder, &disk); err != nil {
			return err
		}
		return os.WriteFile(ballast, make([]byte, int64(disk.Bavail)*disk.Bsize-left), 0o600)
	})
}
