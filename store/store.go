// Package store keeps chats and their messages, runs with their logs,
// checkpoints and tool calls, payloads, documents, and the research data in
// Postgres or SQLite. It and the packages below it are the only ones that know
// SQL, gorm and the migrations. Package services decides what the data means.
//
// Everything that a run writes goes through [Store.Commit], which takes the
// writes of many runs at once. All other methods are small reads and changes.
// Errors wrap schemas.ErrNotFound for an id that is unknown or belongs to
// another user, and record.ErrUnavailable while the database cannot be reached.
//
// Free text is stored as valid UTF-8 without U+0000, the same on both
// databases. JSON and file contents are kept byte for byte.
package store

import (
	"cmp"
	"context"
	"log/slog"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas/seldom"
	"github.com/chattray/chattray/store/admin"
	"github.com/chattray/chattray/store/documents"
	"github.com/chattray/chattray/store/replicas"
	"github.com/chattray/chattray/store/research"
	"github.com/chattray/chattray/store/sqldb"
)

// Options configure a store. The zero value is the default.
type Options struct {
	Database sqldb.Options
	// Quota bounds the bytes of documents and attachments of each owner,
	// including pending changes. Each document, attachment and block counts 1
	// KiB more. Exceeding it is an error of code quota; concurrent changes may
	// together exceed it. 0 means no limit.
	Quota int64
	// Limits are checked only where several processes share the database: a single one
	// knows what it has started.
	Limits StartLimits
}

// Store is an open database. It is safe for concurrent use.
type Store struct {
	sqldb.Upkeep
	*admin.Overview
	*documents.Tables
	*research.Data
	db      *sqldb.DB
	quota   int64 // see Options
	limits  StartLimits
	many    bool // other processes use the database too
	logger  *slog.Logger
	untidy  seldom.Log // of what each commit tries again
	journal journalSize
	cancels cancels
	// replicas is nil on SQLite.
	replicas *replicas.Table
}

// Open opens the database under url, as [sqldb.Open] does.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	db, err := sqldb.Open(ctx, url, opts.Database)
	if err != nil {
		return nil, err
	}
	return New(db, opts), nil
}

// New returns the store of an open database, which was opened with these options.
func New(db *sqldb.DB, opts Options) *Store {
	many, logger := opts.Database.Lease > 0, cmp.Or(opts.Database.Logger, slog.New(slog.DiscardHandler))
	return &Store{
		Upkeep: db.Upkeep(), Overview: admin.New(db), Tables: documents.New(db, opts.Quota, many), Data: research.New(db),
		db: db, quota: opts.Quota, limits: opts.Limits, many: many,
		logger: logger, replicas: replicas.New(db, logger),
	}
}

// Replicas returns the table of the processes that share the database; nil on SQLite.
func (s *Store) Replicas() *replicas.Table { return s.replicas }

// change runs a statement that must change a row.
func (s *Store) change(ctx context.Context, statement string, args ...any) error {
	return s.db.Write(ctx, func(tx *gorm.DB) error { return sqldb.Found(tx.Exec(statement, args...)) })
}
