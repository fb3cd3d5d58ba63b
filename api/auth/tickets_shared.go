package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// TicketStore keeps tickets where all processes of the service find them. Its times are
// those of one clock.
type TicketStore interface {
	// AddTicket keeps a ticket for that time, but no longer than its token. It returns
	// false if the owner has that many that have not been used, and keeps at most that
	// many that are bound to a run.
	AddTicket(ctx context.Context, t record.Ticket, life time.Duration, most int) (bool, error)
	// TakeTicket returns the identity of a ticket. For run "" it uses up a ticket that
	// has not been used; otherwise it binds it to the run, for that time. Any other
	// ticket is schemas.ErrNotFound.
	TakeTicket(ctx context.Context, hash []byte, run string, life time.Duration) (identity []byte, err error)
}

// SharedTickets are the tickets of a service of several processes. It is safe for
// concurrent use.
type SharedTickets struct{ store TicketStore }

// NewSharedTickets returns the tickets in the store.
func NewSharedTickets(store TicketStore) *SharedTickets { return &SharedTickets{store} }

// Issue does what MemoryTickets.Issue does.
func (t *SharedTickets) Issue(ctx context.Context, id Identity) (schemas.Ticket, error) {
	key, now := rand.Text(), time.Now()
	made := record.Ticket{Hash: hashOf(key), Owner: id.User.ID, Identity: schemas.Encode(id), Ends: id.Expires}
	added, err := t.store.AddTicket(ctx, made, ticketLife, maxUserTickets)
	switch {
	case err != nil:
		return schemas.Ticket{}, err
	case !added:
		return schemas.Ticket{}, errManyTickets
	}
	return schemas.Ticket{Ticket: key, ExpiresIn: int(id.end(now, ticketLife).Sub(now).Seconds())}, nil
}

// Take does what MemoryTickets.Take does.
func (t *SharedTickets) Take(ctx context.Context, key, run string) (Identity, error) {
	raw, err := t.store.TakeTicket(ctx, hashOf(key), run, runTicketLife)
	switch {
	case errors.Is(err, schemas.ErrNotFound):
		return Identity{}, errTicket
	case err != nil:
		return Identity{}, err
	}
	var id Identity
	if err := json.Unmarshal(raw, &id); err != nil {
		return Identity{}, err
	}
	return id, nil
}

// hashOf is what is stored of a ticket, so that the database opens nothing.
func hashOf(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}
