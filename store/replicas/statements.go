package replicas

import (
	"context"
	"errors"
	"time"

	"github.com/chattray/chattray/store/sqldb"
)

// ids returns the texts that a statement finds.
func (r *Table) ids(ctx context.Context, statement string, args ...any) ([]string, error) {
	var found []string
	err := r.each(ctx, func(row sqldb.Scanner) error {
		var id string
		err := row.Scan(&id)
		found = append(found, id)
		return err
	}, statement, args...)
	return found, err
}

// each calls row for each row that a statement finds, within the time of a change.
func (r *Table) each(ctx context.Context, row func(sqldb.Scanner) error, statement string, args ...any) error {
	return r.within(ctx, r.db.ChangeTime(), row, statement, args)
}

// within is each within that time.
func (r *Table) within(ctx context.Context, limit time.Duration, row func(sqldb.Scanner) error, statement string, args []any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rows, err := r.all.QueryContext(ctx, statement, args...)
	if err != nil {
		return r.db.Fault("replicas", err)
	}
	for err == nil && rows.Next() {
		err = row(rows)
	}
	return r.db.Fault("replicas", errors.Join(err, rows.Err(), rows.Close()))
}

// scan is each within the time of a read.
func (r *Table) scan(ctx context.Context, row func(sqldb.Scanner) error, query string, args ...any) error {
	return r.within(ctx, r.db.ReadTime(), row, query, args)
}

// change runs a statement that finds no rows, within the time of a change.
func (r *Table) change(ctx context.Context, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, r.db.ChangeTime())
	defer cancel()
	_, err := r.all.ExecContext(ctx, statement, args...)
	return r.db.Fault("replicas", err)
}
