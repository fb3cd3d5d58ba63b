// Package admin reads the runs of all users and their totals, for operators.
package admin

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// Limits of what admins see.
const (
	defaultRuns = 50
	maxRuns     = 200
	// lookedAt is how many runs a list looks through at once, and how many of those that
	// have not ended.
	lookedAt = 2000
	// userRows bounds the rows from which users are added up.
	userRows = 50_000
	// maxTop bounds the entries of one table of totals.
	maxTop = 100
)

const cursorRuns = 'a'

// Overview is what admins see of all users. It is safe for concurrent use.
type Overview struct{ db *sqldb.DB }

// New returns the overview of a database.
func New(db *sqldb.DB) *Overview { return &Overview{db} }

// lookedRun is a run as a list looks at it.
type lookedRun struct {
	ID        string
	CreatedAt int64 `gorm:"autoCreateTime:false"`
	Place     int64
	Owner     string
	Page      string
	Model     string
	State     schemas.RunState
	ErrorCode string
}

// newer orders rows by their start, the newest first.
func (r *lookedRun) newer(o *lookedRun) int {
	return cmp.Or(cmp.Compare(o.CreatedAt, r.CreatedAt), cmp.Compare(o.Place, r.Place))
}

// matches reports whether the query asks for the run.
func (r *lookedRun) matches(q *record.AdminRunQuery) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return is(q.State, string(r.State)) && is(q.Owner, r.Owner) && is(q.Page, r.Page) && is(q.Model, r.Model) && is(q.Code, r.ErrorCode)
}

// AdminRuns returns a page of the runs of all users, the newest first. It looks through a
// bounded number of runs, along the index of one of the query's fields: a page may have
// less than its limit, even nothing, and a cursor for what follows.
func (o *Overview) AdminRuns(ctx context.Context, q record.AdminRunQuery) (schemas.AdminRunList, error) {
	list := schemas.AdminRunList{}
	if !values.PlainText(q.State + q.Owner + q.Page + q.Model + q.Code) {
		return list, nil
	}
	limit := values.PageLimit(q.Limit, defaultRuns, maxRuns)
	var after lookedRun
	more, err := values.CursorPlace(q.Cursor, cursorRuns, &after.CreatedAt, &after.Place)
	if err != nil {
		return list, err
	}
	look := func(tx *gorm.DB) *gorm.DB {
		if more {
			tx = tx.Where("(created_at, place) < (?, ?)", after.CreatedAt, after.Place)
		}
		if !q.From.IsZero() {
			tx = tx.Where("created_at >= ?", values.Micros(q.From))
		}
		if !q.To.IsZero() {
			tx = tx.Where("created_at < ?", values.Micros(q.To))
		}
		return tx.Table("runs").Select("id, created_at, place, owner, page, model, state, error_code").Order("created_at DESC, place DESC").Limit(lookedAt)
	}
	// Those that have not ended come first: a run that ends meanwhile is found twice.
	var open, ended []lookedRun
	err = look(o.db.Read(ctx).Where(tables.OpenStates)).Find(&open).Error
	if err == nil {
		err = look(alongIndex(o.db.Read(ctx), &q)).Find(&ended).Error
	}
	if err != nil {
		return list, o.db.Fault("runs of all users", err)
	}
	rows, end := merge(&q, open, ended)
	if len(rows) > limit {
		rows, end = rows[:limit], &rows[limit-1]
	}
	if end != nil {
		list.NextCursor = values.CursorOf(cursorRuns, end.CreatedAt, end.Place)
	}
	list.Items, err = o.runs(ctx, rows)
	return list, o.db.Fault("runs of all users", err)
}

// alongIndex selects ended runs by the query's field of which there are the fewest; the
// others are compared later. The conditions are those of partial indexes.
func alongIndex(tx *gorm.DB, q *record.AdminRunQuery) *gorm.DB {
	tx = tx.Where("ended_at > 0")
	switch {
	case q.Code != "":
		return tx.Where("error_code <> '' AND error_code = ?", q.Code)
	case q.Owner != "":
		return tx.Where("owner = ?", q.Owner)
	case q.State == string(schemas.RunFailed), q.State == string(schemas.RunCancelled):
		return tx.Where("state IN ('failed', 'cancelled') AND state = ?", q.State)
	case q.Model != "":
		return tx.Where("model <> '' AND model = ?", q.Model)
	case q.Page != "":
		return tx.Where("page <> '' AND page = ?", q.Page)
	}
	return tx
}

