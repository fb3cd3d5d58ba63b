package store

import (
	"context"
	"errors"
	"slices"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store/values"
)

// payloadsOf returns the payloads of the messages in order, by message.
func payloadsOf(tx *gorm.DB, chat int64, messages []string) (map[string][]schemas.CustomPayload, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	var rows []payloadRow
	if err := tx.Table("payloads").Where("chat_id = ? AND message_id IN ?", chat, messages).Order("seq").Find(&rows).Error; err != nil {
		return nil, err
	}
	found := make(map[string][]schemas.CustomPayload)
	for i := range rows {
		p, err := rows[i].payload()
		if err != nil {
			return nil, err
		}
		found[rows[i].MessageID] = append(found[rows[i].MessageID], p)
	}
	return found, nil
}

// Payload returns a payload of the chat with its data.
func (s *Store) Payload(ctx context.Context, owner string, id int64, payloadID string) (schemas.CustomPayload, error) {
	var row payloadRow
	err := s.db.Read(ctx).Table("payloads").Joins("JOIN chats ON chats.id = payloads.chat_id").Select("payloads.*").
		Where("chats.owner = ? AND payloads.chat_id = ? AND payloads.payload_id = ?", owner, id, payloadID).Take(&row).Error
	if err != nil {
		return schemas.CustomPayload{}, s.db.Fault("payload", err)
	}
	p, err := row.payload()
	return p, s.db.Fault("payload", err)
}

// Payloads returns the chat's payloads without their data: message by message, those
// of one in its order. Those of superseded messages and of the run except are left out.
func (s *Store) Payloads(ctx context.Context, owner string, id int64, except string) ([]schemas.CustomPayload, error) {
	if err := chatExists(s.db.Read(ctx), owner, id); err != nil {
		return nil, s.db.Fault("payloads", err)
	}
	var rows []placedPayload
	// The data of a message is read once, and only if it has several payloads.
	err := s.db.Read(ctx).Raw(`SELECT p.payload_id, p.message_id, p.type, p.source, p.summary, p.outcome,
			CASE WHEN p.place = 1 AND p.together > 1 THEN b.data END AS of_message
		FROM (SELECT seq, payload_id, message_id, type, source, summary, outcome,
				ROW_NUMBER() OVER (PARTITION BY message_id ORDER BY seq) AS place, COUNT(*) OVER (PARTITION BY message_id) AS together
			FROM payloads WHERE chat_id = ? AND run_id <> ?) AS p
		LEFT JOIN blocks b ON b.owner = ? AND b.id = p.message_id
		WHERE b.status IS NULL OR b.status <> ? ORDER BY p.seq`, id, except, owner, schemas.MessageSuperseded).
		Scan(&rows).Error
	if err != nil {
		return nil, s.db.Fault("payloads", err)
	}
	found := make([]schemas.CustomPayload, 0, len(rows))
	for i, last := 0, 0; i < len(rows); i = last {
		for last < len(rows) && rows[last].Row.MessageID == rows[i].Row.MessageID { // a chat has one run at a time
			last++
		}
		list, err := inMessage(rows[i:last])
		if err != nil {
			return nil, s.db.Fault("payloads", err)
		}
		found = append(found, list...)
	}
	return found, nil
}

// placedPayload is a payload. The first one of several of a message has the message's data,
// which has the order.
type placedPayload struct {
	Row       payloadRow `gorm:"embedded"`
	OfMessage *string
}

// inMessage returns the payloads of one message in its order.
func inMessage(rows []placedPayload) ([]schemas.CustomPayload, error) {
	list := make([]schemas.CustomPayload, len(rows))
	for i := range rows {
		var err error
		if list[i], err = rows[i].Row.payload(); err != nil {
			return nil, err
		}
	}
	if len(rows) == 1 || rows[0].OfMessage == nil {
		return list, nil
	}
	m, err := (&blockRow{ID: rows[0].Row.MessageID, Data: rows[0].OfMessage}).message()
	return inOrder(list, m.Payloads), err
}

// inOrder returns the payloads in the order of others with the same ids; those
// that are not in it come last.
func inOrder(list, order []schemas.CustomPayload) []schemas.CustomPayload {
	place := func(p schemas.CustomPayload) int {
		if at := slices.IndexFunc(order, func(o schemas.CustomPayload) bool { return o.PayloadID == p.PayloadID }); at >= 0 {
			return at
		}
		return len(order)
	}
	slices.SortStableFunc(list, func(a, b schemas.CustomPayload) int { return place(a) - place(b) })
	return list
}

// errDecided refuses a second decision about a payload.
func errDecided(outcome string) error {
	return schemas.NewError(schemas.CodeConflict, "this has been "+outcome+" already")
}

// ResolvePayload stores the user's decision about a payload. It is decided once: the
// same decision again changes nothing, another one is an error of code conflict.
func (s *Store) ResolvePayload(ctx context.Context, owner string, id int64, payloadID, outcome string) (schemas.CustomPayload, error) {
	p, first, err := s.decidePayload(ctx, owner, id, payloadID, outcome, "")
	if err == nil && !first && p.Outcome != outcome {
		return schemas.CustomPayload{}, errDecided(p.Outcome)
	}
	return p, err
}

// AcceptPayload is ResolvePayload for the action of a run, which may be done only once: a
// payload that anything but this run has decided is an error of code conflict.
func (s *Store) AcceptPayload(ctx context.Context, owner string, id int64, payloadID, outcome, run string) error {
	p, mine, err := s.decidePayload(ctx, owner, id, payloadID, outcome, run)
	switch {
	case mine: // also if it could not be read afterwards
		return nil
	case err == nil:
		return errDecided(p.Outcome)
	}
	return err
}

// ReopenPayload undoes the decision of a run whose action had no effect.
func (s *Store) ReopenPayload(ctx context.Context, owner string, id int64, payloadID, run string) error {
	return s.db.Fault("reopen payload", s.change(ctx, `UPDATE payloads SET outcome = '', decided_by = ''
		WHERE payload_id = ? AND decided_by = ? AND chat_id = (SELECT id FROM chats WHERE owner = ? AND id = ?)`, payloadID, run, owner, id))
}

// decidePayload stores the decision of a run, or of the user if run is "", unless there is
// another one. It returns the payload and whether this decision is stored.
func (s *Store) decidePayload(ctx context.Context, owner string, id int64, payloadID, outcome, run string) (p schemas.CustomPayload, stored bool, err error) {
	err = s.change(ctx, `UPDATE payloads SET outcome = ?, decided_by = ? WHERE payload_id = ? AND (outcome = '' OR decided_by <> '' AND decided_by = ?)
		AND chat_id = (SELECT id FROM chats WHERE owner = ? AND id = ?)`, values.Clean(outcome), run, payloadID, run, owner, id)
	if err != nil && !errors.Is(err, schemas.ErrNotFound) {
		return p, false, s.db.Fault("resolve payload", err)
	}
	stored = err == nil
	p, err = s.Payload(ctx, owner, id, payloadID)
	return p, stored, err
}
