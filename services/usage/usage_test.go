package usage_test

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/usage"
)

func modelCall(model string, input, output int) turn.ModelCall {
	return turn.ModelCall{Model: model, Usage: schemas.Usage{InputTokens: input, OutputTokens: output, TotalTokens: input + output}}
}

func usageOf(input, output int, cost schemas.USD) schemas.Usage {
	return schemas.Usage{InputTokens: input, OutputTokens: output, TotalTokens: input + output, CostUSD: cost}
}

func TestCosts(t *testing.T) {
	for _, tt := range []struct {
		name          string
		price         usage.Price
		input, output int
		want          schemas.USD
	}{
		{"no price", usage.Price{}, 1_000, 1_000, 0},
		{"a million of each", usage.Price{Input: schemas.Dollars(0.4), Output: schemas.Dollars(1.6)}, 1_000_000, 1_000_000, 2 * schemas.Dollar},
		{"a token", usage.Price{Input: schemas.Dollars(0.15)}, 1, 0, 150},
		{"a fraction of a billionth", usage.Price{Input: schemas.Dollars(0.0375)}, 3, 0, 113}, // 112.5
		{"nothing", usage.Price{Input: schemas.Dollar}, 0, 0, 0},
		{"a count that cannot be", usage.Price{Input: schemas.Dollars(1e6), Output: schemas.Dollars(1e6)}, math.MaxInt, math.MaxInt, usage.MaxCost},
		{"a negative count", usage.Price{Input: schemas.Dollar}, -5, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := usage.NewLedger(map[string]usage.Price{"m": tt.price})
			l.Add(modelCall("m", tt.input, tt.output))
			if got := l.Total().CostUSD; got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestLedger(t *testing.T) {
	l := usage.NewLedger(map[string]usage.Price{"priced": {Input: schemas.Dollar, Output: 2 * schemas.Dollar}})
	if got := l.Of("priced"); got != nil {
		t.Errorf("a run without a call used %v", got)
	}
	l.Restore([]record.ModelUsage{{Model: "free", Usage: usageOf(1, 1, 0)}})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { l.Add(modelCall("priced", 1_000, 500)) })
	}
	wg.Wait()
	l.Add(modelCall("free", 10, 5))
	free, priced := record.ModelUsage{Model: "free", Usage: usageOf(11, 6, 0)}, record.ModelUsage{Model: "priced", Usage: usageOf(10_000, 5_000, schemas.Dollar/50)}
	if diff := cmp.Diff([]record.ModelUsage{free, priced}, l.Models()); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	if got, want := l.Total(), free.Usage.Add(priced.Usage); got != want {
		t.Errorf("the total is %+v, want %+v", got, want)
	}
	for answered, want := range map[string][]int{"priced": {0, 1}, "free": {1, 0}, "one that was not called": {1, 0}} {
		got := l.Of(answered)
		if diff := cmp.Diff(want, []int{got[0].Runs, got[1].Runs}); diff != "" {
			t.Errorf("runs of %s (-want +got):\n%s", answered, diff)
		}
	}
}

// usedStore has the usage of users, and counts how often it is read.
type usedStore struct {
	usage.Store
	mu     sync.Mutex
	items  map[string][]schemas.UsageItem
	asked  []string
	err    error
	during func() // is called while it is asked
}

func (s *usedStore) Usage(_ context.Context, owner, from, to string) ([]schemas.UsageItem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, owner+" "+from+" "+to)
	var found []schemas.UsageItem
	for _, i := range s.items[owner] {
		if from <= i.Date && i.Date <= to {
			found = append(found, i)
		}
	}
	if s.during != nil {
		s.during()
	}
	return found, s.err
}

func TestUsageReport(t *testing.T) {
	store := &usedStore{items: map[string][]schemas.UsageItem{"bob": {
		{Date: "2026-11-20", Model: "a", Runs: 1, InputTokens: 10, OutputTokens: 1, CostUSD: 5},
		{Date: "2026-11-21", Model: "b", Runs: 2, InputTokens: 20, OutputTokens: 2},
	}}}
	now := time.Date(2026, 11, 21, 23, 30, 0, 0, time.UTC)
	reports := usage.NewReports(store, func() time.Time { return now })
	bob, admin := schemas.User{ID: "bob"}, schemas.User{ID: "root", Roles: []string{"admin"}}
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, tt := range []struct {
		name  string
		user  schemas.User
		query record.UsageQuery
		asked string
		runs  int
		code  schemas.Code
	}{
		{"the last thirty days", bob, record.UsageQuery{}, "bob 2026-10-23 2026-11-21", 3, ""},
		{"oneself by name", bob, record.UsageQuery{User: "bob"}, "bob 2026-10-23 2026-11-21", 3, ""},
		{"one day", bob, record.UsageQuery{From: day("2026-11-20"), To: day("2026-11-20")}, "bob 2026-11-20 2026-11-20", 1, ""},
		{"thirty days before a day", bob, record.UsageQuery{To: day("2026-03-01")}, "bob 2026-01-31 2026-03-01", 0, ""},
		{"a whole year", bob, record.UsageQuery{From: day("2025-11-21")}, "bob 2025-11-21 2026-11-21", 3, ""},
		{"more than a year", bob, record.UsageQuery{From: day("2025-11-20")}, "", 0, schemas.CodeInvalid},
		{"backwards", bob, record.UsageQuery{From: day("2026-11-21"), To: day("2026-11-20")}, "", 0, schemas.CodeInvalid},
		{"another user", bob, record.UsageQuery{User: "root"}, "", 0, schemas.CodeForbidden},
		{"another user, by an admin", admin, record.UsageQuery{User: "bob"}, "bob 2026-10-23 2026-11-21", 3, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store.asked = nil
			got, err := reports.Usage(t.Context(), tt.user, tt.query)
			if tt.code != "" {
				if err == nil || schemas.Visible(err).Code != tt.code || len(store.asked) > 0 {
					t.Errorf("got %v, asked %v; want %s", err, store.asked, tt.code)
				}
				return
			}
			if diff := cmp.Diff([]string{tt.asked}, store.asked); diff != "" || err != nil {
				t.Errorf("error %v; asked (-want +got):\n%s", err, diff)
			}
			if got.Total.Runs != tt.runs || tt.asked != strings.Join([]string{"bob", got.From, got.To}, " ") {
				t.Errorf("got %+v", got)
			}
		})
	}
	got, err := reports.Usage(t.Context(), bob, record.UsageQuery{})
	want := schemas.UsageTotal{Runs: 3, InputTokens: 30, OutputTokens: 3, CostUSD: 5}
	if err != nil || got.Total != want {
		t.Errorf("the total is %+v (%v), want %+v", got.Total, err, want)
	}
}
