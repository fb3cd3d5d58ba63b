package api

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

// sharedTickets are those of a service of several processes.
type sharedTickets struct{ store TicketStore }

// holder is an identity as it is stored.
type holder struct {
	User    schemas.User `json:"user"`
	Expires time.Time    `json:"expires,omitzero"`
}

func (t sharedTickets) issue(ctx context.Context, id identity) (schemas.Ticket, error) {
	key, now := rand.Text(), time.Now()
	made := record.Ticket{Hash: hashOf(key), Owner: id.user.ID, Identity: schemas.Encode(holder{id.user, id.expires}), Ends: id.expires}
	added, err := t.store.AddTicket(ctx, made, ticketLife, maxUserTickets)
	switch {
	case err != nil:
		return schemas.Ticket{}, err
	case !added:
		return schemas.Ticket{}, errManyTickets
	}
	return schemas.Ticket{Ticket: key, ExpiresIn: int(id.end(now, ticketLife).Sub(now).Seconds())}, nil
}

func (t sharedTickets) take(ctx context.Context, key, run string) (identity, error) {
	raw, err := t.store.TakeTicket(ctx, hashOf(key), run, runTicketLife)
	switch {
	case errors.Is(err, schemas.ErrNotFound):
		return identity{}, errTicket
	case err != nil:
		return identity{}, err
	}
	var h holder
	if err := json.Unmarshal(raw, &h); err != nil {
		return identity{}, err
	}
	return identity{h.User, h.Expires}, nil
}

// hashOf is what is stored of a ticket, so that the database opens nothing.
func hashOf(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}
