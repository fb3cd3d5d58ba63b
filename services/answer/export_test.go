package answer

import (
	"encoding/json"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// TakenUp counts what an earlier attempt has written in a run of those limits,
// and says what n bytes more give.
func TakenUp(limits TextLimits, steps []turn.Step, events []runlog.Event, n int) (held int64, err error) {
	all := NewModelText(limits)
	c := all.Count()
	c.Hold((&Prior{steps: steps, events: events}).Written())
	return all.Bytes(), c.add(n, false)
}

// ReadArguments feeds pieces of a call's arguments.
func ReadArguments(pieces ...string) (content string, head map[string]json.RawMessage, ended bool) {
	a := argStream{argument: "content"}
	for _, piece := range pieces {
		content += a.feed(piece)
	}
	return content, a.head, a.ended
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
