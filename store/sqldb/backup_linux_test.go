package sqldb_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/storetest"
)

// The environment of a process of the test that may only write small files.
const smallFiles, backupFrom, backupTo = 4 << 20, "CHATTRAY_TEST_BACKUP_FROM", "CHATTRAY_TEST_BACKUP_TO"

// A backup that does not fit leaves nothing behind and says why.
func TestBackupWithoutRoom(t *testing.T) {
	if url := os.Getenv(backupFrom); url != "" {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: smallFiles, Max: smallFiles}); err != nil {
			t.Fatal(err)
		}
		_, err := sqldb.Backup(t.Context(), url, os.Getenv(backupTo))
		t.Log("the error is", err)
		return
	}
	url := storetest.FreshSQLite(t)
	data, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	var streams strings.Builder
	for n := range 80 {
		fmt.Fprintf(&streams, `{"kind": "stream", "stream_id": %d, "name": %q}`+"\n", n+1, strings.Repeat("x", smallFiles/20))
	}
	if _, err := data.Import(t.Context(), strings.NewReader(streams.String())); err != nil {
		t.Fatal(err)
	}
	check := func(path string, out string, want string) {
		t.Helper()
		if !strings.Contains(out, path+": "+want) {
			t.Errorf("the error is %s, want one with %s: %s", out, path, want)
		}
		if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) > 0 {
			t.Errorf("the folder has %v, %v, want nothing", list, err)
		}
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	limited := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^TestBackupWithoutRoom$")
	limited.Env = append(os.Environ(), backupFrom+"="+url, backupTo+"="+path)
	out, err := limited.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	check(path, string(out), "file too large")

	path = filepath.Join(sqldb.MountDisk(t, "4m"), "copy.db")
	_, err = sqldb.Backup(t.Context(), url, path)
	check(path, fmt.Sprint(err), "no space left on device")
}
