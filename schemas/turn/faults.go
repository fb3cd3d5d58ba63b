package turn

import "time"

// UnknownEffect ends a sentence about a call that may have done its work.
const UnknownEffect = "; whether it had an effect is unknown"

// What a caller reads about a call of a tool that failed without a text of its own.
const (
	// Panicked is for a tool that panicked.
	Panicked = "the tool failed unexpectedly"
	// Failed is for a tool whose error may not be shown.
	Failed = "the tool failed; the reason has been logged and is not known here"
	// Stuck is for a tool of which as many calls have not ended in their time as may be.
	Stuck = "the tool was not run: earlier calls of it have not ended although their time is over; try again later"
)

// Late returns what a caller reads about a call of the tool that did not end in its time.
func (t *Tool) Late(timeout time.Duration) string {
	late := "the tool did not finish within " + timeout.String()
	if t.ReadOnly {
		return late
	}
	return late + UnknownEffect
}
