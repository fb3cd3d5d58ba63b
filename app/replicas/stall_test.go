package replicas

import (
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

// A process's connections to the database stay open, but no bytes pass in one direction, or
// in either. Another process takes its run after the lease. What the first one had sent
// reaches the database after the run has ended elsewhere, and changes nothing.
func TestOwnerStalled(t *testing.T) {
	for _, stall := range []struct {
		name        string
		there, back bool
	}{
		{"to the database", true, false},
		{"from the database", false, true},
		{"both", true, true},
	} {
		t.Run(stall.name, func(t *testing.T) {
			onPostgres(t, func(t *testing.T, system *apptest.System) {
				way := apptest.NewWay(t, system.Database())
				owner := system.StartReplica(apptest.ShortLease, way)
				gate := make(chan struct{})
				c := one(system, gate, []string{"look", "look"}, []string{"book"})
				done := c.Start(t)
				system.AwaitModel(t, c)
				other := system.StartReplica(apptest.TakerLease, nil)
				way.Stall(stall.there, stall.back)
				system.OnlyUse(other)
				apptest.Eventually(t, "the model is asked by the other one", func() bool { return len(system.ModelCalls(c.Question)) == 2 })
				close(gate)
				apptest.Eventually(t, "the run has ended elsewhere", func() bool {
					return system.Number("SELECT COUNT(*) FROM runs WHERE state = 'completed'") == 1
				})
				ended := stored(system)
				way.Stall(false, false)
				apptest.Eventually(t, "it has joined again", func() bool {
					return system.Number("SELECT COUNT(*) FROM replicas WHERE gone_at IS NULL AND expires_at > clock_timestamp()") == 2
				})
				apptest.Eventually(t, "the first one has given its run up", func() bool { return active(t, owner) == 0 })
				ends(t, system, map[*apptest.Conversation]<-chan error{c: done})
				if now := stored(system); now != ended {
					t.Errorf("the run's rows are\n%s\nwant them as they were at its end\n%s", now, ended)
				}
				if n := attempt(system, c); n != 2 {
					t.Errorf("the run is at attempt %d, want 2", n)
				}
				for _, key := range c.Keys() {
					if n := len(system.ToolCalls(key)); n != 1 {
						t.Errorf("%s was called %d times, want once", key, n)
					}
				}
				if n := len(system.ModelCalls(c.Question)); n != 4 { // the first turn twice, the others once
					t.Errorf("the model was asked %d times, want 4", n)
				}
				system.OnlyUse(owner)
				again := one(system, nil, []string{"book"})
				ends(t, system, map[*apptest.Conversation]<-chan error{again: again.Start(t)})
			})
		})
	}
}

// stored returns all that the database has of its runs: their rows, their tools' and their
// blocks', and the numbers of the events of each attempt.
func stored(system *apptest.System) string {
	return system.Text(`SELECT (SELECT string_agg(r::text, E'\n' ORDER BY id) FROM runs r)
		|| (SELECT COALESCE(string_agg(c::text, E'\n' ORDER BY c::text), '') FROM tool_calls c)
		|| (SELECT COALESCE(string_agg(b::text, E'\n' ORDER BY b::text), '') FROM blocks b)
		|| (SELECT string_agg(s::text, E'\n' ORDER BY s::text) FROM
			(SELECT run_id, attempt, MIN(first_seq), MAX(last_seq), SUM(last_seq - first_seq + 1) FROM segments GROUP BY run_id, attempt) s)`)
}
