package replicas

import (
	"flag"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/relay/relaytest"
)

// points is how often TestPoints goes through all points; make cluster-test sets more.
var points = flag.Int("points", 1, "how often to end and suspend a process at each point")

const (
	// pointWait is how long the model waits for a process that should get to a point
	// meanwhile, and mostTries how often that is tried.
	pointWait = 30 * time.Second
	mostTries = 20
)

// point is a point in the work of a process at which it is killed or suspended.
type point struct {
	name string
	// at are what the process writes before, see apptest.Way.Arm, and committed says that
	// it is committed, which the process does not know yet. Without at it is the call of a
	// tool.
	at        []string
	committed bool
	// who is the process: the run's own, the one that takes the run, or a reader's.
	who role
	// stops tells the owner to stop, so that it hands its run over. Idle says that the
	// process reaches the point while the model is silent.
	stops, idle bool
}

type role int

const (
	ownerOf role = iota
	takerOf
	readerOf
)

var allPoints = []point{
	{name: "claimed", at: []string{"claimed"}, committed: true, who: takerOf},
	{name: "claimed, not committed", at: []string{"claimed"}, who: takerOf},
	{name: "journal moved", at: []string{"journal_moved"}, committed: true, who: takerOf},
	{name: "journal moved, not committed", at: []string{"journal_moved"}, who: takerOf},
	{name: "prior read", at: []string{"claimed", "journal_written"}, who: takerOf},
	{name: "tool noted", at: []string{"tool_noted"}, committed: true},
	{name: "tool noted, not committed", at: []string{"tool_noted"}},
	{name: "tool called"},
	{name: "tool stored", at: []string{"tool_stored"}, committed: true},
	{name: "tool stored, not committed", at: []string{"tool_stored"}},
	{name: "finish stored", at: []string{"finish_stored"}, committed: true},
	{name: "finish stored, not committed", at: []string{"finish_stored"}},
	{name: "let go", at: []string{"let_go"}, committed: true, stops: true},
	{name: "let go, not committed", at: []string{"let_go"}, stops: true},
	{name: "renewed", at: []string{"renewed"}, committed: true, idle: true},
	{name: "asked", at: []string{apptest.PointAsked}, who: readerOf, idle: true},
	{name: "sent", at: []string{apptest.PointSent}, idle: true},
}

// member is one of the processes of TestPoints, with its ways to the database and to NATS.
type member struct {
	*apptest.Process
	database, nats *apptest.Way
}

// members are the processes of TestPoints.
type members struct {
	*testing.T
	system *apptest.System
	all    []*member
}

// A process is killed, or is suspended until its run has ended elsewhere, at each point of
// its work, also in the middle of a transaction. The run ends once, and no tool with an
// effect is called twice.
func TestPoints(t *testing.T) {
	t.Parallel()
	for _, kills := range []bool{true, false} {
		t.Run(map[bool]string{true: "killed", false: "suspended"}[kills], func(t *testing.T) {
			onPostgres(t, func(t *testing.T, system *apptest.System) {
				system.NATS = relaytest.Start(t)
				m := &members{T: t, system: system}
				for range 3 {
					m.start()
				}
				for range *points {
					for _, p := range allPoints {
						m.Logf("%s", p.name)
						for tries := 0; !t.Failed() && !m.at(p, kills); tries++ {
							if tries == mostTries {
								t.Fatalf("%s is not reached", p.name)
							}
						}
					}
				}
				apptest.CheckInvariants(t, system)
				system.CheckScripted()
			})
		})
	}
}

// start starts one more process.
func (m *members) start() {
	m.Helper()
	one := &member{database: apptest.NewWay(m, m.system.Database()), nats: apptest.NewWay(m, m.system.NATS.URL)}
	one.Process = m.system.StartReplica(apptest.ShortLease, one.database, "NATS_URL="+one.nats.URL)
	m.all = append(m.all, one)
}

// processes returns the processes but those that are left out.
func (m *members) processes(without ...*member) (list []*apptest.Process) {
	for _, one := range m.all {
		if !slices.Contains(without, one) {
			list = append(list, one.Process)
		}
	}
	return list
}

