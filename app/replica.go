package app

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"strings"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/api/ws"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/relay"
	"github.com/chattray/chattray/services/acts"
	"github.com/chattray/chattray/services/leases"
	"github.com/chattray/chattray/services/retention"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/replicas"
	"github.com/chattray/chattray/store/sqldb"
)

// storeOptions are how the service opens its database.
func storeOptions(c settings.Config, log *slog.Logger) store.Options {
	o := store.Options{Database: sqldb.Options{Alone: true, Logger: log, ReadTimeout: c.Timeouts.Database}, Quota: c.Limits.StoragePerUser}
	if !strings.HasPrefix(c.DatabaseURL, "sqlite:") {
		o.Database.Conns = c.DatabaseConns
	}
	if c.Many() {
		o.Database.Lease = c.Replica.Lease
		o.Limits = store.StartLimits{OpenRuns: c.Limits.RunsPerUser, RunsPerMinute: c.Limits.RequestsPerMinute}
	}
	return o
}

// leaseOptions are how the service shares its database with others.
func leaseOptions(c settings.Config, data *store.Store, log *slog.Logger) leases.Options {
	host, _ := os.Hostname() // a process without a host name has an id
	o := leases.Options{Many: c.Many(), Name: cmp.Or(c.Replica.Name, host), Time: c.Replica.Lease, Logger: log}
	if table := data.Replicas(); table != nil {
		o.Table, o.Takeover = table, table
	}
	return o
}

// shared is the table of replicas of a process that is one of several, else nil.
func shared(c settings.Config, data *store.Store) *replicas.Table {
	if c.Many() {
		return data.Replicas()
	}
	return nil
}

// share lets the replicas find what users do at any of them, and connects them. Postgres has
// a clock of its own, by which calls expire that wait, also for a process that is alone.
func (s *Service) share(ctx context.Context, c settings.Config, o *runs.Options, log *slog.Logger) error {
	if postgres := s.store.Replicas(); postgres != nil {
		o.SharedNow = postgres.Now
	}
	table := shared(c, s.store)
	if table == nil {
		return nil
	}
	s.documents.Share(table, func() string { return s.runs.Replica() })
	o.Tail, o.Acts, o.Starts = table, acts.Stores{Open: table, Reading: table}, s.sockets
	if c.NATS.URL == "" {
		return nil
	}
	service, err := table.Service(ctx)
	if err != nil {
		return err
	}
	if s.relay, err = relay.Connect(relay.Options{URL: c.NATS.URL, Creds: c.NATS.Creds, Service: service, Logger: log}); err != nil {
		return err
	}
	o.Carrier = s.relay
	return nil
}

// remark says what a service that is ready does without. It does not ask the connection, whose
// lock a write holds that stalls.
func (s *Service) remark() string {
	if s.relay != nil && !s.runs.Connected() {
		return "nats is away, other replicas' runs are read from the database"
	}
	return ""
}

// sweeper returns what deletes old data. Of several replicas one deletes.
func (s *Service) sweeper(c settings.Config, log *slog.Logger) *retention.Sweeper {
	o := retention.Options{Store: s.store, Logs: c.Retention.Logs, Chats: c.Retention.Chats, Forget: s.store.Forget, Deleted: s.deleted, Logger: log}
	if table := shared(c, s.store); table != nil {
		o.Mine = func(ctx context.Context) (bool, error) { return table.First(ctx, s.runs.Replica()) }
		o.Now, o.Tickets = table.Now, table.DropTickets
	}
	return retention.New(o)
}

// newSockets returns the sockets of a process.
func newSockets(c settings.Config, data *store.Store) *ws.Sockets {
	if table := shared(c, data); table != nil {
		return ws.NewSockets(table)
	}
	return ws.NewSockets(nil)
}

// ticketStore is where replicas find each other's tickets; nil for a process that has its
// database to itself.
func ticketStore(c settings.Config, data *store.Store) auth.TicketStore {
	if table := shared(c, data); table != nil {
		return table
	}
	return nil
}
