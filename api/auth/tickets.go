package auth

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
)

// The limits of tickets.
const (
	ticketLife     = 30 * time.Second // until the first use
	runTicketLife  = time.Hour        // of one that has opened a run's stream
	maxTickets     = 10_000
	maxUserTickets = 64
)

// errTicket refuses a ticket that is unknown, used or expired.
var errTicket = schemas.NewError(schemas.CodeUnauthorized, "the ticket is not valid; request another one")

// MemoryTickets are the tickets of a single process. It is safe for concurrent use.
type MemoryTickets struct {
	now func() time.Time

	mu    sync.Mutex
	fresh ticketSet // not used yet
	bound ticketSet // to their run
}

type ticket struct {
	Identity
	until time.Time
	run   string // "" for a fresh one
}

// NewMemoryTickets returns an empty set of tickets with that clock.
func NewMemoryTickets(now func() time.Time) *MemoryTickets {
	return &MemoryTickets{now: now, fresh: newTicketSet(), bound: newTicketSet()}
}

var errManyTickets = &schemas.Error{Code: schemas.CodeTooManyRequests, Message: "too many tickets; wait a little", RetryAfter: int(ticketLife / time.Second)}

// Issue makes a ticket for the user; it lasts no longer than the token.
func (t *MemoryTickets) Issue(_ context.Context, id Identity) (schemas.Ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fresh.full(id.User.ID) {
		t.fresh.sweep(t.now())
	}
	if t.fresh.full(id.User.ID) {
		return schemas.Ticket{}, errManyTickets
	}
	key, until := rand.Text(), id.end(t.now(), ticketLife)
	t.fresh.add(key, ticket{Identity: id, until: until})
	return schemas.Ticket{Ticket: key, ExpiresIn: int(until.Sub(t.now()).Seconds())}, nil
}

// Take returns the identity of a ticket for the run, or for a websocket if run is "". A
// websocket uses up a fresh ticket, a run binds it. A ticket that is not valid is an error
// of code unauthorized. Take drops bound tickets if there are too many: those that end first.
func (t *MemoryTickets) Take(_ context.Context, key, run string) (Identity, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if taken, ok := t.bound.valid[key]; ok {
		if taken.run != run || !t.now().Before(taken.until) {
			return Identity{}, errTicket
		}
		return taken.Identity, nil
	}
	taken, ok := t.fresh.valid[key]
	if !ok {
		return Identity{}, errTicket
	}
	t.fresh.drop(key)
	if !t.now().Before(taken.until) {
		return Identity{}, errTicket
	}
	if run != "" {
		for t.bound.full(taken.User.ID) {
			t.bound.dropNext(taken.User.ID)
		}
		t.bound.add(key, ticket{Identity: taken.Identity, until: taken.end(t.now(), runTicketLife), run: run})
	}
	return taken.Identity, nil
}

// ticketSet is a bounded set of tickets.
type ticketSet struct {
	valid map[string]ticket
	users map[string]int
}

func newTicketSet() ticketSet { return ticketSet{map[string]ticket{}, map[string]int{}} }

// full reports whether the user has no room for one more ticket.
func (s *ticketSet) full(user string) bool {
	return len(s.valid) >= maxTickets || s.users[user] >= maxUserTickets
}

func (s *ticketSet) add(key string, t ticket) {
	s.valid[key] = t
	s.users[t.User.ID]++
}

func (s *ticketSet) drop(key string) {
	user := s.valid[key].User.ID
	delete(s.valid, key)
	if s.users[user]--; s.users[user] <= 0 {
		delete(s.users, user)
	}
}

// sweep drops the tickets that have ended.
func (s *ticketSet) sweep(now time.Time) {
	for key, t := range s.valid {
		if !now.Before(t.until) {
			s.drop(key)
		}
	}
}

// dropNext drops the ticket that ends first: among the user's if the user has
// too many, else among all.
func (s *ticketSet) dropNext(user string) {
	own, next := s.users[user] >= maxUserTickets, ""
	for key, t := range s.valid {
		if own && t.User.ID != user {
			continue
		}
		if next == "" || t.until.Before(s.valid[next].until) {
			next = key
		}
	}
	s.drop(next)
}
