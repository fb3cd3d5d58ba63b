package endtoend

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/clicks"
	"github.com/chattray/chattray/services/pages/pagestest"
	"github.com/chattray/chattray/services/runs"
)

// shopPage has an action that the page file handles.
const shopPage = `identity: You help in a shop.
actions:
  - action: refund
    description: Refunds an order.
    handler: server
    http:
      method: POST
      url: %s/orders/{{.order}}/refund?why={{.why}}
      headers: {Authorization: "Bearer ${shop_key}"}
      body: '{"amount": {{.amount}}}'
      input_schema:
        type: object
        required: [order, amount]
        properties:
          order: {type: integer}
          amount: {type: number}
          why: {type: string}
`

// click is a click on an action.
func click(page, action string, data, more map[string]any) map[string]any {
	metadata := map[string]any{"action_identifier": action, "action_data": data}
	request := map[string]any{
		"message": "Do it", "interaction_type": "action_executed", "action_metadata": metadata,
		"context": map[string]any{"current_page": page, "active_tab": "semantic", "stream_id": 1},
	}
	for key, value := range more {
		if key == "payload_id" {
			metadata[key] = value
		} else {
			request[key] = value
		}
	}
	return request
}

// An action of a page file makes one request for each click, with the data of
// the click, and only on its page.
func TestActionsOfPageFiles(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			var mu sync.Mutex
			var got []string
			var wrong atomic.Bool
			shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				got = append(got, fmt.Sprintf("%s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), body))
				mu.Unlock()
				if wrong.Load() {
					w.WriteHeader(http.StatusInternalServerError)
				}
				_, _ = io.WriteString(w, "Order 7 is refunded. [[tool:0]]")
			}))
			defer shop.Close()
			dir := pagestest.Folder(t, map[string]string{"shop.yaml": fmt.Sprintf(shopPage, shop.URL)})
			c := apptest.ServeOn(t, d, app.Options{Models: upstream.NewMemory().Transport()}, apptest.Scripted("CHATTRAY_PAGES="+dir, `CHATTRAY_SECRETS={"shop_key":"s3cret-of-the-shop"}`))
			data := map[string]any{"order": 7, "amount": 12.5, "why": "a b"}
			done := apptest.Decode[schemas.ChatResponsePayload](t, c.Must(http.MethodPost, "/api/chat", click("shop", "refund", data, nil)))
			if want := `Order 7 is refunded. [\[tool:0]]`; done.Message != want {
				t.Errorf("the answer is %q, want %q", done.Message, want)
			}
			for _, tc := range []struct {
				name   string
				body   map[string]any
				status int
				words  string
			}{
				{"on another page", click("reports", "refund", data, nil), http.StatusForbidden, "the page “reports” does not offer the action “refund” here"},
				{"on no page", click("", "refund", data, nil), http.StatusForbidden, "needs the page that offers it"},
				{"an unknown key", click("shop", "refund", map[string]any{"order": 7, "amount": 1, "force": true}, nil), http.StatusUnprocessableEntity, `"/action_metadata/action_data/force"`},
				{"a wrong type", click("shop", "refund", map[string]any{"order": "7", "amount": 1}, nil), http.StatusUnprocessableEntity, `"/action_metadata/action_data/order"`},
				{"nothing", click("shop", "refund", nil, nil), http.StatusUnprocessableEntity, `"/action_metadata/action_data/order"`},
			} {
				if r := c.Ask("ann", http.MethodPost, "/api/chat", "", tc.body); r.Status != tc.status || !strings.Contains(string(r.Body), tc.words) {
					t.Errorf("%s: %d %s, want %d %q", tc.name, r.Status, r.Body, tc.status, tc.words)
				}
			}
			wrong.Store(true)
			if r := c.Ask("ann", http.MethodPost, "/api/chat", "", click("shop", "refund", data, nil)); r.Status != http.StatusBadGateway || !strings.Contains(string(r.Body), "status 500") || strings.Contains(string(r.Body), "s3cret") {
				t.Errorf("an action that fails: %d %s, want 502 with the upstream's status and without its secret", r.Status, r.Body)
			}
			one := `POST /orders/7/refund?why=a+b Bearer s3cret-of-the-shop {"amount": 12.5}`
			mu.Lock()
			defer mu.Unlock()
			if len(got) != 2 || got[0] != one || got[1] != one {
				t.Errorf("the shop got %q", got)
			}
		})
	}
}

// proposal is an answer with a proposal and a button that accepts it.
const proposal = "I propose this.\n\nSCHEMA_PROPOSAL: {\"stream_id\": 1, \"changes\": {\"semantic.topics\": [\"x\"]}}\n\n" +
	`SUGGESTED_ACTIONS: [{"label": "Apply changes", "action": "apply_schema", "handler": "server", "data": {"stream_id": 1, "changes": {"semantic.topics": ["x"]}}}]`

