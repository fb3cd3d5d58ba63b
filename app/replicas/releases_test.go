package replicas

import (
	"context"
	"flag"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

// earlier is the path of the program of an earlier release; make cluster-test builds one.
var earlier = flag.String("earlier", "", "the program of an earlier release")

// Processes of an earlier release and of this one serve one database while clients ask and
// reconnect to any of them: the earlier ones are replaced by new ones, then these by earlier
// ones again. No run fails or loses an attempt.
func TestReleases(t *testing.T) {
	if *earlier == "" {
		t.Skip("only with -earlier")
	}
	over(t, []carrier{none, overNATS}, func(t *testing.T, system *apptest.System) {
		start := func(program string) {
			system.Program = program
			system.StartReplica(apptest.LongLease, nil)
		}
		start("") // makes the tables of this release, which the earlier one works on too
		start(*earlier)
		stop(t, system.Replicas()[0])
		system.OnlyUse(system.Replicas()[1:]...)
		start(*earlier)

		ctx, cancel := context.WithTimeout(t.Context(), apptest.Limit)
		defer cancel()
		var clients sync.WaitGroup
		var enough atomic.Bool
		var ended atomic.Int64
		for n := range 6 {
			clients.Go(func() {
				for chat := 0; !enough.Load() && !t.Failed(); chat++ {
					c := system.NewConversation("chat-"+strconv.Itoa(n)+"-"+strconv.Itoa(chat), "queue")
					c.Patient = true
					if err := c.Run(ctx); err != nil {
						t.Errorf("%s, run %s: %v", c.Question, c.RunID, err)
						return
					}
					for _, err := range c.Check(ctx) {
						t.Errorf("%s, run %s: %v", c.Question, c.RunID, err)
					}
					ended.Add(1)
				}
			})
		}
		for _, program := range []string{"", "", *earlier, *earlier, ""} {
			before := ended.Load()
			apptest.Eventually(t, "some runs have ended", func() bool { return t.Failed() || ended.Load() >= before+6 })
			victim := system.Replicas()[0]
			start(program)
			system.OnlyUse(slices.DeleteFunc(system.Replicas(), func(p *apptest.Process) bool { return p == victim })...)
			stop(t, victim)
		}
		enough.Store(true)
		clients.Wait()
		noFailedAttempts(t, system)
		apptest.CheckInvariants(t, system)
		system.CheckScripted()
		t.Logf("%d runs ended", ended.Load())
	})
}