// merge returns the runs that the query asks for, in order and each once. End is the
// place up to which all are known, if that is not the end.
func merge(q *record.AdminRunQuery, sources ...[]lookedRun) (rows []lookedRun, end *lookedRun) {
	for _, source := range sources {
		if last := len(source) - 1; len(source) == lookedAt && (end == nil || source[last].newer(end) < 0) {
			end = &source[last]
		}
	}
	seen := make(map[string]bool)
	for _, source := range sources {
		for i := range source {
			r := &source[i]
			if seen[r.ID] || !r.matches(q) || end != nil && end.newer(r) < 0 {
				continue
			}
			seen[r.ID] = true
			rows = append(rows, *r)
		}
	}
	slices.SortFunc(rows, func(a, b lookedRun) int { return a.newer(&b) })
	return rows, end
}

// runRow is a run as it is shown: all of it but the request.
type runRow struct {
	ID           string
	ChatID       int64
	Owner        string
	OwnerName    string
	Replica      string
	State        schemas.RunState
	Attempt      int
	CreatedAt    int64
	EndedAt      int64
	StopReason   schemas.StopReason
	InputTokens  int
	OutputTokens int
	TotalTokens  int
	CostNano     schemas.USD
	ErrorCode    schemas.Code
	ErrorMessage string
	Page         string
	Model        string
	Owners       string
}

// columns are the columns of runRow.
const columns = `id, chat_id, owner, owner_name, replica, state, attempt, created_at, ended_at, stop_reason, input_tokens, output_tokens,
	total_tokens, cost_nano, error_code, error_message, page, model, owners`

// runs returns the runs in the order of the rows.
func (o *Overview) runs(ctx context.Context, rows []lookedRun) ([]schemas.AdminRun, error) {
	items := make([]schemas.AdminRun, 0, len(rows))
	if len(rows) == 0 {
		return items, nil
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	var found []runRow
	if err := o.db.Read(ctx).Table("runs").Select(columns).Where("id IN ?", ids).Find(&found).Error; err != nil {
		return nil, err
	}
	byID := make(map[string]*runRow, len(found))
	for i := range found {
		byID[found[i].ID] = &found[i]
	}
	for _, id := range ids {
		if r := byID[id]; r != nil { // it may have been deleted since
			items = append(items, r.run())
		}
	}
	return items, nil
}

// run is the run as admins see it.
func (r *runRow) run() schemas.AdminRun {
	run := schemas.AdminRun{
		RunID: r.ID, ConversationID: r.ChatID, UserID: r.Owner, UserName: r.OwnerName, State: r.State, Attempt: r.Attempt,
		CreatedAt: values.Moment(r.CreatedAt), Model: r.Model, Page: r.Page, Replica: r.Replica, StopReason: r.StopReason,
		Usage: schemas.Usage{InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, TotalTokens: r.TotalTokens, CostUSD: r.CostNano},
	}
	if ended := values.Moment(r.EndedAt); !ended.IsZero() {
		run.EndedAt = &ended
	}
	if r.ErrorCode != "" || r.ErrorMessage != "" {
		run.Error = &schemas.MessageFailure{Code: r.ErrorCode, Message: r.ErrorMessage}
	}
	return run
}

// AdminRun returns a run of any user and its attempts.
func (o *Overview) AdminRun(ctx context.Context, id string) (schemas.AdminRun, []schemas.AdminAttempt, error) {
	var row runRow
	if err := o.db.Read(ctx).Table("runs").Select(columns).Where("id = ?", id).Take(&row).Error; err != nil {
		return schemas.AdminRun{}, nil, o.db.Fault("run of any user", err)
	}
	return row.run(), row.attempts(), nil
}

// maxAttempts bounds the attempts of a run that are shown: the last ones.
const maxAttempts = 100

// attempts returns the run's attempts with the replicas that had them.
func (r *runRow) attempts() []schemas.AdminAttempt {
	list := []schemas.AdminAttempt{}
	earlier := strings.Split(r.Owners, ";")
	for n := max(1, r.Attempt-maxAttempts+1); n <= r.Attempt; n++ {
		a := schemas.AdminAttempt{Number: n, Replica: r.Replica}
		for _, owner := range earlier {
			number, replica, _ := strings.Cut(owner, " ")
			if last, err := strconv.Atoi(number); err == nil && n <= last {
				a.Replica = replica
				break
			}
		}
		list = append(list, a)
	}
	return list
}
