package documents

import (
	"database/sql"
	"fmt"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store/sqldb"
)

// place is a target for a block: after another one, at the front (after is ""),
// or at the end (nil). Proposed counts the places of blocks as if all moves
// were accepted. Self is the block that moves, "" for a new one.
type place struct {
	after    *string
	proposed bool
	self     string
}

// key returns a position for the place; same reports that self is already
// there. Keys that have become too long are assigned again, in this
// transaction.
func (d *change) key(p place, own string) (key string, same bool, err error) {
	if p.after != nil && *p.after == p.self && own != "" {
		return own, true, nil
	}
	for dealt := false; ; dealt = true {
		low, high, err := d.gap(p)
		if err != nil {
			return "", false, err
		}
		if own != "" && own > low && (high == "" || own < high) {
			return own, true, nil
		}
		if key, ok := keyBetween(low, high); ok {
			return key, false, nil
		}
		if dealt {
			return "", false, errManyBlocks
		}
		if err := d.deal(); err != nil {
			return "", false, err
		}
		own = "" // its key has changed
	}
}

// gap returns the keys before and after the place, including the keys of
// proposals; "" is an open end.
func (d *change) gap(p place) (low, high string, err error) {
	if p.after != nil && *p.after != "" {
		position := "position"
		if p.proposed {
			position = "COALESCE(new_position, position)"
		}
		err := sqldb.ScanRow(d.tx.Raw("SELECT "+position+" FROM blocks WHERE owner = ? AND document_id = ? AND id = ?", d.owner, d.row.ID, *p.after), &low)
		switch {
		case isMissing(err):
			return "", "", schemas.NewError(schemas.CodeNotFound, fmt.Sprintf("the document has no block %q to place another one after", *p.after)).Because(schemas.ErrNotFound)
		case err != nil:
			return "", "", err
		}
	}
	const scope = " FROM blocks WHERE owner = ? AND document_id = ? AND id <> ?"
	var one, two sql.NullString
	if p.after == nil {
		if err := sqldb.ScanRow(d.tx.Raw("SELECT (SELECT MAX(position)"+scope+"), (SELECT MAX(new_position)"+scope+" AND new_position IS NOT NULL)",
			d.owner, d.row.ID, p.self, d.owner, d.row.ID, p.self), &one, &two); err != nil {
			return "", "", err
		}
		return max(one.String, two.String), "", nil
	}
	if err := sqldb.ScanRow(d.tx.Raw("SELECT (SELECT MIN(position)"+scope+" AND position > ?), (SELECT MIN(new_position)"+scope+" AND new_position > ?)",
		d.owner, d.row.ID, p.self, low, d.owner, d.row.ID, p.self, low), &one, &two); err != nil {
		return "", "", err
	}
	switch {
	case !one.Valid || two.Valid && two.String < one.String:
		return low, two.String, nil
	default:
		return low, one.String, nil
	}
}

// deal assigns short keys to all blocks of the document, in the same order.
func (d *change) deal() error {
	var rows []documentBlockRow
	if err := d.tx.Raw("SELECT id, position, new_position FROM blocks WHERE owner = ? AND document_id = ?", d.owner, d.row.ID).
		Scan(&rows).Error; err != nil {
		return err
	}
	var old []string
	for _, r := range rows {
		if old = append(old, r.Position); r.NewPosition != nil {
			old = append(old, *r.NewPosition)
		}
	}
	slices.Sort(old)
	old = slices.Compact(old)
	even := keysEven(len(old))
	dealt := make(map[string]string, len(old))
	for i, key := range old {
		dealt[key] = even[i]
	}
	for _, r := range rows {
		var moving any
		if r.NewPosition != nil {
			moving = dealt[*r.NewPosition]
		}
		if err := d.exec("UPDATE blocks SET position = ?, new_position = ?, revision = ?, changed_at = ? WHERE owner = ? AND id = ?",
			dealt[r.Position], moving, d.next(), d.now, d.owner, r.ID); err != nil {
			return err
		}
	}
	return nil
}
