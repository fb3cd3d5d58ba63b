package api

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas/runlog"
)

// dialect is a form in which readers of event streams get the events of a run.
// The parameter dialect names it. Readers on a websocket get chunks, see
// blocksDialect.
type dialect struct {
	name string
	open func(r *reader) encoder
}

// dialects are all dialects; the first is the default of a stream that names
// none.
var dialects = []dialect{
	{"chat", openChat},
	{"messages", openMessages},
}

// encoder shows the events of one run to one reader. It is given the events in
// order and used by one goroutine.
type encoder interface {
	// Append appends what the event shows, which may be nothing.
	Append(dst []byte, e *runlog.Event) []byte
}

// encoderFunc is an encoder that keeps nothing between two events.
type encoderFunc func(dst []byte, e *runlog.Event) []byte

// Append implements encoder.
func (f encoderFunc) Append(dst []byte, e *runlog.Event) []byte { return f(dst, e) }

// reader is who reads the events of a run.
type reader struct {
	// diagnostics reads the run's diagnostics, nil when they cannot be read; it is
	// nil for a reader who may not see them.
	diagnostics func() json.RawMessage
	missing     bool // the last attempt to read them failed
}

// appendPayload appends the payload with the diagnostics, for a reader who may see them.
// Room is made once for both and for the end of the frame: they may be large.
func (r *reader) appendPayload(dst []byte, b *runlog.Completed) []byte {
	var found json.RawMessage
	if r.diagnostics != nil {
		found = r.diagnostics()
		r.missing = len(found) == 0
	}
	dst = b.Payload.AppendJSON(slices.Grow(dst, roomFor(b)+len(found)+len(diagnosticsKey)+frameEnd))
	if len(found) == 0 {
		return dst
	}
	dst = append(dst[:len(dst)-1], diagnosticsKey...)
	return append(append(dst, found...), '}')
}

const (
	diagnosticsKey = `,"diagnostics":`
	frameEnd       = 8 // bytes after a payload
)

// dialectNames lists the names for an error.
func dialectNames() string {
	names := make([]string, len(dialects))
	for i := range dialects {
		names[i] = dialects[i].name
	}
	return strings.Join(names, " or ")
}

// streamDialect returns the dialect of that name for an event stream; "" is the
// first. It is nil for an unknown name.
func streamDialect(name string) *dialect {
	for i := range dialects {
		if d := &dialects[i]; name == "" || d.name == name {
			return d
		}
	}
	return nil
}
