package chats_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/chats"
)

// slowSearches are conversations whose lists with a text take until they are let go.
type slowSearches struct {
	chats.Conversations

	under map[string]int // by user
	goOn  chan struct{}
}

func (s *slowSearches) Chats(ctx context.Context, owner string, q record.ChatQuery) (schemas.ChatList, error) {
	if q.Text == "" {
		return schemas.ChatList{}, nil
	}
	s.under[owner]++
	select {
	case <-s.goOn:
	case <-ctx.Done():
	}
	return schemas.ChatList{}, nil
}

// Of each user one search is under way, and two in all; the others wait for a limited time.
// Lists without a text do not wait.
func TestSearchesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowSearches{under: map[string]int{}, goOn: make(chan struct{})}
		c := chats.New(store, nil, nil, nil, nil)
		refused := make(chan error, 8)
		for _, user := range []string{"alice", "alice", "bob", "carol"} {
			go func() {
				_, err := c.List(t.Context(), schemas.User{ID: user}, record.ChatQuery{Text: "gold"})
				refused <- err
			}()
			synctest.Wait()
		}
		if store.under["alice"] != 1 || store.under["bob"] != 1 || store.under["carol"] != 0 {
			t.Errorf("under way are %v, want one of alice and one of bob", store.under)
		}
		if _, err := c.List(t.Context(), schemas.User{ID: "alice"}, record.ChatQuery{}); err != nil {
			t.Errorf("a list without a text gives %v, want the list", err)
		}
		for range 2 {
			err := <-refused // after the wait
			if e, ok := errors.AsType[*schemas.Error](err); !ok || e.Code != schemas.CodeTooManyRequests || e.RetryAfter == 0 {
				t.Errorf("a search that waits long gives %v, want too_many_requests", err)
			}
		}
		close(store.goOn)
		for range 2 {
			if err := <-refused; err != nil {
				t.Errorf("a search whose turn it was gives %v, want its chats", err)
			}
		}
		if _, err := c.List(t.Context(), schemas.User{ID: "carol"}, record.ChatQuery{Text: "gold"}); err != nil {
			t.Errorf("after the others, a search gives %v, want its chats", err)
		}
	})
}
