package store

import (
	"context"
	"errors"
	"strings"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/search"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// Limits of pages. A limit of 0 means the default, and a limit above the
// maximum means the maximum.
const (
	defaultChats    = 50
	maxChats        = 200
	defaultMessages = 50
	maxMessages     = 500
)

const (
	cursorChats    = 'c'
	cursorMessages = 'p'
	cursorStored   = 'm' // of messages in the order in which they were stored, made by older releases
)

// Chats returns a page of the owner's chats, either archived ones or the others, and
// either unlisted ones or the others: pinned ones first, then by latest run.
// The query's text is searched for in titles and in current messages, ignoring
// case.
func (s *Store) Chats(ctx context.Context, owner string, q record.ChatQuery) (schemas.ChatList, error) {
	limit := values.PageLimit(q.Limit, defaultChats, maxChats)
	var pinned, at, id int64
	more, err := values.CursorPlace(q.Cursor, cursorChats, &pinned, &at, &id)
	if err != nil {
		return schemas.ChatList{}, err
	}
	listed := func(tx *gorm.DB) *gorm.DB {
		tx = tx.Where("owner = ? AND archived = ? AND unlisted = ?", owner, values.Bit(q.Archived), values.Bit(q.Unlisted))
		if more {
			tx = tx.Where("(pinned, updated_at, id) < (?, ?, ?)", pinned, at, id)
		}
		return tx.Order("pinned DESC, updated_at DESC, id DESC")
	}
	var rows []chatRow
	if text := strings.TrimSpace(values.Clean(q.Text)); text != "" {
		rows, err = s.searchChats(ctx, listed, owner, search.FoldSigma(strings.ToLower(text)), limit+1)
		if sqldb.Late(err) && ctx.Err() == nil {
			return schemas.ChatList{}, errSearchLate.Because(err)
		}
	} else {
		err = listed(s.db.Read(ctx)).Limit(limit + 1).Find(&rows).Error
	}
	if err != nil {
		return schemas.ChatList{}, s.db.Fault("chats", err)
	}
	list := schemas.ChatList{}
	if len(rows) > limit {
		rows = rows[:limit]
		list.NextCursor = values.CursorOf(cursorChats, rows[limit-1].Pinned, rows[limit-1].UpdatedAt, rows[limit-1].ID)
	}
	list.Items, err = withActiveRuns(s.db.Read(ctx), rows)
	return list, s.db.Fault("chats", err)
}

// errSearchLate is the error of a search that does not end in the time for a read. Messages
// of more than 16,384 characters are looked through, and a user may have very many.
var errSearchLate = schemas.NewError(schemas.CodeStoreUnavailable, "the search takes too long; try a rarer text, or again later")

// withActiveRuns returns the chats, each with its active run.
func withActiveRuns(tx *gorm.DB, rows []chatRow) ([]schemas.Chat, error) {
	chats := make([]schemas.Chat, len(rows))
	ids := make([]int64, len(rows))
	for i := range rows {
		chats[i], ids[i] = rows[i].chat(), rows[i].ID
	}
	if len(ids) == 0 {
		return chats, nil
	}
	var found []struct {
		ChatID int64
		ID     string
		State  schemas.RunState
	}
	err := tx.Raw("SELECT chat_id, id, state FROM runs WHERE chat_id IN ? AND "+tables.OpenStates+" ORDER BY place", ids).Scan(&found).Error
	open := make(map[int64][]openRun)
	for _, r := range found {
		open[r.ChatID] = append(open[r.ChatID], openRun{r.ID, r.State})
	}
	for i := range chats {
		if runs := open[chats[i].ConversationID]; len(runs) > 0 {
			chats[i].ActiveRunID = underWay(runs)
		}
	}
	return chats, err
}

// Chat returns the owner's chat without its messages.
func (s *Store) Chat(ctx context.Context, owner string, id int64) (schemas.Chat, error) {
	return s.oneChat(s.db.Read(ctx), s.db.Read(ctx).Where("owner = ? AND id = ?", owner, id), "chat")
}

// ChatByKey returns the owner's chat under the key.
func (s *Store) ChatByKey(ctx context.Context, owner, key string) (schemas.Chat, error) {
	return s.oneChat(s.db.Read(ctx), s.db.Read(ctx).Where("owner = ? AND key = ?", owner, key), "chat by key")
}

func (s *Store) oneChat(tx, query *gorm.DB, operation string) (schemas.Chat, error) {
	var row chatRow
	if err := query.Take(&row).Error; err != nil {
		return schemas.Chat{}, s.db.Fault(operation, err)
	}
	chats, err := withActiveRuns(tx, []chatRow{row})
	if err != nil {
		return schemas.Chat{}, s.db.Fault(operation, err)
	}
	return chats[0], nil
}

// chatExists returns schemas.ErrNotFound unless the chat is the owner's.
func chatExists(tx *gorm.DB, owner string, id int64) error {
	_, err := sqldb.Number(tx, "SELECT id FROM chats WHERE owner = ? AND id = ?", owner, id)
	return err
}

// PatchChat changes the owner's chat. A new title does not change its place in the list.
func (s *Store) PatchChat(ctx context.Context, owner string, id int64, p schemas.ChatPatch) (schemas.Chat, error) {
	set, args := []string{}, []any{}
	if p.Title != nil {
		set, args = append(set, "title = ?"), append(args, values.Clean(*p.Title))
	}
	if p.Pinned != nil {
		set, args = append(set, "pinned = ?"), append(args, values.Bit(*p.Pinned))
	}
	if p.Archived != nil {
		set, args = append(set, "archived = ?"), append(args, values.Bit(*p.Archived))
	}
	if len(set) > 0 {
		if err := s.change(ctx, "UPDATE chats SET "+strings.Join(set, ", ")+" WHERE owner = ? AND id = ?", append(args, owner, id)...); err != nil {
			return schemas.Chat{}, s.db.Fault("patch chat", err)
		}
	}
	return s.Chat(ctx, owner, id)
}

// RetitleChat gives the owner's chat a title. It reports false if the current
// title is not the one in before.
func (s *Store) RetitleChat(ctx context.Context, owner string, id int64, before, title string) (bool, error) {
	err := s.change(ctx, "UPDATE chats SET title = ? WHERE owner = ? AND id = ? AND title = ?", values.Clean(title), owner, id, before)
	if errors.Is(err, schemas.ErrNotFound) {
		return false, nil
	}
	return err == nil, s.db.Fault("retitle chat", err)
}

// ChatUsage returns what all runs of the owner's chat have used.
func (s *Store) ChatUsage(ctx context.Context, owner string, id int64) (schemas.Usage, error) {
	var row struct {
		InputTokens, OutputTokens, TotalTokens int
		CostNano                               schemas.USD
	}
	err := s.db.Read(ctx).Raw("SELECT COALESCE(SUM(input_tokens), 0) AS input_tokens, COALESCE(SUM(output_tokens), 0) AS output_tokens,"+
		" COALESCE(SUM(total_tokens), 0) AS total_tokens, COALESCE(SUM(cost_nano), 0) AS cost_nano FROM runs WHERE chat_id = ? AND owner = ?", id, owner).
		Scan(&row).Error
	return schemas.Usage{InputTokens: row.InputTokens, OutputTokens: row.OutputTokens, TotalTokens: row.TotalTokens, CostUSD: row.CostNano}, s.db.Fault("chat usage", err)
}

// Summary returns the summary of the chat's older turns; without one it is
// empty.
func (s *Store) Summary(ctx context.Context, owner string, id int64) (record.Summary, error) {
	var row chatRow
	if err := s.db.Read(ctx).Where("owner = ? AND id = ?", owner, id).Take(&row).Error; err != nil {
		return record.Summary{}, s.db.Fault("summary", err)
	}
	return record.Summary{Text: row.Summary, Through: row.SummaryThrough, UpdatedAt: values.Moment(row.SummaryAt)}, nil
}

// SetSummary replaces the summary. It is deleted when a message that it covers is superseded.
func (s *Store) SetSummary(ctx context.Context, owner string, id int64, sum record.Summary) error {
	return s.db.Fault("set summary", s.change(ctx, "UPDATE chats SET summary = ?, summary_through = ?, summary_at = ? WHERE owner = ? AND id = ?",
		values.Clean(sum.Text), values.Clean(sum.Through), values.Micros(sum.UpdatedAt), owner, id))
}
