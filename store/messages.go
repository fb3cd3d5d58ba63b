package store

import (
	"context"
	"slices"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/store/packed"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// Messages returns a page of the chat's messages, from the newest back or from the
// oldest on, and the cursor of the next page, "" when there is none. Questions are in
// the order in which they were accepted, each followed by its answer.
func (s *Store) Messages(ctx context.Context, owner string, id int64, q record.MessageQuery) ([]schemas.Message, string, error) {
	limit := values.PageLimit(q.Limit, defaultMessages, maxMessages)
	var place, seq int64
	more, err := values.CursorPlace(q.Cursor, cursorMessages, &place, &seq)
	if err != nil {
		more, err = values.CursorPlace(q.Cursor, cursorStored, &seq)
		place = seq * 2
	}
	if err != nil {
		return nil, "", err
	}
	if err := chatExists(s.db.Read(ctx), owner, id); err != nil {
		return nil, "", s.db.Fault("messages", err)
	}
	tx := s.db.Read(ctx).Table("blocks").Select(blockColumns).Where("chat_id = ?", id)
	const at = tables.MessagePlace
	order, beyond := at+" DESC, seq DESC", at+" <= ? AND ("+at+" < ? OR seq < ?)"
	if q.Forward {
		order, beyond = at+", seq", at+" >= ? AND ("+at+" > ? OR seq > ?)"
	}
	if more {
		tx = tx.Where(beyond, place, place, seq)
	}
	if !q.Superseded {
		tx = tx.Where("status <> ?", schemas.MessageSuperseded)
	}
	var rows []blockRow
	if err := tx.Order(order).Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, "", s.db.Fault("messages", err)
	}
	cursor := ""
	if len(rows) > limit {
		rows = rows[:limit]
		cursor = values.CursorOf(cursorMessages, rows[limit-1].Place, rows[limit-1].Seq)
	}
	if !q.Forward {
		slices.Reverse(rows)
	}
	messages, err := joined(s.db.Read(ctx), id, rows)
	return messages, cursor, s.db.Fault("messages", err)
}

// Message returns one message of the chat.
func (s *Store) Message(ctx context.Context, owner string, id int64, messageID string) (schemas.Message, error) {
	m, err := oneMessage(s.db.Read(ctx), owner, id, messageID)
	return m, s.db.Fault("message", err)
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
	calls, err := toolCalls(tx, runs, shownCall)
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
		m.Payloads, m.ToolHistory = inOrder(payloads[m.ID], m.Payloads), calls[m.RunID]
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
	if err := tx.Raw("SELECT id, run_id FROM blocks WHERE owner = ? AND run_id IN ? AND "+tables.Reserved+" ORDER BY created_at, id", rows[0].Owner, runs).
		Scan(&found).Error; err != nil {
		return nil, err
	}
	names := make(map[string]string)
	for _, f := range found {
		names[f.RunID] += "," + f.ID
	}
	return names, nil
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

// shownCall returns a tool call for the history of its message.
func shownCall(c *record.ToolCall) schemas.ToolCall {
	return schemas.ToolCall{
		ToolName: c.Name, Input: schemas.CutStrings(c.Input), Output: schemas.CutText(c.Output), IsError: c.IsError, ToolUseID: c.ToolUseID, DurationMS: c.Duration.Milliseconds(),
	}
}

// Files returns the attachments of a user's message with their content.
func (s *Store) Files(ctx context.Context, owner string, id int64, messageID string) ([]schemas.Attachment, error) {
	_, err := sqldb.Number(s.db.Read(ctx), "SELECT seq FROM blocks WHERE owner = ? AND id = ? AND chat_id = ?", owner, messageID, id)
	if err != nil {
		return nil, s.db.Fault("files", err)
	}
	var rows []struct {
		Name, Mime string
		Content    []byte
	}
	err = s.db.Read(ctx).Raw("SELECT name, mime, content FROM attachments WHERE owner = ? AND block_id = ? ORDER BY n", owner, messageID).Scan(&rows).Error
	if err != nil {
		return nil, s.db.Fault("files", err)
	}
	files := make([]schemas.Attachment, len(rows))
	for i, r := range rows {
		content, err := packed.Open(r.Content)
		if err != nil {
			return nil, s.db.Fault("files", err)
		}
		files[i] = schemas.Attachment{Name: r.Name, MIME: r.Mime, Content: string(content)}
	}
	return files, nil
}

// File returns the content of the n-th attachment of a user's message.
func (s *Store) File(ctx context.Context, owner string, id int64, messageID string, n int) (string, error) {
	var row struct{ Content []byte }
	err := sqldb.Found(s.db.Read(ctx).Raw(`SELECT a.content FROM attachments a JOIN blocks b ON b.owner = a.owner AND b.id = a.block_id
		WHERE a.owner = ? AND a.block_id = ? AND a.n = ? AND b.chat_id = ?`, owner, messageID, n, id).Scan(&row))
	if err != nil {
		return "", s.db.Fault("file", err)
	}
	content, err := packed.Open(row.Content)
	return string(content), s.db.Fault("file", err)
}

// SetFeedback stores the user's rating of an answer in place of an earlier one; one
// without a rating takes it back.
func (s *Store) SetFeedback(ctx context.Context, owner string, id int64, messageID string, f schemas.Feedback) (schemas.Message, error) {
	var data any
	if f.Rating != "" {
		raw, err := text.Encode(schemas.Feedback{Rating: values.Clean(f.Rating), Reasons: f.Reasons, Comment: values.Clean(f.Comment)})
		if err != nil {
			return schemas.Message{}, s.db.Fault("set feedback", err)
		}
		data = string(raw)
	}
	if err := s.change(ctx, "UPDATE blocks SET feedback = ? WHERE owner = ? AND id = ? AND chat_id = ? AND role = 'assistant'", data, owner, messageID, id); err != nil {
		return schemas.Message{}, s.db.Fault("set feedback", err)
	}
	return s.Message(ctx, owner, id, messageID)
}
