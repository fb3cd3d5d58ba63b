package services

import (
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// StoredTrace is a trace as it is stored, ExpandTrace what is served of it.
var (
	StoredTrace = encodeTrace
	ExpandTrace = expandTrace
)

// TakenUp counts what an earlier attempt has written in a run of those limits,
// and says what n bytes more give.
func TakenUp(limits TextLimits, steps []turn.Step, events []runlog.Event, n int) (held int64, err error) {
	all := &modelText{limits: limits}
	c := textCount{of: all}
	c.hold((&prior{steps: steps, events: events}).written())
	return all.all.Load(), c.add(n, false)
}
