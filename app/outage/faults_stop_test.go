package outage

import (
	"net/http"
	"testing"
	"time"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/runs"
)

// Whichever statement fails while the service stops, the next start continues all answers.
func TestFaultsWhileStopping(t *testing.T) {
	onFaultyStarts(t, 1+*everyFault/10, shortHold, func(s *scene, faults faulty, with app.Options, fail func()) {
		l := s.leave(with, fail)
		s.failed = faults.Disarm()
		s.start(with)
		l.end(s)
	})
}

// Whichever statement fails while the service starts, in the recovery or the first requests: it
// starts, or does so when it is started again, and continues all answers.
func TestFaultsWhileStarting(t *testing.T) {
	onFaultyStarts(t, 2**everyFault, longHold, func(s *scene, faults faulty, with app.Options, fail func()) {
		l := s.leave(with, func() {})
		fail()
		s.start(with)
		l.end(s)
		s.failed = faults.Disarm()
	})
}

// Whichever statement fails while the tables are made and the sample is loaded, the service has
// all of them once it has started.
func TestFaultsWhileMigrating(t *testing.T) {
	for _, d := range apptest.Databases() {
		for _, mode := range faultModes {
			t.Run(d.Name+"/"+mode.name, func(t *testing.T) {
				t.Parallel()
				whole := apptest.NewSystem(t, d.Fresh(t))
				everyStatement(t, 3**everyFault, func(t *testing.T, after int) ([]string, int) {
					system, faults, with := faultySystem(t, apptest.Database{Name: d.Name, Fresh: d.Empty})
					s := &scene{T: t, system: system, chat: "chat"}
					faults.Arm(mode.kind, after, mode.n)
					s.start(with)
					s.ask([][]string{{"book"}})
					s.failed = faults.Disarm()
					s.check()
					for _, table := range []string{"goose_db_version", "streams", "reports", "articles"} {
						const count = "SELECT COUNT(*) FROM "
						if n, want := system.Number(count+table), whole.Number(count+table); n != want {
							s.Errorf("%s has %d rows after %.300q, want %d", table, n, s.failed, want)
						}
					}
					return s.failed, faults.Passed()
				})
			})
		}
	}
}

// onFaultyStarts runs a test on every kind of process, for all faults. The test calls fail when
// the faults are to begin.
func onFaultyStarts(t *testing.T, step int, hold time.Duration, test func(s *scene, faults faulty, with app.Options, fail func())) {
	t.Helper()
	for _, d := range apptest.Databases() {
		kinds := map[string][]string{"alone": nil}
		if d.Name == "postgres" {
			kinds["many"] = []string{"REPLICAS=many", "REPLICA_LEASE=" + apptest.ShortLease} // only its next start takes its runs
		}
		for kind, settings := range kinds {
			for _, mode := range faultModes {
				t.Run(d.Name+"/"+kind+"/"+mode.name, func(t *testing.T) {
					t.Parallel()
					everyStatement(t, step, func(t *testing.T, after int) ([]string, int) {
						system, faults, with := faultySystem(t, d)
						with.Runs = func(o *runs.Options) { o.Hold = hold }
						system.Settings = append(system.Settings, append(settings, "DRAIN=10ms")...)
						s := &scene{T: t, system: system, chat: "chat"}
						defer func() {
							if what := faults.Disarm(); t.Failed() {
								t.Logf("this has failed: %.300q", append(what, s.failed...))
							}
						}()
						test(s, faults, with, func() { faults.Arm(mode.kind, after, mode.n) })
						s.check()
						return s.failed, faults.Passed()
					})
				})
			}
		}
	}
}

// left are the answers that a process leaves at its end: one that is being written after a tool
// with effects, one that waits for its turn, and one that waits for the user.
type left struct {
	writes, queued, asks *apptest.Conversation
	ends                 []<-chan error
	gate                 chan struct{}
}

// leave runs a process that leaves them. It calls stopping before the process stops.
func (s *scene) leave(with app.Options, stopping func()) *left {
	s.Helper()
	l := &left{
		writes: s.question(s.chat, "reject", [][]string{{"book"}}), queued: s.question(s.chat, "queue", [][]string{{"book"}}),
		asks: s.question("other", "reject", [][]string{{"order"}}), gate: make(chan struct{}),
	}
	l.writes.MarkScripted()
	s.system.Script(l.writes.Question, l.writes.Turns[:1], nil)
	s.system.Script(l.writes.Question, l.writes.Turns, l.gate)
	s.Run("first", func(t *testing.T) {
		s.system.T = t
		s.system.ServeHere(with)
		l.ends = append(l.ends, l.writes.Start(s.T), l.asks.Start(s.T))
		apptest.Eventually(t, "the tool is done", func() bool { return len(s.system.ModelCalls(l.writes.Question)) > 1 })
		l.ends = append(l.ends, l.queued.Start(s.T))
		apptest.Eventually(t, "the second is accepted", l.queued.Accepted.Load)
		apptest.Eventually(t, "the user is asked", func() bool {
			var list schemas.WaitList
			status, err := s.system.Call(t.Context(), http.MethodGet, "/api/chat/runs/"+l.asks.ID()+"/waits", &list)
			return err == nil && status == http.StatusOK && len(list.Items) == 1
		})
		s.system.ExpectEnd()
		stopping()
	})
	s.system.T = s.T
	return l
}

// starts are how often a process is started whose start fails.
const starts = 10

// start starts a process until it runs.
func (s *scene) start(with app.Options) {
	s.Helper()
	for n := 1; ; n++ {
		err := s.system.TryServeHere(with)
		if err == nil {
			return
		}
		if n == starts {
			s.Fatal(err)
		}
		s.tried = append(s.tried, "start: "+err.Error())
	}
}

// end has the answers end, as if one process had worked on them.
func (l *left) end(s *scene) {
	s.Helper()
	s.do("POST", "/api/chat/runs/"+l.asks.RunID+"/approvals/"+s.wait(l.asks).ApprovalID, map[string]any{"approved": true}, 200)
	close(l.gate)
	for _, end := range l.ends {
		s.await(end)
	}
	for _, c := range []*apptest.Conversation{l.writes, l.queued, l.asks} {
		s.ended(c, schemas.TypeComplete)
		s.called(c, 1)
	}
	s.asked = append(s.asked, l.writes, l.queued)
}
