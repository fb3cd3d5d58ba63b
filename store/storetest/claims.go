package storetest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
)

// testClaims is what runs of several processes write: one run for each block, and one plan
// for each document.
func testClaims(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	r := f.store.Replicas()
	a, b, c := f.begin("a", of("a")), f.begin("b", of("b")), f.begin("c", of("b"))
	f.mustCommit(a, b, c)
	claim := func(run *record.Write, owner, document string, plan bool, blocks ...string) record.Claim {
		return record.Claim{Run: run.RunID, Owner: owner, Document: document, Plan: plan, Blocks: blocks}
	}
	take := func(what string, w record.Claim, replica, want string) {
		t.Helper()
		holder, _, err := r.TakeClaim(f.ctx, w, replica, false)
		must(t, err)
		equal(t, what, holder, want)
	}
	take("two blocks", claim(a, "ann", "d", false, "one", "two"), "a", "")
	take("again, and another one", claim(a, "ann", "d", false, "two", "three"), "a", "")
	for block, want := range map[string]string{"two": "d", "new": "", "": ""} {
		document, err := r.ClaimedIn(f.ctx, "ann", block)
		must(t, err)
		equal(t, "the document of "+block, document, want)
	}
	take("one of them", claim(b, "ann", "d", false, "new", "two"), "b", a.RunID)
	take("nothing of it was granted", claim(c, "ann", "d", false, "new"), "b", "")
	take("another user's", claim(b, "bob", "d", false, "two"), "b", "")
	take("the plan", claim(b, "ann", "d", true), "b", min(a.RunID, c.RunID))
	take("no block", claim(b, "ann", "d", false), "b", "")
	take("the plan of another document", claim(b, "ann", "other", true), "b", "")
	take("a block of what is planned", claim(c, "ann", "other", false, "x"), "b", b.RunID)
	take("no block of what is planned", claim(c, "ann", "other", false), "b", b.RunID)
	take("by who plans it", claim(b, "ann", "other", false, "x"), "b", "")
	take("the plan twice", claim(c, "ann", "other", true), "b", b.RunID)

	must(t, r.DropClaims(f.ctx, a.RunID, "b", 1)) // its run is a's
	take("a block that another replica gave back", claim(c, "ann", "d", false, "one"), "b", a.RunID)
	must(t, f.store.BeginAttempt(f.ctx, a.RunID, 2, "a"))
	must(t, r.DropClaims(f.ctx, a.RunID, "a", 1)) // late: the next attempt has claimed them
	take("a block that an earlier attempt gave back", claim(c, "ann", "d", false, "one"), "b", a.RunID)
	must(t, r.DropClaims(f.ctx, a.RunID, "a", 2))
	take("a block that was given back", claim(c, "ann", "d", false, "one"), "b", "")
	f.mustCommit(f.finish(c, "c"))
	take("a block of a run that has ended", claim(a, "ann", "d", false, "one"), "a", "")

	begun := f.begin("not stored yet")
	take("a run that is about to begin", claim(begun, "ann", "d", false, "early"), "a", "")
	take("its block", claim(b, "ann", "d", false, "early"), "b", begun.RunID)
	waits := f.begin("waits for its turn", in(a.Begin.Run.ConversationID), queued)
	f.mustCommit(waits)
	take("a queued run", claim(waits, "ann", "d", false, "queue"), "a", "")
	take("its block", claim(b, "ann", "d", false, "queue"), "b", waits.RunID)

	conn, err := pgx.Connect(f.ctx, url)
	must(t, err)
	_, err = conn.Exec(f.ctx, "UPDATE claims SET until = clock_timestamp() - interval '1 hour'")
	must(t, errors.Join(err, conn.Close(f.ctx)))
	take("the block of a run that has not begun", claim(b, "ann", "d", false, "early"), "b", "")
	take("the block that a queued run could not release", claim(b, "ann", "d", false, "queue"), "b", "")
	take("a block of a run that has not ended", claim(b, "ann", "d", false, "one"), "b", a.RunID)
	testClaimRace(f, url)
}

// testClaimRace lets many runs of several processes claim the same block at once.
func testClaimRace(f *fixture, url string) {
	stores := []*store.Store{f.store, open(f, url), open(f, url)}
	for n := range 20 {
		var group sync.WaitGroup
		granted := make([]bool, 9)
		for i := range granted {
			w := f.begin("races")
			f.mustCommit(w)
			group.Go(func() {
				holder, _, err := stores[i%3].Replicas().TakeClaim(f.ctx, record.Claim{Run: w.RunID, Owner: "ann", Document: "race", Blocks: []string{"b" + strconv.Itoa(n)}}, "r", false)
				if err != nil {
					f.Error(err)
				}
				granted[i] = holder == "" && err == nil
			})
		}
		group.Wait()
		writers := 0
		for _, is := range granted {
			if is {
				writers++
			}
		}
		equal(f, "writers of a block", writers, 1)
	}
}

