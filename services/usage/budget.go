package usage

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// Budget is what a user may use on one day, in UTC; 0 means no limit. Once it
// is used up, further runs are refused. A run counts when it has ended, so
// running runs may exceed the budget.
type Budget struct {
	USD schemas.USD
	// Tokens counts input and output.
	Tokens int
}

// maxBudgetUsers bounds the users whose usage of today is kept in memory.
const maxBudgetUsers = 10_000

// Budgets knows what users have used today. It reads each user's usage once a
// day and adds what their runs use. It is safe for concurrent use.
type Budgets struct {
	Budget
	shared bool
	store  Store
	now    func() time.Time

	mu    sync.Mutex
	users map[string]*allowance
}

// allowance is what a user has used on a day.
type allowance struct {
	day   string
	used  schemas.UsageTotal
	known bool // used has been read from the store
	// ending counts the runs whose end is being stored; changes counts how
	// often such a store began or ended. A value that is read in between may or
	// may not include those runs.
	ending, changes int
}

// NewBudgets returns the budgets of all users, which are the same for each. If other
// processes share the store, it is read at every start.
func NewBudgets(b Budget, shared bool, store Store, now func() time.Time) *Budgets {
	return &Budgets{Budget: b, shared: shared, store: store, now: now, users: make(map[string]*allowance)}
}

func (b *Budgets) off() bool { return b.USD <= 0 && b.Tokens <= 0 }

// Check refuses a user whose budget of today is used up.
func (b *Budgets) Check(ctx context.Context, owner string) error {
	if b.off() {
		return nil
	}
	now := b.now()
	used, err := b.today(ctx, owner, now.Format(time.DateOnly))
	if err != nil {
		if errors.Is(err, record.ErrUnavailable) {
			return schemas.Unavailable(err)
		}
		return err
	}
	if (b.USD <= 0 || used.CostUSD < b.USD) && (b.Tokens <= 0 || used.InputTokens+used.OutputTokens < b.Tokens) {
		return nil
	}
	midnight := now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	return &schemas.Error{
		Code: schemas.CodeBudget, Message: "the budget of today is used up; it starts again at midnight UTC",
		RetryAfter: int((midnight.Sub(now) + time.Second - 1) / time.Second),
	}
}

// today returns what the owner has used.
func (b *Budgets) today(ctx context.Context, owner, day string) (schemas.UsageTotal, error) {
	b.mu.Lock()
	a := b.of(owner, day)
	known, used, quiet, changes := a.known && a.day == day, a.used, a.ending == 0, a.changes
	b.mu.Unlock()
	if known {
		return used, nil
	}
	items, err := b.store.Usage(ctx, owner, day, day)
	if err != nil {
		return used, err
	}
	used = sum(items)
	b.mu.Lock()
	defer b.mu.Unlock()
	if quiet && !b.shared && a.day == day && a.changes == changes {
		a.known, a.used = true, used
	}
	return used, nil
}

// of returns the owner's allowance of the day, a new one on a new day.
func (b *Budgets) of(owner, day string) *allowance {
	a := b.users[owner]
	if a == nil {
		if len(b.users) >= maxBudgetUsers {
			b.forget()
		}
		a = &allowance{}
		b.users[owner] = a
	}
	if a.day < day {
		a.day, a.used, a.known = day, schemas.UsageTotal{}, false
	}
	return a
}

// forget makes room: the store still has the dropped values.
func (b *Budgets) forget() {
	for owner, a := range b.users {
		if a.ending == 0 {
			delete(b.users, owner)
		}
	}
}

// Ending is called before a run's end is stored; booked after it, with the error
// of storing it.
func (b *Budgets) Ending(owner string, f *record.Finish) (booked func(err error)) {
	if b.off() || b.shared || len(f.Spent) == 0 {
		return func(error) {}
	}
	day := f.EndedAt.UTC().Format(time.DateOnly)
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.of(owner, day)
	a.ending++
	a.changes++
	return func(err error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		a.ending--
		a.changes++
		switch {
		case a.day != day:
		case err != nil:
			a.known = false // the end may have been stored nevertheless
		case a.known:
			a.used.InputTokens += f.Usage.InputTokens
			a.used.OutputTokens += f.Usage.OutputTokens
			a.used.CostUSD += f.Usage.CostUSD
		}
	}
}
