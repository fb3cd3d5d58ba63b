package record

import "time"

// AdminRunQuery asks for runs of all users, the newest first; empty fields match all.
// From and To bound the time of their start: To is not included.
type AdminRunQuery struct {
	State, Owner, Page, Model, Code string
	From, To                        time.Time
	Limit                           int
	Cursor                          string
}

// AdminStatsQuery asks for totals between two days, both included and written as
// YYYY-MM-DD. Top is how many models, pages, users and errors.
type AdminStatsQuery struct {
	From, To string
	Top      int
}
