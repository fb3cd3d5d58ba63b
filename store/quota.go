package store

import (
	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
)

// rowCost is added to the bytes of each document, block and attachment, so that
// empty ones are not free.
const rowCost = 1 << 10

// errQuota is for data that would exceed the owner's quota.
var errQuota = schemas.NewError(schemas.CodeQuota, "your documents and attachments use all of your quota; delete documents or chats first")

// selectStored sums the sizes of an owner's documents and attachments. It reads
// the rows, so it is correct whatever wrote or deleted them. Indexes contain
// all of it except the sizes of attachments.
const selectStored = `SELECT CAST(? AS TEXT), CAST(
	(SELECT COALESCE(SUM(size), 0) + 1024 * COUNT(*) FROM blocks WHERE owner = ? AND document_id IS NOT NULL)
	+ (SELECT 1024 * COUNT(*) FROM documents WHERE owner = ?)
	+ (SELECT COALESCE(SUM(octet_length(content)), 0) + 1024 * COUNT(*) FROM attachments WHERE owner = ?) AS BIGINT)`

// allowance is what an owner may store in one transaction; a quota of 0 means
// no limit.
type allowance struct {
	quota int64
	read  bool
	used  int64
}

// take counts bytes and rows that are about to be stored or, if negative,
// deleted. It refuses what exceeds the quota; deleting is always allowed.
func (a *allowance) take(tx *gorm.DB, owner string, bytes int64, rows int) error {
	more := bytes + rowCost*int64(rows)
	if a.quota == 0 || more <= 0 && !a.read {
		return nil
	}
	if !a.read {
		if err := a.count(tx, owner); err != nil {
			return err
		}
	}
	a.used += more
	if more > 0 && a.used > a.quota {
		return errQuota
	}
	return nil
}

// taken returns an error if what has just been stored exceeds the quota.
func (a *allowance) taken(tx *gorm.DB, owner string) error {
	if a.quota == 0 {
		return nil
	}
	err := a.count(tx, owner)
	if err == nil && a.used > a.quota {
		err = errQuota
	}
	return err
}

func (a *allowance) count(tx *gorm.DB, owner string) error {
	a.read = true
	return sqldb.ScanRow(tx.Raw(selectStored, owner, owner, owner, owner), new(string), &a.used)
}

// checkQuota refuses the Begins whose attachments exceed the owner's quota.
func (b *batch) checkQuota() error {
	if b.quota == 0 {
		return nil
	}
	used := make(map[string]int64)
	var rows [][]any
	b.begins(func(_ *writeResult, g *record.Begin) {
		owner := g.Run.Owner.ID
		if _, asked := used[owner]; !asked && attached(g) > 0 {
			used[owner] = 0
			rows = append(rows, []any{owner, owner, owner, owner})
		}
	})
	if len(rows) == 0 {
		return nil
	}
	err := b.tx.Query(b.ctx, selectStored, rows, func(row sqldb.Scanner) error {
		var owner string
		var n int64
		err := row.Scan(&owner, &n)
		used[owner] = n
		return err
	})
	b.begins(func(o *writeResult, g *record.Begin) {
		more := attached(g)
		switch owner := g.Run.Owner.ID; {
		case more == 0:
		case used[owner]+more > b.quota:
			o.err = errQuota
		default:
			used[owner] += more
		}
	})
	return err
}

// attached returns an upper bound of the size of the user message's attachments.
func attached(g *record.Begin) int64 {
	if g.UserMessage == nil {
		return 0
	}
	n := int64(0)
	for _, f := range g.UserMessage.Files {
		n += int64(len(f.Content)) + rowCost
	}
	return n
}
