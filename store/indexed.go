package store

import "context"

// Limits of bringing the search indexes up to date.
const (
	// indexLook is after how many commits the store looks how much is new, and indexRows
	// from how many rows on it brings in the next ones, at most that many.
	indexLook, indexRows = 16, 256
	// indexText bounds what is brought in together, in bytes of text: commits wait for it.
	// Both may be as many times more as indexMany rows are new, so that it keeps up. Less
	// text at a time would cost more: the disk confirms each transaction.
	indexText, indexMany = 128 << 10, 1024
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
		enter: "INSERT INTO chats_search (rowid, owned) SELECT id, " + ownerMark + "(owner) || " + lowerText + "(title) FROM chats" +
			" WHERE id > ? AND id <= ? ORDER BY id",
		entered: "UPDATE sweeps SET at = ? WHERE kind = 'chats_indexed'",
	},
	{
		name:   "blocks_search",
		behind: "SELECT at, COALESCE((SELECT MAX(seq) FROM blocks), 0) - at FROM sweeps WHERE kind = 'blocks_indexed'",
		next:   nextRows("seq AS id, COALESCE(MIN(octet_length(current), 65536), 0) AS length FROM blocks WHERE seq > ? ORDER BY seq"),
		enter: "INSERT INTO blocks_search (rowid, owned) SELECT seq, " + ownerMark + "(owner) || " + lowerText + "(substr(current, 1, 16384)) FROM blocks" +
			" WHERE seq > ? AND seq <= ? AND chat_id IS NOT NULL AND current IS NOT NULL ORDER BY seq",
		entered: "UPDATE sweeps SET at = ? WHERE kind = 'blocks_indexed'",
	},
}

// nextRows returns the id of the last of the selected rows that a step takes: at most the
// second parameter, and none after those whose lengths together reach the third.
func nextRows(selected string) string {
	return "SELECT COALESCE(MAX(id), 0) FROM (SELECT id, SUM(length) OVER (ORDER BY id) - length AS before FROM (SELECT " + selected + " LIMIT ?)) WHERE before < ?"
}

// index does nothing: Postgres brings its indexes up to date by itself.
func (*postgresDB) index(context.Context) error { return nil }

// index brings the next rows into the search indexes now and then, if enough are new. One
// by one, each would be a segment of its index, and delay what is stored with it.
func (d *sqliteDB) index(ctx context.Context) error {
	if d.commits.Add(1)%d.indexLook != 0 {
		return nil
	}
	for i := range searchIndexes {
		if err := d.transaction(ctx, func(w *sqliteWriter) error { return searchIndexes[i].step(ctx, w, d.indexRows) }); err != nil {
			return err
		}
	}
	return nil
}

// step brings the next rows into the index if there are at least as many as enough.
func (x *searchIndex) step(ctx context.Context, w *sqliteWriter, enough int64) error {
	var at, behind int64
	err := w.query(ctx, x.behind, [][]any{nil}, func(row scanner) error { return row.Scan(&at, &behind) })
	if err != nil || behind < enough {
		return err
	}
	through, times := at, max(behind/indexMany, 1)
	err = w.query(ctx, x.next, [][]any{{at, indexRows * times, indexText * times}}, func(row scanner) error { return row.Scan(&through) })
	if err != nil {
		return err
	}
	if err := w.each(ctx, x.enter, [][]any{{at, through}}); err != nil {
		return err
	}
	return w.each(ctx, x.entered, [][]any{{through}})
}
