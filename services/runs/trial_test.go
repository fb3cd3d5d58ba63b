package runs_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/prepare"
	"github.com/chattray/chattray/services/runs"
)

// unwritten is a store that takes no writes.
type unwritten struct{ tended }

func (unwritten) Commit(context.Context, []*record.Write) error { return record.ErrUnavailable }

// A held run cannot begin its trial, because the database takes no writes. Until it is taken up
// again it holds nothing, as any other run that waits for the database; those that have waited
// for its blocks are tried.
func TestAHeldRunThatCannotBeginGivesItsBlocksBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tried := 0
		q := &queues{first: map[int64]string{2: "waits"}}
		q.begin = func(string) error { tried++; return record.ErrFenced }
		r := runs.New(runs.Options{
			Options: prepare.Options{Drafts: documents.New(nil, nil, nil, nil, nil)}, Store: runs.Stores{Commit: unwritten{}, Queue: q, Runs: stuckRuns{}, Logs: unread{}},
		})
		defer r.Shutdown(t.Context())
		try := r.EnlistHeld(t.Context(), "held", 1, "block")
		r.EnlistWriting(t.Context(), "waits", 2, "block")
		r.Next(2)
		if tried > 0 {
			t.Fatal("the queued run was begun while the held one has its block")
		}
		try()
		<-time.After(time.Minute)
		if tried != 1 {
			t.Errorf("the queued run was tried %d times, want once", tried)
		}
	})
}

// given are claims of several processes. It has the attempts that gave theirs back.
type given struct {
	documents.Claims
	attempts []int
}

func (g *given) TakeClaim(context.Context, record.Claim, string, bool) (string, bool, error) {
	return "", false, nil
}

func (g *given) DropClaims(_ context.Context, _, _ string, attempt int) error {
	g.attempts = append(g.attempts, attempt)
	return nil
}

// With several processes, what a held run claims is dropped as that of its attempt: what an
// earlier attempt drops once a later one is stored has no effect.
func TestAHeldRunGivesBackWhatItsAttemptClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claims, drafts := new(given), documents.New(nil, nil, nil, nil, nil)
		drafts.Share(claims, func() string { return "me" })
		r := runs.New(runs.Options{
			Options: prepare.Options{Drafts: drafts}, Store: runs.Stores{Commit: unwritten{}, Queue: new(queues), Runs: stuckRuns{}, Logs: unread{}},
		})
		defer r.Shutdown(t.Context())
		r.EnlistHeld(t.Context(), "held", 1, "block")()
		if len(claims.attempts) == 0 || claims.attempts[0] != 2 {
			t.Errorf("claims are dropped as those of attempts %v, want 2", claims.attempts)
		}
	})
}
