package endtoend

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/pages/pagestest"
)

// stockPage has an action whose answer is a card.
const stockPage = `identity: You help in a shop.
payload_types:
  - {name: stock, source: tool, description: What is in stock., schema: {type: object}}
payloads: [stock]
actions:
  - action: look
    description: Looks what is in stock.
    handler: server
    http: {url: "%s/stock", payload: '#', payload_type: stock}
`

// The card of a server action is shown where the action's text is, as the card of a tool
// is, and not only by the end of the run: in the dialect messages and on a websocket.
func TestCardOfAnAction(t *testing.T) {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"chairs": 3}`)
	}))
	defer shop.Close()
	dir := pagestest.Folder(t, map[string]string{"shop.yaml": fmt.Sprintf(stockPage, shop.URL)})
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			c := apptest.ServeOn(t, d, app.Options{}, apptest.Scripted("CHATTRAY_PAGES="+dir))
			done := apptest.Decode[schemas.ChatResponsePayload](t, c.Must(http.MethodPost, "/api/chat", click("shop", "look", map[string]any{}, nil)))
			if done.CustomPayload == nil || string(done.CustomPayload.Data) != `{"chairs":3}` {
				t.Fatalf("the answer's card is %+v", done.CustomPayload)
			}
			if n := cardFrames(c, done); n != 1 {
				t.Errorf("in the dialect messages the card is shown %d times, want once", n)
			}

			socket := c.Dial("ann")
			socket.Send(`{"name":"message","message":{"content":"Look"},"interaction_type":"action_executed","action_metadata":{"action_identifier":"look"},` +
				`"context":{"current_page":"shop"},"chat_id":"c"}`)
			var got []string
			for _, chunk := range socket.Until(apptest.IsRunEnd) {
				switch {
				case chunk.Payload != nil:
					got = append(got, chunk.Type+" "+chunk.Payload.Type+" "+string(chunk.Payload.Data))
				case chunk.Type == schemas.ChunkRunEnd:
					got = append(got, string(chunk.Status))
				default:
				}
			}
			if want := []string{`payload stock {"chairs":3}`, "completed"}; !slices.Equal(got, want) {
				t.Errorf("the websocket shows %q, want %q", got, want)
			}
		})
	}
}

// cardFrames counts the messages of the answer's card in the dialect messages.
func cardFrames(c *apptest.Client, done schemas.ChatResponsePayload) (n int) {
	stream := c.Must(http.MethodGet, "/api/chat/runs/"+done.RunID+"/stream?dialect=messages", nil)
	frames := apptest.MessageFrames(c.T, apitest.Load(c.T, "../../openapi.yaml"), []byte(stream.Body))
	apptest.CheckNesting(c.T, frames)
	for _, f := range frames {
		if e := apptest.EventOf(f); e.Event == "message_start" && e.Data.Type == "stock" && e.Data.Ref == done.CustomPayload.PayloadID {
			n++
		}
	}
	return n
}
