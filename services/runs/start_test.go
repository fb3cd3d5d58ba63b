package runs_test

import (
	"testing"
	"testing/synctest"

	"github.com/chattray/chattray/services/runs"
)

// A request that is sent twice at once may find the run that the other one has stored and
// not yet registered. It follows the run all the same.
func TestARunIsFollowedAsSoonAsItIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runs.New(runs.Options{Store: runs.Stores{Commit: tended{}, Logs: unread{}}})
		defer r.Shutdown(t.Context())
		if r.Follows("run") {
			t.Error("a run that is not here is found")
		}
		r.Begin("run")
		found := make(chan bool, 1)
		go func() { found <- r.Follows("run") }()
		synctest.Wait()
		if len(found) > 0 {
			t.Fatalf("before the run is registered, readers find it here: %t, want that they wait", <-found)
		}
		r.Enlist(t.Context(), "run")
		if !<-found {
			t.Error("readers do not find a run that is here")
		}
	})
}
