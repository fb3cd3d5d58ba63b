package services

import (
	"context"
	"math/bits"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
)

// The days of a usage report.
const (
	DefaultUsageDays = 30
	MaxUsageDays     = 366
)

// Price is what a million tokens of a model cost. The zero value is no price.
type Price struct{ Input, Output schemas.USD }

// maxCost bounds the cost of one call, so that no count that a server makes up
// can make sums overflow.
const maxCost = 10_000 * schemas.Dollar

// cost is what a call costs, to the billionth of a dollar.
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

// ledger adds up the calls of models that a run makes, by model. It is safe for
// concurrent use.
type ledger struct {
	prices map[string]Price
	mu     sync.Mutex
	used   []record.ModelUsage // in the order in which they were first called
}

// add books a call. It is the run's meter.
func (l *ledger) add(c turn.ModelCall) {
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

// restore begins with what earlier attempts have used.
func (l *ledger) restore(used []record.ModelUsage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = append(l.used, used...)
}

// models is what was used of each model; nil when none was.
func (l *ledger) models() []record.ModelUsage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]record.ModelUsage(nil), l.used...)
}

// of is models with the run counted for the one that answered; for the first,
// when that one was not called.
func (l *ledger) of(answered string) []record.ModelUsage {
	used := l.models()
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

// total is what was used of all models.
func (l *ledger) total() schemas.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sum schemas.Usage
	for _, m := range l.used {
		sum = sum.Add(m.Usage)
	}
	return sum
}

// Usage is what a user used on the days of the query: the runs that ended on
// them. Only admins may ask about others.
func (r *Runs) Usage(ctx context.Context, user schemas.User, q record.UsageQuery) (schemas.UsageReport, error) {
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
		from = to.AddDate(0, 0, 1-DefaultUsageDays)
	}
	from, to = from.UTC().Truncate(24*time.Hour), to.UTC().Truncate(24*time.Hour)
	switch {
	case from.After(to):
		return schemas.UsageReport{}, schemas.NewError(schemas.CodeInvalid, "from is after to")
	case to.Sub(from) >= MaxUsageDays*24*time.Hour:
		return schemas.UsageReport{}, schemas.NewError(schemas.CodeInvalid, "from and to are more than a year apart")
	}
	report := schemas.UsageReport{From: from.Format(time.DateOnly), To: to.Format(time.DateOnly)}
	items, err := r.Store.Usage(ctx, owner, report.From, report.To)
	if err != nil {
		return schemas.UsageReport{}, err
	}
	report.Items, report.Total = items, sumUsage(items)
	return report, nil
}

func sumUsage(items []schemas.UsageItem) schemas.UsageTotal {
	var sum schemas.UsageTotal
	for _, i := range items {
		sum.Runs += i.Runs
		sum.InputTokens += i.InputTokens
		sum.OutputTokens += i.OutputTokens
		sum.CostUSD += i.CostUSD
	}
	return sum
}
