package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/chattray/chattray/store/migrations"
)

// Migration is a step of the tables' making. AppliedAt is zero while it is
// pending.
type Migration struct {
	Version   int64
	Name      string
	AppliedAt time.Time
}

// Migrate applies the steps that are pending. On Postgres one process does it
// while others wait.
func (s *Store) Migrate(ctx context.Context) error {
	if s.closed.Load() {
		return s.fault("migrate", errClosed)
	}
	return s.fault("migrate", s.db.migrate(ctx, s.logs))
}

// MigrationStatus returns all steps in their order.
func (s *Store) MigrationStatus(ctx context.Context) ([]Migration, error) {
	if s.closed.Load() {
		return nil, s.fault("migration status", errClosed)
	}
	steps, err := s.db.migrations(ctx)
	return steps, s.fault("migration status", err)
}

func (d *sqliteDB) migrate(ctx context.Context, logs *slog.Logger) error {
	return d.withProvider(logs, func(p *goose.Provider) error { return up(ctx, p) })
}

func (d *sqliteDB) migrations(ctx context.Context) (steps []Migration, err error) {
	err = d.withProvider(nil, func(p *goose.Provider) error {
		steps, err = status(ctx, p)
		return err
	})
	return steps, err
}

// withProvider gives fn a provider on connections of its own.
func (d *sqliteDB) withProvider(logs *slog.Logger, fn func(p *goose.Provider) error) (err error) {
	db, err := sql.Open("sqlite", sqliteDSN(d.path, sqliteWriteCache))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := provider(goose.DialectSQLite3, db, logs)
	if err != nil {
		return err
	}
	return fn(p)
}

// migrate holds an advisory lock on the schema that the tables are in; waiting
// for it ends with the context.
func (d *postgresDB) migrate(ctx context.Context, logs *slog.Logger) (err error) {
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1, hashtext(current_schema()))", migrationLock); err != nil {
		return err
	}
	defer func() {
		_, unlocked := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1, hashtext(current_schema()))", migrationLock)
		err = errors.Join(err, unlocked)
	}()
	p, err := provider(goose.DialectPostgres, d.pool, logs)
	if err != nil {
		return err
	}
	return up(ctx, p)
}

// migrationLock sets these locks apart from those of other programs.
const migrationLock = 0x63747261

func (d *postgresDB) migrations(ctx context.Context) ([]Migration, error) {
	p, err := provider(goose.DialectPostgres, d.pool, nil)
	if err != nil {
		return nil, err
	}
	return status(ctx, p)
}

func provider(dialect goose.Dialect, db *sql.DB, logs *slog.Logger) (*goose.Provider, error) {
	folder := "postgres"
	if dialect == goose.DialectSQLite3 {
		folder = "sqlite"
	}
	files, err := fs.Sub(migrations.Files, folder)
	if err != nil {
		return nil, err
	}
	if logs == nil {
		logs = slog.New(slog.DiscardHandler)
	}
	return goose.NewProvider(dialect, db, files, goose.WithSlog(logs), goose.WithDisableGlobalRegistry(true))
}

func up(ctx context.Context, p *goose.Provider) error {
	_, err := p.Up(ctx)
	return err
}

func status(ctx context.Context, p *goose.Provider) ([]Migration, error) {
	all, err := p.Status(ctx)
	if err != nil {
		return nil, err
	}
	steps := make([]Migration, len(all))
	for i, one := range all {
		steps[i] = Migration{Version: one.Source.Version, Name: path.Base(one.Source.Path), AppliedAt: one.AppliedAt}
	}
	return steps, nil
}
