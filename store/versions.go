package store

import (
	"context"
	"slices"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// Limits of versions.
const (
	// maxVersions is the largest number of versions of a message that is
	// returned; the newest are.
	maxVersions = 200
	// previewLength is the length of a version's preview, in characters, which needs no more
	// than previewText of its text.
	previewLength, previewText = 200, "substr(current, 1, 1600) AS current"
)

// versionRow is a message that is one of several versions.
type versionRow struct {
	ID, Role, Branch string
	Status           schemas.MessageStatus
	Kept, Tail       *string
	Current          string
	CreatedAt        int64
	Count            int // of all versions
}

// isVersion is true for messages that can be selected again, and for the current one. A message
// that was replaced together with an earlier one comes back with that one only.
const isVersion = "(status <> 'superseded' OR tail = id)"

// joinVersions sets Version on the messages that have other versions.
func joinVersions(tx *gorm.DB, chat int64, rows []blockRow, messages []schemas.Message) error {
	var branches []string
	for i := range rows {
		if b := rows[i].Branch; b != nil && !slices.Contains(branches, *b) {
			branches = append(branches, *b)
		}
	}
	if len(branches) == 0 {
		return nil
	}
	var found []versionRow
	err := tx.Raw("SELECT id, role, branch FROM blocks WHERE chat_id = ? AND branch IN ? AND "+isVersion+" ORDER BY created_at, id", chat, branches).
		Scan(&found).Error
	type place struct{ role, branch string }
	places := make(map[place][]string)
	for _, v := range found {
		p := place{v.Role, v.Branch}
		places[p] = append(places[p], v.ID)
	}
	for i := range rows {
		if rows[i].Branch == nil {
			continue
		}
		ids := places[place{rows[i].Role, *rows[i].Branch}]
		at := slices.Index(ids, rows[i].ID)
		if at < 0 || len(ids) < 2 {
			continue
		}
		v := &schemas.Version{Number: at + 1, Count: len(ids)}
		if at > 0 {
			v.PreviousID = ids[at-1]
		}
		if at+1 < len(ids) {
			v.NextID = ids[at+1]
		}
		messages[i].Version = v
	}
	return err
}

// Versions returns the newest versions of a message of the chat, the oldest of them first:
// only the message if there are no others. None is current if they were replaced together with
// an earlier message.
func (s *Store) Versions(ctx context.Context, owner string, id int64, messageID string) (schemas.VersionList, error) {
	var row blockRow
	err := s.db.Read(ctx).Table("blocks").Select(blockColumns).Where("owner = ? AND id = ? AND chat_id = ?", owner, messageID, id).Take(&row).Error
	if err != nil {
		return schemas.VersionList{}, s.db.Fault("versions", err)
	}
	const columns, all = "SELECT id, status, kept, created_at, " + previewText, " FROM blocks WHERE chat_id = ? AND branch = ? AND role = ?"
	tx := s.db.Read(ctx)
	if row.Branch == nil {
		tx = tx.Raw(columns+", 1 AS count FROM blocks WHERE owner = ? AND id = ?", owner, messageID)
	} else {
		tx = tx.Raw(columns+", (SELECT COUNT(*)"+all+") AS count"+all+" ORDER BY created_at DESC, id DESC LIMIT ?",
			id, *row.Branch, row.Role, id, *row.Branch, row.Role, maxVersions)
	}
	var found []versionRow
	if err := tx.Scan(&found).Error; err != nil {
		return schemas.VersionList{}, s.db.Fault("versions", err)
	}
	slices.Reverse(found)
	items := make([]schemas.VersionItem, len(found))
	for i, v := range found {
		status := v.Status
		if v.Kept != nil {
			status = schemas.MessageStatus(*v.Kept)
		}
		items[i] = schemas.VersionItem{
			MessageID: v.ID, Number: v.Count - len(found) + i + 1, Current: v.Status != schemas.MessageSuperseded, Status: status,
			Preview: text.Line(v.Current, previewLength), CreatedAt: values.Moment(v.CreatedAt),
		}
	}
	return schemas.VersionList{Items: items}, nil
}

// The statements of SelectVersion. The plus keeps SQLite from reading all messages of the chat
// in their order to find those of a branch or a tail, which have indexes.
const (
	selectVersion  = `SELECT id, ` + tables.MessagePlace + `, role, COALESCE(branch, ''), status, COALESCE(tail, '') FROM blocks WHERE owner = ? AND id = ? AND chat_id = ?`
	currentVersion = `SELECT id, ` + tables.MessagePlace + ` FROM blocks WHERE chat_id = ? AND branch = ? AND role = ? AND status <> 'superseded' ORDER BY +` + tables.MessagePlace + ` LIMIT 1`
	currentAfter   = `SELECT id, ` + tables.MessagePlace + ` FROM blocks WHERE chat_id = ? AND ` + tables.MessagePlace + ` > ? AND status <> 'superseded' ORDER BY ` + tables.MessagePlace + ` LIMIT 1`
	currentMessage = `SELECT id, ` + tables.MessagePlace + ` FROM blocks WHERE owner = ? AND id = ? AND chat_id = ? AND status <> 'superseded'`
	lastCurrent    = `SELECT id, ` + tables.MessagePlace + ` FROM blocks WHERE chat_id = ? AND status <> 'superseded' ORDER BY ` + tables.MessagePlace + ` DESC LIMIT 1`
	replacedWith   = `SELECT id, ` + tables.MessagePlace + ` FROM blocks WHERE chat_id = ? AND tail = ? ORDER BY +` + tables.MessagePlace + `, seq`
	restoreTail    = `UPDATE blocks SET status = kept, kept = NULL, tail = NULL WHERE chat_id = ? AND tail = ?`
	moveBlock      = `UPDATE blocks SET seq = {next_seq}, turn = NULL WHERE owner = ? AND id = ?`
)

// messagePlace is a message and its place in the chat.
type messagePlace struct {
	id    string
	place int64
}

// SelectVersion makes a version of a question or an answer current again,
// together with the messages that followed it. The messages that were current
// from its place on are replaced. Only a version of a current message can be
// chosen, and only while no run of the chat is under way (CodeBusy with the
// run).
func (s *Store) SelectVersion(ctx context.Context, owner string, id int64, messageID string) error {
	if !values.PlainText(messageID) {
		return schemas.ErrNotFound
	}
	err := s.db.Batch(ctx, func(ctx context.Context, tx sqldb.Session) error {
		return (&versions{ctx, tx, owner, id}).choose(messageID)
	})
	return s.db.Fault("select version", err)
}

// versions is one transaction of SelectVersion.
type versions struct {
	ctx   context.Context //nolint:containedctx // lives as long as the call
	tx    sqldb.Session
	owner string
	chat  int64
}

func (v *versions) choose(messageID string) error {
	if err := v.idle(); err != nil {
		return err
	}
	var wanted messagePlace
	var role, branch, status, tail string
	err := v.tx.Query(v.ctx, selectVersion, [][]any{{v.owner, messageID, v.chat}}, func(row sqldb.Scanner) error {
		return row.Scan(&wanted.id, &wanted.place, &role, &branch, &status, &tail)
	})
	switch {
	case err != nil:
		return err
	case wanted.id == "":
		return schemas.ErrNotFound
	case status != string(schemas.MessageSuperseded):
		return nil
	case branch == "" || tail != wanted.id:
		return schemas.NewError(schemas.CodeConflict, "this message was replaced with an earlier one; go back to that one")
	}
	current, err := v.message(currentVersion, v.chat, branch, role)
	if err == nil && current.id == "" {
		current, err = v.unanswered(role, branch)
	}
	if err != nil {
		return err
	}
	if current.id != "" {
		if err := v.tx.Each(v.ctx, supersedeMessages, [][]any{{current.id, v.chat, current.place}}); err != nil {
			return err
		}
		if err := v.tx.Each(v.ctx, dropSummary, [][]any{{v.chat, v.chat, current.place}}); err != nil {
			return err
		}
	}
	return v.restore(wanted)
}

// idle returns an error unless the chat is the owner's and has no run under way.
func (v *versions) idle() error {
	var owner, run string
	err := v.tx.Query(v.ctx, selectChat, [][]any{{v.chat}}, func(row sqldb.Scanner) error { return row.Scan(new(int64), &owner, new(string)) })
	if err != nil {
		return err
	}
	if owner != v.owner {
		return schemas.ErrNotFound
	}
	err = v.tx.Query(v.ctx, selectOpenRuns, [][]any{{v.chat}}, func(row sqldb.Scanner) error { return row.Scan(new(int64), &run, new(string)) })
	if err == nil && run != "" {
		e := schemas.NewError(schemas.CodeBusy, "this chat has an answer under way")
		e.RunID = run
		return e
	}
	return err
}

// unanswered returns what follows a question whose last answer was stopped
// before it had begun; there may be nothing.
func (v *versions) unanswered(role, branch string) (messagePlace, error) {
	question := messagePlace{}
	var err error
	if role == roleAssistant {
		question, err = v.message(currentMessage, v.owner, branch, v.chat)
	}
	if err != nil {
		return messagePlace{}, err
	}
	if question.id == "" {
		return messagePlace{}, schemas.NewError(schemas.CodeConflict, "this version belongs to a message that was replaced; go back to that one first")
	}
	return v.message(currentAfter, v.chat, question.place)
}

// restore makes the message and those replaced with it current, after the present ones.
func (v *versions) restore(first messagePlace) error {
	last, err := v.message(lastCurrent, v.chat)
	if err != nil {
		return err
	}
	if last.place > first.place {
		var rows [][]any
		err := v.tx.Query(v.ctx, replacedWith, [][]any{{v.chat, first.id}}, func(row sqldb.Scanner) error {
			var m messagePlace
			err := row.Scan(&m.id, &m.place)
			rows = append(rows, []any{v.owner, m.id})
			return err
		})
		if err != nil {
			return err
		}
		if err := v.tx.Each(v.ctx, moveBlock, rows); err != nil {
			return err
		}
	}
	return v.tx.Each(v.ctx, restoreTail, [][]any{{v.chat, first.id}})
}

// message returns the message that the SELECT finds, or the zero value.
func (v *versions) message(statement string, args ...any) (m messagePlace, err error) {
	err = v.tx.Query(v.ctx, statement, [][]any{args}, func(row sqldb.Scanner) error { return row.Scan(&m.id, &m.place) })
	return m, err
}
