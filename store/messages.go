package store

import (
	"context"
	"errors"
	"slices"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
)

// Messages returns a page of the chat's messages in order of time, from the
// newest back or from the oldest on, and the cursor of the next page, "" when there
// is none.
func (s *Store) Messages(ctx context.Context, owner string, id int64, q record.MessageQuery) ([]schemas.Message, string, error) {
	limit := pageLimit(q.Limit, defaultMessages, maxMessages)
	var before int64
	more, err := cursorPlace(q.Cursor, cursorMessages, &before)
	if err != nil {
		return nil, "", err
	}
	if err := chatExists(s.read(ctx), owner, id); err != nil {
		return nil, "", s.fault("messages", err)
	}
	tx := s.read(ctx).Table("blocks").Select(blockColumns).Where("chat_id = ?", id)
	order, beyond := "seq DESC", "seq < ?"
	if q.Forward {
		order, beyond = "seq", "seq > ?"
	}
	if more {
		tx = tx.Where(beyond, before)
	}
	if !q.Superseded {
		tx = tx.Where("status <> ?", schemas.MessageSuperseded)
	}
	var rows []blockRow
	if err := tx.Order(order).Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, "", s.fault("messages", err)
	}
	cursor := ""
	if len(rows) > limit {
		rows = rows[:limit]
		cursor = cursorOf(cursorMessages, rows[limit-1].Seq)
	}
	if !q.Forward {
		slices.Reverse(rows)
	}
	messages, err := joined(s.read(ctx), id, rows)
	return messages, cursor, s.fault("messages", err)
}

// Message returns one message of the chat.
func (s *Store) Message(ctx context.Context, owner string, id int64, messageID string) (schemas.Message, error) {
	m, err := oneMessage(s.read(ctx), owner, id, messageID)
	return m, s.fault("message", err)
}

func oneMessage(tx *gorm.DB, owner string, id int64, messageID string) (schemas.Message, error) {
	var row blockRow
	err := tx.Table("blocks").Select(blockColumns).Where("owner = ? AND id = ? AND chat_id = ?", owner, messageID, id).Take(&row).Error
	if err != nil {
		return schemas.Message{}, err
	}
	messages, err := joined(tx, id, []blockRow{row})
	if err != nil {
		return schemas.Message{}, err
	}
	return messages[0], nil
}

