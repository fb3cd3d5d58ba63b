package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/store/sqldb"
)

// errPostgresBackup says how to back up a database that is not a file. It does not
// contain the URL, which may have a password.
var errPostgresBackup = errors.New(`the database is Postgres, which has programs for this: pg_dump --format=custom --file=FILE "$CHATTRAY_DATABASE_URL" makes a backup while the service runs, and pg_restore reads it (docs/operating.md)`)

// backup copies the SQLite database into a new file, also while the service runs.
func backup(ctx context.Context, c settings.Config, args []string, stdout io.Writer) error {
	size, err := sqldb.Backup(ctx, c.DatabaseURL, args[0])
	if errors.Is(err, sqldb.ErrNoFile) {
		return errPostgresBackup
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: %d bytes, complete, checked and on disk\n", args[0], size)
	return err
}
