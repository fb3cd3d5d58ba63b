package documents_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/services/documents"
)

// TestClaimsGoToThoseThatWait checks that a released claim goes to the runs
// that wait for it, the earliest first, and before a run that arrives at that
// moment.
func TestClaimsGoToThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := documents.New(nil, nil, nil, nil, nil)
		plan := func(run string) documents.Claim {
			return documents.Claim{Run: run, Owner: "ann", Document: "d", Plan: true}
		}
		expect := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s: holder %q, want %q", what, got, want)
			}
		}
		claim := func(c documents.Claim) string {
			holder, err := d.Claim(t.Context(), c)
			if err != nil {
				t.Error(err)
			}
			return holder
		}
		expect("a free document", claim(plan("first")), "")
		got := make(map[string]string)
		for _, run := range []string{"second", "third"} {
			go func() { got[run] = d.Await(t.Context(), plan(run), 0) }()
			synctest.Wait()
		}
		expect("the wait of fourth", d.Await(t.Context(), plan("fourth"), time.Second), "first")

		d.Release("first", 1)
		expect("a claim at once after the release", claim(documents.Claim{Run: "late", Owner: "ann", Document: "d"}), "second")
		synctest.Wait()
		d.Release("second", 1)
		expect("a claim after the second release", claim(plan("late")), "third")
		synctest.Wait()
		d.Release("third", 1)
		expect("a claim when nobody waits", claim(plan("late")), "")
		expect("second", got["second"], "")
		expect("third", got["third"], "")
	})
}

// TestCrosswiseClaims has runs that hold a block each and want that of the next one. The
// last to ask closes the circle: it is told at once, and the others are granted one after
// the other. A plan waits for all runs that hold a block of the document.
func TestCrosswiseClaims(t *testing.T) {
	for name, share := range map[string]bool{"of a single process": false, "of one among several": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := documents.New(nil, nil, nil, nil, nil)
				if share {
					d.Share(&claimTable{holders: make(map[string]string)}, func() string { return "me" })
				}
				of := func(run, block string) documents.Claim {
					return documents.Claim{Run: run, Owner: "ann", Document: "d", Blocks: []string{block}}
				}
				for run, block := range map[string]string{"a": "1", "b": "2", "c": "3"} {
					if holder, err := d.Claim(t.Context(), of(run, block)); holder != "" || err != nil {
						t.Fatalf("block %s is held by %q, %v", block, holder, err)
					}
				}
				granted := make(map[string]bool)
				var all sync.WaitGroup
				for run, block := range map[string]string{"a": "2", "b": "3"} {
					all.Go(func() {
						holder := d.Await(t.Context(), of(run, block), documents.ClaimWait)
						granted[run] = holder == ""
						d.Release(run, 1)
					})
				}
				synctest.Wait()
				began := time.Now()
				if holder := d.Await(t.Context(), of("c", "1"), documents.ClaimWait); holder != "a" || time.Since(began) > 0 {
					t.Errorf("the claim that closes the circle is held by %q after %v, want by a at once", holder, time.Since(began))
				}
				d.Release("c", 1)
				all.Wait()
				if !granted["a"] || !granted["b"] || time.Since(began) >= documents.ClaimWait {
					t.Errorf("granted to %v after %v, want to both as soon as c has ended", granted, time.Since(began))
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		d := documents.New(nil, nil, nil, nil, nil)
		for run, block := range map[string]string{"a": "1", "b": "2", "c": "3"} {
			if holder, err := d.Claim(t.Context(), documents.Claim{Run: run, Owner: "ann", Document: "d", Blocks: []string{block}}); holder != "" || err != nil {
				t.Fatalf("block %s is held by %q, %v", block, holder, err)
			}
		}
		over := make(chan string)
		go func() {
			over <- d.Await(t.Context(), documents.Claim{Run: "a", Owner: "ann", Document: "d", Plan: true}, documents.ClaimWait)
		}()
		synctest.Wait()
		for _, run := range []string{"b", "c"} { // whichever is found first, the plan waits for both
			began := time.Now()
			if holder := d.Await(t.Context(), documents.Claim{Run: run, Owner: "ann", Document: "d", Blocks: []string{"1"}}, documents.ClaimWait); holder != "a" || time.Since(began) > 0 {
				t.Errorf("%s waits for %q until %v, want for the plan, and not at all", run, holder, time.Since(began))
			}
		}
		d.Release("b", 1)
		d.Release("c", 1)
		if holder := <-over; holder != "" {
			t.Errorf("the plan is held up by %q, want it granted", holder)
		}
	})
}
