package wires

import (
	"encoding/json"

	"github.com/chattray/chattray/schemas"
)

// EventSpan is the distance between the frame numbers of two events: frame k of event
// seq has the number seq*EventSpan + k.
const EventSpan = 1000

// Frames collects the frames of a response as server-sent events. A table adds the data
// of each frame; its number follows from the event.
type Frames struct {
	buf    []byte
	next   int64 // the number of the next frame, 0 for none
	after  int64 // frames up to this number are dropped
	hidden bool  // the frames are of events before the response begins
	mute   bool  // nothing is shown: only the state of the table matters
	shown  bool  // the beginning of a response that continues has been shown
	number func(dst []byte, number int64) []byte
	// write takes the frames when they are many; nil keeps them all. failed says that it
	// has returned false.
	write  func(frames []byte) bool
	failed bool
}

// event starts the frames of the event with number seq.
func (f *Frames) event(seq int64, hidden bool) { f.next, f.hidden = seq*EventSpan, hidden }

// Numbered gives each frame an id line with its number, for clients that resume with it.
func (f *Frames) Numbered(number func(dst []byte, number int64) []byte) { f.number = number }

// Hidden reports whether the client has what the event shows from a response before this.
func (f *Frames) Hidden() bool { return f.hidden }

// Mute shows no frames from now on: only the state of the table matters.
func (f *Frames) Mute() { f.mute = true }

// JSON adds a frame with v as its data.
func (f *Frames) JSON(v any) {
	if dst, ok := f.Open(); ok {
		f.Close(append(dst, schemas.Encode(v)...))
	}
}

// Typed adds a frame with an object that has the type kind and at least one other member.
// Frames of tokens do not use it, to save allocations.
func (f *Frames) Typed(kind string, members map[string]any) {
	if dst, ok := f.Open(); ok {
		dst = append(append(append(dst, `{"type":"`...), kind...), '"')
		if len(members) > 0 {
			dst = append(dst, ',')
		}
		f.Close(append(dst, schemas.Encode(members)[1:]...))
	}
}

// Raw adds a frame with the data as it is, on one line.
func (f *Frames) Raw(data string) {
	if dst, ok := f.Open(); ok {
		f.Close(append(dst, data...))
	}
}

// Open begins a frame: append its data to dst and pass the result to Close. It returns
// false for a frame that is not shown; such a frame still takes a number.
func (f *Frames) Open() (dst []byte, shown bool) {
	_, shown = f.count()
	if !shown {
		return nil, false
	}
	return append(f.buf, "data: "...), true
}

// OpenEvent begins a frame with an event line, as Open does. It also returns the frame's
// number.
func (f *Frames) OpenEvent(name string) (dst []byte, number int64, shown bool) {
	if number, shown = f.count(); !shown {
		return nil, number, false
	}
	f.buf = append(append(f.buf, "event: "...), name...)
	return append(f.buf, "\ndata: "...), number, true
}

// Restart numbers the next frames from that number, for frames that are from no event.
func (f *Frames) Restart(number int64) { f.next = number }

// count takes the number of the next frame. It reports whether the frame is shown.
func (f *Frames) count() (number int64, shown bool) {
	if number = f.next; number > 0 {
		f.next++
	}
	if f.mute || f.hidden || number > 0 && number <= f.after {
		return number, false
	}
	if f.number != nil && number > 0 {
		f.buf = f.number(f.buf, number)
	}
	return number, true
}

// Close ends the frame that Open began.
func (f *Frames) Close(dst []byte) {
	f.buf = append(dst, "\n\n"...)
	if f.write != nil && len(f.buf) >= maxFrames {
		f.flush()
	}
}

// flush writes the frames so far.
func (f *Frames) flush() {
	if frames := f.take(); len(frames) > 0 && !f.failed {
		f.failed = !f.write(frames)
	}
}

// keepBuffer is the size from which a buffer is not used again: a stream keeps it as long
// as it is open.
const keepBuffer = 2 * maxFrames

// take returns the frames so far; they are valid until the next frame is added.
func (f *Frames) take() []byte {
	frames := f.buf
	if f.buf = f.buf[:0]; cap(f.buf) > keepBuffer {
		f.buf = nil
	}
	return frames
}

// Field appends a string member to a JSON object that already has members.
func Field(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return schemas.AppendString(dst, value)
}

// Null reports whether JSON is absent or null.
func Null(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
