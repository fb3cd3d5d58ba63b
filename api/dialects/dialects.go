// Package dialects shows the events of runs in the service's own forms: the frames of an
// event stream, in one of its dialects, and the chunks of a websocket. They are made from
// the events of the log; the caller sends them.
package dialects

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas/runlog"
)

// Dialect is a form in which readers of event streams get the events of a run.
// The parameter dialect names it. Readers on a websocket get chunks, see
// Blocks.
type Dialect struct {
	Name string
	// Open returns the encoder for one reader of one run.
	Open func(r *Reader) Encoder
}

// dialects are all dialects; the first is the default of a stream that names
// none.
var dialects = []Dialect{
	{"chat", openChat},
	{"messages", openMessages},
}

// Encoder shows the events of one run to one reader. It is given the events in
// order and used by one goroutine.
type Encoder interface {
	// Append appends what the event shows, which may be nothing.
	Append(dst []byte, e *runlog.Event) []byte
}

// encoderFunc is an Encoder that keeps nothing between two events.
type encoderFunc func(dst []byte, e *runlog.Event) []byte

// Append implements Encoder.
func (f encoderFunc) Append(dst []byte, e *runlog.Event) []byte { return f(dst, e) }

// Reader is who reads the events of a run. The zero value may not see diagnostics.
type Reader struct {
	// Diagnostics reads the run's diagnostics, nil when they cannot be read; it is
	// nil for a reader who may not see them.
	Diagnostics func() json.RawMessage
	// Missing says that the last attempt to read them failed. A frame without them is not
	// for other readers.
	Missing bool
}

// AppendPayload appends the payload with the diagnostics, for a reader who may see them.
// Room is made once for both and for the end of the frame: they may be large.
func (r *Reader) AppendPayload(dst []byte, b *runlog.Completed) []byte {
	var found json.RawMessage
	if r.Diagnostics != nil {
		found = r.Diagnostics()
		r.Missing = len(found) == 0
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

// Names lists the names for an error.
func Names() string {
	names := make([]string, len(dialects))
	for i := range dialects {
		names[i] = dialects[i].Name
	}
	return strings.Join(names, " or ")
}

// Named returns the dialect of that name; "" is the first. It is nil for an unknown
// name.
func Named(name string) *Dialect {
	for i := range dialects {
		if d := &dialects[i]; name == "" || d.Name == name {
			return d
		}
	}
	return nil
}
