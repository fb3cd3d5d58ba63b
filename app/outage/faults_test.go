package outage

import (
	"flag"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/store"
)

var everyFault = flag.Int("faults", 61, "TestFaults makes each n-th statement of a scenario fail; 1 is all")

// faultMode is a way in which statements fail: how, and how many one after the other.
type faultMode struct {
	name string
	kind apptest.FaultKind
	n    int
}

var faultModes = []faultMode{
	{"refused", apptest.Refused, 1},
	{"lost", apptest.Lost, 1},
	{"away", apptest.Refused, 4},
}

// faulty makes statements of a database fail, or requests to it.
type faulty interface {
	Arm(kind apptest.FaultKind, after, n int)
	// Disarm returns what has failed, and Passed how much was done after that.
	Disarm() []string
	Passed() int
}

// faultyWay ends connections of a way.
type faultyWay struct{ *apptest.Way }

func (w faultyWay) Arm(kind apptest.FaultKind, after, n int) { w.Strike(kind, after, n-1) }

func (w faultyWay) Disarm() []string {
	if request := w.Struck(); request != nil {
		return []string{string(request)}
	}
	return nil
}

// Whichever statement of a scenario fails, also if it was executed, the scenario ends as if
// nothing had failed: requests are repeated after a 503, and all that is stored and shown
// afterwards is right.
func TestFaults(t *testing.T) {
	for _, d := range apptest.Databases() {
		for name, scenario := range scenarios {
			for _, mode := range faultModes {
				t.Run(d.Name+"/"+name+"/"+mode.name, func(t *testing.T) {
					t.Parallel()
					system, faults := serveFaulty(t, d)
					onEveryStatement(t, system, faults, mode, scenario)
				})
			}
		}
	}
}

// onEveryStatement plays a scenario again and again, until all of its statements have failed.
func onEveryStatement(t *testing.T, system *apptest.System, faults faulty, mode faultMode, scenario func(s *scene)) {
	t.Helper()
	everyStatement(t, *everyFault, func(t *testing.T, after int) ([]string, int) {
		s := &scene{T: t, system: system, chat: fmt.Sprintf("chat-%s-%d", mode.name, after)}
		faults.Arm(mode.kind, after, mode.n)
		defer func() {
			if what := faults.Disarm(); t.Failed() {
				t.Logf("this has failed: %.300q", append(what, s.failed...))
			}
		}()
		scenario(s)
		s.failed = faults.Disarm()
		s.check()
		return s.failed, faults.Passed()
	})
}

// everyStatement calls a test, which returns the statements that have failed and how many
// succeeded after them, until there are none to fail. The number is how many succeed before.
func everyStatement(t *testing.T, step int, test func(t *testing.T, after int) (failed []string, passed int)) {
	t.Helper()
	first := fnv.New32()
	_, _ = first.Write([]byte(t.Name())) // so that scenarios do not all fail at the same statements
	for after, more := int(first.Sum32())%step, true; more; after += step {
		if !t.Run(strconv.Itoa(after), func(t *testing.T) {
			failed, passed := test(t, after)
			more = len(failed) > 0 && (step == 1 || passed >= step) // of all, as many as there are by then
		}) {
			t.FailNow()
		}
	}
}

// faultySystem makes a system on a database that can fail.
func faultySystem(t *testing.T, d apptest.Database) (*apptest.System, faulty, app.Options) {
	t.Helper()
	var faults faulty
	var with app.Options
	address := d.Fresh(t)
	if d.Name == "sqlite" {
		driver := apptest.NewFaults(t)
		with.Store = func(o *store.Options) { o.Database.Driver = driver.Name }
		faults = driver
	} else {
		way := apptest.NewWay(t, address)
		address, faults = way.URL, faultyWay{way}
	}
	system := apptest.NewSystem(t, address)
	system.Settings = append(system.Settings, "DATABASE_CONNS=4")
	system.Pause = time.Millisecond
	return system, faults, with
}

// serveFaulty starts the service on a database that can fail.
func serveFaulty(t *testing.T, d apptest.Database) (*apptest.System, faulty) {
	t.Helper()
	system, faults, with := faultySystem(t, d)
	system.Settings = append(system.Settings, "DRAIN=5s")
	with.Runs = func(o *runs.Options) { o.Hold = longHold }
	system.ServeHere(with)
	return system, faults
}

// check checks what the scenario has left.
func (s *scene) check() {
	s.Helper()
	for _, c := range s.asked {
		for _, err := range c.Check(s.Context()) {
			s.Errorf("%s: %v\n%s", c.Question, err, apptest.ListFrames(c.Frames))
		}
		c.CheckMessages(s.Context(), s.T)
	}
	for _, check := range s.checks {
		check()
	}
	apptest.CheckInvariants(s, s.system)
	if s.Failed() {
		s.Log(strings.Join(s.tried, "\n"))
	}
}
