package outage

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/runs"
)

// tooEarly are the runs of a process which finds none of the first key that it looks for, and
// does not go on before it may.
type tooEarly struct {
	runs.RunStore
	once         *sync.Once
	looked, goOn chan struct{}
}

func (e tooEarly) RunByKey(ctx context.Context, owner, key string) (record.Run, error) {
	run, err := e.RunStore.RunByKey(ctx, owner, key)
	e.once.Do(func() {
		close(e.looked)
		<-e.goOn
	})
	return run, err
}

// A request that two processes get at once is one run, also if what it asks for cannot be done
// twice: the slower process finds the run of the other one instead of refusing the request.
func TestARequestAtTwoProcesses(t *testing.T) {
	for _, d := range apptest.Databases() {
		if d.Name != "postgres" {
			continue
		}
		for name, ask := range map[string]func(s *scene) *apptest.Conversation{
			"question": func(s *scene) *apptest.Conversation { return s.question(s.chat, "reject", nil) },
			"edit": func(s *scene) *apptest.Conversation {
				first, c := s.ask(nil), s.question(s.chat, "reject", nil)
				c.Body["edit_message_id"] = first.Frames[0].Event.UserMessageID
				return c
			},
			"regenerate": func(s *scene) *apptest.Conversation {
				first, c := s.ask(nil), s.question(s.chat, "reject", nil)
				c.Question, c.Turns, c.Want = first.Question, first.Turns, first.Want
				c.MarkScripted()
				c.Body["message"], c.Body["regenerate_message_id"] = "", s.answer(first).ID
				return c
			},
			"action of a card": (*scene).click,
			"answer in a block": func(s *scene) *apptest.Conversation {
				s.do("POST", "/api/documents", map[string]any{"id": "d", "title": "T"}, 200)
				s.do("POST", "/api/documents/d/blocks", map[string]any{"id": "b", "type": "md", "content": "Old"}, 200)
				c := s.question(s.chat, "reject", nil)
				c.Body["context"] = map[string]any{"current_page": "document", "document_id": "d", "block_ids": "b", "mode": "chat"}
				return c
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				address := d.Fresh(t)
				system := apptest.NewSystem(t, address)
				settings := append(system.Settings, "REPLICAS=many", "REPLICA_LEASE="+apptest.LongLease, "MAX_RUNS_PER_USER=1")
				early := tooEarly{once: new(sync.Once), looked: make(chan struct{}), goOn: make(chan struct{})}
				var both []*apptest.Process
				for i := range 2 {
					system.Settings = slices.Clip(settings)
					system.ServeHere(app.Options{Runs: func(o *runs.Options) {
						if early.RunStore = o.Store.Runs; i == 1 {
							o.Store.Runs = early
						}
					}})
					both = append(both, system.Process())
				}
				s := &scene{T: t, system: system, chat: "chat"}
				system.OnlyUse(both[0])
				c := ask(s)
				gate := make(chan struct{})
				c.Gate = gate
				late := make(chan *http.Response, 1)
				go func() {
					defer close(late)
					req, err := apptest.NewRequest(t.Context(), http.MethodPost, both[1].URL+"/api/chat/stream", c.Body, "Idempotency-Key", c.Key)
					if err != nil {
						t.Error(err)
						return
					}
					resp, err := system.Client.Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					late <- resp
				}()
				<-early.looked
				done := c.Start(t)
				apptest.Eventually(t, "the other process has begun the run", c.Accepted.Load)
				close(early.goOn)
				resp, answered := <-late
				if !answered {
					return
				}
				defer resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("status %d, %s, want 200", resp.StatusCode, apptest.JSON(apptest.ReadProblem(t, resp)))
				} else if got := resp.Header.Get("X-Run-Id"); got != c.RunID {
					t.Errorf("it is run %s, want %s", got, c.RunID)
				}
				close(gate)
				s.await(done)
				s.ended(c, schemas.TypeComplete)
			})
		}
	}
}
