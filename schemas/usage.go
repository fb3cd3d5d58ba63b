package schemas

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Usage counts tokens, and what they cost.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	TotalTokens  int `json:"total_tokens"`
	// CostUSD is the cost of what was asked of models that have a price;
	// absent when there was none.
	CostUSD USD `json:"cost_usd,omitzero"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.TotalTokens + v.TotalTokens, u.CostUSD + v.CostUSD}
}

// USD is an amount of money in billionths of a US dollar. On the wire it is a
// number of dollars, rounded to millionths.
type USD int64

// Amounts.
const (
	MicroDollar USD = 1_000
	Dollar      USD = 1_000_000 * MicroDollar
)

// MaxUSD is the largest amount, in dollars, that DollarsUSD and UnmarshalJSON
// take.
const MaxUSD = 1e9

// DollarsUSD returns an amount of dollars; it has to be from 0 to MaxUSD.
func DollarsUSD(dollars float64) (USD, error) {
	if !(dollars >= 0 && dollars <= MaxUSD) { // so that NaN is refused
		return 0, fmt.Errorf("not an amount of dollars: %v", dollars)
	}
	return USD(math.Round(dollars * float64(Dollar))), nil
}

// MarshalJSON returns the dollars as a decimal number without an exponent.
func (u USD) MarshalJSON() ([]byte, error) {
	micros := int64((max(u, 0) + MicroDollar/2) / MicroDollar)
	const million = int64(Dollar / MicroDollar)
	out := strconv.AppendInt(nil, micros/million, 10)
	if part := micros % million; part != 0 {
		out = append(out, strings.TrimRight(fmt.Sprintf(".%06d", part), "0")...)
	}
	return out, nil
}

// UnmarshalJSON takes a number of dollars.
func (u *USD) UnmarshalJSON(raw []byte) error {
	dollars, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return fmt.Errorf("not an amount of dollars: %.40s", raw)
	}
	*u, err = DollarsUSD(dollars)
	return err
}

// UsageItem is what one model was used for on one day, in UTC, by one user. A
// run counts on the day on which it ended, for the model that answered it last;
// tokens count for the model that was asked.
type UsageItem struct {
	// Date is YYYY-MM-DD.
	Date         string `json:"date"`
	Model        string `json:"model"`
	Runs         int    `json:"runs"`
	InputTokens  int    `json:"input_tokens"`
	OutputTokens int    `json:"output_tokens"`
	// CostUSD is absent when the model has no price.
	CostUSD USD `json:"cost_usd,omitzero"`
}

// UsageTotal is the sum of items.
type UsageTotal struct {
	Runs         int `json:"runs"`
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	CostUSD      USD `json:"cost_usd,omitzero"`
}

// UsageReport is what a user has used from a day to a day, both included, in
// order of days and models.
type UsageReport struct {
	From  string      `json:"from"`
	To    string      `json:"to"`
	Items []UsageItem `json:"items"`
	Total UsageTotal  `json:"total"`
}
