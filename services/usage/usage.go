// Package usage owns what runs use of models: what it costs, what a user has
// used, and whether that is within a budget.
package usage

import (
	"context"
	"math/bits"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
)

// The days of a report.
const (
	defaultDays = 30
	maxDays     = 366
)

// Price is what a million tokens of a model cost. The zero value means no
// price.
type Price struct{ Input, Output schemas.USD }

// maxCost bounds the cost of one call, so that no token count from a server can
// make sums overflow.
const maxCost = 10_000 * schemas.Dollar

// cost returns the cost of a call, to the billionth of a dollar.
func (p Price) cost(u schemas.Usage) schemas.USD {
	return min(cost(u.InputTokens, p.Input)+cost(u.OutputTokens, p.Output), maxCost)
}

func cost(tokens int, perMillion schemas.USD) schemas.USD {
	const million = 1_000_000
	if tokens <= 0 || perMillion <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(tokens), uint64(perMillion))
	if high >= million {
		return maxCost
	}
	whole, rest := bits.Div64(high, low, million)
	if rest >= million/2 {
		whole++
	}
	return schemas.USD(min(whole, uint64(maxCost)))
}

// Ledger adds up a run's calls of models, by model. It is safe for concurrent
// use.
type Ledger struct {
	prices map[string]Price
	mu     sync.Mutex
	used   []record.ModelUsage // in the order of first calls
}

// NewLedger returns an empty ledger. A model without a price costs nothing.
func NewLedger(prices map[string]Price) *Ledger { return &Ledger{prices: prices} }

// Add books a call. The run uses it as its meter.
func (l *Ledger) Add(c turn.ModelCall) {
	c.Usage.CostUSD = l.prices[c.Model].cost(c.Usage)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.used {
		if l.used[i].Model == c.Model {
			l.used[i].Usage = l.used[i].Usage.Add(c.Usage)
			return
		}
	}
	l.used = append(l.used, record.ModelUsage{Model: c.Model, Usage: c.Usage})
}

// Restore begins with what earlier attempts have used.
func (l *Ledger) Restore(used []record.ModelUsage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = append(l.used, used...)
}

// Models returns what was used of each model; nil when nothing was used.
func (l *Ledger) Models() []record.ModelUsage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]record.ModelUsage(nil), l.used...)
}

// Of returns Models with the run counted for the model that answered, or for
// the first model if that one was not called.
func (l *Ledger) Of(answered string) []record.ModelUsage {
	used := l.Models()
	counted := 0
	for i := range used {
		if used[i].Model == answered {
			counted = i
		}
	}
	if len(used) > 0 {
		used[counted].Runs = 1
	}
	return used
}

// Total returns what was used of all models.
func (l *Ledger) Total() schemas.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	var total schemas.Usage
	for _, m := range l.used {
		total = total.Add(m.Usage)
	}
	return total
}

// Store reads what a user used between two days, both included and written as
// YYYY-MM-DD, in order of days and models.
type Store interface {
	Usage(ctx context.Context, owner, from, to string) ([]schemas.UsageItem, error)
}

// Reports tells users what they used. It is safe for concurrent use.
type Reports struct {
	store Store
	now   func() time.Time
}

// NewReports returns the reports over a store.
func NewReports(store Store, now func() time.Time) *Reports { return &Reports{store, now} }

// Usage returns what a user used on the days of the query: the runs that ended
// on them. Only admins may ask about others.
func (r *Reports) Usage(ctx context.Context, user schemas.User, q record.UsageQuery) (schemas.UsageReport, error) {
	owner := user.ID
	if q.User != "" && q.User != user.ID {
		if !user.Admin() {
			return schemas.UsageReport{}, schemas.NewError(schemas.CodeForbidden, "only an admin may see what others use")
		}
		owner = q.User
	}
	to := q.To
	if to.IsZero() {
		to = r.now()
	}
	from := q.From
	if from.IsZero() {
		from = to.AddDate(0, 0, 1-defaultDays)
	}
	from, to = from.UTC().Truncate(24*time.Hour), to.UTC().Truncate(24*time.Hour)
	switch {
	case from.After(to):
		return schemas.UsageReport{}, schemas.NewError(schemas.CodeInvalid, "from is after to")
	case to.Sub(from) >= maxDays*24*time.Hour:
		return schemas.UsageReport{}, schemas.NewError(schemas.CodeInvalid, "from and to are more than a year apart")
	}
	report := schemas.UsageReport{From: from.Format(time.DateOnly), To: to.Format(time.DateOnly)}
	items, err := r.store.Usage(ctx, owner, report.From, report.To)
	if err != nil {
		return schemas.UsageReport{}, err
	}
	report.Items, report.Total = items, sum(items)
	return report, nil
}

func sum(items []schemas.UsageItem) schemas.UsageTotal {
	var total schemas.UsageTotal
	for _, i := range items {
		total.Runs += i.Runs
		total.InputTokens += i.InputTokens
		total.OutputTokens += i.OutputTokens
		total.CostUSD += i.CostUSD
	}
	return total
}
