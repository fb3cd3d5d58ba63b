package wires

import (
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// Table turns the events of a run into the frames of a wire. Its output depends only on
// the log and its Params. It gets the run's events in order, from the first one.
type Table interface {
	// Event adds the frames of an event.
	Event(out *Frames, e *runlog.Event)
	// Begin adds the first frames of a response that continues a run. The table resets
	// its counters, but keeps what it knows from the events up to after.
	Begin(out *Frames, after int64)
	// Pause ends a response whose calls wait for the user or for the page.
	Pause(out *Frames, waiting []schemas.Wait)
}

// Params is what a table knows besides the log.
type Params struct {
	Run string
	// Answered are the calls that already have their answer: they are shown, but the
	// client is not asked again. If the client's request brought answers, they are the calls
	// that have other ones: what happened takes the place of what the client shows.
	Answered map[int]bool
}

// Stayer is a Table whose responses stay open at some waits: they are no pause.
type Stayer interface{ Stays(w schemas.Wait) bool }

// Breaker is a Table that tells its client of a response that has no end, before the
// connection is aborted.
type Breaker interface {
	Broken(out *Frames, e *schemas.Error)
}

// Keeper is a Table that shows the events of every attempt: what has been shown is never
// taken back. Other tables get only the events of the newest attempt.
type Keeper interface{ KeepsAttempts() }

// NoOutcome is the text for a call that has no outcome when its run ends: the model was
// writing it, it waited, or it is not known what it did.
const NoOutcome = "The answer ended before this call had a result."
