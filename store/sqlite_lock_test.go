//go:build unix

package store_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/chattray/chattray/store/storetest"
)

// lockFile in the environment makes the test binary a process that locks the
// file until its input ends; the locks of a process do not block the process
// itself.
const lockFile, lockReaders = "TEST_LOCK_FILE", "TEST_LOCK_READERS"

func TestMain(m *testing.M) {
	if path := os.Getenv(lockFile); path != "" {
		holdLock(path, os.Getenv(lockReaders) != "")
		return
	}
	os.Exit(m.Run())
}

// The locks of SQLite in the shared memory of a write-ahead log: the writer's
// byte, followed by those of checkpoints, recovery and readers.
const (
	firstLock = 120
	allLocks  = 8
)

func holdLock(path string, readers bool) {
	file, err := os.OpenFile(path+"-shm", os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: firstLock, Len: 1}
	if readers {
		lock.Len = allLocks
	}
	if err := syscall.FcntlFlock(file.Fd(), syscall.F_SETLKW, &lock); err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString("locked\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func lockAsAnother(t *testing.T, path string, readers bool) (release func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), lockFile+"="+path)
	if readers {
		cmd.Env = append(cmd.Env, lockReaders+"=1")
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the file is not locked: %q, %v", line, err)
	}
	return func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}

func TestSQLiteFile(t *testing.T) { storetest.RunFile(t, storetest.FreshSQLite, lockAsAnother) }
