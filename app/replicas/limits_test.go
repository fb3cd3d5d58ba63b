package replicas

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// What a user may start is counted over all processes.
func TestLimitsOverTwo(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		system.Settings = append(system.Settings, "MAX_RUNS_PER_USER=18", "REQUESTS_PER_MINUTE=24")
		p := pair{T: t, system: system, owner: system.StartReplica(nil), b: system.StartReplica(nil)}
		refused := func(what string, at *apptest.Process, chat string, code schemas.Code) {
			t.Helper()
			var problem schemas.Problem
			p.send(at, http.MethodPost, "/api/chat/stream", p.question(chat, "queue", nil).Body, http.StatusTooManyRequests, &problem)
			if problem.Code != code {
				t.Errorf("%s: refused with %s, want %s", what, problem.Code, code)
			}
		}
		both := []*apptest.Process{p.owner, p.b}
		gate := make(chan struct{})
		all := []*apptest.Conversation{p.asks("chat", "queue", gate)}
		for n := range 16 {
			c := p.question("chat", "queue", nil)
			p.begin(both[n%2], c)
			all = append(all, c)
		}
		for _, at := range both {
			refused("the 17th that waits", at, "chat", schemas.CodeTooManyRuns)
		}
		other := p.question("other", "queue", gate)
		p.begin(p.b, other)
		all = append(all, other)
		for n, at := range both {
			refused("the 19th under way", at, "more-"+strconv.Itoa(n), schemas.CodeTooManyRuns)
		}
		close(gate)
		for _, c := range all {
			p.ends("completed", c)
		}
		for n := range 6 {
			c := p.question("later", "queue", nil)
			p.begin(both[n%2], c)
			p.ends("completed", c)
		}
		for _, at := range both {
			refused("the 25th of a minute", at, "too-many", schemas.CodeTooManyRequests)
		}
		apptest.CheckInvariants(t, system)
		system.CheckScripted()
	})
}

// A budget is that of all processes.
func TestBudgetOverTwo(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		system.Settings = append(system.Settings, "BUDGET_TOKENS=13") // a reply counts 12
		p := pair{T: t, system: system, owner: system.StartReplica(nil), b: system.StartReplica(nil)}
		for _, at := range []*apptest.Process{p.owner, p.b} {
			c := p.question("chat", "queue", nil)
			p.begin(at, c)
			p.ends("completed", c)
		}
		for _, at := range []*apptest.Process{p.owner, p.b} {
			var problem schemas.Problem
			p.send(at, http.MethodPost, "/api/chat/stream", p.question("chat", "queue", nil).Body, http.StatusTooManyRequests, &problem)
			if problem.Code != schemas.CodeBudget {
				t.Errorf("refused with %s, want %s", problem.Code, schemas.CodeBudget)
			}
		}
		apptest.CheckInvariants(t, system)
	})
}
