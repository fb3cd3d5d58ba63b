package app

import (
	"cmp"
	"log/slog"
	"os"
	"strings"

	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/services/acts"
	"github.com/chattray/chattray/services/leases"
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

// actsStore is where replicas tell each other what users do to runs; nil for a process
// that has its database to itself.
func actsStore(c settings.Config, data *store.Store) acts.Store {
	if table := data.Replicas(); c.Many() && table != nil {
		return table
	}
	return nil
}