// An action that accepts a payload decides it, and cannot be done once the
// payload was decided in any way.
func TestActionsOfDecidedPayloads(t *testing.T) {
	data := map[string]any{"stream_id": 1, "changes": map[string]any{"semantic.topics": []string{"x"}}}
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			up := upstream.NewMemory()
			up.On(upstream.Any, upstream.Text(proposal))
			c := apptest.ServeOn(t, d, app.Options{Models: up.Transport()}, apptest.Scripted())
			ask := func(user string) schemas.ChatResponsePayload {
				t.Helper()
				r := c.Ask(user, http.MethodPost, "/api/chat", "", map[string]any{
					"message": "Propose", "context": map[string]any{"current_page": "edit_stream", "active_tab": "semantic", "stream_id": 1},
				})
				return apptest.Decode[schemas.ChatResponsePayload](t, r)
			}
			decide := func(p *schemas.ChatResponsePayload, outcome string) int {
				return c.Ask("ada", http.MethodPost, fmt.Sprintf("/api/chats/%d/payloads/%s/resolve", p.ConversationID, p.CustomPayload.PayloadID), "", map[string]any{"outcome": outcome}).Status
			}
			apply := func(p *schemas.ChatResponsePayload, more map[string]any) int {
				more["conversation_id"] = p.ConversationID
				return c.Ask("ada", http.MethodPost, "/api/chat", "", click("edit_stream", "apply_schema", data, more)).Status
			}
			outcome := func(p *schemas.ChatResponsePayload) string {
				r := c.Ask("ada", http.MethodGet, fmt.Sprintf("/api/chats/%d/payloads/%s", p.ConversationID, p.CustomPayload.PayloadID), "", nil)
				return apptest.Decode[schemas.CustomPayload](t, r).Outcome
			}

			rejected := ask("ada")
			id := rejected.CustomPayload.PayloadID
			if len(rejected.SuggestedActions) != 1 || rejected.SuggestedActions[0].PayloadID != id || id == "" {
				t.Fatalf("the actions are %+v, want one of payload %s", rejected.SuggestedActions, id)
			}
			for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusConflict} {
				if got := decide(&rejected, []string{"rejected", "rejected", "accepted"}[i]); got != want {
					t.Errorf("decision %d is %d, want %d", i, got, want)
				}
			}
			for _, more := range []map[string]any{{"payload_id": id}, {}} {
				if got := apply(&rejected, more); got != http.StatusConflict {
					t.Errorf("a click %v after the rejection is %d, want 409", more, got)
				}
			}
			applied := ask("ada")
			other := map[string]any{"payload_id": "0badcafe"}
			if got := apply(&applied, other); got != http.StatusUnprocessableEntity {
				t.Errorf("a click with a payload that is not there is %d, want 422", got)
			}
			if first, second := apply(&applied, map[string]any{}), apply(&applied, map[string]any{}); first != http.StatusOK || second != http.StatusConflict {
				t.Errorf("two clicks are %d and %d, want 200 and 409", first, second)
			}
			if got := decide(&applied, "rejected"); got != http.StatusConflict || outcome(&applied) != "accepted" {
				t.Errorf("a rejection after the click is %d and the payload %q, want 409 and accepted", got, outcome(&applied))
			}

			if got := ask("ann"); len(got.SuggestedActions) != 0 {
				t.Errorf("the actions offered to a user who may not do them are %+v", got.SuggestedActions)
			}
			if r := c.Ask("ann", http.MethodPost, "/api/chat", "", click("edit_stream", "apply_schema", data, nil)); r.Status != http.StatusForbidden || !strings.Contains(string(r.Body), "only the owner of the stream") {
				t.Errorf("a click of that user: %d %s", r.Status, r.Body)
			}
		})
	}
}

// cancelledClicks are chats in which the user cancels each click once its payload is decided,
// before its action begins.
type cancelledClicks struct {
	clicks.Store
	cancel  func(run string)
	cancels sync.WaitGroup
}

func (c *cancelledClicks) AcceptPayload(ctx context.Context, owner string, id int64, payloadID, outcome, run string) error {
	err := c.Store.AcceptPayload(ctx, owner, id, payloadID, outcome, run)
	if c.cancel != nil {
		cancel := c.cancel
		c.cancels.Go(func() { cancel(record.FenceOf(ctx).RunID) })
		<-ctx.Done()
		c.cancel = nil
	}
	return err
}

