package store

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/values"
)

// dailyKey names a row of daily_runs.
type dailyKey struct{ day, replica, page, model, code string }

func (k dailyKey) compare(o dailyKey) int {
	return cmp.Or(cmp.Compare(k.day, o.day), cmp.Compare(k.replica, o.replica), cmp.Compare(k.page, o.page),
		cmp.Compare(k.model, o.model), cmp.Compare(k.code, o.code))
}

// dailyRuns is what is added to a row of daily_runs.
type dailyRuns struct {
	runs, cancelled, fallbacks int
	usage                      schemas.Usage
}

// addDay adds a run that ends to its day: the run itself for the model that it counts
// for, and what each model was used.
func (b *batch) addDay(run *runState, f *record.Finish) {
	if b.daily == nil {
		b.daily = make(map[dailyKey]dailyRuns)
	}
	spent := f.Spent
	if !slices.ContainsFunc(spent, func(s record.ModelUsage) bool { return s.Runs > 0 }) {
		spent = append(slices.Clip(spent), record.ModelUsage{Model: f.Model, Runs: 1})
	}
	for _, s := range spent {
		k := dailyKey{day: f.EndedAt.UTC().Format(time.DateOnly), replica: run.replica, page: run.page, model: values.Clean(s.Model)}
		if s.Runs > 0 && f.Error != nil {
			k.code = string(f.Error.Code)
		}
		sum := b.daily[k]
		sum.usage = sum.usage.Add(s.Usage)
		sum.runs += s.Runs
		if s.Runs > 0 && f.State == schemas.RunCancelled {
			sum.cancelled++
		}
		if s.Runs > 0 && f.Fallback {
			sum.fallbacks++
		}
		b.daily[k] = sum
	}
}

// addDays adds the rows of daily_runs.
func (b *batch) addDays() {
	for _, k := range slices.SortedFunc(maps.Keys(b.daily), dailyKey.compare) {
		s := b.daily[k]
		b.add(addDaily, k.day, k.replica, k.page, k.model, k.code, int64(s.runs), int64(s.cancelled), int64(s.fallbacks),
			int64(s.usage.InputTokens), int64(s.usage.OutputTokens), int64(s.usage.CostUSD))
	}
}
