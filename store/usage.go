package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/values"
)

// maxUsage bounds the items of one answer.
const maxUsage = 20_000

// usageKey names a row of model_usage.
type usageKey struct{ owner, day, model string }

func (k usageKey) compare(o usageKey) int {
	return cmp.Or(cmp.Compare(k.owner, o.owner), cmp.Compare(k.day, o.day), cmp.Compare(k.model, o.model))
}

// use adds a run's usage to its owner's usage in this batch, and to the day's.
func (b *batch) use(run *runState, f *record.Finish) {
	b.addDay(run, f)
	if len(f.Spent) > 0 && b.used == nil {
		b.used = make(map[usageKey]record.ModelUsage)
	}
	for _, s := range f.Spent {
		k := usageKey{run.owner, f.EndedAt.UTC().Format(time.DateOnly), values.Clean(s.Model)}
		sum := b.used[k]
		b.used[k] = record.ModelUsage{Runs: sum.Runs + s.Runs, Usage: sum.Usage.Add(s.Usage)}
	}
}

// addUsed adds the rows of model_usage and daily_runs, in the same order everywhere.
func (b *batch) addUsed() {
	for _, k := range slices.SortedFunc(maps.Keys(b.used), usageKey.compare) {
		s := b.used[k]
		b.add(addUsage, k.owner, k.day, k.model, int64(s.Runs), int64(s.Usage.InputTokens), int64(s.Usage.OutputTokens), int64(s.Usage.CostUSD))
	}
	b.addDays()
}

// Usage returns the owner's usage between two days, both included and written
// as YYYY-MM-DD, ordered by day and model; at most maxUsage items.
func (s *Store) Usage(ctx context.Context, owner, from, to string) ([]schemas.UsageItem, error) {
	var rows []struct {
		Day          string
		Model        string
		Runs         int
		InputTokens  int
		OutputTokens int
		CostNano     schemas.USD
	}
	err := s.db.Read(ctx).Table("model_usage").Where("owner = ? AND day >= ? AND day <= ?", owner, from, to).
		Order("day, model").Limit(maxUsage).Find(&rows).Error
	if err != nil {
		return nil, s.db.Fault("usage", err)
	}
	items := make([]schemas.UsageItem, len(rows))
	for i, r := range rows {
		items[i] = schemas.UsageItem{
			Date: r.Day, Model: r.Model, Runs: r.Runs, InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, CostUSD: r.CostNano,
		}
	}
	return items, nil
}
