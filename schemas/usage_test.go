package schemas_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/chattray/chattray/schemas"
)

func TestUSDOnTheWire(t *testing.T) {
	for _, tt := range []struct {
		amount schemas.USD
		want   string
	}{
		{0, "0"},
		{499, "0"},
		{500, "0.000001"},
		{1_235_000, "0.001235"},
		{schemas.Dollar / 2, "0.5"},
		{schemas.Dollar - 1, "1"},
		{12 * schemas.Dollar, "12"},
		{12*schemas.Dollar + 30*schemas.MicroDollar, "12.00003"},
	} {
		got, err := json.Marshal(tt.amount)
		if err != nil || string(got) != tt.want {
			t.Errorf("%d is %s (%v), want %s", tt.amount, got, err, tt.want)
		}
		var back schemas.USD
		if err := json.Unmarshal(got, &back); err != nil || max(back-tt.amount, tt.amount-back) > schemas.MicroDollar/2 {
			t.Errorf("%s is read as %d (%v), want %d", got, back, err, tt.amount)
		}
	}
}

func TestUSDRefusesInvalidAmounts(t *testing.T) {
	for _, raw := range []string{`"1"`, `-1`, `1e300`, `{}`} {
		var u schemas.USD
		if err := json.Unmarshal([]byte(raw), &u); err == nil {
			t.Errorf("%s was read as %d", raw, u)
		}
	}
	for dollars, want := range map[float64]schemas.USD{math.NaN(): 0, -0.1: 0, 0.4: 400_000_000, math.Inf(1): 1e9 * schemas.Dollar} {
		if got := schemas.Dollars(dollars); got != want {
			t.Errorf("%v dollars are %d, want %d", dollars, got, want)
		}
	}
}

func TestUsageWithoutCost(t *testing.T) {
	got, err := json.Marshal(schemas.Usage{InputTokens: 1, OutputTokens: 2, TotalTokens: 3})
	if want := `{"input_tokens":1,"output_tokens":2,"total_tokens":3}`; err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
	sum := schemas.Usage{InputTokens: 1, CostUSD: 5}.Add(schemas.Usage{InputTokens: 2, OutputTokens: 3, TotalTokens: 5, CostUSD: 7})
	if want := (schemas.Usage{InputTokens: 3, OutputTokens: 3, TotalTokens: 5, CostUSD: 12}); sum != want {
		t.Errorf("the sum is %+v, want %+v", sum, want)
	}
}
