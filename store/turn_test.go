package store

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas/record"
)

// takeTurn takes the turn, for which all transactions wait until it is released.
func takeTurn(s *Store) (release func()) {
	d := s.db.(*sqliteDB) //nolint:forcetypeassert // its url says so
	<-d.turn
	return d.pass
}

// holdUp starts a change that ends with the gate.
func holdUp(t *testing.T, s *Store, gate chan struct{}) {
	go func() {
		if err := s.write(t.Context(), func(*gorm.DB) error { <-gate; return nil }); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
}

// What runs write is committed before other changes that wait for their turn.
func TestCommitGoesAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openAt(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
		release, gate := takeTurn(s), make(chan struct{})
		for range 20 {
			holdUp(t, s, gate)
		}
		var committed atomic.Bool
		go func() {
			if err := s.Commit(t.Context(), []*record.Write{{RunID: "none"}}); err != nil {
				t.Error(err)
			}
			committed.Store(true)
		}()
		synctest.Wait()
		release()
		synctest.Wait()
		if !committed.Load() {
			t.Error("a commit waits for the changes that came before it")
		}
		close(gate)
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
