package api

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

// ticketBox has the keys that replace a token in a URL. Each opens one websocket,
// once, or the stream of one run: the first run that it is used for, and that
// run again, because an EventSource reconnects with the same URL.
type ticketBox interface {
	// issue makes a ticket for the user; it lasts no longer than the token.
	issue(ctx context.Context, id identity) (schemas.Ticket, error)
	// take returns the identity of a ticket for the run, or for a websocket if run is
	// "". A websocket uses up a fresh ticket, a run binds it. A ticket that is not valid
	// is errTicket.
	take(ctx context.Context, key, run string) (identity, error)
}

// errTicket refuses a ticket that is unknown, used or expired.
var errTicket = schemas.NewError(schemas.CodeUnauthorized, "the ticket is not valid; request another one")

// tickets are those of a single process. It is safe for concurrent use.
type tickets struct {
	now func() time.Time

	mu    sync.Mutex
	fresh ticketSet // not used yet
	bound ticketSet // to their run
}

type ticket struct {
	identity
	until time.Time
	run   string // "" for a fresh one
}

func newTickets(now func() time.Time) *tickets {
	return &tickets{now: now, fresh: newTicketSet(), bound: newTicketSet()}
}

var errManyTickets = &schemas.Error{Code: schemas.CodeTooManyRequests, Message: "too many tickets; wait a little", RetryAfter: int(ticketLife / time.Second)}

func (t *tickets) issue(_ context.Context, id identity) (schemas.Ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fresh.full(id.user.ID) {
		t.fresh.sweep(t.now())
	}
	if t.fresh.full(id.user.ID) {
		return schemas.Ticket{}, errManyTickets
	}
	key, until := rand.Text(), id.end(t.now(), ticketLife)
	t.fresh.add(key, ticket{identity: id, until: until})
	return schemas.Ticket{Ticket: key, ExpiresIn: int(until.Sub(t.now()).Seconds())}, nil
}

// end returns the time at which a ticket of that life ends, but no later than
// the token.
func (id *identity) end(now time.Time, life time.Duration) time.Time {
	until := now.Add(life)
	if !id.expires.IsZero() && id.expires.Before(until) {
		until = id.expires
	}
	return until
}

// take drops bound tickets if there are too many: those that end first.
func (t *tickets) take(_ context.Context, key, run string) (identity, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if taken, ok := t.bound.valid[key]; ok {
		if taken.run != run || !t.now().Before(taken.until) {
			return identity{}, errTicket
		}
		return taken.identity, nil
	}
	taken, ok := t.fresh.valid[key]
	if !ok {
		return identity{}, errTicket
	}
	t.fresh.drop(key)
	if !t.now().Before(taken.until) {
		return identity{}, errTicket
	}
	if run != "" {
		if t.bound.full(taken.user.ID) {
			t.bound.sweep(t.now())
		}
		for t.bound.full(taken.user.ID) {
			t.bound.dropNext(taken.user.ID)
		}
		t.bound.add(key, ticket{identity: taken.identity, until: taken.end(t.now(), runTicketLife), run: run})
	}
	return taken.identity, nil
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
	s.users[t.user.ID]++
}

func (s *ticketSet) drop(key string) {
	user := s.valid[key].user.ID
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
		if own && t.user.ID != user {
			continue
		}
		if next == "" || t.until.Before(s.valid[next].until) {
			next = key
		}
	}
	s.drop(next)
}

func (s *server) postTicket(ctx context.Context, _ schemas.User, _ none) (schemas.Ticket, error) {
	id, _ := ctx.Value(identityKey{}).(identity)
	return s.tickets.issue(ctx, id)
}