// joined returns the messages with their payloads and tool history.
func joined(tx *gorm.DB, chat int64, rows []blockRow) ([]schemas.Message, error) {
	messages := make([]schemas.Message, len(rows))
	var ids, runs []string
	for i := range rows {
		var err error
		if messages[i], err = rows[i].message(); err != nil {
			return nil, err
		}
		if messages[i].Role == "assistant" {
			ids = append(ids, messages[i].ID)
			if messages[i].RunID != "" {
				runs = append(runs, messages[i].RunID)
			}
		}
	}
	if err := joinVersions(tx, chat, rows, messages); err != nil {
		return nil, err
	}
	payloads, err := payloadsOf(tx, chat, ids)
	if err != nil {
		return nil, err
	}
	calls, err := toolCalls(tx, runs)
	if err != nil {
		return nil, err
	}
	names, err := aliases(tx, rows, runs)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		m := &messages[i]
		if m.Role != "assistant" {
			continue
		}
		if more := names[m.RunID]; more != "" {
			m.BlockIDs = m.ID + more
		}
		m.Payloads, m.ToolHistory = inOrder(payloads[m.ID], m.Payloads), history(calls[m.RunID])
		if err := joinCustomPayload(m); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

// aliases returns the other ids of the runs' answers, each preceded by a comma.
func aliases(tx *gorm.DB, rows []blockRow, runs []string) (map[string]string, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	var found []struct{ ID, RunID string }
	if err := tx.Raw("SELECT id, run_id FROM blocks WHERE owner = ? AND run_id IN ? AND "+reserved+" ORDER BY created_at, id", rows[0].Owner, runs).
		Scan(&found).Error; err != nil {
		return nil, err
	}
	names := make(map[string]string)
	for _, f := range found {
		names[f.RunID] += "," + f.ID
	}
	return names, nil
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

// joinCustomPayload adds the data that messageData left out.
func joinCustomPayload(m *schemas.Message) error {
	p := m.CustomPayload
	switch {
	case p == nil:
	case p.PayloadID != "":
		if i := slices.IndexFunc(m.Payloads, func(q schemas.CustomPayload) bool { return q.PayloadID == p.PayloadID }); i >= 0 {
			*p = m.Payloads[i]
		}
	case p.Type == schemas.TypeToolHistory:
		calls := m.ToolHistory
		if calls == nil {
			calls = []schemas.ToolCall{}
		}
		data, err := text.Encode(calls)
		p.Data = data
		return err
	}
	return nil
}

// history returns the tool calls of a run for its message.
func history(calls []record.ToolCall) []schemas.ToolCall {
	var shown []schemas.ToolCall
	for _, c := range calls {
		shown = append(shown, schemas.ToolCall{
			ToolName: c.Name, Input: schemas.CutStrings(c.Input), Output: schemas.CutText(c.Output), IsError: c.IsError, ToolUseID: c.ToolUseID, DurationMS: c.Duration.Milliseconds(),
		})
	}
	return shown
}

// Files returns the attachments of a user's message with their content.
func (s *Store) Files(ctx context.Context, owner string, id int64, messageID string) ([]schemas.Attachment, error) {
	_, err := number(s.read(ctx), "SELECT seq FROM blocks WHERE owner = ? AND id = ? AND chat_id = ?", owner, messageID, id)
	if err != nil {
		return nil, s.fault("files", err)
	}
	var rows []struct {
		Name, Mime string
		Content    []byte
	}
	err = s.read(ctx).Raw("SELECT name, mime, content FROM attachments WHERE owner = ? AND block_id = ? ORDER BY n", owner, messageID).Scan(&rows).Error
	if err != nil {
		return nil, s.fault("files", err)
	}
	files := make([]schemas.Attachment, len(rows))
	for i, r := range rows {
		content, err := unpack(r.Content)
		if err != nil {
			return nil, s.fault("files", err)
		}
		files[i] = schemas.Attachment{Name: r.Name, MIME: r.Mime, Content: string(content)}
	}
	return files, nil
}

// SetFeedback stores the user's rating of an answer in place of an earlier one; one
// without a rating takes it back.
func (s *Store) SetFeedback(ctx context.Context, owner string, id int64, messageID string, f schemas.Feedback) (schemas.Message, error) {
	var data any
	if f.Rating != "" {
		raw, err := text.Encode(schemas.Feedback{Rating: clean(f.Rating), Reasons: f.Reasons, Comment: clean(f.Comment)})
		if err != nil {
			return schemas.Message{}, s.fault("set feedback", err)
		}
		data = string(raw)
	}
	if err := s.change(ctx, "UPDATE blocks SET feedback = ? WHERE owner = ? AND id = ? AND chat_id = ? AND role = 'assistant'", data, owner, messageID, id); err != nil {
		return schemas.Message{}, s.fault("set feedback", err)
	}
	return s.Message(ctx, owner, id, messageID)
}

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
	err := s.read(ctx).Table("payloads").Joins("JOIN chats ON chats.id = payloads.chat_id").Select("payloads.*").
		Where("chats.owner = ? AND payloads.chat_id = ? AND payloads.payload_id = ?", owner, id, payloadID).Take(&row).Error
	if err != nil {
		return schemas.CustomPayload{}, s.fault("payload", err)
	}
	p, err := row.payload()
	return p, s.fault("payload", err)
}

// Payloads returns the chat's payloads without their data: message by message, those
// of one in its order. Those of superseded messages and of the run except are left out.
func (s *Store) Payloads(ctx context.Context, owner string, id int64, except string) ([]schemas.CustomPayload, error) {
	if err := chatExists(s.read(ctx), owner, id); err != nil {
		return nil, s.fault("payloads", err)
	}
	var rows []placedPayload
	err := s.read(ctx).Raw(`SELECT p.payload_id, p.message_id, p.type, p.source, p.summary, p.outcome, b.data AS of_message FROM payloads p
		LEFT JOIN blocks b ON b.owner = ? AND b.id = p.message_id
		WHERE p.chat_id = ? AND p.run_id <> ? AND (b.status IS NULL OR b.status <> ?) ORDER BY p.seq`, owner, id, except, schemas.MessageSuperseded).
		Scan(&rows).Error
	if err != nil {
		return nil, s.fault("payloads", err)
	}
	found := make([]schemas.CustomPayload, 0, len(rows))
	for i, last := 0, 0; i < len(rows); i = last {
		for last < len(rows) && rows[last].Row.MessageID == rows[i].Row.MessageID { // a chat has one run at a time
			last++
		}
		list, err := inMessage(rows[i:last])
		if err != nil {
			return nil, s.fault("payloads", err)
		}
		found = append(found, list...)
	}
	return found, nil
}

// placedPayload is a payload with the data of its message, which has the order.
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

// errDecided refuses a second decision about a payload.
func errDecided(outcome string) error {
	return schemas.NewError(schemas.CodeConflict, "this has been "+outcome+" already")
}

// ResolvePayload stores the user's decision about a payload. It is decided once: the
// same decision again changes nothing, another one is an error of code conflict.
func (s *Store) ResolvePayload(ctx context.Context, owner string, id int64, payloadID, outcome string) (schemas.CustomPayload, error) {
	p, first, err := s.decidePayload(ctx, owner, id, payloadID, outcome)
	if err == nil && !first && p.Outcome != outcome {
		return schemas.CustomPayload{}, errDecided(p.Outcome)
	}
	return p, err
}

// ResolvePayloadOnce is ResolvePayload for actions that may be done only once: a
// payload that is decided in any way is an error of code conflict.
func (s *Store) ResolvePayloadOnce(ctx context.Context, owner string, id int64, payloadID, outcome string) error {
	p, first, err := s.decidePayload(ctx, owner, id, payloadID, outcome)
	if err == nil && !first {
		return errDecided(p.Outcome)
	}
	return err
}

// ReopenPayload undoes a decision whose action had no effect.
func (s *Store) ReopenPayload(ctx context.Context, owner string, id int64, payloadID string) error {
	return s.fault("reopen payload", s.change(ctx, `UPDATE payloads SET outcome = '' WHERE payload_id = ? AND chat_id = (SELECT id FROM chats WHERE owner = ? AND id = ?)`,
		payloadID, owner, id))
}

// decidePayload stores the decision if there is none yet, and returns the payload
// and whether this was the first one.
func (s *Store) decidePayload(ctx context.Context, owner string, id int64, payloadID, outcome string) (p schemas.CustomPayload, first bool, err error) {
	err = s.change(ctx, `UPDATE payloads SET outcome = ? WHERE payload_id = ? AND outcome = '' AND chat_id = (SELECT id FROM chats WHERE owner = ? AND id = ?)`,
		clean(outcome), payloadID, owner, id)
	if err != nil && !errors.Is(err, schemas.ErrNotFound) {
		return p, false, s.fault("resolve payload", err)
	}
	first = err == nil
	p, err = s.Payload(ctx, owner, id, payloadID)
	return p, first, err
}
