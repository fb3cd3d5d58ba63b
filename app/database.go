package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/app/telemetry"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
)

// migrateUp brings the database up to date.
func migrateUp(ctx context.Context, c settings.Config, _ []string, stdout io.Writer) error {
	log, flush := telemetry.NewLogger(stdout, c.LogLevel, c.LogFormat)
	defer flush()
	data, err := openStore(ctx, c, store.Options{Database: sqldb.Options{Logger: log}})
	if err != nil {
		return err
	}
	return data.Close()
}

// migrateStatus lists the migrations, one on each line.
func migrateStatus(ctx context.Context, c settings.Config, _ []string, stdout io.Writer) error {
	return withStore(ctx, c, store.Options{Database: sqldb.Options{NoMigrate: true, Existing: true}}, func(data *store.Store) error {
		list, err := data.MigrationStatus(ctx)
		for _, m := range list {
			state := "pending"
			if !m.AppliedAt.IsZero() {
				state = "applied " + m.AppliedAt.UTC().Format(time.DateTime+" UTC")
			}
			_, wrote := fmt.Fprintf(stdout, "%-31s  %s\n", state, m.Name)
			err = errors.Join(err, wrote)
		}
		if err != nil {
			return err
		}
		return data.NotNewer(ctx)
	})
}

// importHelp describes the format of importFile.
const importHelp = `Load streams, reports and articles from a file of JSON lines:

  {"kind":"stream","stream_id":1,"name":"…"}
  {"kind":"report","report_id":10,"stream_id":1,"title":"…","published_at":"2026-01-31T00:00:00Z"}
  {"kind":"article","article_id":100,"report_id":10,"title":"…","authors":["…"],"year":2026,"abstract":"…"}

The other fields are those of Stream, Report and Article in the contract ("chattray openapi").
A stream comes before its reports and a report before its articles, unless the
database has it. A record replaces the one with the same id, so a file can be
imported again.

All lines are checked first: if one is wrong, nothing is imported. Then they are
stored a few hundred at a time, also while the service runs. To complete an
interrupted import, import the same file again. A line may have 8 MiB, a file
any size. What can be read only once, such as a pipe, may have 256 MiB.`

// importFile loads research data from a file of JSON lines.
func importFile(ctx context.Context, c settings.Config, args []string, stdout io.Writer) error {
	file, err := openInput(ctx, args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	return withStore(ctx, c, store.Options{}, func(data *store.Store) error {
		counts, err := data.Import(ctx, file)
		if err != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		_, err = fmt.Fprintf(stdout, "imported %s, %s, %s\n", text.Plural(counts.Streams, "stream"), text.Plural(counts.Reports, "report"), text.Plural(counts.Articles, "article"))
		return err
	})
}

// withCurrent is withStore for commands that neither make a database nor migrate it.
func withCurrent(ctx context.Context, c settings.Config, do func(*store.Store) error) error {
	return withStore(ctx, c, store.Options{Database: sqldb.Options{NoMigrate: true, Existing: true}}, func(data *store.Store) error {
		if err := data.Current(ctx); err != nil {
			return err
		}
		return do(data)
	})
}

// withStore opens the database, calls do, and closes it.
func withStore(ctx context.Context, c settings.Config, o store.Options, do func(*store.Store) error) error {
	data, err := openStore(ctx, c, o)
	if err != nil {
		return err
	}
	return errors.Join(do(data), data.Close())
}

// openStore opens the database; its error names the setting.
func openStore(ctx context.Context, c settings.Config, o store.Options) (*store.Store, error) {
	data, err := store.Open(ctx, c.DatabaseURL, o)
	if err != nil {
		return nil, fmt.Errorf("database_url: %w", err)
	}
	return data, nil
}
