package sqldb

import (
	"context"

	"github.com/chattray/chattray/store/search"
)

// Limits of bringing the search indexes up to date.
const (
	// indexRows is from how many new rows on the next ones are brought in, at most that many
	// at a time and no more text than indexText, in bytes: a commit may have to wait for it.
	// Fewer at a time would cost more, because each time makes a segment of the index.
	indexRows, indexText = 256, 64 << 10
	// indexLook is after how many commits the next ones are brought in while commits wait,
	// if at least indexMany rows are new: as many times more as that many are, so that it
	// keeps up.
	indexLook, indexMany = 16, 1024
)

// searchIndex is one of SQLite's indexes of titles and messages. Its table has the entries
// of the rows up to the one that sweeps names; those after it are new.
type searchIndex struct {
	// name is the index's table, and a kind of sweeps that counts the deletions whose
	// terms the index may still have.
	name string
	// The statements that return how far it has come and how much is new, that return how
	// far the next step goes, that bring in the rows of that step, and that say so.
	behind, next, enter, entered string
}

// searchIndexes are the indexes in the order in which they are tidied.
var searchIndexes = []searchIndex{
	{
		name:   "chats_search",
		behind: "SELECT at, COALESCE((SELECT MAX(id) FROM chats), 0) - at FROM sweeps WHERE kind = 'chats_indexed'",
		next:   nextRows("id, octet_length(title) AS length FROM chats WHERE id > ? ORDER BY id"),
		enter: "INSERT INTO chats_search (rowid, owned) SELECT id, " + search.OwnerMark + "(owner) || " + search.LowerText + "(title) FROM chats" +
			" WHERE id > ? AND id <= ? ORDER BY id",
		entered: "UPDATE sweeps SET at = ? WHERE kind = 'chats_indexed'",
	},
	{
		name:   "blocks_search",
		behind: "SELECT at, COALESCE((SELECT MAX(seq) FROM blocks), 0) - at FROM sweeps WHERE kind = 'blocks_indexed'",
		next:   nextRows("seq AS id, COALESCE(MIN(octet_length(current), 65536), 0) AS length FROM blocks WHERE seq > ? ORDER BY seq"),
		enter: "INSERT INTO blocks_search (rowid, owned) SELECT seq, " + search.OwnerMark + "(owner) || " + search.LowerText + "(substr(current, 1, 16384)) FROM blocks" +
			" WHERE seq > ? AND seq <= ? AND chat_id IS NOT NULL AND current IS NOT NULL ORDER BY seq",
		entered: "UPDATE sweeps SET at = ? WHERE kind = 'blocks_indexed'",
	},
}

// nextRows returns the id of the last of the selected rows that a step takes: at most the
// second parameter, and none after those whose lengths together reach the third.
func nextRows(selected string) string {
	return "SELECT COALESCE(MAX(id), 0) FROM (SELECT id, SUM(length) OVER (ORDER BY id) - length AS before FROM (SELECT " + selected + " LIMIT ?)) WHERE before < ?"
}

// Tend brings some of what is new into the search indexes, if enough is; a search looks
// through the rest. It is called when nothing waits to be committed.
func (u Upkeep) Tend(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, u.db.ChangeTime())
	defer cancel()
	return u.db.Fault("bring new messages into the search index", u.db.Index(ctx, false))
}

// Index does nothing: Postgres brings its indexes up to date by itself.
func (*postgresDB) Index(context.Context, bool) error { return nil }

// Index brings the next rows into the search indexes if enough are new. One by one, each
// would be a segment of its index, and delay what is stored with it.
func (d *sqliteDB) Index(ctx context.Context, waiting bool) error {
	enough := d.indexRows
	switch {
	case !waiting && !d.behind.Swap(false):
		return nil
	case waiting:
		d.behind.Store(true)
		if d.commits.Add(1)%indexLook != 0 {
			return nil
		}
		enough = indexMany
	}
	for i := range searchIndexes {
		err := d.transaction(ctx, func(w *sqliteWriter) error {
			brought, err := searchIndexes[i].step(ctx, w, enough)
			if brought {
				d.behind.Store(true)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// step brings the next rows into the index if there are at least as many as enough.
func (x *searchIndex) step(ctx context.Context, w *sqliteWriter, enough int64) (brought bool, err error) {
	var at, behind int64
	err = w.Query(ctx, x.behind, [][]any{nil}, func(row Scanner) error { return row.Scan(&at, &behind) })
	if err != nil || behind < enough {
		return false, err
	}
	through, times := at, int64(1)
	if enough == indexMany {
		times = behind / indexMany
	}
	err = w.Query(ctx, x.next, [][]any{{at, indexRows * times, indexText * times}}, func(row Scanner) error { return row.Scan(&through) })
	if err != nil {
		return false, err
	}
	if err := w.Each(ctx, x.enter, [][]any{{at, through}}); err != nil {
		return false, err
	}
	return true, w.Each(ctx, x.entered, [][]any{{through}})
}
