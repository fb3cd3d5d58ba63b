package app

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"strings"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/services/acts"
	"github.com/chattray/chattray/services/leases"
	"github.com/chattray/chattray/services/retention"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/store"
)

// storeOptions are how the service opens its database.
func storeOptions(c settings.Config, log *slog.Logger) store.Options {
	o := store.Options{Logger: log, ReadTimeout: c.Timeouts.Database, Quota: c.Limits.StoragePerUser}
	if !strings.HasPrefix(c.DatabaseURL, "sqlite:") {
		o.Conns = c.DatabaseConns
	}
	if c.Many() {
		o.Lease = c.Replica.Lease
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
func shared(c settings.Config, data *store.Store) *store.Replicas {
	if c.Many() {
		return data.Replicas()
	}
	return nil
}

// share lets the replicas find what users do at any of them.
func (s *Service) share(c settings.Config, o *runs.Options) {
	if table := shared(c, s.store); table != nil {
		s.documents.Share(table, func() string { return s.runs.Replica() })
		o.Acts, o.Looks = acts.Stores{Open: table, Reading: table}, append(o.Looks, s.sockets.LookForStarts)
	}
}

// sweeper returns what deletes old data. Of several replicas one deletes.
func (s *Service) sweeper(c settings.Config, log *slog.Logger) *retention.Sweeper {
	o := retention.Options{Store: s.store, Logs: c.Retention.Logs, Chats: c.Retention.Chats, Deleted: s.deleted, Logger: log}
	if table := shared(c, s.store); table != nil {
		o.Mine = func(ctx context.Context) (bool, error) { return table.First(ctx, s.runs.Replica()) }
	}
	return retention.New(o)
}

// newSockets returns the sockets of a process.
func newSockets(c settings.Config, data *store.Store) *api.Sockets {
	if table := shared(c, data); table != nil {
		return api.NewSockets(table)
	}
	return api.NewSockets(nil)
}

// ticketStore is where replicas find each other's tickets; nil for a process that has its
// database to itself.
func ticketStore(c settings.Config, data *store.Store) api.TicketStore {
	if table := shared(c, data); table != nil {
		return table
	}
	return nil
}