// A click that is cancelled before its action begins can be done again.
func TestClickThatIsCancelledBeforeItsAction(t *testing.T) {
	data := map[string]any{"stream_id": 1, "changes": map[string]any{"semantic.topics": []string{"x"}}}
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			up := upstream.NewMemory()
			up.On(upstream.Any, upstream.Text(proposal))
			chats := new(cancelledClicks)
			c := apptest.ServeOn(t, d, app.Options{Models: up.Transport(), Runs: func(o *runs.Options) { chats.Store, o.Store.Clicks = o.Store.Clicks, chats }}, apptest.Scripted())
			c.Ask("ada", http.MethodPost, "/api/chat", "", map[string]any{
				"message": "Propose", "chat_id": "one", "context": map[string]any{"current_page": "edit_stream", "active_tab": "semantic", "stream_id": 1},
			})
			chats.cancel = func(run string) { c.Ask("ada", http.MethodPost, "/api/chat/runs/"+run+"/cancel", "", nil) }
			for i, want := range []int{http.StatusConflict, http.StatusOK} {
				if r := c.Ask("ada", http.MethodPost, "/api/chat", "", click("edit_stream", "apply_schema", data, map[string]any{"chat_id": "one"})); r.Status != want {
					t.Errorf("click %d: %d %s, want %d", i, r.Status, r.Body, want)
				}
			}
			chats.cancels.Wait() // the answer to a cancel may come after the answer to its click
		})
	}
}

// Of several simultaneous clicks on one proposal only one takes effect.
func TestConcurrentClicks(t *testing.T) {
	data := map[string]any{"stream_id": 1, "changes": map[string]any{"semantic.topics": []string{"x"}}}
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			up := upstream.NewMemory()
			up.On(upstream.Any, upstream.Text(proposal))
			c := apptest.ServeOn(t, d, app.Options{Models: up.Transport()}, apptest.Scripted())
			r := c.Ask("ada", http.MethodPost, "/api/chat", "", map[string]any{
				"message": "Propose", "chat_id": "one", "context": map[string]any{"current_page": "edit_stream", "active_tab": "semantic", "stream_id": 1},
			})
			id := apptest.Decode[schemas.ChatResponsePayload](t, r).CustomPayload.PayloadID
			var all sync.WaitGroup
			var done atomic.Int64
			for range 6 {
				all.Go(func() {
					if c.Ask("ada", http.MethodPost, "/api/chat", "", click("edit_stream", "apply_schema", data, map[string]any{"chat_id": "one", "payload_id": id, "if_busy": "queue"})).Status == http.StatusOK {
						done.Add(1)
					}
				})
			}
			all.Wait()
			if done.Load() != 1 {
				t.Errorf("%d clicks were done, want 1", done.Load())
			}
		})
	}
}

// An action of which nobody knows whether it took effect cannot be tried again with a
// click: its server hung up, or the service stopped while it ran.
func TestActionsWhoseEffectIsUnknown(t *testing.T) {
	var hangsUp atomic.Bool
	hangsUp.Store(true)
	came := make(chan struct{}, 1)
	var requests atomic.Int64
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		if hangsUp.Load() {
			panic(http.ErrAbortHandler)
		}
		came <- struct{}{}
		<-r.Context().Done()
	}))
	defer shop.Close()
	dir := pagestest.Folder(t, map[string]string{"shop.yaml": fmt.Sprintf(shopPage, shop.URL)})
	settings := fmt.Sprintf("openai: {base_url: 'http://127.0.0.1:1', api_key: k}\npages: %s\nsecrets: {shop_key: s3cret}\ndrain: 50ms\n", dir)
	database := filepath.Join(t.TempDir(), "c.db")
	body, err := json.Marshal(click("shop", "refund", map[string]any{"order": 7, "amount": 1}, nil))
	if err != nil {
		t.Fatal(err)
	}
	check := func(stream, words string) {
		t.Helper()
		if !strings.Contains(stream, words) || !strings.Contains(stream, `"code":"effect_unknown"`) || strings.Contains(stream, `"retryable":true`) {
			t.Errorf("the stream is %s, want effect_unknown, %q, and that it is not retryable", stream, words)
		}
	}

	s, stop := serveWith(t, database, settings)
	check(s.send("ann", http.MethodPost, "/api/chat/stream", string(body)).Body, "whether it had an effect is unknown")
	hangsUp.Store(false)
	read := make(chan apptest.Reply)
	go func() { read <- s.send("ann", http.MethodPost, "/api/chat/stream", string(body)) }()
	<-came
	stop()
	run := (<-read).Header.Get("X-Run-Id")

	s, stop = serveWith(t, database, settings)
	defer stop()
	check(s.send("ann", http.MethodGet, "/api/chat/runs/"+run+"/stream", "").Body, "it is not known whether it took effect")
	if got := requests.Load(); got != 2 {
		t.Errorf("two clicks made %d requests, want 2", got)
	}
}
