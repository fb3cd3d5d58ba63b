package eventlog

import (
	"encoding/json"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chattray/chattray/schemas/runlog"
)

// plainFrame stands in for the dialect: the text of text events.
func plainFrame(dst []byte, e *runlog.Event) []byte { return append(dst, e.Text...) }

func testLog(attempt int) *Log {
	return New(attempt, plainFrame, func() int64 { return 1760000000000 })
}

func TestLogNumbersEventsByAttempt(t *testing.T) {
	for attempt, want := range map[int]int64{1: 1, 2: 1_000_001, 3: 2_000_001} {
		l := testLog(attempt)
		if err := l.Append(runlog.Event{Kind: runlog.Text, Text: "a"}); err != nil {
			t.Fatal(err)
		}
		events, open := l.Since(0)
		if len(events) != 1 || events[0].Seq != want || !open {
			t.Errorf("attempt %d: got %+v, open %v; want one event %d, open", attempt, events, open, want)
		}
	}
}

// Readers with random cursors that come and go read exactly what an
// uninterrupted reader does.
func TestLogReadersMissAndRepeatNothing(t *testing.T) {
	const events, readers = 3000, 12
	l := testLog(1)
	var group sync.WaitGroup
	got := make([][]int64, readers)
	for r := range readers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(r), 7))
			var after int64
			for {
				bell, leave := l.Subscribe()
				for cut := random.IntN(20); cut >= 0; {
					list, open := l.Since(after)
					if n := len(list); n > 0 {
						list = list[:1+random.IntN(n)]
						for _, e := range list {
							got[r] = append(got[r], e.Seq)
						}
						after = list[len(list)-1].Seq
						cut--
						continue
					}
					if !open {
						leave()
						return
					}
					<-bell
				}
				leave()
			}
		})
	}
	for i := range events {
		if err := l.Append(runlog.Event{Kind: runlog.Text, Text: string(rune('a' + i%26))}); err != nil {
			t.Fatal(err)
		}
	}
	l.Publish(runlog.Event{Kind: runlog.Cancelled, Seq: events + 1})
	group.Wait()
	for r := range readers {
		if len(got[r]) != events+1 {
			t.Fatalf("reader %d got %d events, want %d", r, len(got[r]), events+1)
		}
		for i, seq := range got[r] {
			if seq != int64(i+1) {
				t.Fatalf("reader %d: event %d has number %d", r, i, seq)
			}
		}
	}
	if n := l.Readers(); n != 0 {
		t.Errorf("%d readers are left, want none", n)
	}
}

func TestLogRefusesTooMuch(t *testing.T) {
	l := testLog(1)
	big := make([]byte, MaxBytes)
	if err := l.Append(runlog.Event{Kind: runlog.Text, Text: string(big)}); err != nil {
		t.Fatalf("at the limit: %v", err)
	}
	if err := l.Append(runlog.Event{Kind: runlog.Text, Text: "x"}); err == nil {
		t.Error("past the limit: got no error")
	}
	if err := l.Append(runlog.Event{Kind: runlog.BlockEnd}); err != nil {
		t.Errorf("an end past the limit: %v", err)
	}
}

func TestCodecRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var want []runlog.Event
	seq, at := int64(1_000_000), int64(1760000000000)
	for range 500 {
		seq += 1 + random.Int64N(3)
		at += random.Int64N(50) - 2
		e := runlog.Event{
			Seq: seq, Time: at, Kind: runlog.Started + runlog.Kind(random.IntN(int(runlog.Cancelled))), Thread: random.Uint32N(3),
			Block: random.Uint32(), Message: random.Uint32N(9),
		}
		if random.IntN(2) == 0 {
			e.Text = "größer\x00\n"[:random.IntN(8)]
		}
		if random.IntN(3) == 0 {
			e.Data = json.RawMessage(`{"a":"b"}`)
		}
		want = append(want, e)
	}
	got, err := Decode(appendEvents(nil, want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(runlog.Event{}, "Frame")); diff != "" {
		t.Errorf("want, got: %s", diff)
	}
}

// FuzzCodec: whatever is stored, reading it fails or gives events that are
// written the same way again.
func FuzzCodec(f *testing.F) {
	f.Add(appendEvents(nil, []runlog.Event{{Seq: 1, Time: 5, Kind: runlog.Text, Text: "Hello"}, {Seq: 2, Time: 9, Kind: runlog.Completed, Data: []byte(`{}`)}}))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Decode(appendEvents(nil, events))
		if err != nil {
			t.Fatalf("written again: %v", err)
		}
		if diff := cmp.Diff(events, again); diff != "" {
			t.Errorf("first, again: %s", diff)
		}
	})
}
