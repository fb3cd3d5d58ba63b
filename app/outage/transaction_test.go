package outage

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
)

// A transaction of which it is not known whether it has begun or ended is not in the way of
// the next one.
func TestFaultsAroundATransaction(t *testing.T) {
	faults := apptest.NewFaults(t)
	db, err := sqldb.Open(t.Context(), apptest.SQLite.Fresh(t), sqldb.Options{Driver: faults.Name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Upkeep().Close() })
	change := func(fn func() error) error {
		return db.Batch(t.Context(), func(ctx context.Context, tx sqldb.Session) error {
			return cmp.Or(fn(), tx.Each(ctx, "UPDATE sweeps SET at = at", [][]any{nil}))
		})
	}
	nothing := func() error { return nil }
	if err := change(nothing); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		fail func() error
	}{
		{"begin", func() error {
			faults.Arm(apptest.Lost, 0, 1)
			return change(nothing)
		}},
		{"rollback", func() error {
			return change(func() error {
				faults.Arm(apptest.Refused, 0, 2) // the statement, too
				return nil
			})
		}},
		{"commit", func() error {
			return change(func() error {
				faults.Arm(apptest.Lost, 1, 1)
				return nil
			})
		}},
	} {
		if err := tt.fail(); !errors.Is(err, record.ErrUnavailable) {
			t.Errorf("%s: got %v, want an error of a database that is away", tt.name, err)
		}
		if failed := faults.Disarm(); len(failed) == 0 || !strings.HasPrefix(failed[len(failed)-1], strings.ToUpper(tt.name)) {
			t.Errorf("%s: %q failed", tt.name, failed)
		}
		if err := change(nothing); err != nil {
			t.Errorf("%s: the next transaction gets %v, want no error", tt.name, err)
		}
	}
}
