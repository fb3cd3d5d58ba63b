package store

import (
	"context"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// maxRated is how many rated answers are read at once.
const maxRated = 100

// RatedAnswers returns the answers of all users that have a rating, superseded ones too,
// in the order in which they were stored.
func (s *Store) RatedAnswers(ctx context.Context, q record.RatedQuery) ([]record.RatedAnswer, error) {
	var rows []blockRow
	err := s.db.Read(ctx).Table("blocks").Select("seq, "+tables.MessagePlace+" AS place, owner, id, chat_id").
		Where("feedback IS NOT NULL AND seq > ? AND created_at >= ? AND chat_id IS NOT NULL", q.After, values.Micros(q.Since)).
		Order("seq").Limit(values.PageLimit(q.Limit, maxRated, maxRated)).Find(&rows).Error
	if err != nil {
		return nil, s.db.Fault("rated answers", err)
	}
	list := make([]record.RatedAnswer, len(rows))
	for i, r := range rows {
		list[i] = record.RatedAnswer{Place: r.Seq, Owner: r.Owner, ConversationID: r.ChatID, MessageID: r.ID, Before: values.CursorOf(cursorMessages, r.Place, r.Seq)}
	}
	return list, nil
}
