package replicas

import (
	"strings"
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

// A process that cannot reach the database stops its runs once its lease has expired,
// although nothing else tells it to; also if it cannot reach NATS either. A stream of its
// run at another process continues.
func TestOwnerCutOff(t *testing.T) {
	over(t, []carrier{none, overNATS}, func(t *testing.T, system *apptest.System) {
		way := apptest.NewWay(t, system.Database())
		cuts, more := []*apptest.Way{way}, []string(nil)
		if system.NATS != nil { // then also from NATS, at the same time
			nats := apptest.NewWay(t, system.NATS.URL)
			cuts, more = append(cuts, nats), append(more, "NATS_URL="+nats.URL)
		}
		owner := system.StartReplica(apptest.ShortLease, way, more...)
		gate := make(chan struct{})
		c := one(system, gate, []string{"look", "look"}, []string{"book"})
		done := c.Start(t)
		system.AwaitModel(t, c)
		other := system.StartReplica(apptest.TakerLease, nil)
		elsewhere := doors[0].read(t, system, other, c)
		apptest.Eventually(t, "the stream has begun", func() bool { return strings.Contains(elsewhere.seen(), "turn") })
		for _, way := range cuts {
			way.Cut()
		}
		system.OnlyUse(other)
		apptest.Eventually(t, "the model is asked by the other one", func() bool { return len(system.ModelCalls(c.Question)) == 2 })
		close(gate)
		apptest.Eventually(t, "the run has ended elsewhere", func() bool {
			return system.Number("SELECT COUNT(*) FROM runs WHERE state = 'completed'") == 1
		})
		for _, way := range cuts {
			way.Restore()
		}
		elsewhere.frames(t, c, 0)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		apptest.Eventually(t, "it has joined again", func() bool {
			return system.Number("SELECT COUNT(*) FROM replicas WHERE gone_at IS NULL AND expires_at > clock_timestamp()") == 2
		})
		apptest.CheckAll(t, c)
		apptest.CheckInvariants(t, system)
		for _, key := range c.Keys() {
			if n := len(system.ToolCalls(key)); n != 1 {
				t.Errorf("%s was called %d times, want once", key, n)
			}
		}
		if n := len(system.ModelCalls(c.Question)); n != 4 {
			t.Errorf("the model was asked %d times, want 4", n)
		}
		system.OnlyUse(owner)
		again := one(system, nil, []string{"book"})
		ends(t, system, map[*apptest.Conversation]<-chan error{again: again.Start(t)})
	})
}
