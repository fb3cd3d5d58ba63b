package answer

import (
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/modeltext"
)

// TakenUp counts what an earlier attempt has written in a run of those limits,
// and says what n bytes more give.
func TakenUp(limits modeltext.Limits, steps []turn.Step, events []runlog.Event, n int) (held int64, err error) {
	all := modeltext.New(limits)
	c := all.Count()
	c.Hold((&Prior{steps: steps, events: events}).Written())
	return all.Bytes(), c.Add(n, false)
}

// Standing is what of a stored log still counts beside these finished steps and
// calls.
type Standing struct {
	Kept             int64
	Replies, Markers int
	Results          map[int]bool
	Text             string // that a reader of all events sees
}

// StandingOf compares a stored log with what is finished.
func StandingOf(events []runlog.Event, steps []turn.Step, calls map[int]record.ToolCall) Standing {
	p := &Prior{steps: steps, calls: calls, events: standingEvents(events)}
	p.compare()
	return Standing{p.kept, p.replies, p.markers, p.results, p.text()}
}
