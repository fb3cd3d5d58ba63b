package apptest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/services/runs"
)

// The leases of replicas, by what a test does to them. A busy machine may hold a
// process up for longer than a short one.
const (
	// ShortLease is that of a replica whose runs others take soon.
	ShortLease = "1s"
	// TakerLease is that of a replica that takes them, which it does only after
	// its own first lease.
	TakerLease = "3s"
	// LongLease is that of a replica that keeps its runs.
	LongLease = "10s"
)

// StartReplica starts the program as one of several replicas on the system's
// database, which it reaches through way; nil means directly. Clients go to any
// of them. With Here set it runs in this process, and cannot be killed.
func (s *System) StartReplica(lease string, way *Way, more ...string) *Process {
	s.T.Helper()
	settings := append(slices.Clip(s.Settings), "REPLICAS=many", "REPLICA_LEASE="+lease)
	if way != nil {
		settings = append(settings, "DATABASE_URL="+way.URL)
	}
	settings = append(settings, more...)
	var p *Process
	if s.Here == nil {
		p = StartProcess(s.T, settings...)
	} else {
		environ := []string{"CHATTRAY_LOG_LEVEL=error"}
		for _, setting := range settings {
			environ = append(environ, "CHATTRAY_"+setting)
		}
		p = &Process{t: s.T, URL: ServeWith(s.T, environ, app.Options{Runs: func(o *runs.Options) { o.Carrier = s.Here.Port() }})}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = append(s.replicas, p)
	s.marks++
	s.startedAt = append(s.startedAt, s.marks)
	close(s.processChanged)
	s.processChanged = make(chan struct{})
	return p
}

// OnlyUse sends clients only to these replicas from now on. Connections that
// end on the others are not errors.
func (s *System) OnlyUse(replicas ...*Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = replicas
	s.marks++
	s.startedAt = append(s.startedAt, s.marks) // a run that another replica continues counts as one after a start
}

// Replicas are the processes that clients go to.
func (s *System) Replicas() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.replicas)
}

// Database is the system's, as the test reaches it.
func (s *System) Database() string {
	for _, setting := range s.Settings {
		if url, ok := strings.CutPrefix(setting, "DATABASE_URL="); ok {
			return url
		}
	}
	return ""
}

// Number queries a number from the database, which is Postgres.
func (s *System) Number(query string, args ...any) (n int) {
	s.T.Helper()
	s.ask(&n, query, args...)
	return n
}

// Text asks it for a text.
func (s *System) Text(query string, args ...any) (text string) {
	s.T.Helper()
	s.ask(&text, query, args...)
	return text
}

func (s *System) ask(into any, query string, args ...any) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.Database())
	if err != nil {
		s.T.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }() // nothing was written
	if err := conn.QueryRow(ctx, query, args...).Scan(into); err != nil {
		s.T.Fatalf("%s: %v", query, err)
	}
}

// invariants are the rules for a database without running runs, whatever
// happened to the processes: each query counts violations.
var invariants = []struct{ name, breaks string }{
	{"each accepted question has ended", `SELECT COUNT(*) FROM runs WHERE state IN ('queued', 'running', 'waiting')`},
	{"a completed run has one answer", `SELECT COUNT(*) FROM runs WHERE state = 'completed' AND
		1 <> (SELECT COUNT(*) FROM blocks WHERE chat_id = runs.chat_id AND run_id = runs.id AND role = 'assistant')`},
	{"no run has two answers", `SELECT COUNT(*) FROM (SELECT run_id FROM blocks WHERE role = 'assistant' AND chat_id IS NOT NULL GROUP BY run_id HAVING COUNT(*) > 1) AS twice`},
	{"the numbers of an attempt have no gap", `SELECT COUNT(*) FROM (SELECT first_seq, attempt, first_seq - 1 AS wanted,
		lag(last_seq) OVER (PARTITION BY run_id, attempt ORDER BY first_seq) AS before FROM segments) AS s
		WHERE first_seq <> COALESCE(before, GREATEST(attempt - 1, 0) * 1000000) + 1`},
	{"numbers rise from attempt to attempt", `SELECT COUNT(*) FROM segments WHERE (first_seq - 1) / 1000000 + 1 <> GREATEST(attempt, 1) OR (last_seq - 1) / 1000000 + 1 <> GREATEST(attempt, 1)`},
	{"the log ends with the run's last event", `SELECT COUNT(*) FROM runs WHERE last_seq <> (SELECT COALESCE(MAX(last_seq), 0) FROM segments WHERE run_id = runs.id)`},
	{"nothing is of an attempt that is not the run's", `SELECT (SELECT COUNT(*) FROM tool_calls c JOIN runs r ON r.id = c.run_id WHERE c.attempt > r.attempt)
		+ (SELECT COUNT(*) FROM segments s JOIN runs r ON r.id = s.run_id WHERE s.attempt > r.attempt)`},
	{"every tool that began has an outcome", `SELECT COUNT(*) FROM tool_calls c JOIN runs r ON r.id = c.run_id WHERE c.state <> 'finished' AND r.state = 'completed'`},
	{"runs of a chat end in their order", `SELECT COUNT(*) FROM runs later JOIN runs earlier ON earlier.chat_id = later.chat_id AND earlier.place < later.place
		WHERE earlier.ended_at > later.ended_at AND later.state <> 'cancelled' AND earlier.state <> 'cancelled'`},
	{"no two runs share a place", `SELECT COUNT(*) - COUNT(DISTINCT place) FROM runs`},
	{"an Idempotency-Key has one run", `SELECT COUNT(idempotency_key) - COUNT(DISTINCT (owner, idempotency_key)) FILTER (WHERE idempotency_key IS NOT NULL) FROM runs`},
	{"nothing is left of a run that has ended", `SELECT (SELECT COUNT(*) FROM checkpoints) + (SELECT COUNT(*) FROM claims WHERE EXISTS (SELECT 1 FROM runs WHERE id = claims.run))`},
	{"a run belongs to the user of its chat", `SELECT COUNT(*) FROM runs JOIN chats ON chats.id = runs.chat_id WHERE chats.owner <> runs.owner`},
}

// CheckInvariants checks the database and the recorded calls of tools against
// the promises, whatever happened to the processes. All runs must have ended.
func CheckInvariants(t testing.TB, s *System) {
	t.Helper()
	for _, i := range invariants {
		if n := s.Number(i.breaks); n > 0 {
			t.Errorf("%d break the rule that %s, want none", n, i.name)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, calls := range s.toolCalls {
		if strings.HasPrefix(key, "book-") && len(calls) > 1 || strings.HasPrefix(key, "order-") && len(calls) > 1 {
			t.Errorf("%s was done %d times, want at most once", key, len(calls))
		}
	}
}
