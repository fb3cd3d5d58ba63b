package apptest

import (
	"slices"
	"strings"
	"testing"
)

// invariants are the rules for a database without running runs, whatever
// happened to the processes: each query counts violations.
var invariants = []struct{ name, breaks string }{
	{"each accepted question has ended", `SELECT COUNT(*) FROM runs WHERE state IN ('queued', 'running', 'waiting')`},
	{"a completed run has one answer", `SELECT COUNT(*) FROM runs WHERE state = 'completed' AND
		1 <> (SELECT COUNT(*) FROM blocks WHERE chat_id = runs.chat_id AND run_id = runs.id AND role = 'assistant')`},
	{"no run has two answers", `SELECT COUNT(*) FROM (SELECT run_id FROM blocks WHERE role = 'assistant' AND chat_id IS NOT NULL AND run_id <> '' GROUP BY run_id HAVING COUNT(*) > 1) AS twice`},
	{"the numbers of an attempt have no gap", `SELECT COUNT(*) FROM (SELECT first_seq, attempt, first_seq - 1 AS wanted,
		lag(last_seq) OVER (PARTITION BY run_id, attempt ORDER BY first_seq) AS before FROM segments) AS s
		WHERE first_seq <> COALESCE(before, CASE WHEN attempt > 1 THEN attempt - 1 ELSE 0 END * 1000000) + 1`},
	{"numbers rise from attempt to attempt", `SELECT COUNT(*) FROM segments WHERE (first_seq - 1) / 1000000 + 1 <> COALESCE(NULLIF(attempt, 0), 1) OR (last_seq - 1) / 1000000 + 1 <> COALESCE(NULLIF(attempt, 0), 1)`},
	{"the log ends with the run's last event", `SELECT COUNT(*) FROM runs WHERE last_seq <> (SELECT COALESCE(MAX(last_seq), 0) FROM segments WHERE run_id = runs.id)`},
	{"nothing is of an attempt that is not the run's", `SELECT (SELECT COUNT(*) FROM tool_calls c JOIN runs r ON r.id = c.run_id WHERE c.attempt > r.attempt)
		+ (SELECT COUNT(*) FROM segments s JOIN runs r ON r.id = s.run_id WHERE s.attempt > r.attempt)`},
	{"every tool that began has an outcome", `SELECT COUNT(*) FROM tool_calls c JOIN runs r ON r.id = c.run_id WHERE c.state <> 'finished' AND r.state = 'completed'`},
	{"runs of a chat end in their order", `SELECT COUNT(*) FROM runs later JOIN runs earlier ON earlier.chat_id = later.chat_id AND earlier.place < later.place
		WHERE earlier.ended_at > later.ended_at AND later.state <> 'cancelled' AND earlier.state <> 'cancelled'`},
	{"no two runs share a place", `SELECT COUNT(*) - COUNT(DISTINCT place) FROM runs`},
	{"an Idempotency-Key has one run", `SELECT COUNT(*) FROM (SELECT 1 FROM runs WHERE idempotency_key IS NOT NULL GROUP BY owner, idempotency_key HAVING COUNT(*) > 1) AS twice`},
	{"nothing is left of a run that has ended", `SELECT COUNT(*) FROM checkpoints`},
	{"no claim is left of a run", `SELECT COUNT(*) FROM claims WHERE EXISTS (SELECT 1 FROM runs WHERE id = claims.run)`},
	{"a run belongs to the user of its chat", `SELECT COUNT(*) FROM runs JOIN chats ON chats.id = runs.chat_id WHERE chats.owner <> runs.owner`},
}

// CheckInvariants checks the database, the recorded calls of tools and the processes
// against the promises, whatever happened to the processes. All runs must have ended, and
// all their readers must have left. Together with Conversation.Check, which looks at one
// run as its client saw it, it holds all rules for several replicas:
//
//	R1   one terminal event and one answer a run: Check, invariants, watch.run
//	R2   the connections of a client give the stored log: Check
//	R3   no event of an attempt after one of the next: take, on every connection
//	R4   a tool that may not run twice ran at most once: here, Check
//	R5   no stored reply or tool is repeated: Check
//	R6   nothing is written by an attempt that is not the run's: watch.run, watch.row
//	R7   one run of a chat at a time, in their order: watch.alone, watch.turn, invariants
//	R8   a run is taken once for each loss: watch.run
//	R9   a queued run starts: invariants
//	R10  nobody sees another user's run: invariants
//	R11  nothing is left of what has ended: invariants, nothingLeft
func CheckInvariants(t testing.TB, s *System) {
	t.Helper()
	for _, i := range invariants {
		if strings.Contains(i.breaks, "FROM claims") && strings.HasPrefix(s.Database(), "sqlite:") {
			continue // it has no such table
		}
		if n := s.Number(i.breaks); n > 0 {
			t.Errorf("%d break the rule that %s, want none", n, i.name)
		}
	}
	s.mu.Lock()
	watched, all := s.watched && !s.Unwatched, slices.Clone(s.all)
	for key, calls := range s.toolCalls {
		if strings.HasPrefix(key, "book-") && len(calls) > 1 || strings.HasPrefix(key, "order-") && len(calls) > 1 {
			t.Errorf("%s was done %d times, want at most once", key, len(calls))
		}
	}
	s.mu.Unlock()
	if watched {
		if breaks := s.Text("SELECT COALESCE(string_agg(DISTINCT rule || ': ' || what, E'\n'), '') FROM watch.breaks"); breaks != "" {
			t.Errorf("what was written breaks these rules:\n%s", breaks)
		}
	}
	if s.Here == nil {
		s.nothingLeft(t, slices.DeleteFunc(all, (*Process).Ended))
	}
}

// moreGoroutines is how many goroutines an idle replica may have beyond those at its start:
// connections to the database, NATS and other servers are opened when they are used.
const moreGoroutines = 8

// nothingLeft waits until the replicas, which still run, work on nothing and hold nothing.
func (s *System) nothingLeft(t testing.TB, replicas []*Process) {
	t.Helper()
	for _, p := range replicas {
		for _, name := range []string{"chattray_runs_active", "chattray_streams_active", `chattray_mirrors{via="bus"}`, `chattray_mirrors{via="log"}`} {
			Eventually(t, name+" is 0", func() bool { return p.Metric(name) == 0 })
		}
		Eventually(t, "no goroutine is left over", func() bool {
			s.HangUp()
			return p.Metric("go_goroutines") <= p.idle+moreGoroutines
		})
	}
	if s.NATS != nil {
		Eventually(t, "each process has two subscriptions", func() bool {
			for _, n := range s.NATS.Subscriptions() {
				if n != 2 {
					return false
				}
			}
			return true
		})
	}
}
