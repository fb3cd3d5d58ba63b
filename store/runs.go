package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/packed"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// runs selects runs with the keys of their chats.
func runs(tx *gorm.DB) *gorm.DB {
	return tx.Table("runs").Joins("JOIN chats ON chats.id = runs.chat_id").
		Select(runColumns)
}

// Run returns the run.
func (s *Store) Run(ctx context.Context, id string) (record.Run, error) {
	return s.oneRun(runs(s.db.Read(ctx)).Where("runs.id = ?", id), "run")
}

// RunByKey returns the run that the owner started under an Idempotency-Key.
func (s *Store) RunByKey(ctx context.Context, owner, key string) (record.Run, error) {
	return s.oneRun(runs(s.db.Read(ctx)).Where("runs.owner = ? AND runs.idempotency_key = ?", owner, key), "run by key")
}

// RunByMessage returns the run that began with the owner's message.
func (s *Store) RunByMessage(ctx context.Context, owner, messageID string) (record.Run, error) {
	if !values.PlainText(messageID) {
		return record.Run{}, schemas.ErrNotFound
	}
	return s.oneRun(runs(s.db.Read(ctx)).Joins("JOIN blocks ON blocks.run_id = runs.id").
		Where("blocks.owner = ? AND blocks.id = ? AND blocks.role = 'user' AND runs.user_message_id = blocks.id", owner, messageID), "run by message")
}

// RunOfAnswer returns the unfinished run of the chat whose answer has the id.
func (s *Store) RunOfAnswer(ctx context.Context, owner string, conversationID int64, id string) (record.Run, error) {
	if !values.PlainText(id) {
		return record.Run{}, schemas.ErrNotFound
	}
	return s.oneRun(runs(s.db.Read(ctx)).Where("runs.chat_id = ? AND runs.owner = ? AND runs.message_id = ? AND runs."+tables.OpenStates, conversationID, owner, id).
		Order("runs.place"), "run of an answer")
}

// NextQueued returns the oldest queued run of the chat.
func (s *Store) NextQueued(ctx context.Context, conversationID int64) (record.Run, error) {
	return s.oneRun(runs(s.db.Read(ctx)).Where("runs.chat_id = ? AND runs.state = 'queued' AND runs."+tables.OpenStates, conversationID).
		Order("runs.place"), "next queued run")
}

// Waiting returns the ids of the chat's queued runs, oldest first.
func (s *Store) Waiting(ctx context.Context, conversationID int64) ([]string, error) {
	var ids []string
	err := s.db.Read(ctx).Raw("SELECT id FROM runs WHERE chat_id = ? AND state = 'queued' AND "+tables.OpenStates+" ORDER BY place", conversationID).Scan(&ids).Error
	return ids, s.db.Fault("waiting runs", err)
}

// RunsAfter returns the ids of the runs that began after the run in its chat,
// the oldest first, at most limit; none if the run is unknown.
func (s *Store) RunsAfter(ctx context.Context, id string, limit int) ([]string, error) {
	if !values.PlainText(id) {
		return nil, nil
	}
	var ids []string
	err := s.db.Read(ctx).Raw(`SELECT r.id FROM runs first JOIN runs r ON r.chat_id = first.chat_id
		WHERE first.id = ? AND r.place > first.place ORDER BY r.place LIMIT ?`, id, limit).Scan(&ids).Error
	return ids, s.db.Fault("runs after a run", err)
}

func (s *Store) oneRun(query *gorm.DB, operation string) (record.Run, error) {
	var row runRow
	if err := query.Take(&row).Error; err != nil {
		return record.Run{}, s.db.Fault(operation, err)
	}
	run, err := row.run()
	return run, s.db.Fault(operation, err)
}

// knownAtOnce is how many runs are looked for with one statement.
const knownAtOnce = 1000

