package chats

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
)

// The limits of searches. A search may read all text of a user, which holds a connection to
// the database for seconds; others need them.
const (
	maxSearches = 2 // at once, of different users
	searchWait  = 5 * time.Second
)

var errSearching = &schemas.Error{Code: schemas.CodeTooManyRequests, Message: "other searches are under way; try again in a moment", RetryAfter: 5}

// searches are the searches that are under way, one for each user at most.
type searches struct {
	users concurrent.Locks
	all   chan struct{}
}

// begin waits for the turn of a search of the user, at most for searchWait; the error is
// then errSearching.
func (s *searches) begin(ctx context.Context, user string) (end func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, searchWait, errSearching)
	defer cancel()
	unlock, err := s.users.Lock(ctx, user)
	if err != nil {
		return nil, err
	}
	select {
	case s.all <- struct{}{}:
		return func() { <-s.all; unlock() }, nil
	case <-ctx.Done():
		unlock()
		return nil, context.Cause(ctx)
	}
}
