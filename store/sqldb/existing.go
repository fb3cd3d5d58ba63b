package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
)

// Errors of a database that a program cannot use as it is.
var (
	errEmpty   = errors.New(`the database is empty; run "chattray migrate up"`)
	errForeign = errors.New("this is not a chattray database")
	errOlder   = errors.New(`the database is of an older release: use the program of that release, or run "chattray migrate up"`)
	errNewer   = errors.New("the database is of a newer release: use the program of that release, or restore a backup of this one")
)

// errMissing is the error of a database that does not exist. It is not one of a database
// that is away for a while.
type errMissing struct{ cause error }

func (e errMissing) Error() string {
	return `the database does not exist; "chattray migrate up" makes one: ` + e.cause.Error()
}

func (e errMissing) Is(target error) bool { return target == fs.ErrNotExist }

// Current returns an error if the database is of an older or a newer release than the
// program. It changes nothing.
func (u Upkeep) Current(ctx context.Context) error {
	steps, err := u.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	for _, m := range steps {
		if m.AppliedAt.IsZero() {
			return errOlder
		}
	}
	return u.NotNewer(ctx)
}

// NotNewer returns an error if the database is of a newer release than the program. It
// changes nothing.
func (u Upkeep) NotNewer(ctx context.Context) error {
	steps, err := u.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	newest, err := Number(u.db.Read(ctx), "SELECT MAX(version_id) FROM goose_db_version")
	if err == nil && newest > steps[len(steps)-1].Version {
		return errNewer
	}
	return u.db.Fault("the newest migration", err)
}

// existing returns an error if the file does not exist or has no tables of chattray, of
// any release. It changes nothing.
func existing(ctx context.Context, path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return errMissing{err}
	} else if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", sqliteReadURL(path)+"&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	err = ours(ctx, db, `SELECT COALESCE(SUM(name NOT IN ('goose_db_version', 'sqlite_sequence')), 0), COALESCE(SUM(name IN ('goose_db_version', 'chats')), 0)
		FROM sqlite_master WHERE type = 'table'`) // a first start that was interrupted has left those of the migrations alone
	switch {
	case errors.Is(err, errForeign) || errors.Is(err, errEmpty):
		err = fmt.Errorf("%s: %w", path, err)
	case err != nil && logUnread(path):
		err = fmt.Errorf("%s has a write-ahead log, which can be read only in a folder that can be written to; copy both files to one: %w", path, err)
	}
	return errors.Join(err, db.Close())
}

// existing returns an error if the schema has no tables of chattray, of any release.
func (d *postgresDB) existing(ctx context.Context) error {
	return ours(ctx, d.pool, "SELECT COUNT(*), COUNT(*) FILTER (WHERE tablename IN ('goose_db_version', 'chats')) FROM pg_tables WHERE schemaname = current_schema()")
}

// usable returns an error if the database cannot store all texts as they are, or if the
// driver would not understand its answers: with a pooler bytea_output is the database's.
func (d *postgresDB) usable(ctx context.Context, logger *slog.Logger) error {
	var encoding, bytea string
	err := d.pool.QueryRowContext(ctx, "SELECT current_setting('server_encoding'), current_setting('bytea_output')").Scan(&encoding, &bytea)
	switch {
	case err != nil:
		return err
	case encoding != "UTF8" && encoding != noEncoding:
		return fmt.Errorf("the database has the encoding %s; make one with CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8'", encoding)
	case bytea != "hex":
		return fmt.Errorf("behind a pooler bytea_output must be hex, and is %s: ALTER DATABASE … SET bytea_output = 'hex'", bytea)
	}
	if encoding == noEncoding {
		logger.Warn("the database has the encoding SQL_ASCII, which takes bytes for characters: searches may find more than is asked for; make one with ENCODING 'UTF8'")
	}
	return nil
}

// noEncoding is what a database has that was made without a locale: it stores all bytes.
const noEncoding = "SQL_ASCII"

// ours returns an error unless two of the tables are chattray's. The query returns how
// many tables there are, and how many of these two.
func ours(ctx context.Context, db *sql.DB, query string) error {
	var all, known int
	if err := db.QueryRowContext(ctx, query).Scan(&all, &known); err != nil {
		return err
	}
	switch {
	case known == 2:
		return nil
	case all == 0:
		return errEmpty
	default:
		return errForeign
	}
}
