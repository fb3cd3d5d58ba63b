package store

import (
	"context"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/packed"
)

// NextSegment returns the first segment of the run's log with events after the
// sequence number; one whose Last is 0 if there is none. It allows reading a
// log without holding all of it in memory.
func (s *Store) NextSegment(ctx context.Context, id string, after int64) (record.Segment, error) {
	next, err := s.nextStored(ctx, id, after)
	if err != nil || next.Last != 0 && next.First <= after+1 {
		return next, err
	}
	// An earlier segment may be in the journal. One that moves out of it while
	// this reads is found twice.
	journal, err := s.readJournal(ctx, id)
	if err != nil {
		return record.Segment{}, s.db.Fault("next segment", err)
	}
	if next, err = s.nextStored(ctx, id, after); err != nil {
		return next, err
	}
	for _, found := range journal.joined() {
		if found.Last > after && (next.Last == 0 || found.First < next.First) {
			next = found
		}
	}
	if next.Last == 0 {
		return next, s.db.Fault("next segment", s.runExists(ctx, id))
	}
	return next, nil
}

// nextStored is NextSegment without the journal.
func (s *Store) nextStored(ctx context.Context, id string, after int64) (record.Segment, error) {
	var rows []struct {
		FirstSeq, LastSeq int64
		Data              []byte
	}
	err := s.db.Read(ctx).Raw("SELECT first_seq, last_seq, data FROM segments WHERE run_id = ? AND last_seq > ? ORDER BY first_seq LIMIT 1", id, after).
		Scan(&rows).Error
	if err != nil || len(rows) == 0 {
		return record.Segment{}, s.db.Fault("next segment", err)
	}
	data, err := packed.Open(rows[0].Data)
	if err != nil {
		return record.Segment{}, s.db.Fault("next segment", err)
	}
	return record.Segment{First: rows[0].FirstSeq, Last: rows[0].LastSeq, Data: data}, nil
}
