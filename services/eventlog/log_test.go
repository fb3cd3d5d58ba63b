package eventlog

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/chattray/chattray/schemas/runlog"
)

// text is the body of a piece of text.
func text(s string) runlog.Body { return &runlog.Text{Text: s} }

func testLog(attempt int) *Log {
	return New(attempt, func() int64 { return 1760000000000 })
}

func TestLogNumbersEventsByAttempt(t *testing.T) {
	for attempt, want := range map[int]int64{1: 1, 2: 1_000_001, 3: 2_000_001} {
		l := testLog(attempt)
		if err := l.Append(runlog.Level{}, text("a")); err != nil {
			t.Fatal(err)
		}
		events, open := l.Tail(0).Next()
		if len(events) != 1 || events[0].Seq != want || !open {
			t.Errorf("attempt %d: got %+v, open %v; want one event %d, open", attempt, events, open, want)
		}
	}
}

// Readers with random cursors that stop and continue read exactly what an
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
				tail := l.Tail(after)
				for cut := random.IntN(20); cut >= 0; {
					list, open := tail.Next()
					if len(list) > 0 {
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
		if err := l.Append(runlog.Level{}, text(string(rune('a'+i%26)))); err != nil {
			t.Fatal(err)
		}
	}
	l.Publish(runlog.Event{Body: &runlog.Cancelled{}, Seq: events + 1})
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

// A user may withdraw a block of a run that this process has just given up: what would
// tell readers about it is not stored any more, so they do not get it.
func TestLogTakesNothingAfterItsClose(t *testing.T) {
	l := testLog(1)
	tail := l.Tail(0)
	l.Close()
	if err := l.Append(runlog.Level{}, &runlog.BlockReset{End: true}); !errors.Is(err, ErrSealed) {
		t.Errorf("an event after the log was closed: %v, want %v", err, ErrSealed)
	}
	if events, open := tail.Next(); len(events) > 0 || open || !l.Given() {
		t.Errorf("a reader gets %v, open %t, given %t; want nothing of a log that was given up", events, open, l.Given())
	}
}

// The user may withdraw a block while the end of its run is being stored: what would tell
// readers about it comes too late, and does not take the number of the end.
func TestLogTakesNothingAfterItsSeal(t *testing.T) {
	l := testLog(1)
	if err := l.Append(runlog.Level{}, text("a")); err != nil {
		t.Fatal(err)
	}
	end := runlog.Event{Body: &runlog.Cancelled{}}
	l.Seal(&end)
	if err := l.Append(runlog.Level{}, &runlog.BlockReset{End: true}); !errors.Is(err, ErrSealed) {
		t.Errorf("an event after the seal: %v, want %v", err, ErrSealed)
	}
	tail := l.Tail(0)
	tail.Next()
	for events, _ := tail.Next(); len(events) > 0; events, _ = tail.Next() {
		t.Errorf("a reader gets %v, which is not stored", events)
	}
	l.Publish(end)
	events, _ := tail.Next()
	if len(events) != 1 || !events[0].Terminal() || events[0].Seq != 2 {
		t.Errorf("a reader gets %v after the event 1, want the end as 2", events)
	}
	if err := l.Append(runlog.Level{}, &runlog.BlockReset{End: true}); !errors.Is(err, ErrSealed) {
		t.Errorf("an event after the end: %v, want %v", err, ErrSealed)
	}
	if _, ended := l.Ended(); !ended {
		t.Error("the log has not ended")
	}
}

func TestLogRefusesTooMuch(t *testing.T) {
	l := testLog(1)
	big := make([]byte, MaxBytes)
	if err := l.Append(runlog.Level{}, text(string(big))); err != nil {
		t.Fatalf("at the limit: %v", err)
	}
	if err := l.Append(runlog.Level{}, text("x")); err == nil {
		t.Error("past the limit: got no error, want ErrFull")
	}
	if err := l.Append(runlog.Level{}, &runlog.LevelEnd{Depth: runlog.GroupLevel}); err != nil {
		t.Errorf("an end past the limit: %v", err)
	}
}

// The numbers of an attempt's events never reach those of the next attempt; there is always
// room for the end.
func TestLogRefusesTooMany(t *testing.T) {
	l := testLog(1)
	n := 0
	for ; n < maxEvents && l.AppendText(runlog.Level{}, "") == nil; n++ {
	}
	if n != maxEvents-16 {
		t.Errorf("the log has taken %d events, want %d", n, maxEvents-16)
	}
	for range 15 {
		if err := l.Append(runlog.Level{}, &runlog.LevelEnd{Depth: runlog.GroupLevel}); err != nil {
			t.Fatalf("an end past the limit: %v", err)
		}
	}
	end := runlog.Event{Body: &runlog.Cancelled{}}
	if l.Seal(&end); end.Seq >= runlog.AttemptSpan {
		t.Errorf("the last event is number %d, want less than %d", end.Seq, runlog.AttemptSpan)
	}
}
