package schemas

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Usage counts tokens and their cost.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	TotalTokens  int `json:"total_tokens"`
	// CostUSD is the cost of the tokens of models with a price; absent if there
	// were none.
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

// maxDollars is the largest accepted amount.
const maxDollars = 1e9

// Dollars returns an amount of dollars, at least 0 and at most what USD can hold.
func Dollars(dollars float64) USD {
	if math.IsNaN(dollars) {
		return 0
	}
	return USD(math.Round(min(max(dollars, 0), maxDollars) * float64(Dollar)))
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

// UnmarshalJSON accepts a number of dollars.
func (u *USD) UnmarshalJSON(raw []byte) error {
	dollars, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || dollars < 0 || dollars > maxDollars {
		return fmt.Errorf("not an amount of dollars: %.40s", raw)
	}
	*u = Dollars(dollars)
	return nil
}

// UsageItem is one user's usage of one model on one day, in UTC. A run counts
// on the day on which it ended, for the model of its last reply; tokens count
// for the model that was called.
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

// UsageReport is a user's usage between two days, both included, in order of
// days and models.
type UsageReport struct {
	From  string      `json:"from"`
	To    string      `json:"to"`
	Items []UsageItem `json:"items"`
	Total UsageTotal  `json:"total"`
}

// DataSize is how much is stored of a user. Bytes are those of documents and
// attachments, as they count towards the user's quota. Confirm names this state of the
// data; it is sent to delete it.
type DataSize struct {
	Chats     int64  `json:"chats"`
	Messages  int64  `json:"messages"`
	Documents int64  `json:"documents"`
	Bytes     int64  `json:"bytes"`
	Confirm   string `json:"confirm"`
}
