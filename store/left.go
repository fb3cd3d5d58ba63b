package store

import (
	"context"
	"errors"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/packed"
)

// Left calls found with what the attempts of runs have stored, for at most atOnce of them
// at a time. No attempt of them may write meanwhile: the runs have been taken, or belong
// to this process, which does not work on them.
func (s *Store) Left(ctx context.Context, ids []string, atOnce int, found func(some []record.Left)) {
	journal, err := s.readJournals(ctx, ids) // first: data that moves is found twice
	for some := range slices.Chunk(ids, atOnce) {
		list := make([]record.Left, len(some))
		of := make(map[string]*record.Left, len(some))
		for i, id := range some {
			list[i].ID, list[i].Err = id, schemas.ErrNotFound
			of[id] = &list[i]
		}
		failed := err
		if failed == nil {
			failed = s.left(ctx, some, of)
		}
		for i, id := range some {
			l := &list[i]
			if failed != nil {
				*l = record.Left{Run: record.Run{ID: id}, Err: failed}
			}
			l.Err = s.db.Fault("what a run has left", l.Err)
			l.Checkpoints, l.Segments = mergeCheckpoints(l.Checkpoints, journal[id].checkpoints), mergeSegments(l.Segments, journal[id].segments)
		}
		found(list)
	}
}

// left reads what is in its final place.
func (s *Store) left(ctx context.Context, ids []string, of map[string]*record.Left) error {
	var rows []runRow
	if err := runs(s.db.Read(ctx)).Where("runs.id IN ?", ids).Find(&rows).Error; err != nil {
		return err
	}
	for i := range rows {
		l := of[rows[i].ID]
		l.Run, l.Err = rows[i].run()
		l.ID = rows[i].ID
	}
	if err := s.leftCalls(ctx, ids, of); err != nil {
		return err
	}
	return s.leftData(ctx, ids, of)
}

// leftCalls adds tool calls, with as much of their outputs as is shown.
func (s *Store) leftCalls(ctx context.Context, ids []string, of map[string]*record.Left) error {
	var rows []toolCallRow
	err := s.db.Read(ctx).Table("tool_calls").Where("run_id IN ?", ids).Order("run_id, idx").Find(&rows).Error
	for i := range rows {
		l := of[rows[i].RunID]
		call, broken := rows[i].call()
		call.Output = schemas.CutText(call.Output)
		l.ToolCalls, l.Err = append(l.ToolCalls, call), errors.Join(l.Err, broken)
	}
	return err
}

// leftData adds checkpoints and segments.
func (s *Store) leftData(ctx context.Context, ids []string, of map[string]*record.Left) error {
	var rows []struct {
		RunID   string
		Kind    int
		N, Last int64
		Data    []byte
	}
	err := s.db.Read(ctx).Raw(`SELECT run_id, 0 AS kind, n, 0 AS last, data FROM checkpoints WHERE run_id IN ?
		UNION ALL SELECT run_id, 1, first_seq, last_seq, data FROM segments WHERE run_id IN ? ORDER BY run_id, kind, n`, ids, ids).Scan(&rows).Error
	for _, row := range rows {
		l := of[row.RunID]
		data, broken := packed.Open(row.Data)
		l.Err = errors.Join(l.Err, broken)
		if row.Kind == 0 {
			l.Checkpoints = append(l.Checkpoints, record.Checkpoint{N: int(row.N), Data: data})
		} else {
			l.Segments = append(l.Segments, record.Segment{First: row.N, Last: row.Last, Data: data})
		}
	}
	return err
}
