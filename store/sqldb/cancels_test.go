package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// Cancels that wait for their turn are stored with the first of them, also if its caller
// no longer waits.
func TestCancelsAreStoredTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, s := openAt(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
		const runs = 100
		id := func(i int) string { return fmt.Sprintf("run-%d", i) }
		for i := range runs {
			w := &record.Write{RunID: id(i), Attempt: 1, Begin: &record.Begin{ChatKey: id(i), Run: record.Run{ID: id(i), MessageID: "m" + id(i), Owner: schemas.User{ID: "ann"}, CreatedAt: time.Now()}}}
			if err := errors.Join(s.Commit(t.Context(), []*record.Write{w}), w.Err); err != nil {
				t.Fatal(err)
			}
		}
		release, gate := takeTurn(t, db), make(chan struct{})
		leaves, leave := context.WithCancel(t.Context())
		var answered atomic.Int64
		cancel := func(ctx context.Context, id string, want error) {
			go func() {
				if err := s.RequestCancel(ctx, id); !errors.Is(err, want) {
					t.Errorf("cancel of %s: got %v, want %v", id, err, want)
				}
				answered.Add(1)
			}()
			synctest.Wait()
		}
		cancel(leaves, id(0), nil)
		holdUp(t, db, gate)
		for i := range runs {
			cancel(t.Context(), id(i), nil)
		}
		cancel(t.Context(), "none", schemas.ErrNotFound)
		leave()
		release()
		synctest.Wait()
		if got, want := answered.Load(), int64(runs+2); got != want {
			t.Errorf("%d of %d cancels are answered before the change that came after the first", got, want)
		}
		close(gate)
		synctest.Wait()
		cancel(t.Context(), id(0), nil) // the next one alone
		if ids, err := s.CancelRequested(t.Context(), "", nil); err != nil || len(ids) != runs {
			t.Errorf("got %d cancelled runs and %v, want %d", len(ids), err, runs)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