// CancelRequested returns the replica's unfinished runs that are to be cancelled, and those
// of idle that no longer exist.
func (s *Store) CancelRequested(ctx context.Context, replica string, idle []string) ([]string, error) {
	var ids []string
	err := s.db.Read(ctx).Raw("SELECT id FROM runs WHERE replica = ? AND cancel_requested AND "+tables.OpenStates, replica).Scan(&ids).Error
	for some := range slices.Chunk(idle, knownAtOnce) {
		var known []string
		if err == nil {
			err = s.db.Read(ctx).Raw("SELECT id FROM runs WHERE id IN ?", some).Scan(&known).Error
		}
		slices.Sort(known)
		for _, id := range some {
			if _, exists := slices.BinarySearch(known, id); !exists && err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids, s.db.Fault("runs to be cancelled", err)
}

// OpenRunsOf returns the owner's unfinished runs.
func (s *Store) OpenRunsOf(ctx context.Context, owner string) ([]string, error) {
	var ids []string
	err := s.db.Read(ctx).Raw("SELECT id FROM runs WHERE owner = ? AND "+tables.OpenStates, owner).Scan(&ids).Error
	return ids, s.db.Fault("unfinished runs", err)
}

// runExists returns schemas.ErrNotFound unless the run exists.
func (s *Store) runExists(ctx context.Context, id string) error {
	_, err := sqldb.Number(s.db.Read(ctx), "SELECT chat_id FROM runs WHERE id = ?", id)
	return err
}

// Segments returns the segments of the run's log that have events after the
// sequence number, in order.
func (s *Store) Segments(ctx context.Context, id string, after int64) ([]record.Segment, error) {
	var rows []struct {
		FirstSeq, LastSeq int64
		Data              []byte
	}
	// Data that moves while this reads is found twice.
	journal, err := s.readJournal(ctx, id)
	if err != nil {
		return nil, s.db.Fault("segments", err)
	}
	err = s.db.Read(ctx).Raw("SELECT first_seq, last_seq, data FROM segments WHERE run_id = ? AND last_seq > ? ORDER BY first_seq", id, after).
		Scan(&rows).Error
	if err == nil && len(rows)+len(journal.segments) == 0 {
		err = s.runExists(ctx, id)
	}
	if err != nil {
		return nil, s.db.Fault("segments", err)
	}
	found := make([]record.Segment, len(rows))
	for i, r := range rows {
		data, err := packed.Open(r.Data)
		if err != nil {
			return nil, s.db.Fault("segments", err)
		}
		found[i] = record.Segment{First: r.FirstSeq, Last: r.LastSeq, Data: data}
	}
	newer := slices.DeleteFunc(journal.segments, func(s record.Segment) bool { return s.Last <= after })
	return mergeSegments(found, newer), nil
}

// Checkpoints returns the run's checkpoints in order; none if the run has ended.
func (s *Store) Checkpoints(ctx context.Context, id string) ([]record.Checkpoint, error) {
	var rows []struct {
		N    int
		Data []byte
	}
	journal, err := s.readJournal(ctx, id)
	if err != nil {
		return nil, s.db.Fault("checkpoints", err)
	}
	err = s.db.Read(ctx).Raw("SELECT n, data FROM checkpoints WHERE run_id = ? ORDER BY n", id).Scan(&rows).Error
	if err == nil && len(rows)+len(journal.checkpoints) == 0 {
		err = s.runExists(ctx, id)
	}
	if err != nil {
		return nil, s.db.Fault("checkpoints", err)
	}
	found := make([]record.Checkpoint, len(rows))
	for i, r := range rows {
		data, err := packed.Open(r.Data)
		if err != nil {
			return nil, s.db.Fault("checkpoints", err)
		}
		found[i] = record.Checkpoint{N: r.N, Data: data}
	}
	return mergeCheckpoints(found, journal.checkpoints), nil
}

// ToolCalls returns the run's complete tool calls, in the order in which the
// model asked for them.
func (s *Store) ToolCalls(ctx context.Context, id string) ([]record.ToolCall, error) {
	byRun, err := toolCalls(s.db.Read(ctx), []string{id}, func(c *record.ToolCall) record.ToolCall { return *c })
	if err == nil && len(byRun[id]) == 0 {
		err = s.runExists(ctx, id)
	}
	return byRun[id], s.db.Fault("tool calls", err)
}

// ToolCall returns the run's call of that index; schemas.ErrNotFound if it has none.
func (s *Store) ToolCall(ctx context.Context, id string, index int) (record.ToolCall, error) {
	var row toolCallRow
	err := s.db.Read(ctx).Table("tool_calls").Where("run_id = ? AND idx = ?", id, index).Take(&row).Error
	if err != nil {
		return record.ToolCall{}, s.db.Fault("tool call", err)
	}
	call, err := row.call()
	return call, s.db.Fault("tool call", err)
}

// toolCalls returns the tool calls of the runs, by run. Each is unpacked only for as: all of
// them may be large.
func toolCalls[T any](tx *gorm.DB, ids []string, as func(*record.ToolCall) T) (map[string][]T, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []toolCallRow
	if err := tx.Table("tool_calls").Where("run_id IN ?", ids).Order("run_id, idx").Find(&rows).Error; err != nil {
		return nil, err
	}
	byRun := make(map[string][]T)
	for i := range rows {
		call, err := rows[i].call()
		if err != nil {
			return nil, err
		}
		byRun[call.RunID] = append(byRun[call.RunID], as(&call))
	}
	return byRun, nil
}

// Trace returns the run's trace; schemas.ErrNotFound if it has none.
func (s *Store) Trace(ctx context.Context, id string) (json.RawMessage, error) {
	var row struct{ Data []byte }
	if err := s.db.Read(ctx).Table("traces").Select("data").Where("run_id = ?", id).Take(&row).Error; err != nil {
		return nil, s.db.Fault("trace", err)
	}
	data, err := packed.Open(row.Data)
	if err != nil {
		return nil, s.db.Fault("trace", fmt.Errorf("of run %s: %w", id, err))
	}
	return data, nil
}
