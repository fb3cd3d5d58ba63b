package attempts

import (
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// EarlierOf returns the Earlier of these steps, calls and log.
func EarlierOf(steps []turn.Step, calls []record.ToolCall, log []runlog.Event) *Earlier {
	e := &Earlier{Steps: steps}
	e.compare(calls, log)
	return e
}