// at runs a question during which a process is killed or suspended at the point. It reports
// false if the process did not get there, because it lost the run on a busy machine.
func (m *members) at(p point, kills bool) bool {
	m.Helper()
	owner := m.all[0]
	gate := make(chan struct{})
	c := m.system.Gated("chat-"+strconv.Itoa(m.system.Mark()), "queue", gate) // a long chat would be summarized
	c.Plan([][]string{{"book"}, {"look", "book"}})
	m.system.OnlyUse(owner.Process)
	done := c.Start(m.T)
	m.system.AwaitModel(m.T, c)
	m.system.OnlyUse(m.processes()...)

	reached := make(chan struct{})
	var lost atomic.Pointer[member] // at most one process, which does not get there afterwards
	m.arm(p, c, func(one *member) {
		if !lost.CompareAndSwap(nil, one) {
			return
		}
		m.system.OnlyUse(m.processes(one)...)
		if kills {
			one.Kill()
		} else {
			one.Suspend()
		}
		close(reached)
	})
	if p.idle {
		select {
		case <-reached:
		case <-time.After(pointWait):
		}
	}
	close(gate)
	// A process that is suspended keeps its client waiting; the run ends elsewhere.
	apptest.Eventually(m, "the run has ended", func() bool { return m.open() == 0 })
	there := !lost.CompareAndSwap(nil, m.all[0])
	if there {
		<-reached
	}
	asked, called := len(m.system.ModelCalls(c.Question)), m.called(c)
	if there && !kills {
		lost.Load().Resume()
	}
	if err := <-done; err != nil {
		m.Fatalf("%s: %s, run %s: %v", p.name, c.Question, c.RunID, err)
	}
	apptest.CheckAll(m.T, c)
	m.again(p)
	if n := len(m.system.ModelCalls(c.Question)); n != asked {
		m.Errorf("%s: the model was asked %d times after the process continued, want never", p.name, n-asked)
	}
	if n := m.called(c); n != called {
		m.Errorf("%s: tools were called %d times after the process continued, want never", p.name, n-called)
	}
	return there
}

// open returns how many runs have not ended.
func (m *members) open() int {
	return m.system.Number("SELECT COUNT(*) FROM runs WHERE state IN ('queued', 'running', 'waiting')")
}

// called returns how often the tools of a question were called.
func (m *members) called(c *apptest.Conversation) (n int) {
	for _, key := range c.Keys() {
		n += len(m.system.ToolCalls(key))
	}
	return n
}

// arm has lose called at the point, and does what leads a process there.
func (m *members) arm(p point, c *apptest.Conversation, lose func(*member)) {
	m.Helper()
	owner, reader := m.all[0], m.all[1]
	switch {
	case p.at == nil:
		m.system.OnPhase("a tool is called", func() { lose(owner) })
	case p.who == readerOf:
		reader.nats.Arm(false, func() { lose(reader) }, p.at...)
		m.readAt(reader, c)
	case p.who == takerOf:
		apptest.Eventually(m, "its events are stored", func() bool {
			return m.open() == 0 || m.system.Number("SELECT COUNT(*) FROM journal WHERE replica = (SELECT replica FROM runs WHERE id = $1)", c.ID()) > 0
		})
		m.system.OnlyUse(m.processes(owner)...)
		owner.Kill()
		m.all = m.all[1:]
		m.takers(p, lose)
	case p.at[0] == apptest.PointSent:
		owner.nats.Arm(false, func() { lose(owner) }, p.at...)
		m.readAt(reader, c)
	case p.stops:
		owner.database.Arm(p.committed, func() { lose(owner) }, p.at...)
		owner.Signal(syscall.SIGTERM)
		apptest.Eventually(m, "the process is about to stop", func() bool {
			resp, err := http.Get(owner.URL + "/readyz")
			if err != nil {
				return true // it has stopped, because it had no run any more
			}
			_ = resp.Body.Close()
			return resp.StatusCode == http.StatusServiceUnavailable
		})
		m.system.OnlyUse(m.processes(owner)...) // it may leave before it is lost
	default:
		owner.database.Arm(p.committed, func() { lose(owner) }, p.at...)
	}
}

// takers arms the processes that may take a run.
func (m *members) takers(p point, lose func(*member)) {
	for _, one := range m.all {
		one.database.Arm(p.committed, func() { lose(one) }, p.at...)
	}
}

// readAt follows a run at a process, which may be lost.
func (m *members) readAt(at *member, c *apptest.Conversation) {
	req, err := apptest.NewRequest(m.Context(), http.MethodGet, at.URL+"/api/chat/runs/"+c.ID()+"/stream", nil)
	if err != nil {
		m.Fatal(err)
	}
	go func() {
		if resp, err := m.system.Client.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // what it sends is checked elsewhere
			_ = resp.Body.Close()
		}
	}()
}

// again makes the processes complete: those that have ended are replaced, and one that was
// suspended joins again, or ends if it was told to.
func (m *members) again(p point) {
	m.Helper()
	for _, one := range m.all {
		one.database.Disarm()
		one.nats.Disarm()
	}
	m.system.OnPhase("a tool is called", nil)
	if p.stops {
		m.all[0].Wait()
	}
	m.all = slices.DeleteFunc(m.all, func(one *member) bool { return one.Ended() })
	for len(m.all) < 3 {
		m.start()
	}
	m.system.OnlyUse(m.processes()...)
	apptest.Eventually(m, "all processes have joined", func() bool {
		return m.system.Number("SELECT COUNT(*) FROM replicas WHERE gone_at IS NULL AND expires_at > clock_timestamp()") == len(m.all)
	})
	for _, one := range m.all {
		apptest.Eventually(m, "no process works on anything", func() bool { return active(m.T, one.Process) == 0 })
	}
}
