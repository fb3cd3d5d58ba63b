package storetest

import (
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// spent returns what a run used of a model.
func spent(model string, runs, input, output int, cost schemas.USD) record.ModelUsage {
	return record.ModelUsage{Model: model, Runs: runs, Usage: schemas.Usage{
		InputTokens: input, OutputTokens: output, TotalTokens: input + output, CostUSD: cost,
	}}
}

// spend begins and ends a run that used that much, and returns its last write.
func (f *fixture) spend(at time.Time, used ...record.ModelUsage) *record.Write {
	f.Helper()
	w := f.begin("q")
	f.mustCommit(w)
	end := f.finish(w, "a")
	end.Finish.EndedAt, end.Finish.Spent = at, used
	return end
}

func (f *fixture) usage(from, to string) []schemas.UsageItem {
	f.Helper()
	items, err := f.store.Usage(f.ctx, f.owner, from, to)
	must(f, err)
	return items
}

func testUsage(f *fixture) {
	day := time.Date(2026, 11, 21, 23, 59, 59, 0, time.UTC)
	elsewhere := day.Add(2 * time.Second).In(time.FixedZone("west", -5*3600)) // the 22nd in UTC
	one := f.spend(day, spent("large", 0, 100, 10, 7), spent("small\x00", 1, 5, 1, 0))
	one.Finish.Usage = schemas.Usage{InputTokens: 105, OutputTokens: 11, TotalTokens: 116, CostUSD: 7}
	two := f.spend(day, spent("large", 1, 20, 2, 3*schemas.Dollar))
	f.mustCommit(one, two) // both in one row and one commit
	f.mustCommit(f.spend(day, spent("large", 1, 1, 1, 1)))
	f.mustCommit(f.spend(elsewhere, spent("large", 1, 2, 2, 2)))
	f.mustCommit(f.spend(day)) // a run that called no model
	other := f.anotherUser()
	other.mustCommit(other.spend(day, spent("large", 1, 1_000, 1_000, 1_000)))

	first := []schemas.UsageItem{
		{Date: "2026-11-21", Model: "large", Runs: 2, InputTokens: 121, OutputTokens: 13, CostUSD: 3*schemas.Dollar + 8},
		{Date: "2026-11-21", Model: "small", Runs: 1, InputTokens: 5, OutputTokens: 1},
	}
	second := schemas.UsageItem{Date: "2026-11-22", Model: "large", Runs: 1, InputTokens: 2, OutputTokens: 2, CostUSD: 2}
	equal(f, "two days", f.usage("2026-11-21", "2026-11-22"), append(first[:2:2], second))
	equal(f, "the first", f.usage("2026-11-01", "2026-11-21"), first)
	equal(f, "the second", f.usage("2026-11-22", "2027-01-01"), []schemas.UsageItem{second})
	equal(f, "none", f.usage("2026-11-23", "2027-01-01"), []schemas.UsageItem{})

	run, err := f.store.Run(f.ctx, one.RunID)
	must(f, err)
	equal(f, "usage of the run", run.Usage, one.Finish.Usage)
	must(f, f.store.DeleteChat(f.ctx, f.owner, run.ConversationID))
	equal(f, "after the chat is deleted", f.usage("2026-11-01", "2026-11-21"), first)
}

// testUsageOnce checks that a finish that is committed again counts once, and a
// fenced one does not count.
func testUsageOnce(f *fixture) {
	end := f.spend(start, spent("m", 1, 3, 4, 5))
	f.mustCommit(end)
	f.mustCommit(end)
	late := &record.Write{RunID: end.RunID, Attempt: 1, Finish: &record.Finish{
		State: schemas.RunFailed, EndedAt: start.Add(time.Second), Spent: []record.ModelUsage{spent("m", 1, 3, 4, 5)},
	}}
	f.commit(late)
	fails(f, "a second end", late.Err, record.ErrFenced)
	equal(f, "usage", f.usage("2026-11-21", "2026-11-21"), []schemas.UsageItem{
		{Date: "2026-11-21", Model: "m", Runs: 1, InputTokens: 3, OutputTokens: 4, CostUSD: 5},
	})
}

// testUsageAtOnce checks that runs of one user that end at the same time are
// all counted.
func testUsageAtOnce(f *fixture) {
	const runs = 16
	var ends []*record.Write
	for i := range runs {
		models := []record.ModelUsage{spent("a", 1, 1, 0, 0), spent("b", 0, 1, 0, 0)}
		if i%2 == 1 {
			models[0], models[1] = models[1], models[0]
		}
		ends = append(ends, f.spend(start, models...))
	}
	var wg sync.WaitGroup
	for _, end := range ends {
		wg.Go(func() {
			if err := f.store.Commit(f.ctx, []*record.Write{end}); err != nil || end.Err != nil {
				f.Errorf("commit: %v, %v", err, end.Err)
			}
		})
	}
	wg.Wait()
	equal(f, "usage", f.usage("2026-11-21", "2026-11-21"), []schemas.UsageItem{
		{Date: "2026-11-21", Model: "a", Runs: runs, InputTokens: runs},
		{Date: "2026-11-21", Model: "b", InputTokens: runs},
	})
}
