package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
)

// takeTurn takes the turn, for which all transactions wait until it is released.
func takeTurn(t *testing.T, db *sqldb.DB) (release func()) {
	t.Helper()
	release, err := db.TakeTurn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return release
}

// holdUp starts a change that ends with the gate.
func holdUp(t *testing.T, db *sqldb.DB, gate chan struct{}) {
	go func() {
		if err := db.Write(t.Context(), func(*gorm.DB) error { <-gate; return nil }); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
}

// What runs write, and what finds out whether the database works, comes before other
// changes that wait for their turn.
func TestCommitGoesAhead(t *testing.T) {
	for name, do := range map[string]func(context.Context, *store.Store) error{
		"commit": func(ctx context.Context, s *store.Store) error {
			return s.Commit(ctx, []*record.Write{{RunID: "none"}})
		},
		"ping": func(ctx context.Context, s *store.Store) error { return s.Ping(ctx) },
	} {
		synctest.Test(t, func(t *testing.T) {
			db, s := openAt(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
			release, gate := takeTurn(t, db), make(chan struct{})
			for range 20 {
				holdUp(t, db, gate)
			}
			var done atomic.Bool
			go func() {
				if err := do(t.Context(), s); err != nil {
					t.Error(err)
				}
				done.Store(true)
			}()
			synctest.Wait()
			release()
			synctest.Wait()
			if !done.Load() {
				t.Errorf("a %s waits for the changes that came before it", name)
			}
			close(gate)
			synctest.Wait()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A change that waits too long says whether others were stored meanwhile.
func TestTooMuchToStore(t *testing.T) {
	for _, others := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			db, s := openAt(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
			release, gate := takeTurn(t, db), make(chan struct{})
			go func() { // another that waits before it and does not end
				if _, err := db.TakeTurn(context.Background()); err != nil {
					t.Error(err)
				}
				<-gate
				release()
			}()
			synctest.Wait()
			done := make(chan error)
			go func() { done <- s.RequestCancel(t.Context(), "run") }()
			synctest.Wait()
			if others {
				release()
			}
			err := <-done
			if !errors.Is(err, record.ErrUnavailable) || errors.Is(err, schemas.ErrTooMuch) != others {
				t.Errorf("with others stored meanwhile (%t): got %v", others, err)
			}
			if !others {
				release()
			}
			close(gate)
			synctest.Wait()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// lockFile locks a file of SQLite as another process does.
func lockFile(t *testing.T, path string) (unlock func()) {
	t.Helper()
	other, err := sql.Open("sqlite", sqldb.SQLiteFileURL(path))
	if err != nil {
		t.Fatal(err)
	}
	other.SetMaxOpenConns(1)
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A change waits for the lock of another process: what waits for the change says so.
func TestWaitsForALockedOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db, s := openAt(t, "sqlite:"+path)
	unlock := lockFile(t, path)
	changed := make(chan error, 1)
	go func() { changed <- db.Write(t.Context(), func(*gorm.DB) error { return nil }) }()
	const want = "the database file is locked by another process"
	said := false
	for end := time.Now().Add(time.Minute); !said && time.Now().Before(end); { // a busy machine may be too late to say why a probe has ended
		seen, ok := errors.AsType[*schemas.Error](s.Ping(t.Context()))
		said = ok && seen.Message == want
	}
	if !said {
		t.Errorf("the probe does not say %q", want)
	}
	unlock()
	if err := <-changed; err != nil && !errors.Is(err, record.ErrUnavailable) { // a busy machine may be too late
		t.Errorf("the change: %v", err)
	}
}

// ending is the context of a wait that ends. Do is called once the wait has begun.
type ending struct {
	context.Context //nolint:containedctx // a wait has its own context
	do              func()
}

func (e ending) Done() <-chan struct{} {
	e.do()
	return e.Context.Done()
}

// Changes that cannot begin because of another process's lock pass the turn on. What waits
// meanwhile is told of the lock, not that others are stored.
func TestWaitsWhileOthersAreLockedOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db, _ := openAt(t, "sqlite:"+path)
	unlock := lockFile(t, path)
	given, giveUp := context.WithCancel(t.Context())
	changed := make(chan error, 1)
	go func() { changed <- db.Write(given, func(*gorm.DB) error { return nil }) }()
	for !db.LockedOut() {
		runtime.Gosched()
	}
	giveUp()
	if err := <-changed; !sqldb.Locked(err) {
		t.Errorf("the change: got %v, want that the file is locked", err)
	}
	release := takeTurn(t, db)
	_, err := db.TakeTurn(ending{given, func() {
		release()
		release = takeTurn(t, db)
	}})
	if errors.Is(err, schemas.ErrTooMuch) || !sqldb.Locked(err) {
		t.Errorf("the wait: got %v, want that the file is locked", err)
	}
	release()
	unlock()
	if err := db.Write(t.Context(), func(*gorm.DB) error { return nil }); err != nil || db.LockedOut() {
		t.Errorf("once the file is free again: got %v, locked out (%t)", err, db.LockedOut())
	}
}
