package replicas

import (
	"context"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/packed"
	"github.com/chattray/chattray/store/sqldb"
)

// Limits of reading what other replicas write.
const (
	// tailRows bounds the rows of the journal that are read at once.
	tailRows = 256
	// tailSegments bounds the segments that Stored returns.
	tailSegments = 256
)

// Service returns the id of the database, by which it is told from others. It never
// changes.
func (r *Table) Service(ctx context.Context) (id string, err error) {
	err = r.scan(ctx, func(row sqldb.Scanner) error { return row.Scan(&id) }, "SELECT id FROM service")
	return id, err
}

// Noted returns the events in the rows of a replica's journal after the row n, in the
// order in which they were stored, the number of the last row that was read, and whether
// there may be more. One that a commit has repeated comes twice, the second time with at
// least as many events.
func (r *Table) Noted(ctx context.Context, replica string, n int64) (list []record.Noted, last int64, more bool, err error) {
	rows, last := 0, n
	err = r.scan(ctx, func(row sqldb.Scanner) error {
		var data []byte
		if err := row.Scan(&last, &data); err != nil {
			return err
		}
		rows++
		entries, broken := packed.Entries(data)
		if broken != nil {
			r.logger.Error("a row of the journal is broken", "row", last, "error", broken)
		}
		for _, e := range entries {
			if e.Segment != nil {
				list = append(list, record.Noted{RunID: e.Run, Segment: *e.Segment})
			}
		}
		return nil
	}, `SELECT n, data FROM journal WHERE replica = $1 AND n > $2 ORDER BY n LIMIT $3`, replica, n, tailRows)
	return list, last, rows == tailRows, err
}

// Stored returns the segments of runs that are in their final place and have events after
// these numbers, by run and in order. If they are too many, it returns those of some of
// the runs; complete reports whether a run has all.
func (r *Table) Stored(ctx context.Context, after map[string]int64) (found map[string][]record.Segment, complete func(id string) bool, err error) {
	ids, numbers := make([]string, 0, len(after)), make([]int64, 0, len(after))
	for id, n := range after {
		ids, numbers = append(ids, id), append(numbers, n)
	}
	found = make(map[string][]record.Segment)
	rows, last := 0, ""
	err = r.scan(ctx, func(row sqldb.Scanner) error {
		var s record.Segment
		if err := row.Scan(&last, &s.First, &s.Last, &s.Data); err != nil {
			return err
		}
		rows++
		data, err := packed.Open(s.Data)
		s.Data = data
		found[last] = append(found[last], s)
		return err
	}, `SELECT s.run_id, s.first_seq, s.last_seq, s.data FROM unnest(CAST($1 AS TEXT[]), CAST($2 AS BIGINT[])) AS wanted (id, after)
		JOIN segments s ON s.run_id = wanted.id AND s.last_seq > wanted.after ORDER BY s.run_id COLLATE "C", s.first_seq LIMIT $3`, ids, numbers, tailSegments)
	return found, func(id string) bool { return rows < tailSegments || id < last }, err
}

// Progress returns how far the runs are; those that do not exist are missing.
func (r *Table) Progress(ctx context.Context, ids []string) (list []record.Progress, err error) {
	err = r.scan(ctx, func(row sqldb.Scanner) error {
		var s record.Progress
		err := row.Scan(&s.ID, &s.State, &s.Attempt, &s.Replica, &s.Held, &s.Through)
		list = append(list, s)
		return err
	}, `SELECT id, state, attempt, replica,
		EXISTS (SELECT 1 FROM replicas WHERE replicas.id = runs.replica AND gone_at IS NULL AND expires_at > clock_timestamp()),
		COALESCE((SELECT last_seq FROM segments WHERE run_id = runs.id ORDER BY first_seq DESC LIMIT 1), 0) FROM runs WHERE id = ANY($1)`, ids)
	return list, err
}
