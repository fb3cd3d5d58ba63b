package storetest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
)

// RunReplicas tests the table of the processes, which only Postgres has.
func RunReplicas(t *testing.T, fresh func(t testing.TB) string) {
	for name, test := range map[string]func(t *testing.T, url string){
		"join, renew and mark as gone":                   testMembers,
		"let runs go":                                    testLetGo,
		"take runs of replicas that have left":           testTakeLeft,
		"where runs are read":                            testReading,
		"the first of the replicas":                      testFirst,
		"what is read of others at once":                 testTailBounds,
		"one that is alone":                              testAlone,
		"the same key sent to two":                       testKeyAtOnce,
		"a lock ends with its owner":                     testLockEnds,
		"acts on runs of others":                         testActs,
		"what others write":                              testTail,
		"a wait that has expired by the process's clock": testExpiry,
		"what a user may start":                          testStartLimits,
		"what a user may start at two processes at once": testStartsAtOnce,
		"messages to one chat at two processes at once":  testOrderAtOnce,
		"tickets":                        testTickets,
		"the same request for an answer": testSameRequest,
		"runs that others start":         testStarts,
		"what runs claim":                testClaims,
		"a block that is being written":  testWritten,
		"a block that is withdrawn":      testWithdrawnBlocks,
		"what runs wait for":             testCircles,
		"the list of the processes":      testMemberList,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

func testMembers(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	r := f.store.Replicas()
	join := func(id string, lease time.Duration) {
		t.Helper()
		others, err := r.Join(f.ctx, record.Replica{ID: id, Name: "host"}, lease)
		must(t, err)
		equal(t, "in the way", others, nil)
	}
	renew := func(id string, want int) {
		t.Helper()
		live, err := r.Renew(f.ctx, id, time.Hour)
		must(t, err)
		equal(t, "replicas at the renewal of "+id, live, want)
	}
	join("a", time.Hour)
	join("b", -time.Second)
	join("c", -time.Second)
	expired, err := r.Expired(f.ctx)
	must(t, err)
	equal(t, "expired", expired, []string{"b", "c"})
	for _, ids := range [][]string{{"b", "a"}, {"a"}, nil} {
		first, err := r.ExpiredFor(f.ctx, ids)
		must(t, err)
		if late := slices.Contains(ids, "b"); late != (first >= time.Second) || len(ids) > 0 && !late && first > -59*time.Minute {
			t.Errorf("the first lease of %v expired %v ago, want b's at least 1s ago, a's in about an hour, and 0 for none", ids, first)
		}
	}
	now, err := r.Now(f.ctx)
	must(t, err)
	if late := time.Since(now).Abs(); late > time.Hour {
		t.Errorf("the server's time is %v, want about the one of here", now)
	}
	renew("b", 2) // after it was found expired
	gone, err := r.MarkGone(f.ctx, expired)
	must(t, err)
	equal(t, "marked as gone", gone, []string{"c"})
	renew("c", 0)
	renew("b", 2)
	gone, err = r.MarkGone(f.ctx, expired)
	must(t, err)
	equal(t, "marked as gone again", gone, nil)

	unfinished := func(want ...string) {
		t.Helper()
		got, err := r.Unfinished(f.ctx)
		must(t, err)
		equal(t, "unfinished", got, want)
	}
	unfinished()
	w, dead, nobodys := f.begin("q", of("a")), f.begin("q", of("c")), f.begin("q")
	f.mustCommit(w, dead, nobodys)
	unfinished("c", "")
	f.take("a", "")
	unfinished("c")
	f.mustCommit(&record.Write{RunID: dead.RunID, Attempt: 1, Segment: &record.Segment{First: 1, Last: 1}})
	f.take("a", "c")
	unfinished("c") // the journal has something of it
	must(t, f.store.Tidy(f.ctx, []string{"c"}))
	unfinished()
	must(t, r.Leave(f.ctx, "a"))
	renew("a", 0)
	unfinished("a")
	f.mustCommit(f.begin("another's", of("b")), f.begin("nobody's again"))
	for _, from := range [][]string{{"a"}, {"b", ""}, nil} { // from itself it would take without end
		taken, err := f.store.Take(f.ctx, from, "a")
		must(t, err)
		equal(t, "runs taken by a replica that is gone", len(taken), 0)
	}
	f.mustCommit(f.begin("of one without a row", of("z")))
	unfinished("a", "")
	join("d", time.Hour)
	unfinished("a", "z", "")
	equal(t, "runs of one without a row", len(f.take("d", "z")), 1)
}

func testAlone(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	r := f.store.Replicas()
	join := func(id string, alone bool, lease time.Duration, want ...string) {
		t.Helper()
		others, err := r.Join(f.ctx, record.Replica{ID: id, Name: "host", Alone: alone}, lease)
		must(t, err)
		var got []string
		for _, other := range others {
			if !other.Until.After(time.Now()) {
				t.Errorf("%s is in the way until %v, want a time in the future", other.ID, other.Until)
			}
			got = append(got, other.ID)
		}
		equal(t, "in the way of "+id, got, want)
	}
	held := func(id string, want bool) {
		t.Helper()
		live, err := r.Renew(f.ctx, id, time.Hour)
		must(t, err)
		equal(t, id+" is there", live > 0, want)
	}
	join("one", true, time.Hour)
	join("one", true, time.Hour) // the answer was lost
	held("one", true)
	join("two", true, time.Hour) // the next process takes over
	held("one", false)
	join("many", false, time.Hour, "two")
	held("many", false)
	must(t, r.Leave(f.ctx, "two"))
	join("many", false, time.Hour)
	join("many", false, time.Hour)
	held("many", true)
	join("more", false, -time.Second)
	join("three", true, time.Hour, "many")
	must(t, r.Leave(f.ctx, "many"))
	join("three", true, time.Hour) // other replicas have expired, too
	held("more", false)
}

// Two processes that get the same request at the same time begin one run.
func testKeyAtOnce(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	stores := []*store.Store{f.store, open(t, url), open(t, url)}
	for range 20 {
		keyName := newID()
		var group sync.WaitGroup
		writes := make([]*record.Write, len(stores))
		for n, s := range stores {
			writes[n] = f.begin("q", func(g *record.Begin) { g.Run.IdempotencyKey = keyName })
			group.Go(func() {
				if err := s.Commit(context.Background(), writes[n:n+1]); err != nil {
					t.Errorf("commit: %v", err)
				}
			})
		}
		group.Wait()
		began := 0
		for _, w := range writes {
			if w.Err == nil {
				began++
			} else {
				fails(t, "the others", w.Err, record.ErrDuplicate)
			}
		}
		equal(t, "runs under one key", began, 1)
	}
}

// A process that stops in the middle of a transaction does not keep its runs from the
// others.
func testLockEnds(t *testing.T, url string) {
	s, err := store.Open(t.Context(), url, store.Options{Database: sqldb.Options{Lease: time.Second}})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	f := newFixture(t, s)
	w := f.begin("q", of("a"))
	f.mustCommit(w)
	locked, taken := make(chan struct{}), make(chan struct{})
	stopped := make(chan error, 1)
	fenced := record.WithFence(f.ctx, record.Fence{RunID: w.RunID, Attempt: 1})
	_, err = f.store.Import(f.ctx, strings.NewReader(`{"kind":"stream","stream_id":1,"name":"n"}`))
	must(t, err)
	first := true
	go func() {
		_, err := s.UpdateStream(fenced, 1, func(*schemas.Stream) error {
			if first {
				first = false
				close(locked)
				<-taken
			}
			return nil
		})
		stopped <- err
	}()
	<-locked
	other := newFixture(t, open(t, url))
	deadline := time.Now().Add(patience)
	for len(other.take("b", "a")) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("the run cannot be taken, want the lock to end")
		}
	}
	close(taken)
	fails(t, "the change of the stopped process", <-stopped, record.ErrFenced)
}

