package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
)

const (
	// shortRead is the time that reads get from a database that hangs.
	shortRead = 500 * time.Millisecond
	// shortRemoteRead is the same with room for a new connection, whose
	// authentication takes processor time.
	shortRemoteRead = 4 * shortRead
	// hangs is the time after which a test gives up; it is long, because
	// machines may be slow.
	hangs = time.Minute
	// recovers is the time in which a store must work again; each try has little time, so
	// on a slow machine many are needed.
	recovers = 5 * time.Minute
)

// patient are the calls without a time limit.
var patient = map[string]bool{"migrate": true, "migration status": true, "import": true}

// holdsNothing makes all calls, many at the same time, on a store whose
// database does not answer: each ends by itself, with the error that the
// database is not available.
func holdsNothing(t *testing.T, s *store.Store, owner string, g *record.Begin) {
	t.Helper()
	var wg sync.WaitGroup
	defer wg.Wait()
	for name, call := range calls(s, owner, g) {
		if patient[name] {
			continue
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), hangs)
			defer cancel()
			err := call(ctx)
			if ctx.Err() != nil || !errors.Is(err, record.ErrUnavailable) {
				t.Errorf("%s: %v, the caller's own time: %v", name, err, ctx.Err())
			}
		})
	}
}

// eventuallyWorks retries until the store has noticed that the database works.
func eventuallyWorks(t *testing.T, s *store.Store, owner string, g *record.Begin) {
	t.Helper()
	tick := time.NewTicker(shortRead)
	defer tick.Stop()
	for deadline := time.Now().Add(recovers); ; <-tick.C {
		_, err := s.Chat(t.Context(), owner, g.Run.ConversationID)
		if err == nil {
			_, err = s.PatchChat(t.Context(), owner, g.Run.ConversationID, title("works"))
		}
		if err == nil {
			err = s.Ping(t.Context())
		}
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// unready checks the message of Ping for an operator.
func unready(t testing.TB, s *store.Store, message string) {
	t.Helper()
	err := s.Ping(t.Context())
	seen, ok := errors.AsType[*schemas.Error](err)
	if !ok || seen.Code != schemas.CodeStoreUnavailable || seen.Message != message || !errors.Is(err, record.ErrUnavailable) {
		t.Errorf("ping: got %v, want %q", err, message)
	}
}

// testPing calls Ping from many goroutines, again and again; no rows are left.
func testPing(t *testing.T, url string) {
	s := open(t, url)
	g := newFixture(t, s).turn("q", "a")
	before, err := s.Segments(t.Context(), g.Run.ID, 0)
	must(t, err)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 8 {
				if err := s.Ping(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	after, err := s.Segments(t.Context(), g.Run.ID, 0)
	must(t, err)
	equal(t, "segments", after, before)
}
