package auth

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas"
)

// MaxUserTickets bounds the tickets of a user that are not used, and those that
// are bound to a run.
const MaxUserTickets = maxUserTickets

// MaxTickets bounds those of all users.
const MaxTickets = maxTickets

// Tickets are the tickets of a service.
type Tickets struct{ tickets *MemoryTickets }

// NewTickets returns the tickets of a service with that clock.
func NewTickets(now func() time.Time) Tickets { return Tickets{NewMemoryTickets(now)} }

// Issue makes a ticket of a user whose token ends then.
func (t Tickets) Issue(user string, expires time.Time) (string, error) {
	made, err := t.tickets.Issue(context.Background(), Identity{schemas.User{ID: user}, expires})
	return made.Ticket, err
}

// Take reports whether a ticket opens the run's stream, or a websocket if run
// is "".
func (t Tickets) Take(key, run string) bool {
	_, err := t.tickets.Take(context.Background(), key, run)
	return err == nil
}