// testWritten is what users of one process do to a block that a run of another one writes.
func testWritten(t *testing.T, url string) {
	s, err := store.Open(t.Context(), url, store.Options{Database: sqldb.Options{Lease: time.Minute}})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	f := newFixture(t, s)
	r := s.Replicas()
	w := f.begin("q", of("a"))
	f.mustCommit(w)
	owner := w.Begin.Run.Owner.ID
	fenced := record.WithFence(f.ctx, record.Fence{RunID: w.RunID, Attempt: 1})
	write := record.BlockWrite{NewBlock: record.NewBlock{ID: "b", Type: schemas.BlockMarkdown, Content: "text"}}
	write.Create = &record.NewDocument{ID: "d", Title: "d", CreatedAt: f.now()}
	_, err = s.WriteBlock(fenced, owner, "d", write)
	must(t, err)
	_, _, err = r.TakeClaim(f.ctx, record.Claim{Run: w.RunID, Owner: owner, Document: "d", Blocks: []string{"b"}}, "a", false)
	must(t, err)
	acts := map[string]func() error{
		"accept the block": func() error { _, err := s.SettleBlock(f.ctx, owner, "b", record.Accept, nil); return err },
		"accept all":       func() error { _, err := s.SettleDocument(f.ctx, owner, "d", record.Accept, nil); return err },
		"put a block there": func() error {
			_, err := s.WriteBlock(f.ctx, owner, "d", record.BlockWrite{Only: true, NewBlock: record.NewBlock{ID: "b", Content: "mine"}})
			return err
		},
	}
	must(t, r.SetWriting(f.ctx, w.RunID, "b", true))
	for what, act := range acts {
		if err := act(); !errors.Is(err, record.ErrBeingWritten) {
			t.Errorf("%s while it is written: error %v, want being_written", what, err)
		}
	}
	must(t, s.AppendBlock(fenced, owner, "d", "b", " and more"))
	rejected := func(what string, want ...record.Claim) {
		t.Helper()
		got, err := r.Rejected(f.ctx, []string{w.RunID, newID()})
		must(t, err)
		equal(t, what, got, want)
	}
	rejected("rejected while text is pending")
	_, err = s.SettleBlock(f.ctx, owner, "b", record.Revert, nil)
	must(t, err)
	rejected("rejected after the user has", record.Claim{Run: w.RunID, Owner: owner, Document: "d", Blocks: []string{"b"}})
	_, err = s.WriteBlock(fenced, owner, "d", record.BlockWrite{NewBlock: record.NewBlock{ID: "b", Content: "again"}})
	must(t, err)
	must(t, r.SetWriting(f.ctx, w.RunID, "b", false))
	must(t, acts["put a block there"]())
	must(t, acts["accept the block"]())
	rejected("rejected when nothing is written")
	must(t, acts["accept all"]())
	must(t, r.SetWriting(f.ctx, w.RunID, "b", true))
	f.mustCommit(f.finish(w, "a"))
	must(t, acts["put a block there"]())
}

