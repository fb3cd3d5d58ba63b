package replicas

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// Nobody sees or changes another user's run at any process, neither while it is written
// nor after its end.
func TestOtherUsersElsewhere(t *testing.T) {
	const secret = "secret-of-32-bytes-for-this-test"
	over(t, []carrier{none, overNATS}, func(t *testing.T, system *apptest.System) {
		system.Settings = append(system.Settings, "JWT_SECRET="+secret)
		processes := []*apptest.Process{system.StartReplica(apptest.LongLease, nil), system.StartReplica(apptest.LongLease, nil)}
		tokens := map[string]string{}
		for _, user := range []string{"ann", "bob"} {
			token, err := auth.SignToken(secret, "", schemas.User{Name: user}, time.Now(), time.Now().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			tokens[user] = token
		}
		header := func(user string) []string { return []string{"Authorization", "Bearer " + tokens[user]} }
		p := pair{T: t, system: system}
		gate := make(chan struct{})
		c := p.question("chat", "queue", gate)
		system.Script(c.Question, c.Turns, c.Gate)
		began := p.open(processes[0], http.MethodPost, "/api/chat/stream", c.Body, header("ann")...)
		defer began.Body.Close()
		run := "/api/chat/runs/" + began.Header.Get("X-Run-Id")
		if began.StatusCode != http.StatusOK {
			t.Fatalf("status %d, want 200", began.StatusCode)
		}
		follows := p.open(processes[1], http.MethodGet, run+"/stream", nil, header("ann")...)
		defer follows.Body.Close()

		foreign := func(when string) {
			for n, at := range processes {
				for _, request := range []string{"GET " + run, "GET " + run + "/stream", "GET " + run + "/stream?dialect=messages", "GET " + run + "/waits", "POST " + run + "/cancel"} {
					method, path, _ := strings.Cut(request, " ")
					resp := p.open(at, method, path, nil, header("bob")...)
					_ = resp.Body.Close()
					if resp.StatusCode != http.StatusNotFound {
						t.Errorf("%s, process %d: %s of another user's run has status %d, want 404", when, n+1, request, resp.StatusCode)
					}
				}
			}
		}
		foreign("while it is written")
		close(gate)
		var text bytes.Buffer
		if _, err := text.ReadFrom(follows.Body); err != nil || !strings.Contains(text.String(), `"type":"complete"`) {
			t.Errorf("its user reads at another process\n%s\n%v, want its end", text.String(), err)
		}
		foreign("after its end")
		if got := system.Text("SELECT state FROM runs WHERE id = $1", began.Header.Get("X-Run-Id")); got != "completed" {
			t.Errorf("the run is %s, want completed", got)
		}
		_ = began.Body.Close()
		apptest.CheckInvariants(t, system)
		system.CheckScripted()
	})
}
