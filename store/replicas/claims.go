package replicas

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

const (
	// claimLock distinguishes the locks of owners' claims from the locks of other programs.
	claimLock = 0x6374726b
	// claimLife is how long a claim counts whose run has not begun.
	claimLife = time.Minute
)

// The statements of claims. A claim counts from the begin of its run to the end, and shortly
// before.
const (
	selectHolder = `SELECT run FROM claims WHERE owner = ? AND run <> ? AND (block = '' AND document = ?
		OR block <> '' AND (block {among} OR CAST(? AS BOOLEAN) AND document = ?)) AND ` + tables.Held + ` ORDER BY run LIMIT 1`
	insertClaim = `INSERT INTO claims (run, document, block, owner, replica, until) VALUES (?, ?, ?, ?, ?, clock_timestamp() + ? * interval '1 microsecond')
		ON CONFLICT (run, document, block) DO UPDATE SET replica = excluded.replica, until = excluded.until`
	setWaits   = `UPDATE claims SET waits = CAST(? AS JSONB) WHERE run = ?`
	clearWaits = `UPDATE claims SET waits = NULL WHERE run = ? AND waits IS NOT NULL`
	// waitsFor joins the claims that hold up the run of w. A run without claims holds up
	// nobody, so its waits are not noted.
	waitsFor = ` JOIN claims ON claims.owner = w.owner AND claims.run <> w.run AND (claims.block = '' AND claims.document = w.waits->>'document'
		OR claims.block <> '' AND (jsonb_exists(w.waits->'blocks', claims.block)
		OR CAST(w.waits->>'plan' AS BOOLEAN) AND claims.document = w.waits->>'document')) AND ` + tables.Held
	selectCircle = `WITH RECURSIVE ahead (run) AS (SELECT claims.run FROM claims AS w` + waitsFor + ` WHERE w.run = ?
		UNION SELECT claims.run FROM ahead JOIN claims AS w ON w.run = ahead.run` + waitsFor + `) SELECT 1 FROM ahead WHERE run = ?`
	sweepClaims = `DELETE FROM claims WHERE owner = ? AND until < clock_timestamp() AND NOT ` + tables.Held
	// While text is written into a block, it is pending there until the user rejects it.
	rejectedClaims = `SELECT run, owner, document, block FROM claims WHERE run = ANY($1) AND writing AND NOT EXISTS
		(SELECT 1 FROM blocks WHERE blocks.owner = claims.owner AND blocks.id = claims.block AND blocks.document_id = claims.document AND new IS NOT NULL)
		ORDER BY run, document, block`
)

// TakeClaim grants a run of the replica all that it claims, or nothing if a run of any
// replica holds some of it; it returns that run. A run may claim again what it holds. If
// it waits for what is not granted, that is noted until something is granted or LeaveClaim,
// unless a holder waits for this run, directly or through others: that is a deadlock. A run
// waits for one claim at a time, so only a new wait closes a circle.
func (r *Table) TakeClaim(ctx context.Context, c record.Claim, replica string, waits bool) (holder string, deadlock bool, err error) {
	blocks, err := json.Marshal(append([]string{}, c.Blocks...))
	if err != nil {
		return "", false, err
	}
	err = r.db.Batch(ctx, func(ctx context.Context, tx sqldb.Session) error {
		holder, deadlock = "", false
		owner := values.Clean(c.Owner)
		if err := tx.Query(ctx, tables.LockOwner, [][]any{{claimLock, owner}}, func(sqldb.Scanner) error { return nil }); err != nil {
			return err
		}
		err := tx.Query(ctx, selectHolder, [][]any{{owner, c.Run, c.Document, string(blocks), c.Plan, c.Document}}, func(row sqldb.Scanner) error { return row.Scan(&holder) })
		switch {
		case err != nil || holder != "" && !waits:
			return err
		case holder != "":
			deadlock, err = noteWait(ctx, tx, &c, string(blocks))
			return err
		}
		claimed := c.Blocks
		if c.Plan {
			claimed = append([]string{""}, claimed...)
		}
		rows := make([][]any, len(claimed))
		for i, block := range claimed {
			rows[i] = []any{c.Run, c.Document, block, owner, replica, claimLife.Microseconds()}
		}
		if err := tx.Each(ctx, sweepClaims, [][]any{{owner}}); err != nil {
			return err
		}
		if err := tx.Each(ctx, clearWaits, [][]any{{c.Run}}); err != nil {
			return err
		}
		return tx.Each(ctx, insertClaim, rows)
	})
	return holder, deadlock, r.db.Fault("claim", err)
}

// noteWait notes what a run waits for, unless that closes a circle of waits.
func noteWait(ctx context.Context, tx sqldb.Session, c *record.Claim, blocks string) (deadlock bool, err error) {
	wait, err := json.Marshal(map[string]any{"document": c.Document, "blocks": json.RawMessage(blocks), "plan": c.Plan})
	if err != nil {
		return false, err
	}
	if err := tx.Each(ctx, setWaits, [][]any{{string(wait), c.Run}}); err != nil {
		return false, err
	}
	err = tx.Query(ctx, selectCircle, [][]any{{c.Run, c.Run}}, func(sqldb.Scanner) error { deadlock = true; return nil })
	if err != nil || !deadlock {
		return deadlock, err
	}
	return true, tx.Each(ctx, clearWaits, [][]any{{c.Run}})
}

// LeaveClaim ends the wait of a run.
func (r *Table) LeaveClaim(ctx context.Context, run string) error {
	return r.change(ctx, `UPDATE claims SET waits = NULL WHERE run = $1 AND waits IS NOT NULL`, run)
}

// DropClaims drops what an attempt of a run has claimed as one of the replica. Once a later
// attempt has begun, nothing is dropped: it may have claimed the same.
func (r *Table) DropClaims(ctx context.Context, run, replica string, attempt int) error {
	return r.change(ctx, `DELETE FROM claims WHERE run = $1 AND replica = $2 AND NOT EXISTS (SELECT 1 FROM runs WHERE id = $1 AND attempt > $3)`, run, replica, attempt)
}

// ClaimedIn returns the document in which a run has claimed the owner's block, "" for none.
func (r *Table) ClaimedIn(ctx context.Context, owner, block string) (document string, err error) {
	err = r.each(ctx, func(row sqldb.Scanner) error { return row.Scan(&document) },
		`SELECT document FROM claims WHERE owner = $1 AND block = $2 AND `+tables.Held+` LIMIT 1`, values.Clean(owner), values.Clean(block))
	return document, err
}

// SetWriting records whether text is being written into a block that the run has claimed.
func (r *Table) SetWriting(ctx context.Context, run, block string, writing bool) error {
	return r.change(ctx, `UPDATE claims SET writing = $3 WHERE run = $1 AND block = $2`, run, block, writing)
}

// Rejected returns the blocks into which these runs are writing text and in which nothing
// is pending: the user has rejected or deleted them, or nothing was pending before a text
// that is stored only at its end.
func (r *Table) Rejected(ctx context.Context, runs []string) ([]record.Claim, error) {
	var list []record.Claim
	err := r.each(ctx, func(row sqldb.Scanner) error {
		c := record.Claim{Blocks: make([]string, 1)}
		err := row.Scan(&c.Run, &c.Owner, &c.Document, &c.Blocks[0])
		list = append(list, c)
		return err
	}, rejectedClaims, runs)
	return list, err
}
