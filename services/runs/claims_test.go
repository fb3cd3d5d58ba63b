package runs

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/prepare"
	"github.com/chattray/chattray/services/questions"
)

// shared are claims of runs. Before one is dropped, the turn of its run comes.
type shared struct {
	documents.Claims
	run  string
	turn func()
	late chan struct{} // closed when the database drops them
}

func (s *shared) TakeClaim(_ context.Context, c record.Claim, _ string, _ bool) (string, bool, error) {
	s.run = c.Run
	return "", false, nil
}

func (s *shared) DropClaims(context.Context, string, string, int) error {
	go s.turn()
	<-s.late
	s.run = ""
	return nil
}

// A question is stored as queued, and its turn comes at once. It holds the block that it
// writes: what it had claimed for the case that it is not queued is released before.
func TestTheTurnOfANewQueuedRun(t *testing.T) {
	drafts, claims := documents.New(nil, nil, nil, nil, nil), new(shared)
	drafts.Share(claims, func() string { return "me" })
	c := new(chat)
	inRuns(t, Options{Options: prepare.Options{Drafts: drafts}, Store: Stores{Queue: c, Runs: ended{new(memory)}}}, func(t *testing.T, r *Runs, _ *memory) {
		c.next = func() (record.Run, error) { return record.Run{ID: "r"}, nil }
		began := make(chan struct{})
		defer synctest.Wait()
		defer close(began)
		c.begin = func() error { <-began; return record.ErrFenced }
		claims.late = make(chan struct{})
		claims.turn = func() { here{r}.Turn(t.Context(), "r") }
		claim := documents.Claim{Run: "r", Owner: ann.ID, Document: "doc", Blocks: []string{"block"}}
		q := &questions.Question{Begin: &record.Begin{Run: record.Run{ID: "r", Owner: ann}}, Request: new(schemas.ChatRequest), Claim: claim}
		if holder, err := r.claim(t.Context(), claim); holder != "" || err != nil {
			t.Fatal(holder, err)
		}
		q.State = schemas.RunQueued
		r.beginning.Add("r")
		go r.launch(t.Context(), q, r.leases.Current(), func() {})
		synctest.Wait()
		close(claims.late)
		synctest.Wait()
		if claims.run != "r" {
			t.Error("the run begins without what it has claimed")
		}
	})
}

// An attempt that another process has fenced off ends late: the run has come back here, as a
// later attempt, which holds what it claims.
func TestAnAttemptThatEndsAfterALaterOneHasBegun(t *testing.T) {
	drafts := documents.New(nil, nil, nil, nil, nil)
	inRuns(t, Options{Options: prepare.Options{Drafts: drafts}}, func(t *testing.T, r *Runs, _ *memory) {
		claim := documents.Claim{Run: "r", Owner: ann.ID, Document: "doc", Blocks: []string{"block"}}
		other := claim
		other.Run = "other"
		first := r.reads(t, "r", 1)
		r.forget(first)
		if holder, err := r.claim(t.Context(), claim); holder != "" || err != nil {
			t.Fatal(holder, err)
		}
		second := r.reads(t, "r", 3)
		first.log.Close()
		r.ended(first)
		if holder := drafts.Holder(other); holder != "r" {
			t.Errorf("%q holds the block of the later attempt", holder)
		}
		second.log.Close()
		r.ended(second)
		if holder := drafts.Holder(other); holder != "" {
			t.Errorf("%q holds the block after the later attempt, want nobody", holder)
		}
	})
}
