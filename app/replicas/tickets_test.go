package replicas

import (
	"net/http"
	"testing"

	"github.com/coder/websocket"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// A ticket of one process opens one websocket, or the stream of one run, at any of them.
func TestTicketsOverTwo(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		p := pair{T: t, system: system, owner: system.StartReplica(apptest.LongLease, nil), b: system.StartReplica(apptest.LongLease, nil)}
		both := []*apptest.Process{p.owner, p.b}
		ticket := func() string {
			t.Helper()
			var made schemas.Ticket
			p.send(p.owner, http.MethodPost, "/api/ws/ticket", nil, http.StatusOK, &made)
			return "?ticket=" + made.Ticket
		}
		one := ticket()
		conn, _, err := websocket.Dial(t.Context(), p.b.URL+"/api/ws"+one, nil)
		if err != nil {
			t.Fatalf("the ticket opens no websocket at the other process: %v", err)
		}
		_ = conn.CloseNow()
		for _, at := range both {
			_, resp, err := websocket.Dial(t.Context(), at.URL+"/api/ws"+one, nil)
			if err == nil || resp == nil || resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("the ticket opens a second websocket, want status 401: %v", err)
			}
		}
		c, other := p.asks("chat", "queue", nil), p.asks("other", "queue", nil)
		p.ends("completed", c)
		p.ends("completed", other)
		stream := ticket()
		for _, at := range []*apptest.Process{p.b, p.owner, p.b} {
			p.open(at, http.MethodGet, "/api/chat/runs/"+c.RunID+"/stream"+stream, nil).Body.Close()
			p.send(at, http.MethodGet, "/api/chat/runs/"+c.RunID+"/stream"+stream, nil, http.StatusOK, nil)
			p.send(at, http.MethodGet, "/api/chat/runs/"+other.RunID+"/stream"+stream, nil, http.StatusUnauthorized, nil)
		}
		apptest.CheckInvariants(t, system)
	})
}
