package sqldb

import (
	"context"

	"github.com/pressly/goose/v3"
	"gorm.io/gorm"
)

// What tests with a store know of this package.
const (
	MostStatements = mostStatements
	IndexRows      = indexRows
	IndexText      = indexText
	IndexLook      = indexLook
	IndexMany      = indexMany
)

var (
	ErrNewer      = errNewer
	SQLiteFileURL = sqliteFileURL
	Locked        = locked
)

// Statements returns how many statements for reading SQLite has prepared.
func (d *DB) Statements() int {
	db, _ := d.database.(*sqliteDB)
	pool, _ := db.reads.Statement.ConnPool.(*readPool)
	prepared, _ := pool.ConnPool.(*gorm.PreparedStmtDB)
	return len(prepared.Stmts.Keys())
}

// IndexFrom makes SQLite bring what is new into its indexes from so many rows on.
func (d *DB) IndexFrom(rows int64) {
	db, _ := d.database.(*sqliteDB)
	db.indexRows = rows
	db.behind.Store(true)
}

// TakeTurn waits for SQLite's turn and takes it: all transactions wait until it is released.
func (d *DB) TakeTurn(ctx context.Context) (release func(), err error) {
	db, _ := d.database.(*sqliteDB)
	return db.pass, db.await(ctx)
}

// LockedOut reports whether another process's lock keeps changes of SQLite from beginning.
func (d *DB) LockedOut() bool {
	db, _ := d.database.(*sqliteDB)
	return db.locked.Load() != nil
}

// DownTo takes SQLite's migrations back.
func (d *DB) DownTo(ctx context.Context, version int64) error {
	db, _ := d.database.(*sqliteDB)
	return db.withProvider(nil, func(p *goose.Provider) error {
		_, err := p.DownTo(ctx, version)
		return err
	})
}
