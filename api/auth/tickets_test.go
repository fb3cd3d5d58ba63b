package auth_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chattray/chattray/api/auth"
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
