package replicas

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// What a user may start is counted over all processes.
func TestLimitsOverTwo(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		system.Settings = append(system.Settings, "MAX_RUNS_PER_USER=18", "REQUESTS_PER_MINUTE=24")
		p := pair{T: t, system: system, owner: system.StartReplica(apptest.LongLease, nil), b: system.StartReplica(apptest.LongLease, nil)}
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
			for began := time.Now(); !p.refusedAfter(at, 24); { // where the minute has passed, more are accepted
				if time.Since(began) > apptest.Limit {
					t.Fatal("questions are always accepted, want at most 24 in a minute")
				}
			}
		}
		apptest.CheckInvariants(t, system)
		system.CheckScripted()
	})
}

// refusedAfter sends a question and reports whether it was refused. It fails if
// more than most questions of the last minute were accepted.
func (p pair) refusedAfter(at *apptest.Process, most int) bool {
	p.Helper()
	c := p.question("too-many", "queue", nil)
	p.system.Script(c.Question, c.Turns, nil)
	resp := p.open(at, http.MethodPost, "/api/chat/stream", c.Body)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if problem := apptest.ReadProblem(p.T, resp); problem.Code != schemas.CodeTooManyRequests {
			p.Fatalf("the question after %d of a minute: refused with %s, want %s", most, problem.Code, schemas.CodeTooManyRequests)
		}
		return true
	}
	if n := p.system.Number("SELECT COUNT(*) FROM runs WHERE created_at > $1", time.Now().Add(-time.Minute).UnixMicro()); n > most {
		p.Fatalf("%d questions of the last minute are accepted, want at most %d", n, most)
	}
	c.RunID = resp.Header.Get("X-Run-Id")
	p.ends("completed", c)
	return false
}

// A budget covers what the user spends at all processes.
func TestBudgetOverTwo(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		system.Settings = append(system.Settings, "BUDGET_TOKENS=13") // each reply counts as 12 tokens
		p := pair{T: t, system: system, owner: system.StartReplica(apptest.LongLease, nil), b: system.StartReplica(apptest.LongLease, nil)}
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
