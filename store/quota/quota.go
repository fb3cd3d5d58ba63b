// Package quota counts what an owner has stored, and refuses what exceeds the owner's quota.
package quota

import (
	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store/sqldb"
)

// RowCost is added to the bytes of each document, block and attachment, so that
// empty ones are not free.
const RowCost = 1 << 10

// ErrExceeded is for data that would exceed the owner's quota.
var ErrExceeded = schemas.NewError(schemas.CodeQuota, "your documents and attachments use all of your quota; delete documents or chats first")

// SelectStored sums the sizes of an owner's documents and attachments. It reads
// the rows, so it is correct whatever wrote or deleted them. Indexes contain
// all of it except the sizes of attachments.
const SelectStored = `SELECT CAST(? AS TEXT), CAST(
	(SELECT COALESCE(SUM(size), 0) + 1024 * COUNT(*) FROM blocks WHERE owner = ? AND document_id IS NOT NULL)
	+ (SELECT 1024 * COUNT(*) FROM documents WHERE owner = ?)
	+ (SELECT COALESCE(SUM(octet_length(content)), 0) + 1024 * COUNT(*) FROM attachments WHERE owner = ?) AS BIGINT)`

// Allowance is what an owner may store in one transaction; a Quota of 0 means
// no limit.
type Allowance struct {
	// Quota is in bytes.
	Quota int64
	read  bool
	used  int64
}

// Take counts bytes and rows that are about to be stored or, if negative,
// deleted. It refuses what exceeds the quota; deleting is always allowed.
func (a *Allowance) Take(tx *gorm.DB, owner string, bytes int64, rows int) error {
	more := bytes + RowCost*int64(rows)
	if a.Quota == 0 || more <= 0 && !a.read {
		return nil
	}
	if !a.read {
		if err := a.count(tx, owner); err != nil {
			return err
		}
	}
	a.used += more
	if more > 0 && a.used > a.Quota {
		return ErrExceeded
	}
	return nil
}

// Taken returns an error if what has just been stored exceeds the quota.
func (a *Allowance) Taken(tx *gorm.DB, owner string) error {
	if a.Quota == 0 {
		return nil
	}
	err := a.count(tx, owner)
	if err == nil && a.used > a.Quota {
		err = ErrExceeded
	}
	return err
}

func (a *Allowance) count(tx *gorm.DB, owner string) error {
	a.read = true
	return sqldb.ScanRow(tx.Raw(SelectStored, owner, owner, owner, owner), new(string), &a.used)
}