// testWithdrawnBlocks is what runs of other processes are told when the user reverts or
// deletes blocks that they have written or planned.
func testWithdrawnBlocks(t *testing.T, url string) {
	s, err := store.Open(t.Context(), url, store.Options{Database: sqldb.Options{Lease: time.Minute}})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	f := newFixture(t, s)
	run, other := f.begin("writes"), f.begin("does something else")
	f.mustCommit(run, other)
	fenced := record.WithFence(f.ctx, record.Fence{RunID: run.RunID, Attempt: 1})
	claim := record.Claim{Run: run.RunID, Owner: f.owner, Document: "d", Blocks: []string{"own", "a", "b", "c"}}
	_, _, err = s.Replicas().TakeClaim(f.ctx, claim, "r", false)
	must(t, err)
	_, _, err = s.Replicas().TakeClaim(f.ctx, record.Claim{Run: run.RunID, Owner: f.owner, Document: "planned", Plan: true}, "r", false)
	must(t, err)
	_, _, err = s.Replicas().TakeClaim(f.ctx, record.Claim{Run: run.RunID, Owner: f.owner, Document: "versions", Blocks: []string{"v"}}, "r", false)
	must(t, err)
	write := func(document, id string) func() error {
		return func() error {
			_, err := s.WriteBlock(fenced, f.owner, document, record.BlockWrite{
				NewBlock: record.NewBlock{ID: id, Content: "text"}, Create: &record.NewDocument{ID: document, Title: "T", CreatedAt: f.now()},
			})
			return err
		}
	}
	for _, id := range claim.Blocks {
		must(t, write("d", id)())
	}
	settle := func(ctx context.Context, id string, decision record.Settle) func() error {
		return func() error { _, err := s.SettleBlock(ctx, f.owner, id, decision, nil); return err }
	}
	for _, step := range []struct {
		does string
		do   func() error
		want []string
	}{
		{"the run reverts its own", settle(fenced, "own", record.Revert), nil},
		{"the user accepts", settle(f.ctx, "a", record.Accept), nil},
		{"the user reverts what has no changes", settle(f.ctx, "a", record.Revert), nil},
		{"the user reverts", settle(f.ctx, "b", record.Revert), []string{"b"}},
		{"the run writes it again", write("d", "b"), []string{"b"}},
		{"the user deletes", func() error { return s.DeleteBlock(f.ctx, f.owner, "a", nil) }, []string{"a", "b"}},
		{"the user accepts all", func() error { _, err := s.SettleDocument(f.ctx, f.owner, "d", record.Accept, nil); return err }, []string{"a", "b"}},
		{"the user reverts all", func() error { _, err := s.SettleDocument(f.ctx, f.owner, "d", record.Revert, nil); return err }, []string{"a", "b", "c", "own"}},
		{"a block of a plan is added", write("planned", "p"), []string{"a", "b", "c", "own"}},
		{"the user deletes it", func() error { return s.DeleteBlock(f.ctx, f.owner, "p", nil) }, []string{"a", "b", "c", "own", "p"}},
		{"the run writes a document of the same id", write("b", "of b"), []string{"a", "b", "c", "own", "p"}},
		{"a block is added and accepted", func() error {
			return errors.Join(write("versions", "first")(), settle(f.ctx, "first", record.Accept)(), write("versions", "v")(), settle(f.ctx, "v", record.Accept)())
		}, []string{"a", "b", "c", "own", "p"}},
		{"the user restores the version before", func() error {
			versions, err := s.DocumentVersions(f.ctx, f.owner, "versions")
			if err == nil {
				_, err = s.RestoreDocument(f.ctx, f.owner, "versions", versions.Items[0].Revision, nil)
			}
			return err
		}, []string{"a", "b", "c", "own", "p", "v"}},
	} {
		must(t, step.do())
		var want []record.Withdrawal
		for _, id := range step.want {
			want = append(want, record.Withdrawal{Run: run.RunID, Block: id})
		}
		got, err := s.Withdrawn(f.ctx, []string{run.RunID, other.RunID})
		must(t, err)
		slices.SortFunc(got, func(a, b record.Withdrawal) int { return strings.Compare(a.Block, b.Block) })
		equal(t, "withdrawn after "+step.does, got, want)
	}
}

// testCircles is what runs of several processes wait for: the wait that closes a circle is
// refused, and what ends a wait breaks one.
func testCircles(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	r := f.store.Replicas()
	runs := make(map[string]*record.Write)
	for _, name := range []string{"a", "b", "c", "idle"} {
		runs[name] = f.begin(name)
		f.mustCommit(runs[name])
	}
	claim := func(run, document, block string) record.Claim {
		c := record.Claim{Run: runs[run].RunID, Owner: "ann", Document: document, Plan: block == ""}
		if block != "" {
			c.Blocks = []string{block}
		}
		return c
	}
	name := func(id string) string {
		for name, w := range runs {
			if w.RunID == id {
				return name
			}
		}
		return id
	}
	await := func(c record.Claim, want string, circle bool) {
		t.Helper()
		holder, deadlock, err := r.TakeClaim(f.ctx, c, "r", true)
		must(t, err)
		if got := name(holder); got != want || deadlock != circle {
			t.Errorf("%s waits for %v in %s: held by %q, a circle: %t; want %q, %t", name(c.Run), c.Blocks, c.Document, got, deadlock, want, circle)
		}
	}
	leave := func(run string) {
		t.Helper()
		must(t, r.LeaveClaim(f.ctx, runs[run].RunID))
	}
	for run, block := range map[string]string{"a": "1", "b": "2", "c": "3"} {
		await(claim(run, "d", block), "", false)
	}
	await(claim("a", "d", "2"), "b", false)
	await(claim("a", "d", "2"), "b", false)
	await(claim("idle", "d", "1"), "a", false) // it holds nothing, so nobody waits for it
	await(claim("b", "d", "3"), "c", false)
	await(claim("c", "d", "1"), "a", true)
	await(claim("c", "d", "2"), "b", true)
	await(claim("c", "d", "new"), "", false)
	leave("b")
	await(claim("c", "d", "1"), "a", false)
	await(claim("b", "d", "3"), "c", true)
	await(claim("b", "d", "4"), "", false)
	other := claim("c", "d", "1")
	other.Owner = "bob"
	await(other, "", false)
	await(claim("b", "d", "3"), "c", false) // what was granted has ended the wait of c
	leave("a")
	leave("b")

	await(claim("a", "d", ""), name(min(runs["b"].RunID, runs["c"].RunID)), false) // a plan waits for both
	await(claim("b", "d", "1"), "a", true)
	await(claim("c", "d", "1"), "a", true)
	await(claim("b", "else", ""), "", false)
	await(claim("a", "else", "x"), "b", false)
	await(claim("b", "d", "1"), "a", true)
	await(claim("c", "d", "1"), "a", false) // a waits no longer for the plan
	await(claim("a", "else", "x"), "b", false)
	f.mustCommit(f.finish(runs["b"], "done"))
	await(claim("a", "d", "2"), "", false)
}
