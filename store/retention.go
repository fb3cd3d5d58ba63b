package store

import (
	"cmp"
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// Limits of one step of a sweep. sweptRows bounds the rows of logs that it deletes, but
// the rows of one run are deleted together.
const (
	sweptRuns  = 50
	sweptRows  = 200
	sweptChats = 200
)

// The kinds of sweeps. Each has a row in the table sweeps, which says how far it has come.
const (
	sweepLogs  = "logs"
	sweepChats = "chats"
)

// DropLogs deletes the event logs and traces of the next runs that ended before a time,
// in the order of their start, and returns how many runs had some. It begins after the run
// at a place, or with 0 after those that no earlier sweep has kept. Next is the place to
// continue after, 0 if no later run can have ended before that time.
//
// A run that has not ended, such as one that waits for its user for weeks, keeps only its own
// log: the next sweep begins with it again.
func (s *Store) DropLogs(ctx context.Context, after int64, before, now time.Time) (next int64, dropped int, err error) {
	err = s.db.Write(ctx, func(tx *gorm.DB) error {
		dropped = 0
		done, err := s.sweepAt(tx, sweepLogs)
		if err != nil {
			return err
		}
		begin := done
		next = max(after, done)
		kept := next > done
		var rows []startedRun
		if err := tx.Raw(startedRuns, next, sweptRuns).Scan(&rows).Error; err != nil {
			return err
		}
		if err := guessEnds(tx, rows, now); err != nil {
			return err
		}
		more := len(rows) == sweptRuns
		for i, deleted := 0, int64(0); i < len(rows); i++ {
			r := &rows[i]
			if deleted >= sweptRows {
				more = true
				break
			}
			if r.startedSince(before, now) {
				more = false
				break
			}
			old := r.State.Terminal() && r.EndedAt < values.Micros(before)
			if old && r.Stored {
				n, err := dropLog(tx, r.ID)
				if err != nil {
					return err
				}
				deleted += n
				dropped++
			}
			next, kept = r.Place, kept || !old
			if !kept {
				done = r.Place
			}
		}
		if !more {
			next = 0
		}
		if done == begin {
			return nil
		}
		return sweptTo(tx, sweepLogs, done)
	})
	return next, dropped, s.db.Fault("drop logs", err)
}

// dropLog deletes the log and the trace of a run, and returns how many rows they had.
func dropLog(tx *gorm.DB, id string) (int64, error) {
	log := tx.Exec("DELETE FROM segments WHERE run_id = ?", id)
	if log.Error != nil {
		return 0, log.Error
	}
	trace := tx.Exec("DELETE FROM traces WHERE run_id = ?", id)
	return log.RowsAffected + trace.RowsAffected, trace.Error
}

// aheadClock is how far a clock may be ahead of another one.
const aheadClock = 24 * time.Hour

// startedRun is a run in the order of their start.
type startedRun struct {
	ID        string
	Place     int64
	State     schemas.RunState
	CreatedAt int64
	EndedAt   int64
	Stored    bool // it has a log or a trace
}

const startedRuns = `SELECT id, place, state, created_at, ended_at,
	EXISTS (SELECT 1 FROM segments WHERE run_id = runs.id) OR EXISTS (SELECT 1 FROM traces WHERE run_id = runs.id) AS stored
	FROM runs WHERE place > ? ORDER BY place LIMIT ?`

// startedSince reports whether the run has started since a time, so that neither it nor a
// later one has ended before. A start in the future, of a clock that was wrong, says nothing.
func (r *startedRun) startedSince(since, now time.Time) bool {
	return r.CreatedAt >= values.Micros(since) && r.CreatedAt <= values.Micros(now.Add(aheadClock))
}

// guessEnds gives runs that end in the future, because the clock was wrong, the end of the next
// run whose end is not, or the end of the near future if there is none: else no log would be
// deleted until that future. Many follow each other, so that the later ones are read once for
// all. Nobody else writes meanwhile.
func guessEnds(tx *gorm.DB, rows []startedRun, now time.Time) (err error) {
	future := values.Micros(now.Add(aheadClock))
	next := int64(0) // not known
	for i := len(rows) - 1; i >= 0; i-- {
		r := &rows[i]
		if r.EndedAt > future && next == 0 {
			next, err = sqldb.Number(tx, `SELECT COALESCE((SELECT ended_at FROM runs WHERE place > ? AND ended_at > 0 AND ended_at <= ? ORDER BY place LIMIT 1), ?)`,
				r.Place, future, future)
			if err != nil {
				return err
			}
		}
		if r.EndedAt > future {
			r.EndedAt = next
		}
		next = cmp.Or(r.EndedAt, next)
	}
	return nil
}

// OldChats looks at the next chats of all owners and returns those without a run since
// a time. After the last chat more is false, and the next call begins with the first
// chat again.
func (s *Store) OldChats(ctx context.Context, before time.Time) (old []record.OldChat, more bool, err error) {
	err = s.db.Write(ctx, func(tx *gorm.DB) error {
		old = nil
		at, err := s.sweepAt(tx, sweepChats)
		if err != nil {
			return err
		}
		var rows []struct {
			ID        int64
			Owner     string
			UpdatedAt int64
		}
		if err := tx.Raw("SELECT id, owner, updated_at FROM chats WHERE id > ? ORDER BY id LIMIT ?", at, sweptChats).Scan(&rows).Error; err != nil {
			return err
		}
		at = 0
		for _, r := range rows {
			if r.UpdatedAt < values.Micros(before) {
				old = append(old, record.OldChat{Owner: r.Owner, ConversationID: r.ID})
			}
		}
		if more = len(rows) == sweptChats; more {
			at = rows[len(rows)-1].ID
		}
		return sweptTo(tx, sweepChats, at)
	})
	return old, more, s.db.Fault("old chats", err)
}

// leaveChat hides a chat that is being deleted: it is no longer in its owner's list, and its
// key is free. A question finds no chat with a time before 1970, and none under a key that
// begins with leftKey, which no client can choose.
const (
	leaveChat = "UPDATE chats SET key = '" + leftKey + "' || id, updated_at = -1, unlisted = 1 WHERE id = ?"
	leftKey   = "deleted:"
)

// DeleteOldChat is DeleteChat for a chat that still has no run since a time. It
// reports whether it was deleted. From the first step on no question finds the chat: one
// would be asked in what is left of it.
func (s *Store) DeleteOldChat(ctx context.Context, chat record.OldChat, before time.Time) (deleted bool, err error) {
	err = s.deleteInSteps(ctx, chat.Owner, chat.ConversationID, func(tx *gorm.DB, row *chatRow) error {
		open, err := sqldb.Number(tx, "SELECT COUNT(*) FROM runs WHERE chat_id = ? AND "+tables.OpenStates, chat.ConversationID)
		if err == nil && (open > 0 || row.UpdatedAt >= values.Micros(before)) {
			err = errInUse
		}
		if err == nil {
			err = tx.Exec(leaveChat, chat.ConversationID).Error
		}
		return err
	})
	if errors.Is(err, errInUse) || errors.Is(sqldb.Translate(err), schemas.ErrNotFound) {
		return false, nil
	}
	return err == nil, s.db.Fault("delete an old chat", err)
}

// errInUse is for a chat that is not old any more.
var errInUse = errors.New("store: the chat is in use again")

// sweepAt returns how far a sweep has come, and locks its row until the end of
// the transaction.
func (s *Store) sweepAt(tx *gorm.DB, kind string) (int64, error) {
	var row struct{ At int64 }
	err := tx.Table("sweeps").Clauses(s.db.RowLock()...).Select("at").Where("kind = ?", kind).Take(&row).Error
	return row.At, err
}

// sweptTo stores how far a sweep has come.
func sweptTo(tx *gorm.DB, kind string, at int64) error {
	return tx.Exec("UPDATE sweeps SET at = ? WHERE kind = ?", at, kind).Error
}
