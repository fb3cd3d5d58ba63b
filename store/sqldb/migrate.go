package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/store/migrations"
)

// Migration is one migration of the tables. AppliedAt is zero while it is pending.
type Migration struct {
	Version   int64
	Name      string
	AppliedAt time.Time
}

// Migrate applies the pending migrations. On Postgres one process applies them
// while others wait.
func (u Upkeep) Migrate(ctx context.Context) error {
	if u.db.closed.Load() {
		return u.db.Fault("migrate", errClosed)
	}
	return u.db.Fault("migrate", u.db.migrate(ctx, u.db.logger))
}

// MigrationStatus returns all migrations in their order.
func (u Upkeep) MigrationStatus(ctx context.Context) ([]Migration, error) {
	if u.db.closed.Load() {
		return nil, u.db.Fault("migration status", errClosed)
	}
	steps, err := u.db.migrations(ctx)
	return steps, u.db.Fault("migration status", err)
}

// migrate applies what is pending. A database of a newer release is refused: this program
// would not keep what that one needs, such as the search indexes. On Postgres two releases
// may run at once, and each migration allows for the one before.
func (d *sqliteDB) migrate(ctx context.Context, logger *slog.Logger) error {
	return d.withProvider(logger, func(p *goose.Provider) error {
		at, err := p.GetDBVersion(ctx)
		if sources := p.ListSources(); err == nil && at > sources[len(sources)-1].Version {
			err = errNewer
		}
		if err != nil {
			return err
		}
		return up(ctx, p, logger)
	})
}

func (d *sqliteDB) migrations(ctx context.Context) (steps []Migration, err error) {
	err = d.withProvider(nil, func(p *goose.Provider) error {
		steps, err = status(ctx, p)
		return err
	})
	return steps, err
}

// withProvider calls fn with a provider on connections of its own.
func (d *sqliteDB) withProvider(logger *slog.Logger, fn func(p *goose.Provider) error) (err error) {
	db, err := sql.Open(d.driver, d.source(sqliteWriteCache, sqliteBusy))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := provider(goose.DialectSQLite3, db, logger)
	if err != nil {
		return err
	}
	return fn(p)
}

// Limits of migrations on Postgres.
const (
	// migrationWait bounds the wait for another process that migrates; it tries
	// the lock every migrationLook.
	migrationWait, migrationLook = 10 * time.Minute, 100 * time.Millisecond
	// migrationConns is two: a connection with the lock and one that migrates.
	migrationConns = 2
	// migrationLock distinguishes these locks from the locks of other programs.
	migrationLock = 0x63747261
)

// migrate applies what is pending. Most starts find nothing, and need no more connections
// than their first.
func (d *postgresDB) migrate(ctx context.Context, logger *slog.Logger) error {
	pending, err := d.pending(ctx)
	if err != nil || !pending {
		return err
	}
	return d.migrateLocked(ctx, logger)
}

// pending reports whether there are migrations to apply. It makes no tables.
func (d *postgresDB) pending(ctx context.Context) (bool, error) {
	switch err := d.existing(ctx); {
	case errors.Is(err, errEmpty), errors.Is(err, errForeign):
		return true, nil
	case err != nil:
		return false, err
	}
	p, err := provider(goose.DialectPostgres, d.pool, nil)
	if err != nil {
		return false, err
	}
	return p.HasPending(ctx)
}

// migrateLocked holds a lock on the schema that the tables are in. The lock belongs
// to a transaction: it ends with the transaction, even with a pooler that gives
// each transaction another server connection. Migrations have no time limit.
func (d *postgresDB) migrateLocked(ctx context.Context, logger *slog.Logger) (err error) {
	pool := openPool(unboundedConnector{newPostgresConnector(d.config, serverLimits{}, logger)}, migrationConns)
	defer func() { err = errors.Join(err, pool.Close()) }()
	lock, err := lockMigrations(ctx, pool, logger)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Rollback() }()                              // the transaction has changed nothing
	second, cancel := context.WithTimeout(ctx, d.config.ConnectTimeout) // a pooler with too few keeps it waiting
	defer cancel()
	if err := pool.PingContext(second); err != nil {
		return fmt.Errorf("migrations need %d connections at once; with PgBouncer, raise default_pool_size or migrate without PgBouncer: %w", migrationConns, err)
	}
	p, err := provider(goose.DialectPostgres, pool, logger)
	if err != nil {
		return err
	}
	return up(ctx, p, logger)
}

// lockMigrations begins a transaction that has the lock. A waiting process
// holds no connection of a pooler, because the migrating process may need it.
func lockMigrations(ctx context.Context, pool *sql.DB, logger *slog.Logger) (*sql.Tx, error) {
	for since, told := time.Now(), false; ; {
		tx, err := pool.BeginTx(ctx, nil)
		if err != nil {
			return nil, err
		}
		var locked bool
		err = tx.QueryRowContext(ctx, "SELECT pg_try_advisory_xact_lock($1, hashtext(coalesce(current_schema(), '')))", migrationLock).Scan(&locked)
		if locked && err == nil {
			return tx, nil
		}
		if err = errors.Join(err, tx.Rollback()); err != nil {
			return nil, err
		}
		if time.Since(since) > migrationWait {
			return nil, fmt.Errorf("another process has been migrating the database for %v", migrationWait)
		}
		if !told {
			logger.Info("another process migrates the database; waiting for it")
			told = true
		}
		if err := concurrent.Pause(ctx, migrationLook); err != nil {
			return nil, err
		}
	}
}

func (d *postgresDB) migrations(ctx context.Context) ([]Migration, error) {
	p, err := provider(goose.DialectPostgres, d.pool, nil)
	if err != nil {
		return nil, err
	}
	return status(ctx, p)
}

func provider(dialect goose.Dialect, db *sql.DB, logger *slog.Logger) (*goose.Provider, error) {
	folder := "postgres"
	if dialect == goose.DialectSQLite3 {
		folder = "sqlite"
	}
	files, err := fs.Sub(migrations.Files, folder)
	if err != nil {
		return nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return goose.NewProvider(dialect, db, files, goose.WithSlog(logger), goose.WithDisableGlobalRegistry(true))
}

// up applies the pending migrations. It logs those of a database that has tables, because
// with much data they take long, and the service does not listen meanwhile.
func up(ctx context.Context, p *goose.Provider, logger *slog.Logger) error {
	pending, err := p.HasPending(ctx)
	if err != nil || !pending {
		return err
	}
	from, to, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if from > 0 {
		logger.Info("the database is being migrated; the service listens when it is done", "from", from, "to", to)
	}
	began := time.Now()
	_, err = p.Up(ctx)
	if from > 0 && err == nil {
		logger.Info("the database is migrated", "took", time.Since(began).Round(time.Millisecond))
	}
	return err
}

func status(ctx context.Context, p *goose.Provider) ([]Migration, error) {
	all, err := p.Status(ctx)
	if err != nil {
		return nil, err
	}
	steps := make([]Migration, len(all))
	for i, m := range all {
		steps[i] = Migration{Version: m.Source.Version, Name: path.Base(m.Source.Path), AppliedAt: m.AppliedAt}
	}
	return steps, nil
}
