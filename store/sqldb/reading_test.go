package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
)

// gated is a pool whose queries wait for the gate.
type gated struct {
	gorm.ConnPool
	gate chan struct{}
}

func (g gated) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	<-g.gate
	return nil, nil //nolint:nilnil // its callers look at the error alone
}

// A read that waits too long says whether others were read meanwhile.
func TestTooMuchToRead(t *testing.T) {
	for _, others := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			closed, gate := make(chan struct{}), make(chan struct{})
			pool := &readPool{ConnPool: gated{gate: gate}, tries: 1, readers: newReaders(1, closed)}
			read := func(wait time.Duration) <-chan error {
				done := make(chan error, 1)
				go func() {
					ctx, cancel := context.WithTimeout(t.Context(), wait)
					defer cancel()
					rows, err := pool.QueryContext(ctx, "SELECT 1") //nolint:sqlclosecheck // there are none
					if rows != nil {
						err = errors.Join(err, rows.Err())
					}
					done <- err
				}()
				synctest.Wait()
				return done
			}
			first, second, late := read(time.Hour), read(time.Hour), read(time.Minute)
			if others {
				gate <- struct{}{} // the second begins
				if err := <-first; err != nil {
					t.Error(err)
				}
			}
			if err := <-late; !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, schemas.ErrTooMuch) != others {
				t.Errorf("with others read meanwhile (%t): got %v", others, err)
			}
			close(gate)
			if err := <-second; err != nil {
				t.Error(err)
			}
			close(closed)
		})
	}
}
