package crash

import (
	"strconv"
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// The program is killed after the first, or the last, of several repeatable
// calls has been shown, when they may not be stored yet. The answer still ends,
// and nothing is repeated that must not be.
func TestKilledAfterRepeatableCalls(t *testing.T) {
	t.Parallel()
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			system := apptest.NewSystem(t, d.Fresh(t))
			system.Start()
			chat := 0
			for _, plan := range [][][]string{{{"look"}}, {{"look", "look"}, {"look"}}, {{"look"}, {"book"}}, {{"look"}, {"look", "book"}}} {
				for _, phase := range []string{"a tool answers", "tool_complete is read", "the model ends"} {
					chat++
					c := system.NewConversation("chat-"+strconv.Itoa(chat), "reject")
					c.Plan(plan)
					killed := make(chan struct{})
					p := system.Process()
					system.OnPhase(phase, func() { system.ExpectEnd(); p.Kill(); close(killed) })
					done := c.Start(t)
					<-killed
					system.Start()
					if err := <-done; err != nil {
						t.Fatal(err)
					}
					apptest.CheckAll(t, c)
					if last := c.Frames[len(c.Frames)-1].Event; last.Type != schemas.TypeComplete {
						t.Errorf("%v, killed when %s: the run ended with %s, want complete", plan, phase, last.Type)
					}
				}
			}
			system.CheckScripted()
		})
	}
}
