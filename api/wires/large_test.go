package wires_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/all"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// largeChats are chats whose messages take until they are let go.
type largeChats struct {
	wires.Chats

	reads atomic.Int64
	let   chan struct{}
}

func (*largeChats) ByKey(context.Context, schemas.User, string) (schemas.Chat, error) {
	return schemas.Chat{ConversationID: 7}, nil
}

func (l *largeChats) Get(context.Context, schemas.User, int64, record.MessageQuery) (schemas.Chat, error) {
	l.reads.Add(1)
	<-l.let
	return schemas.Chat{}, nil
}

// TestLargeAnswersWait calls the routes that answer with the messages of a chat while the
// user may not have another large answer: nothing is read.
func TestLargeAnswersWait(t *testing.T) {
	refused, routes := errors.New("refused"), 0
	for _, path := range []string{"/api/ui/:id/messages", "/api/agui", "/api/copilotkit/threads/:thread/messages", "/v1/responses/:id/input_items"} {
		chats := &largeChats{}
		for _, w := range all.Wires() {
			at := slices.IndexFunc(w.Routes, func(r wires.Route) bool { return r.Method == http.MethodGet && r.Path == path })
			if at < 0 {
				continue
			}
			err := w.Routes[at].Handle(&wires.Call{
				Request: httptest.NewRequest(http.MethodGet, "/?threadId=t", http.NoBody), Service: &wires.Service{Chats: chats, Runs: anyRun{}},
				Param: func(string) string { return "resp_0123456789abcdef0123456789abcdef_0" }, Large: func() error { return refused },
			})
			if !errors.Is(err, refused) || chats.reads.Load() > 0 {
				t.Errorf("%s: got %v after %d reads, want it to be refused before it reads", path, err, chats.reads.Load())
			}
			routes++
		}
	}
	if routes != 4 {
		t.Errorf("%d routes are called, want 4", routes)
	}
}

// anyRun has a run under every id.
type anyRun struct{ wires.Runs }

func (anyRun) Run(context.Context, schemas.User, string) (schemas.Run, error) {
	return schemas.Run{State: schemas.RunCompleted}, nil
}

// The messages of one chat of a user are read at a time; other users do not wait.
func TestCurrentTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chats := &largeChats{let: make(chan struct{})}
		s := &wires.Service{Chats: chats}
		done := make(chan error, 4)
		for _, user := range []string{"alice", "alice", "alice", "bob"} {
			go func() {
				_, err := s.Current(t.Context(), schemas.User{ID: user}, schemas.Chat{ConversationID: 7})
				done <- err
			}()
		}
		synctest.Wait()
		if n := chats.reads.Load(); n != 2 {
			t.Errorf("%d chats are read at once, want one of each user", n)
		}
		close(chats.let)
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}
