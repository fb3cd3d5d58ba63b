package services

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
)

// What the black-box tests of usage and budgets see.
type (
	RunsStore  = runsStore
	UsageStore = usageStore
)

// MaxBudgetUsers is the bound of a budget's memory.
const MaxBudgetUsers = maxBudgetUsers

// MaxCost is the most that one call costs.
const MaxCost = maxCost

type Ledger struct{ *ledger }

func NewLedger(prices map[string]Price) Ledger { return Ledger{&ledger{prices: prices}} }

func (l Ledger) Add(c turn.ModelCall)                   { l.add(c) }
func (l Ledger) Restore(used []record.ModelUsage)       { l.restore(used) }
func (l Ledger) Models() []record.ModelUsage            { return l.models() }
func (l Ledger) Of(answered string) []record.ModelUsage { return l.of(answered) }
func (l Ledger) Total() schemas.Usage                   { return l.total() }
func NewUsage(store RunsStore, now func() time.Time) *Runs {
	return &Runs{RunsOptions: RunsOptions{Store: store, Now: now}}
}
func (h Historian) Within(tokens int) Historian              { return Historian{h.within(tokens)} }
func (h Historian) Limits() (budget, keep int)               { return h.Budget, h.Keep }
func (b Budgeted) Check(ctx context.Context, o string) error { return b.check(ctx, o) }
func (b Budgeted) Users() int                                { return len(b.users) }

// Budgeted is a budget that a test looks into.
type Budgeted struct{ *budget }

func NewBudgeted(b Budget, store UsageStore, now func() time.Time) Budgeted {
	return Budgeted{newBudget(b, store, now)}
}

func (b Budgeted) Booking(owner string, f *record.Finish) func(error) { return b.booking(owner, f) }

// Room is what a window leaves to a conversation.
func Room(window, maxTokens, budget int, req turn.Request) int {
	req.MaxTokens = maxTokens
	r := &Runs{RunsOptions: RunsOptions{Windows: map[string]int{req.Model: window}}}
	r.history = newHistorian(nil, HistoryOptions{Budget: budget}, nil)
	return r.room(&req)
}
