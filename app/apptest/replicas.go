package apptest

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/services/runs"
)

// The leases of replicas, by what a test does to them. A busy machine may hold a
// process up for longer than a short one.
const (
	// ShortLease is that of a replica whose runs others take soon.
	ShortLease = "1s"
	// TakerLease is that of a replica that takes them, which it does only after
	// all renewals of a whole lease were in time.
	TakerLease = "9s"
	// LongLease is that of a replica that keeps its runs.
	LongLease = "10s"
)

// StartReplica starts the program as one of several replicas on the system's
// database, which it reaches through way; nil means directly. Clients go to any
// of them. With Here set it runs in this process, and cannot be killed.
func (s *System) StartReplica(lease string, way *Way, more ...string) *Process {
	s.T.Helper()
	address, name := s.Database(), s.nextName()
	if way != nil {
		address = way.URL
	}
	settings := append(slices.Clip(s.Settings), "REPLICAS=many", "REPLICA_LEASE="+lease, "DATABASE_URL="+named(s.T, address, name))
	settings = append(settings, more...)
	var p *Process
	if s.Program != "" || s.Here == nil {
		p = s.startProcess(settings...)
	} else {
		environ := []string{"CHATTRAY_LOG_LEVEL=error"}
		for _, setting := range settings {
			environ = append(environ, "CHATTRAY_"+setting)
		}
		p = &Process{t: s.T, URL: ServeWith(s.T, environ, app.Options{Runs: func(o *runs.Options) { o.Carrier = s.Here.Port() }})}
	}
	s.watch(name)
	p.idle = p.Metric("go_goroutines")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas, s.all = append(s.replicas, p), append(s.all, p)
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

// look returns connections to the database beside the program's, which stay until the end
// of the test.
func (s *System) look() *sql.DB {
	s.T.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looking == nil {
		s.looking = Open(s.T, s.Database())
	}
	return s.looking
}

func (s *System) ask(into any, query string, args ...any) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	if err := s.look().QueryRowContext(ctx, query, args...).Scan(into); err != nil {
		s.T.Fatalf("%s: %v", query, err)
	}
}
