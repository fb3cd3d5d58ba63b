package storetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
)

// RunFile tests SQLite with faults of its file. fresh returns the url of a
// database that is empty; lock locks the file as another process does: for
// readers and writers, or only for writers.
func RunFile(t *testing.T, fresh func(t testing.TB) string, lock func(t *testing.T, path string, readers bool) (release func())) {
	t.Run("files", func(t *testing.T) { testFiles(t, fresh) })
	t.Run("locked", func(t *testing.T) {
		t.Parallel()
		testLocked(t, fresh(t), func(path string) func() { return lock(t, path, true) })
	})
	t.Run("locked for writing", func(t *testing.T) {
		t.Parallel()
		testLockedForWriting(t, fresh(t), func(path string) func() { return lock(t, path, false) })
	})
}

// FreshSQLite returns the url of a file that does not exist, with a name that a url escapes.
func FreshSQLite(t testing.TB) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "a new folder", "with ? and % and #.db")
}

// MadeSQLite is FreshSQLite with a file that has all tables.
func MadeSQLite(t testing.TB) string {
	t.Helper()
	file, err := madeFile()
	must(t, err)
	address := FreshSQLite(t)
	must(t, os.MkdirAll(filepath.Dir(pathOf(address)), 0o700))
	must(t, os.WriteFile(pathOf(address), file, 0o600))
	return address
}

var madeFile = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "chat.db")
	s, err := store.Open(context.Background(), "sqlite:"+path, store.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func pathOf(url string) string { return strings.TrimPrefix(url, "sqlite:") }

// testFiles deletes, replaces and protects the files of an open database:
// readiness names the fault, and no write is accepted.
func testFiles(t *testing.T, fresh func(t testing.TB) string) {
	replace := func(path string) error {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path+".new", content, 0o600); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	}
	halve := func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	}
	for _, tt := range []struct {
		name, message string
		do            func(path string) error
	}{
		{"deleted", "the database file was deleted while it is in use", os.Remove},
		{"replaced", "the database file was replaced by another one while it is in use", replace},
		{"folder gone", "the database file was deleted while it is in use", func(path string) error {
			return os.Rename(filepath.Dir(path), filepath.Dir(path)+" elsewhere")
		}},
		{"read-only", "the database file is read-only", func(path string) error { return os.Chmod(path, 0o400) }},
		{"cut", "the database file was cut short while it is in use", func(path string) error { return os.Truncate(path, 0) }},
		{"cut in half", "the database file was cut short while it is in use", halve},
		{"log cut", "the write-ahead log of the database was cut short while it is in use", func(path string) error { return os.Truncate(path+"-wal", 0) }},
		{"log deleted", "the write-ahead log of the database was deleted while it is in use", func(path string) error { return os.Remove(path + "-wal") }},
		{"log replaced", "the write-ahead log of the database was replaced by another one while it is in use", func(path string) error { return replace(path + "-wal") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				url := fresh(t)
				s := open(t, url)
				f := newFixture(t, s)
				g := f.turn("q", "a")
				must(t, s.Ping(t.Context()))
				<-time.After(time.Minute)
				must(t, s.Ping(t.Context()))
				must(t, tt.do(pathOf(url)))
				<-time.After(time.Minute)
				unready(t, s, tt.message)
				_, err := s.PatchChat(t.Context(), f.owner, g.Run.ConversationID, title("t"))
				fails(t, "a change", err, record.ErrUnavailable)
				fails(t, "a commit", s.Commit(t.Context(), []*record.Write{f.begin("q2")}), record.ErrUnavailable)
			})
		})
	}
}

// openWithATurn opens a database that has one turn and whose reads have little
// time.
func openWithATurn(t *testing.T, url string) (*store.Store, *fixture, *record.Begin) {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{Database: sqldb.Options{ReadTimeout: shortRead}})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	f := newFixture(t, s)
	return s, f, f.turn("q", "a")
}

// testLocked makes calls on a file on which another process holds every lock.
func testLocked(t *testing.T, url string, lock func(path string) func()) {
	s, f, g := openWithATurn(t, url)
	release := lock(pathOf(url))
	unready(t, s, "the database does not answer")
	holdsNothing(t, s, f.owner, g)
	release()
	eventuallyWorks(t, s, f.owner, g)
}

// testLockedForWriting makes calls on a file to which another process writes:
// reads work, changes end within their time.
func testLockedForWriting(t *testing.T, url string, lock func(path string) func()) {
	s, f, g := openWithATurn(t, url)
	release := lock(pathOf(url))
	_, err := s.Chat(t.Context(), f.owner, g.Run.ConversationID)
	must(t, err)
	began := time.Now()
	_, err = s.PatchChat(t.Context(), f.owner, g.Run.ConversationID, title("t"))
	fails(t, "change", err, record.ErrUnavailable)
	if took := time.Since(began); took > 8*time.Second { // a fixed wait was 10 s
		t.Errorf("the change took %v", took)
	}
	unready(t, s, "the database file is locked by another process")
	release()
	eventuallyWorks(t, s, f.owner, g)
}

// RunFullDisk tests SQLite on a full disk. fill uses up the disk except for
// left bytes.
func RunFullDisk(t *testing.T, url string, fill func(left int64) error) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, url)
		f := newFixture(t, s)
		f.turn("q", "a")
		must(t, s.Ping(t.Context()))

		must(t, fill(0))
		<-time.After(time.Minute)
		unready(t, s, "the disk of the database is full")

		// There is room for a small write, but there was none for a large one.
		must(t, fill(2<<20))
		<-time.After(time.Minute)
		must(t, s.Ping(t.Context()))
		large := f.begin("q")
		large.Begin.Run.Request = json.RawMessage(`"` + noise(4<<20) + `"`)
		fails(t, "a large write", s.Commit(t.Context(), []*record.Write{large}), record.ErrUnavailable)
		must(t, fill(2<<20))
		<-time.After(5 * time.Second)
		unready(t, s, "the disk of the database is full")

		// The fault is reported until a write finds room, or for roomTime.
		f.turn("q", "a")
		<-time.After(5 * time.Second)
		must(t, s.Ping(t.Context()))
	})
}

// noise is text that cannot be packed.
func noise(n int) string {
	random := make([]byte, n/2)
	_, _ = rand.Read(random) // Read never fails
	return hex.EncodeToString(random)
}
