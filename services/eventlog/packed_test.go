package eventlog

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// appendEvents appends events to dst as a segment.
func appendEvents(dst []byte, events []runlog.Event) []byte {
	dst = append(dst, version2)
	seq, at := int64(0), int64(0)
	for i := range events {
		dst = appendEvent(dst, &events[i], seq, at)
		seq, at = events[i].Seq, events[i].Time
	}
	return dst
}

// segmentsOf are the segments of a log with these events and the last one.
func segmentsOf(events []runlog.Event, last *runlog.Event) iter.Seq[record.Segment] {
	var log packedLog
	for i := range events {
		log.add(&events[i])
	}
	return sealed(log.parts, log.end, last)
}

// ofLog compares what a log keeps of events.
var ofLog = cmpopts.IgnoreFields(runlog.Event{}, "Shared")

// manyBodies are the bodies of a log with large events at its beginning, in its
// middle and at its end.
func manyBodies() []runlog.Body {
	large := &runlog.Text{Text: strings.Repeat("large ", runlog.LargeEvent/5)}
	bodies := []runlog.Body{large, text("a"), large, large}
	for _, e := range mixedLog() {
		if len(bodies)%701 == 0 {
			bodies = append(bodies, large)
		}
		bodies = append(bodies, e.Body)
	}
	return append(bodies, text(strings.Repeat("b", runlog.LargeEvent-1)), large)
}

// The events that are stored in pieces while the log grows, and those that are
// stored at its end, are the events that readers get, wherever they begin to
// read.
func TestPackedLogIsWhatReadersGet(t *testing.T) {
	l := testLog(2)
	var want, got []runlog.Event
	var pieces []byte
	var last int64
	for i, b := range manyBodies() {
		if err := l.Append(runlog.Level{Group: uint32(i % 7)}, b); err != nil {
			t.Fatal(err)
		}
		want = append(want, runlog.Event{Seq: l.Last(), Time: l.now(), At: runlog.Level{Group: uint32(i % 7)}, Body: b})
		events, _ := l.Tail(l.Last() - 1).Next()
		got = append(got, events...)
		if i%13 == 0 || i%171 == 170 {
			s, through := l.unstored()
			if s.First != max(last, l.Base())+1 || s.Last != l.Last() {
				t.Fatalf("got events %d to %d, want those from %d to %d", s.First, s.Last, last+1, l.Last())
			}
			last = s.Last
			pieces = append(pieces, s.Data...)
			l.markStored(through)
		}
	}
	if s, _ := l.unstored(); s != nil {
		pieces = append(pieces, s.Data...)
	}
	if diff := cmp.Diff(want, got, ofLog); diff != "" {
		t.Errorf("read one by one (-want +got):\n%s", diff[:min(len(diff), 2000)])
	}
	equal(t, "stored in pieces", want, pieces)

	end := runlog.Event{Body: &runlog.Cancelled{MessageID: "m"}}
	var whole []byte
	for range 2 { // a commit may be retried
		whole = whole[:0]
		next := l.Base() + 1
		for s := range l.Seal(&end) {
			if s.First != next {
				t.Fatalf("a segment begins at %d, want %d", s.First, next)
			}
			next = s.Last + 1
			whole = append(whole, s.Data...)
		}
	}
	equal(t, "stored at the end", append(slices.Clip(want), end), whole)
	l.Publish(end)
	want = append(want, end)
	for _, after := range []int64{0, 1, 2, 300, int64(len(want)) - 600, int64(len(want)) - 2} {
		var got []runlog.Event
		for tail := l.Tail(l.Base() + after); ; {
			events, open := tail.Next()
			if open {
				t.Fatal("an ended log is open")
			}
			if len(events) == 0 {
				break
			}
			got = append(got, events...)
		}
		if diff := cmp.Diff(want[after:], got, ofLog); diff != "" {
			t.Errorf("after %d (-want +got):\n%s", after, diff[:min(len(diff), 2000)])
		}
	}
}

func equal(t *testing.T, name string, want []runlog.Event, stored []byte) {
	t.Helper()
	got, err := Decode(stored)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if diff := cmp.Diff(want, got, ofLog); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff[:min(len(diff), 2000)])
	}
}

// However long a log is, it holds its events once, as they are stored.
func TestLogHoldsEventsOnce(t *testing.T) {
	const events, size = 20_000, 16 // bytes of an event of one token are fewer
	l := newTestLog()
	tail := l.Tail(0)
	for range events {
		appendTexts(t, l, 1)
		if list, _ := tail.Next(); len(list) != 1 {
			t.Fatalf("got %d events, want the new one", len(list))
		}
	}
	held := 0
	for _, p := range l.packed.parts {
		held += cap(p.data)
	}
	if held > events*size {
		t.Errorf("%d bytes are held for %d events, want at most %d", held, events, events*size)
	}
	if tail.Next(); tail.batch != nil {
		t.Error("a reader that waits holds events")
	}
}

// A reader whose cursor is ahead of the log gets the events after it.
func TestTailWaitsForItsCursor(t *testing.T) {
	l := newTestLog()
	appendTexts(t, l, 3)
	tail := l.Tail(l.Last() + 2)
	for n, want := range []int{0, 0, 1, 1} {
		appendTexts(t, l, 1)
		if list, open := tail.Next(); len(list) != want || !open {
			t.Errorf("after %d events: got %d, open %v; want %d, open", n+1, len(list), open, want)
		}
	}
}
