package outage

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/services/runs"
)

// Whichever statement of one of two processes fails, scenarios end as if nothing had failed,
// also if each request goes to another process. Unless all statements fail, each scenario has one
// of the ways in which they do: TestFaults has it in all.
func TestFaultsOfReplicas(t *testing.T) {
	for _, d := range apptest.Databases() {
		if d.Name != "postgres" {
			continue
		}
		for at, name := range slices.Sorted(maps.Keys(scenarios)) {
			modes, scenario := faultModes, scenarios[name]
			if one := at % len(faultModes); *everyFault > 1 {
				modes = modes[one : one+1]
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				system, faults := serveReplicas(t, d)
				for _, mode := range modes {
					t.Run(mode.name, func(t *testing.T) { onEveryStatement(t, system, faults, mode, scenario) })
				}
			})
		}
	}
}

// serveReplicas starts two processes on one database; the statements of the first can fail.
func serveReplicas(t *testing.T, d apptest.Database) (*apptest.System, faulty) {
	t.Helper()
	address := d.Fresh(t)
	way := apptest.NewWay(t, address)
	system := apptest.NewSystem(t, address)
	system.Settings = append(system.Settings, "DRAIN=5s", "DATABASE_CONNS=4", "REPLICAS=many", "REPLICA_LEASE="+apptest.LongLease)
	system.Pause = time.Millisecond
	var all []*apptest.Process
	for _, url := range []string{way.URL, address} {
		var environ []string
		for _, setting := range append(slices.Clip(system.Settings), "DATABASE_URL="+url) {
			environ = append(environ, "CHATTRAY_"+setting)
		}
		all = append(all, &apptest.Process{URL: apptest.ServeWith(t, environ, app.Options{Runs: func(o *runs.Options) { o.Hold = longHold }})})
	}
	system.OnlyUse(all...)
	return system, faultyWay{way}
}

// Whichever statement fails of a process that stops, or of the one that takes its answers, these
// end as if one process had worked on them.
func TestFaultsWhileHandingOver(t *testing.T) {
	for _, d := range apptest.Databases() {
		if d.Name != "postgres" {
			continue
		}
		for at, name := range []string{"of the one that stops", "of the other"} {
			for _, mode := range faultModes {
				t.Run(name+"/"+mode.name, func(t *testing.T) {
					t.Parallel()
					everyStatement(t, *everyFault, func(t *testing.T, after int) ([]string, int) {
						address := d.Fresh(t)
						ways := []*apptest.Way{apptest.NewWay(t, address), apptest.NewWay(t, address)}
						faults := faultyWay{ways[at]}
						system := apptest.NewSystem(t, address)
						system.Pause = time.Millisecond
						settings := append(system.Settings, "DRAIN=10ms", "DATABASE_CONNS=4", "REPLICAS=many", "REPLICA_LEASE="+apptest.LongLease)
						with := app.Options{Runs: func(o *runs.Options) { o.Hold = shortHold }}
						s := &scene{T: t, system: system, chat: "chat"}
						defer func() {
							if what := faults.Disarm(); t.Failed() {
								t.Logf("this has failed: %.300q", append(what, s.failed...))
							}
						}()
						system.Settings = append(slices.Clip(settings), "DATABASE_URL="+ways[0].URL)
						l := s.leave(with, func() {
							system.T, system.Settings = t, append(slices.Clip(settings), "DATABASE_URL="+ways[1].URL)
							s.start(with)
							faults.Arm(mode.kind, after, mode.n)
						})
						l.end(s)
						s.failed = faults.Disarm()
						s.check()
						return s.failed, faults.Passed()
					})
				})
			}
		}
	}
}
