package replicas

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/packed"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// CancelRequested returns the replica's unfinished runs that are to be cancelled, and those
// of idle that no longer exist.
func (r *Table) CancelRequested(ctx context.Context, replica string, idle []string) ([]string, error) {
	return r.ids(ctx, `SELECT id FROM runs WHERE replica = $1 AND cancel_requested AND `+tables.OpenStates+`
		UNION ALL SELECT id FROM unnest($2::text[]) AS idle (id) WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = idle.id)`, replica, idle)
}

// Answered returns the calls of the runs that have waited and have an answer.
func (r *Table) Answered(ctx context.Context, runs []string) ([]record.CallID, error) {
	var found []record.CallID
	err := r.each(ctx, func(row sqldb.Scanner) error {
		var c record.CallID
		err := row.Scan(&c.RunID, &c.Index)
		found = append(found, c)
		return err
	}, `SELECT run_id, idx FROM waits WHERE run_id = ANY($1) AND answer <> ''`, runs)
	return found, err
}

// Turns returns the replica's queued runs before which no other run of their chat has
// to end, in the order of their place.
func (r *Table) Turns(ctx context.Context, replica string) ([]string, error) {
	return r.ids(ctx, `SELECT id FROM runs next WHERE replica = $1 AND state = 'queued' AND `+tables.OpenStates+` AND NOT EXISTS (
		SELECT 1 FROM runs WHERE chat_id = next.chat_id AND `+tables.OpenStates+` AND (state <> 'queued' OR place < next.place)) ORDER BY place`, replica)
}

// Ended reports whether the run has ended or is gone.
func (r *Table) Ended(ctx context.Context, id string) (bool, error) {
	open, err := r.ids(ctx, `SELECT id FROM runs WHERE id = $1 AND `+tables.OpenStates, id)
	return len(open) == 0, err
}

// OpenIn returns the unfinished runs of the owner's chat: the one that has begun, then
// the queued ones in the order of their place.
func (r *Table) OpenIn(ctx context.Context, owner, chat string) ([]string, error) {
	return r.ids(ctx, `SELECT id FROM runs WHERE chat_id = (SELECT id FROM chats WHERE owner = $1 AND key = $2) AND `+tables.OpenStates+`
		ORDER BY state = 'queued', place`, values.Clean(owner), values.Clean(chat))
}

// OpenOf returns the owner's unfinished runs of all chats in the order of OpenIn, with
// their requests.
func (r *Table) OpenOf(ctx context.Context, owner string) ([]record.OpenRun, error) {
	var found []record.OpenRun
	err := r.each(ctx, func(row sqldb.Scanner) error {
		var run record.OpenRun
		var request []byte
		if err := row.Scan(&run.ID, &run.ConversationID, &request); err != nil {
			return err
		}
		var err error
		run.Request, err = packed.Open(request)
		found = append(found, run)
		return err
	}, `SELECT id, chat_id, request FROM runs WHERE owner = $1 AND `+tables.OpenStates+` ORDER BY state = 'queued', place`, values.Clean(owner))
	return found, err
}

// startedAtOnce is how many runs of a chat StartedAfter returns at most.
const startedAtOnce = 16

// LastPlace returns the place of the newest run of the owner's chat, 0 for none.
func (r *Table) LastPlace(ctx context.Context, owner, chat string) (place int64, err error) {
	err = r.each(ctx, func(row sqldb.Scanner) error { return row.Scan(&place) },
		`SELECT COALESCE(MAX(place), 0) FROM runs WHERE chat_id = (SELECT id FROM chats WHERE owner = $1 AND key = $2)`, values.Clean(owner), values.Clean(chat))
	return place, err
}

// StartedAfter returns the runs of the chats after these places, in order; of each chat
// the first ones. The places of a chat's runs are in the order of their commits.
func (r *Table) StartedAfter(ctx context.Context, chats []record.ChatPlace) ([]record.Started, error) {
	var owners, keys []string
	var places []int64
	for _, c := range chats {
		owners, keys, places = append(owners, values.Clean(c.Owner)), append(keys, values.Clean(c.Chat)), append(places, c.Place)
	}
	var found []record.Started
	err := r.each(ctx, func(row sqldb.Scanner) error {
		var run record.Started
		err := row.Scan(&run.Owner, &run.Chat, &run.RunID, &run.Place)
		found = append(found, run)
		return err
	}, `SELECT chats.owner, chats.key, started.id, started.place FROM unnest($1::text[], $2::text[], $3::bigint[]) AS watched (owner, key, place)
		JOIN chats ON chats.owner = watched.owner AND chats.key = watched.key
		JOIN LATERAL (SELECT id, place FROM runs WHERE chat_id = chats.id AND place > watched.place ORDER BY place LIMIT $4) AS started ON true
		ORDER BY started.place`, owners, keys, places, startedAtOnce)
	return found, err
}

// Read records that runs have readers at the replica for a time, and deletes rows that
// expired long ago.
func (r *Table) Read(ctx context.Context, runs []string, replica string, lasts time.Duration) error {
	return r.change(ctx, `WITH swept AS (DELETE FROM reading WHERE until < clock_timestamp() - interval '1 minute')
		INSERT INTO reading (run, replica, until) SELECT unnest($1::text[]), $2, clock_timestamp() + $3 * interval '1 microsecond'
		ON CONFLICT (run, replica) DO UPDATE SET until = excluded.until`, runs, replica, lasts.Microseconds())
}

// ReadElsewhere reports whether a run has readers at another replica.
func (r *Table) ReadElsewhere(ctx context.Context, run, replica string) (bool, error) {
	found, err := r.ids(ctx, `SELECT replica FROM reading WHERE run = $1 AND replica <> $2 AND until > clock_timestamp()`, run, replica)
	return len(found) > 0, err
}
