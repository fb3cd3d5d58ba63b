package outage

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/runs"
)

// slowCancel are the runs of a process that does not go on after its first cancel before it may.
type slowCancel struct {
	runs.RunStore
	once         *sync.Once
	stored, goOn chan struct{}
}

func (s slowCancel) RequestCancel(ctx context.Context, id string) error {
	err := s.RunStore.RequestCancel(ctx, id)
	s.once.Do(func() {
		close(s.stored)
		<-s.goOn
	})
	return err
}

// A message that a wire's client sends to two processes at once is one run, also if one of them
// has just cancelled the answer that the message replaces, so that the other finds the chat free.
func TestAWireMessageAtTwoProcesses(t *testing.T) {
	for _, d := range apptest.Databases() {
		if d.Name != "postgres" {
			continue
		}
		t.Parallel()
		system := apptest.NewSystem(t, d.Fresh(t))
		system.Settings = append(system.Settings, "REPLICAS=many", "REPLICA_LEASE="+apptest.LongLease)
		slow := slowCancel{once: new(sync.Once), stored: make(chan struct{}), goOn: make(chan struct{})}
		system.ServeHere(app.Options{})
		first := system.Process()
		system.ServeHere(app.Options{Runs: func(o *runs.Options) {
			slow.RunStore = o.Store.Runs
			o.Store.Runs = slow
		}})
		second := system.Process()
		system.OnlyUse(first)
		s := &scene{T: t, system: system, chat: "chat"}
		replaced := s.question(s.chat, "reject", nil)
		replaced.Gate = make(chan struct{})
		done := replaced.Start(t)
		system.AwaitModel(t, replaced)
		next := s.question(s.chat, "reject", nil)
		system.Script(next.Question, next.Turns, nil)
		body := map[string]any{"id": s.chat, "messages": []any{map[string]any{
			"id": "m", "role": "user", "parts": []any{map[string]any{"type": "text", "text": next.Question}},
		}}}
		send := func(p *apptest.Process) (string, error) {
			req, err := apptest.NewRequest(t.Context(), http.MethodPost, p.URL+"/api/ui", body)
			if err != nil {
				return "", err
			}
			resp, err := system.Client.Do(req)
			if err != nil {
				return "", err
			}
			return resp.Header.Get("X-Run-Id"), resp.Body.Close()
		}
		var late string
		var failed error
		var sent sync.WaitGroup
		sent.Go(func() { late, failed = send(second) })
		<-slow.stored
		s.await(done)
		s.ended(replaced, schemas.TypeCancelled)
		run, err := send(first)
		close(slow.goOn)
		sent.Wait()
		if err := errors.Join(err, failed); err != nil || run == "" || late != run {
			t.Errorf("the message is run %q and, at the other process, %q, %v; want one run", run, late, err)
		}
		chats := decode[schemas.ChatList](s, s.do("GET", "/api/chats", nil, 200))
		chat := decode[schemas.Chat](s, s.do("GET", "/api/chats/"+string(schemas.Encode(chats.Items[0].ConversationID)), nil, 200))
		if n := len(slices.DeleteFunc(chat.Messages, func(m schemas.Message) bool { return m.Content != next.Question })); n != 1 {
			t.Errorf("the chat has the message %d times, want once", n)
		}
	}
}
