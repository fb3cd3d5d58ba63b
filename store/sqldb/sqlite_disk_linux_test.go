package sqldb

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// brokenDisk is the environment of a process of the test whose files may not grow.
const brokenDisk = "CHATTRAY_TEST_BROKEN_DISK"

// A disk that takes no writes although there is room is named by the probe. Here the system
// refuses them as it does after it has made a disk read-only, with an error of its own.
func TestPingOfABrokenDisk(t *testing.T) {
	if os.Getenv(brokenDisk) != "" {
		d, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "data.db"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1, Max: 1}); err != nil {
			t.Fatal(err)
		}
		t.Log("the error is", d.Upkeep().Ping(t.Context()))
		return
	}
	limited := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^TestPingOfABrokenDisk$")
	limited.Env = append(os.Environ(), brokenDisk+"=1")
	out, err := limited.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the disk of the database reports errors") {
		t.Errorf("the process ends with %v: %s; want an error that names the disk", err, out)
	}
}

// MountDisk returns the folder of a disk of that size, which is there until the test ends. A
// test that may not mount one is skipped.
func MountDisk(t *testing.T, size string) string {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// A disk that is mounted read-only is not taken for a file without the right to write, and
// a start that fails there says why.
func TestReadOnlyDisk(t *testing.T) {
	folder := MountDisk(t, "8m")
	path := filepath.Join(folder, "data.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old, link := filepath.Join(folder, "old.db"), filepath.Join(t.TempDir(), "link.db")
	before, err := Open(t.Context(), "sqlite:"+old, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(before.Upkeep().Close(), os.Symlink(old, link)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	d := &sqliteDB{path: path, file: sqliteFile{opened: info}}
	if err := d.check(); err == nil || !strings.Contains(err.Error(), readOnlyDatabase) {
		t.Errorf("the check says %v, want %q", err, readOnlyDatabase)
	}
	for _, name := range []string{filepath.Join(folder, "new.db"), link} {
		if _, err := Open(t.Context(), "sqlite:"+name, Options{}); err == nil || !strings.Contains(err.Error(), "read-only file system") {
			t.Errorf("a start with %s says %v, want that the file system is read-only", name, err)
		}
	}
}

// A service does not start with a file, or with one beside it, that it may not write to, such
// as after root has opened the database. The error names it.
func TestStartNamesWhatCannotBeWritten(t *testing.T) {
	for _, beside := range []string{"", "-wal", "-shm", "-lock", "/.."} {
		t.Run("data.db"+beside, func(t *testing.T) {
			path := filepath.Join(MountDisk(t, "8m"), "data.db")
			d, err := Open(t.Context(), "sqlite:"+path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Upkeep().Close(); err != nil {
				t.Fatal(err)
			}
			name := filepath.Clean(path + beside)
			if _, err := os.Stat(name); err != nil {
				if err := os.WriteFile(name, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(syscall.Mount(name, name, "", syscall.MS_BIND, ""), syscall.Mount("", name, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, "")); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(name, 0); err != nil {
					t.Error(err)
				}
			})
			if d, err = Open(t.Context(), "sqlite:"+path, Options{Alone: true}); err == nil {
				err = d.Upkeep().Close()
			}
			if err == nil || !strings.Contains(err.Error(), name+" cannot be written to") {
				t.Errorf("got %v, want an error that names %s", err, name)
			}
		})
	}
}
