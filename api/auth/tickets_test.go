package auth_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestTicketOfARun(t *testing.T) {
	now := noon
	tickets := auth.NewTickets(func() time.Time { return now })
	key, err := tickets.Issue("ann", noon.Add(10*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		after time.Duration
		run   string
		want  bool
	}{
		{"the first run", 29 * time.Second, "r1", true},
		{"it again", 5 * time.Minute, "r1", true},
		{"another run", 5 * time.Minute, "r2", false},
		{"a websocket", 5 * time.Minute, "", false},
		{"it once more", 9 * time.Minute, "r1", true},
		{"after the token", 10 * time.Minute, "r1", false},
	} {
		now = noon.Add(tt.after)
		if got := tickets.Take(key, tt.run); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestTicketsAreBounded checks that used tickets do not prevent new ones, and
// that one user's tickets do not affect another's.
func TestTicketsAreBounded(t *testing.T) {
	now := noon
	tickets := auth.NewTickets(func() time.Time { now = now.Add(time.Millisecond); return now })
	use := func(user, run string) string {
		key, err := tickets.Issue(user, time.Time{})
		if err != nil || !tickets.Take(key, run) {
			t.Fatalf("a ticket for %s: %v", run, err)
		}
		return key
	}
	bob := use("bob", "r")
	first, second := use("ann", "first"), use("ann", "second")
	for i := range auth.MaxUserTickets - 1 {
		use("ann", fmt.Sprint(i))
	}
	if tickets.Take(first, "first") {
		t.Error("the oldest ticket is still valid, want it dropped")
	}
	if !tickets.Take(second, "second") || !tickets.Take(bob, "r") {
		t.Error("a newer ticket was dropped, want only the oldest dropped")
	}
	for range auth.MaxUserTickets {
		if _, err := tickets.Issue("ann", time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tickets.Issue("ann", time.Time{}); err == nil {
		t.Error("a ticket beyond the limit was issued, want an error")
	}
}

// A ticket that has not been used ends after 30 seconds, opens one websocket once, and makes
// room then.
func TestFreshTicketsEnd(t *testing.T) {
	now := noon
	tickets := auth.NewTickets(func() time.Time { return now })
	issue := func(user string) string {
		t.Helper()
		key, err := tickets.Issue(user, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	socket := issue("ann")
	if !tickets.Take(socket, "") || tickets.Take(socket, "") {
		t.Error("a ticket opens no websocket, or two; want one")
	}
	late := []string{issue("ann"), issue("ann")}
	for range auth.MaxUserTickets - 2 {
		issue("ann")
	}
	now = noon.Add(30 * time.Second)
	if tickets.Take(late[0], "r") || tickets.Take(late[1], "") {
		t.Error("a ticket is valid after 30 seconds, want it refused")
	}
	for range auth.MaxUserTickets {
		issue("ann")
	}
}

// The tickets of all users are bounded.
func TestTicketsOfAllAreBounded(t *testing.T) {
	tickets := auth.NewTickets(func() time.Time { return noon })
	for i := range auth.MaxTickets {
		if _, err := tickets.Issue(fmt.Sprint(i), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tickets.Issue("ann", time.Time{}); schemas.Visible(err).Code != schemas.CodeTooManyRequests {
		t.Errorf("one more gives %v, want %s", err, schemas.CodeTooManyRequests)
	}
}

// kept is a store of one ticket.
type kept struct{ record.Ticket }

func (k *kept) AddTicket(_ context.Context, made record.Ticket, _ time.Duration, _ int) (bool, error) {
	k.Ticket = made
	return true, nil
}

func (k *kept) TakeTicket(_ context.Context, hash []byte, _ string, _ time.Duration) ([]byte, error) {
	if !bytes.Equal(hash, k.Hash) {
		return nil, schemas.ErrNotFound
	}
	return k.Identity, nil
}

// What is stored of a ticket opens nothing, and ends with the token.
func TestStoredTicket(t *testing.T) {
	store := new(kept)
	tickets, ends := auth.NewSharedTickets(store), time.Now().Add(10*time.Second).Round(0)
	made, err := tickets.Issue(t.Context(), auth.Identity{User: schemas.User{ID: "ann"}, Expires: ends})
	if err != nil || made.ExpiresIn > 10 || !store.Ends.Equal(ends) || store.Owner != "ann" {
		t.Fatalf("issued %+v, %v, stored %+v; want that it ends with the token", made, err, store.Ticket)
	}
	if bytes.Contains(store.Hash, []byte(made.Ticket)) || bytes.Contains(store.Identity, []byte(made.Ticket)) {
		t.Errorf("stored %+v, want the ticket itself nowhere", store.Ticket)
	}
	if id, err := tickets.Take(t.Context(), made.Ticket, "r"); err != nil || id.User.ID != "ann" || !id.Expires.Equal(ends) {
		t.Errorf("got %+v, %v, want the identity", id, err)
	}
	if _, err := tickets.Take(t.Context(), "another", "r"); schemas.Visible(err).Code != schemas.CodeUnauthorized {
		t.Errorf("another one gives %v, want %s", err, schemas.CodeUnauthorized)
	}
}
