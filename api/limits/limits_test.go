package limits_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chattray/chattray/api/limits"
	"github.com/chattray/chattray/schemas"
)

func TestRateOfRequests(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	allow := limits.NewRate(2, func() time.Time { return now }).Allow
	for i := range 2 {
		if err := allow("alice"); err != nil {
			t.Errorf("request %d is refused: %v", i+1, err)
		}
	}
	seen := schemas.Visible(allow("alice"))
	if seen.Code != schemas.CodeTooManyRequests || seen.RetryAfter != 30 {
		t.Errorf("the third request gives %v, retry after %d, want too_many_requests after 30", seen, seen.RetryAfter)
	}
	if err := allow("bob"); err != nil {
		t.Errorf("another user is refused: %v", err)
	}
	now = now.Add(29 * time.Second)
	if allow("alice") == nil {
		t.Error("a request after 29 s was allowed, want it refused")
	}
	now = now.Add(time.Second)
	if err := allow("alice"); err != nil {
		t.Errorf("a request after 30 s is refused: %v", err)
	}
}

func TestRateDropsTheOldestUser(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	allow := limits.NewRate(1, func() time.Time { return now }).Allow
	_ = allow("first")
	_ = allow("second")
	for i := range limits.MaxRateUsers - 1 {
		_ = allow(fmt.Sprint(i))
	}
	if allow("second") == nil {
		t.Error("a user with a recent request was dropped, want the one without a request for longest")
	}
	if err := allow("first"); err != nil {
		t.Errorf("the user without a request for longest is still known: %v", err)
	}
}

func TestNoRateLimit(t *testing.T) {
	allow := limits.NewRate(0, time.Now).Allow
	for range 1000 {
		if err := allow("alice"); err != nil {
			t.Fatalf("0 is a limit: %v", err)
		}
	}
}

func TestStreamsOfAUser(t *testing.T) {
	acquire := limits.NewStreams(1).Acquire
	release, err := acquire("alice")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := acquire("alice"); schemas.Visible(err).Code != schemas.CodeTooManyStreams {
		t.Errorf("a second stream gives %v, want too_many_streams", err)
	}
	if _, err := acquire("bob"); err != nil {
		t.Errorf("another user is refused: %v", err)
	}
	release()
	if _, err := acquire("alice"); err != nil {
		t.Errorf("a stream after the first was closed is refused: %v", err)
	}
	free := limits.NewStreams(0).Acquire
	for range 100 {
		if _, err := free("alice"); err != nil {
			t.Fatalf("0 is a limit: %v", err)
		}
	}
}

// A user who comes again is not the one without a request for longest.
func TestRateKeepsUsersThatComeAgain(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	allow := limits.NewRate(1, func() time.Time { return now }).Allow
	_ = allow("first")
	for i := range limits.MaxRateUsers {
		_ = allow(fmt.Sprint(i))
		if allow("first") == nil {
			t.Fatalf("after %d users the first has another request, want it remembered", i+1)
		}
	}
}

// A limit of bytes is refused with what the user and all have, and counts nothing then. Users
// without bytes are forgotten.
func TestBytes(t *testing.T) {
	var b limits.Bytes
	var own, all int64
	look := func(user string) {
		_ = b.Add(user, 7, func(u, a int64) error { own, all = u, a; return errors.New("no") })
	}
	for _, tt := range []struct {
		user     string
		n        int64
		own, all int64
		users    int
	}{
		{"ann", 5, 5, 5, 1}, {"ben", 2, 2, 7, 2}, {"ann", 3, 8, 10, 2}, {"ann", -8, 0, 2, 1}, {"ben", -2, 0, 0, 0},
	} {
		if err := b.Add(tt.user, tt.n, nil); err != nil {
			t.Fatal(err)
		}
		if look(tt.user); own != tt.own || all != tt.all || b.Users() != tt.users {
			t.Errorf("after %+d of %s: %d of the user, %d of all, %d users; want %d, %d and %d", tt.n, tt.user, own, all, b.Users(), tt.own, tt.all, tt.users)
		}
	}
}
