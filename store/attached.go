package store

import (
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/quota"
	"github.com/chattray/chattray/store/sqldb"
)

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
	err := b.tx.Query(b.ctx, quota.SelectStored, rows, func(row sqldb.Scanner) error {
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
			o.err = quota.ErrExceeded
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
		n += int64(len(f.Content)) + quota.RowCost
	}
	return n
}
