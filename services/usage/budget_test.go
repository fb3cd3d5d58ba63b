package usage_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/usage"
)

// budgeting is a budget with a clock, over a store.
type budgeting struct {
	*testing.T
	*usage.Budgets
	store *usedStore
	now   time.Time
}

func newBudgeting(t *testing.T, b usage.Budget) *budgeting { return newSharedBudgeting(t, b, false) }

func newSharedBudgeting(t *testing.T, b usage.Budget, shared bool) *budgeting {
	f := &budgeting{T: t, store: &usedStore{items: map[string][]schemas.UsageItem{}}, now: time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC)}
	f.Budgets = usage.NewBudgets(b, shared, f.store, func() time.Time { return f.now })
	return f
}

// end stores and books the end of a run of bob's that used that many tokens.
func (f *budgeting) end(tokens int) {
	booked := f.booking(tokens)
	f.add(tokens)
	booked(nil)
}

func (f *budgeting) booking(tokens int) func(error) {
	u := usageOf(tokens, 0, schemas.USD(tokens))
	return f.Ending("bob", &record.Finish{EndedAt: f.now, Usage: u, Spent: []record.ModelUsage{{Model: "m", Runs: 1, Usage: u}}})
}

func (f *budgeting) add(tokens int) {
	f.store.items["bob"] = append(f.store.items["bob"], schemas.UsageItem{
		Date: f.now.Format(time.DateOnly), Model: "m", Runs: 1, InputTokens: tokens, CostUSD: schemas.USD(tokens),
	})
}

// expect checks whether bob is refused, and how often the store has been read.
func (f *budgeting) expect(what string, refused bool, asked int) {
	f.Helper()
	err := f.Check(f.Context(), "bob")
	if (err != nil) != refused {
		f.Errorf("%s: got %v, want refused: %v", what, err, refused)
	}
	if len(f.store.asked) != asked {
		f.Errorf("%s: the store was asked %d times, want %d", what, len(f.store.asked), asked)
	}
}

// What other processes have used counts at the next start.
func TestSharedBudget(t *testing.T) {
	f := newSharedBudgeting(t, usage.Budget{Tokens: 100}, true)
	f.expect("nothing", false, 1)
	f.end(40)
	f.expect("what was used here", false, 2)
	f.add(60)
	f.expect("what another process has used", true, 3)
}

// After a clock was a day ahead, what is used today counts.
func TestBudgetAfterAClockWasSetBack(t *testing.T) {
	f := newBudgeting(t, usage.Budget{Tokens: 100})
	f.now = f.now.AddDate(0, 0, 1)
	f.expect("nothing was used tomorrow", false, 1)
	f.now = f.now.AddDate(0, 0, -1)
	f.end(100)
	f.expect("all of today's was used", true, 2)
}

func TestBudget(t *testing.T) {
	for name, b := range map[string]usage.Budget{"tokens": {Tokens: 100}, "dollars": {USD: 100}, "both": {USD: 100, Tokens: 1_000}} {
		t.Run(name, func(t *testing.T) {
			f := newBudgeting(t, b)
			f.add(40)
			f.expect("what was used before", false, 1)
			f.end(59)
			f.expect("below", false, 1)
			f.end(1)
			f.expect("used up", true, 1)
			if err := f.Check(t.Context(), "alice"); err != nil {
				t.Errorf("another user: %v", err)
			}
			f.now = f.now.Add(2 * time.Hour)
			f.expect("the next day", false, 3)
			f.end(500)
			f.expect("the next day, used up", true, 3)
		})
	}
}

func TestBudgetSaysUntilWhen(t *testing.T) {
	f := newBudgeting(t, usage.Budget{Tokens: 1})
	f.add(1)
	f.now = f.now.Add(time.Hour + 500*time.Millisecond)
	seen := schemas.Visible(f.Check(t.Context(), "bob"))
	want := &schemas.Error{Code: schemas.CodeBudget, Message: "the budget of today is used up; it starts again at midnight UTC", RetryAfter: 3600}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("refused with (-want +got):\n%s", diff)
	}
}

func TestBudgetOff(t *testing.T) {
	f := newBudgeting(t, usage.Budget{})
	f.add(1_000_000)
	f.end(1_000_000)
	f.expect("off", false, 0)
}

func TestBudgetDuringAnOutage(t *testing.T) {
	f := newBudgeting(t, usage.Budget{Tokens: 10})
	f.store.err = fmt.Errorf("reading: %w", record.ErrUnavailable)
	if err := f.Check(t.Context(), "bob"); schemas.Visible(err).Code != schemas.CodeStoreUnavailable {
		t.Errorf("got %v, want %s", err, schemas.CodeStoreUnavailable)
	}
	f.store.err = nil
	f.expect("when it is back", false, 2)
}

// TestBudgetReadsWhileRunsEnd lets runs end while the use of today is read: none
// is counted twice, none is forgotten.
func TestBudgetReadsWhileRunsEnd(t *testing.T) {
	budget := usage.Budget{Tokens: 100}
	t.Run("an end within the read", func(t *testing.T) {
		f := newBudgeting(t, budget)
		f.store.during = func() { f.store.during = nil; f.end(60) } // the read does not include it
		f.expect("the read", false, 1)
		f.expect("is not kept", false, 2)
		f.end(39)
		f.expect("counted once", false, 2)
		f.end(1)
		f.expect("used up", true, 2)
	})
	t.Run("a read within an end", func(t *testing.T) {
		f := newBudgeting(t, budget)
		booked := f.booking(60)
		f.add(60)
		f.expect("the read", false, 1)
		booked(nil)
		f.expect("is not kept", false, 2)
		f.end(39)
		f.expect("counted once", false, 2)
	})
	t.Run("an end begins within the read", func(t *testing.T) {
		f := newBudgeting(t, budget)
		var booked func(error)
		f.store.during = func() { f.store.during = nil; booked = f.booking(60); f.add(60) }
		f.expect("the read", false, 1)
		booked(nil)
		f.end(40)
		f.expect("used up", true, 2)
	})
	t.Run("an end that may have been stored", func(t *testing.T) {
		f := newBudgeting(t, budget)
		f.expect("known", false, 1)
		booked := f.booking(100)
		f.add(100)
		booked(errors.New("the connection was lost"))
		f.expect("read again", true, 2)
	})
	t.Run("an end of yesterday", func(t *testing.T) {
		f := newBudgeting(t, budget)
		booked := f.booking(100)
		f.now = f.now.Add(3 * time.Hour)
		f.expect("today", false, 1)
		booked(nil)
		f.expect("is not of today", false, 2)
	})
}

func TestBudgetForgetsUsers(t *testing.T) {
	f := newBudgeting(t, usage.Budget{Tokens: 100})
	booked := f.booking(100)
	for i := range usage.MaxBudgetUsers + 10 {
		if err := f.Check(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.Users(); n > usage.MaxBudgetUsers {
		t.Errorf("%d users are remembered, want at most %d", n, usage.MaxBudgetUsers)
	}
	booked(nil)
	f.add(100)
	if err := f.Check(t.Context(), "bob"); err == nil {
		t.Error("a user who was dropped from memory got no error, want the budget refused")
	}
}
