package admin

import (
	"context"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// totalRow is a row of totals.
type totalRow struct {
	Name         string
	Runs         int64
	Failed       int64
	Cancelled    int64
	Fallbacks    int64
	InputTokens  int64
	OutputTokens int64
	CostNano     schemas.USD
}

const (
	sumOfDaily = `CAST(SUM(runs) AS BIGINT) AS runs, CAST(SUM(CASE WHEN code <> '' THEN runs ELSE 0 END) AS BIGINT) AS failed,
	CAST(SUM(cancelled) AS BIGINT) AS cancelled, CAST(SUM(fallbacks) AS BIGINT) AS fallbacks, CAST(SUM(input_tokens) AS BIGINT) AS input_tokens,
	CAST(SUM(output_tokens) AS BIGINT) AS output_tokens, CAST(SUM(cost_nano) AS BIGINT) AS cost_nano FROM daily_runs WHERE day >= ? AND day <= ?`
	// newestUsage are the newest rows of model_usage.
	newestUsage = `(SELECT owner, day, runs, input_tokens, output_tokens, cost_nano FROM model_usage WHERE day >= ? AND day <= ? ORDER BY day DESC LIMIT ?) newest`
	sumByUser   = `SELECT owner AS name, CAST(SUM(runs) AS BIGINT) AS runs, CAST(SUM(input_tokens) AS BIGINT) AS input_tokens,
	CAST(SUM(output_tokens) AS BIGINT) AS output_tokens, CAST(SUM(cost_nano) AS BIGINT) AS cost_nano FROM ` + newestUsage + ` GROUP BY owner ` + mostFirst
	mostFirst = ` ORDER BY cost_nano DESC, runs DESC, name LIMIT ?`
)

// AdminStats returns the totals of all users. It adds up the rows of the days, of which
// there are some for each replica, page and model; users from a bounded number of rows.
func (o *Overview) AdminStats(ctx context.Context, q record.AdminStatsQuery) (stats schemas.AdminStats, err error) {
	top := values.PageLimit(q.Top, maxTop, maxTop)
	tx := o.db.Read(ctx)
	stats = schemas.AdminStats{From: q.From, To: q.To}
	add := func(into *[]schemas.AdminTotal, statement string, args ...any) {
		if err == nil {
			*into, err = totals(tx, statement, args...)
		}
	}
	// Days are bounded by the caller.
	add(&stats.Days, "SELECT day AS name, "+sumOfDaily+" GROUP BY day ORDER BY day", q.From, q.To)
	add(&stats.Models, "SELECT model AS name, "+sumOfDaily+" AND model <> '' GROUP BY model"+mostFirst, q.From, q.To, top)
	add(&stats.Pages, "SELECT page AS name, "+sumOfDaily+" GROUP BY page"+mostFirst, q.From, q.To, top)
	add(&stats.Errors, "SELECT code AS name, "+sumOfDaily+" AND code <> '' GROUP BY code ORDER BY runs DESC, name LIMIT ?", q.From, q.To, top)
	add(&stats.Users, sumByUser, q.From, q.To, userRows, top)
	if err == nil {
		var first string
		err = tx.Raw("SELECT COALESCE(MIN(day), '') FROM (SELECT day FROM model_usage WHERE day >= ? AND day <= ? ORDER BY day DESC LIMIT 1 OFFSET ?) last", q.From, q.To, userRows-1).Scan(&first).Error
		stats.UsersFrom = first
	}
	return stats, o.db.Fault("totals of all users", err)
}

func totals(tx *gorm.DB, statement string, args ...any) ([]schemas.AdminTotal, error) {
	var rows []totalRow
	if err := tx.Raw(statement, args...).Scan(&rows).Error; err != nil {
		return nil, err
	}
	list := make([]schemas.AdminTotal, len(rows))
	for i, r := range rows {
		list[i] = schemas.AdminTotal{
			Name: r.Name, Runs: r.Runs, Failed: r.Failed, Cancelled: r.Cancelled, Fallbacks: r.Fallbacks,
			InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, CostUSD: r.CostNano,
		}
	}
	return list, nil
}

// OpenRuns counts the runs that have not ended.
func (o *Overview) OpenRuns(ctx context.Context) (int64, error) {
	n, err := sqldb.Number(o.db.Read(ctx), "SELECT COUNT(*) FROM runs WHERE "+tables.OpenStates)
	return n, o.db.Fault("open runs", err)
}
