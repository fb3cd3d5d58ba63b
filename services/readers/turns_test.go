package readers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/segments"
)

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2, 3)
		take := func(user string) func() {
			t.Helper()
			done, err := turns.take(t.Context(), user)
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		refused := func(user string) {
			t.Helper()
			began := time.Now()
			if _, err := turns.take(t.Context(), user); schemas.Visible(err).Code != schemas.CodeTooManyStreams || time.Since(began) != segments.Wait {
				t.Errorf("%s: got %v after %v", user, err, time.Since(began))
			}
		}
		first, second, other := take("ann"), take("ann"), take("bob")
		refused("ann")
		refused("eve") // three in all
		first()
		first() // no more than once
		third := take("eve")
		refused("ann")
		time.AfterFunc(segments.Wait/2, second)
		take("ann")() // it waits its turn
		other()
		third()
		if len(turns.users) != 0 || len(turns.all) != 0 {
			t.Errorf("%d users and %d turns are left, want none", len(turns.users), len(turns.all))
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		take("ann")
		take("ann")
		if _, err := turns.take(gone, "ann"); !errors.Is(err, context.Canceled) {
			t.Errorf("a reader that is gone: %v", err)
		}
	})
}

// A user who is refused because all turns are taken has lost none.
func TestRefusedTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2, 2)
		take := func(user string) (func(), error) { return turns.take(t.Context(), user) }
		if _, err := take("ann"); err != nil {
			t.Fatal(err)
		}
		other, err := take("bob")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := take("ann"); !errors.Is(err, segments.ErrBusy) {
			t.Fatalf("got %v, want %v", err, segments.ErrBusy)
		}
		other()
		if _, err := take("ann"); err != nil {
			t.Errorf("her second turn: %v", err)
		}
	})
}
