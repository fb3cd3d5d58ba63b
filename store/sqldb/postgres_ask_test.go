package sqldb

import (
	"context"
	"slices"
	"testing"
)

// What is asked is answered together with the next query, also with one that has no rows, or with
// the COMMIT: in order.
func TestPostgresAsk(t *testing.T) {
	d := onOneConnection(t, nil)
	var got []int
	scan := func(row Scanner) error {
		var n int
		err := row.Scan(&n)
		got = append(got, n)
		return err
	}
	err := d.batch(t.Context(), func(tx Session) error {
		run := func(how func(context.Context, string, [][]any, func(Scanner) error) error, rows [][]any, want ...int) {
			t.Helper()
			if err := how(t.Context(), "SELECT CAST(? AS INTEGER)", rows, scan); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v gives %v, want %v; %v", rows, got, want, err)
			}
		}
		run(tx.Query, nil)
		run(tx.Ask, [][]any{{1}, {2}})
		run(tx.Query, [][]any{{3}}, 1, 2, 3)
		run(tx.Ask, [][]any{{4}}, 1, 2, 3)
		run(tx.Query, nil, 1, 2, 3, 4)
		run(tx.Ask, [][]any{{5}}, 1, 2, 3, 4)
		return nil
	})
	if want := []int{1, 2, 3, 4, 5}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the transaction gives %v, want %v; %v", got, want, err)
	}
}
