package api

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
)

// The limits of tickets.
const (
	ticketLife     = 30 * time.Second
	maxTickets     = 10_000
	maxUserTickets = 64
)

// tickets are the keys that open one websocket or one stream each, once, soon
// after they were made (4-documents.md, "GET /api/ws"). It is safe for
// concurrent use.
type tickets struct {
	now func() time.Time

	mu    sync.Mutex
	valid map[string]ticket
	users map[string]int
}

type ticket struct {
	identity
	until time.Time
}

func newTickets(now func() time.Time) *tickets {
	return &tickets{now: now, valid: map[string]ticket{}, users: map[string]int{}}
}

var errManyTickets = &schemas.Error{Code: schemas.CodeTooManyRequests, Message: "too many tickets; wait a little", RetryAfter: int(ticketLife / time.Second)}

// issue makes a ticket of the user's; it lasts no longer than the token.
func (t *tickets) issue(id identity) (schemas.Ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.valid) >= maxTickets || t.users[id.user.ID] >= maxUserTickets {
		t.sweep()
	}
	if len(t.valid) >= maxTickets || t.users[id.user.ID] >= maxUserTickets {
		return schemas.Ticket{}, errManyTickets
	}
	key := rand.Text()
	until := t.now().Add(ticketLife)
	if !id.expires.IsZero() && id.expires.Before(until) {
		until = id.expires
	}
	t.valid[key] = ticket{id, until}
	t.users[id.user.ID]++
	return schemas.Ticket{Ticket: key, ExpiresIn: int(until.Sub(t.now()).Seconds())}, nil
}

// sweep forgets the tickets that are over.
func (t *tickets) sweep() {
	for key := range t.valid {
		if !t.now().Before(t.valid[key].until) {
			t.drop(key)
		}
	}
}

func (t *tickets) drop(key string) ticket {
	one := t.valid[key]
	delete(t.valid, key)
	if t.users[one.user.ID]--; t.users[one.user.ID] <= 0 {
		delete(t.users, one.user.ID)
	}
	return one
}

// take uses a ticket up.
func (t *tickets) take(key string) (identity, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.valid[key]; !known {
		return identity{}, false
	}
	one := t.drop(key)
	return one.identity, t.now().Before(one.until)
}

func (s *server) postTicket(c echo.Context) error {
	_, id := identityOf(c)
	made, err := s.tickets.issue(id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, made)
}
