package outage

import (
	"strconv"
	"testing"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/store"
)

// Whichever statement fails while the service stops, the next start continues all answers:
// one that is being written after a tool with effects, and one that waits for its turn.
func TestFaultsWhileStopping(t *testing.T) {
	apptest.SQLite.Fresh(t) // skips the test where others are tested
	for _, mode := range faultModes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			for after, failed := 0, true; failed; after += 1 + *everyFault/10 {
				failed = false
				if !t.Run(strconv.Itoa(after), func(t *testing.T) {
					faults := apptest.NewFaults(t)
					system := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
					system.Settings = append(system.Settings, "DRAIN=10ms")
					with := app.Options{
						Store: func(o *store.Options) { o.Database.Driver = faults.Name },
						Runs:  func(o *runs.Options) { o.Hold = shortHold },
					}
					s := &scene{T: t, system: system, chat: "chat"}
					first, second := s.question(s.chat, "reject", [][]string{{"book"}}), s.question(s.chat, "queue", [][]string{{"book"}})
					gate := make(chan struct{})
					first.MarkScripted()
					system.Script(first.Question, first.Turns[:1], nil)
					system.Script(first.Question, first.Turns, gate)
					var ends [2]<-chan error
					t.Run("first", func(t *testing.T) {
						system.T = t
						system.ServeHere(with)
						ends[0] = first.Start(s.T)
						apptest.Eventually(t, "the tool is done", func() bool { return len(system.ModelCalls(first.Question)) > 1 })
						ends[1] = second.Start(s.T)
						apptest.Eventually(t, "the second is accepted", second.Accepted.Load)
						system.ExpectEnd()
						faults.Arm(mode.kind, after, mode.n)
					})
					system.T = t
					failed = len(faults.Disarm()) > 0
					close(gate)
					system.ServeHere(with)
					s.await(ends[0])
					s.await(ends[1])
					s.asked = append(s.asked, first, second)
					s.ended(first, schemas.TypeComplete)
					s.ended(second, schemas.TypeComplete)
					s.called(first, 1)
					s.called(second, 1)
					s.check()
				}) {
					t.FailNow()
				}
			}
		})
	}
}
