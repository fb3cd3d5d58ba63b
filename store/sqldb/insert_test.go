package sqldb

import (
	"path/filepath"
	"slices"
	"testing"
)

// An insert tells the new rows, with their numbers, and leaves those that exist.
func TestInsert(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) database{
		"sqlite": func(t *testing.T) database {
			t.Helper()
			db, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "a.db"), Options{NoMigrate: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Upkeep().Close() })
			return db.database
		},
		"postgres": func(t *testing.T) database { t.Helper(); return onOneConnection(t, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			err := d.batch(t.Context(), func(tx Session) error {
				none := func(Scanner) error { return nil }
				if err := tx.Query(t.Context(), "CREATE TEMPORARY TABLE seats (n INTEGER PRIMARY KEY, name TEXT UNIQUE)", [][]any{nil}, none); err != nil {
					return err
				}
				if err := tx.Each(t.Context(), "INSERT INTO seats (n, name) VALUES (?, ?)", [][]any{{6, "b"}}); err != nil {
					return err
				}
				var got [][2]int64
				want := [][2]int64{{0, 7}, {2, 8}}
				err := tx.Insert(t.Context(), "INSERT INTO seats (n, name) SELECT MAX(n) + 1, ? FROM seats WHERE true ON CONFLICT (name) DO NOTHING", "n",
					[][]any{{"a"}, {"b"}, {"c"}, {"a"}}, func(i int, key int64) { got = append(got, [2]int64{int64(i), key}) })
				if err == nil && !slices.Equal(got, want) {
					t.Errorf("got the rows and numbers %v, want %v", got, want)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