// A wait ends by the database's clock, not by that of the process.
func testExpiry(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	w := f.begin("q")
	f.mustCommit(w)
	for index, expires := range []time.Duration{time.Hour, -time.Hour} {
		f.mustCommit(&record.Write{RunID: w.RunID, Attempt: 1, Wait: &record.Wait{
			Index: index, Kind: schemas.WaitApproval, ID: newID(), Tool: "t", Input: json.RawMessage(`{}`), ExpiresAt: time.Now().Add(expires),
		}})
	}
	_, err := f.store.AnswerWait(f.ctx, record.Wait{RunID: w.RunID, Index: 0, Answer: schemas.WaitExpired})
	fails(t, "the end of a wait before its time", err, record.ErrEarly)
	late, err := f.store.AnswerWait(f.ctx, record.Wait{RunID: w.RunID, Index: 1, Answer: schemas.WaitExpired})
	must(t, err)
	equal(t, "the end of a wait after its time", late.Answer, schemas.WaitExpired)
	given, err := f.store.AnswerWait(f.ctx, record.Wait{RunID: w.RunID, Index: 0, Answer: schemas.WaitApproved})
	must(t, err)
	equal(t, "the user's answer", given.Answer, schemas.WaitApproved)
	f.mustCommit(f.finish(w, "a"))
}
