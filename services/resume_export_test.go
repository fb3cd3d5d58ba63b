package services

import (
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// Standing is what of a stored log stands beside these finished steps and calls.
type Standing struct {
	Kept             int64
	Replies, Markers int
	Results          map[int]bool
	Text             string // that a reader of all events sees
}

// StandingOf compares a stored log with what is finished.
func StandingOf(events []runlog.Event, steps []turn.Step, calls map[int]record.ToolCall) Standing {
	p := &prior{steps: steps, calls: calls, events: standingEvents(events)}
	p.compare()
	return Standing{p.kept, p.replies, p.markers, p.results, p.text()}
}
