package documents_test

import (
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
		d := documents.New(nil, nil, nil, nil)
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

		d.Release("first")
		expect("a claim at once after the release", claim(documents.Claim{Run: "late", Owner: "ann", Document: "d"}), "second")
		synctest.Wait()
		d.Release("second")
		expect("a claim after the second release", claim(plan("late")), "third")
		synctest.Wait()
		d.Release("third")
		expect("a claim when nobody waits", claim(plan("late")), "")
		expect("second", got["second"], "")
		expect("third", got["third"], "")
	})
}
