package eventlog

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/segments"
)

// segments are stored logs by run.
type storedLogs map[string][]record.Segment

func (s storedLogs) next(_ context.Context, run string, after int64) (record.Segment, error) {
	for _, one := range s[run] {
		if one.Last > after {
			return one, nil
		}
	}
	return record.Segment{}, nil
}

// endedLog has n events of that size, and complete with their whole text.
func endedLog(n, size int) (events []runlog.Event, end runlog.Event) {
	for i := range n {
		events = append(events, runlog.Event{Seq: int64(i + 1), Time: int64(i), At: runlog.Level{Group: 1}, Body: text(strings.Repeat(string(rune('a'+i%26)), size))})
	}
	return events, runlog.Event{Seq: int64(n + 1), Time: int64(n), Body: &runlog.Completed{Payload: schemas.ChatResponsePayload{Message: strings.Repeat("m", n*size)}}}
}

// inPieces is a log as it is stored now; inOne as earlier versions stored it.
func inPieces(events []runlog.Event, end runlog.Event) (list []record.Segment) {
	for s := range segmentsOf(events, &end) {
		s.Data = append([]byte(nil), s.Data...)
		list = append(list, s)
	}
	return list
}

func inOne(events []runlog.Event, end runlog.Event) []record.Segment {
	return []record.Segment{{First: events[0].Seq, Last: end.Seq, Data: appendEvents(nil, append(events, end))}}
}

func testReplays(s storedLogs, limit int64) *Replays {
	return NewReplays(ReplayOptions{Load: s.next, Cache: limit})
}

// readPast reads a log to its end.
func readPast(r *Replays, run string, after, through int64) (list []runlog.Event, err error) {
	_, err = r.Read(context.Background(), run, after, through, func(events []runlog.Event) error {
		for _, e := range events {
			e.Shared = nil
			list = append(list, e)
		}
		return nil
	})
	return list, err
}

// From any cursor a stored log gives its events, however it is stored: in
// pieces, as a whole (by earlier versions), or in segments that have events in
// common.
func TestReplaysIsReadWhole(t *testing.T) {
	for name, size := range map[string]int{"tokens": 6, "words": 300, "pages": 9000, "large": 40_000} {
		events, end := endedLog(700_000/(size+100), size)
		all := append(append([]runlog.Event(nil), events...), end)
		half := len(events) / 2
		common := []record.Segment{
			{First: 1, Last: int64(half), Data: appendEvents(nil, events[:half])},
			{First: 2, Last: end.Seq, Data: appendEvents(appendEvents(nil, events[1:half+1]), all[half+1:])},
		}
		for form, stored := range map[string][]record.Segment{"pieces": inPieces(events, end), "one": inOne(events, end), "common": common} {
			t.Run(name+"/"+form, func(t *testing.T) {
				r := testReplays(storedLogs{"r": stored}, segments.DefaultLimit)
				for _, after := range []int64{0, 1, int64(half) - 1, int64(half), end.Seq - 1, end.Seq, end.Seq + 5} {
					got, err := readPast(r, "r", after, 0)
					want := all[min(int(after), len(all)):]
					if err != nil || len(got) != len(want) {
						t.Fatalf("after %d: got %d events and %v, want %d", after, len(got), err, len(want))
					}
					for i, w := range want {
						g := got[i]
						if g.Seq != w.Seq || g.Time != w.Time || g.At != w.At || !reflect.DeepEqual(g.Body, w.Body) {
							t.Fatalf("after %d: got %.200v, want %.200v", after, g, w)
						}
					}
				}
				if got, err := readPast(r, "r", 1, int64(half)); err != nil || int64(len(got)) != int64(half)-1 {
					t.Errorf("from 2 through %d: got %d events and %v", half, len(got), err)
				}
				if kept := r.cache.Stats(); kept.Segments == kept.Used || kept.Bytes > segments.DefaultLimit {
					t.Errorf("%+v are kept", kept)
				}
			})
		}
	}
}

// A reader of the events before an attempt stops there, although the attempt's
// events are stored already.
func TestReplaysStopsBeforeTheAttempt(t *testing.T) {
	events, end := endedLog(9, 10)
	later := runlog.Event{Seq: runlog.AttemptSpan + 9, Body: text("later")}
	r := testReplays(storedLogs{"r": append(inPieces(events, end), inPieces(nil, later)...)}, segments.DefaultLimit)
	last, err := r.Read(t.Context(), "r", end.Seq, runlog.AttemptSpan, func([]runlog.Event) error { t.Error("Read showed events, want none"); return nil })
	if last != runlog.AttemptSpan || err != nil {
		t.Errorf("it ends with %d, and %v", last, err)
	}
}

func TestReplaysSaysWhatCannotBeRead(t *testing.T) {
	events, end := endedLog(20, 10)
	stored := inPieces(events, end)
	stored[0].Data = stored[0].Data[:100]
	got, err := readPast(testReplays(storedLogs{"r": stored}, segments.DefaultLimit), "r", 0, 0)
	if !errors.Is(err, errSegment) || len(got) == 0 || cmp.Diff(events[:len(got)], got) != "" {
		t.Errorf("got %d events and %v", len(got), err)
	}
}

// Readers that pause hold a copy of a few events and use no segment. All
// readers together read each segment once, and complete is encoded once.
func TestReplaysIsShared(t *testing.T) {
	const readers, answer = 32, 2 << 20
	events, end := endedLog(answer/1000, 1000)
	stored := inPieces(events, end)
	for _, s := range stored {
		if len(s.Data) > segmentSize+2000 && s.First != s.Last {
			t.Fatalf("a segment has %d bytes", len(s.Data))
		}
	}
	r := testReplays(storedLogs{"r": stored}, 16<<20)
	encoded := 0
	var mu sync.Mutex
	stalled, resume := make(chan struct{}, readers), make(chan struct{})
	var group sync.WaitGroup
	for range readers {
		group.Go(func() {
			n := 0
			_, err := r.Read(t.Context(), "r", 0, 0, func(list []runlog.Event) error {
				size := 0
				for _, e := range list {
					size += e.Size()
					if e.Terminal() && e.Shared != nil {
						e.Shared.Get("chat", func() ([]byte, bool) {
							mu.Lock()
							defer mu.Unlock()
							encoded++
							return []byte("complete"), true
						})
						size = 0
					}
				}
				if size > batchSize {
					t.Errorf("got %d bytes at once", size)
				}
				if n++; n == 3 {
					stalled <- struct{}{}
					<-resume
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range readers {
		<-stalled
	}
	if inUse := r.cache.Stats().Used; inUse != 0 {
		t.Errorf("readers that pause use %d segments, want none", inUse)
	}
	close(resume)
	group.Wait()
	if loaded := r.cache.Stats().Loaded; encoded != 1 || loaded != len(stored) {
		t.Errorf("complete is encoded %d times, and %d segments are read; want 1 and %d", encoded, loaded, len(stored))
	}
}

// Memory stays within the limit, however many logs are read at once; a segment
// larger than the limit is kept alone.
func TestReplaysIsBounded(t *testing.T) {
	const runs, limit = 12, 1 << 20
	s := storedLogs{}
	for i := range runs {
		events, end := endedLog(300, 1000)
		s[fmt.Sprint("new", i)], s[fmt.Sprint("old", i)] = inPieces(events, end), inOne(events, end)
	}
	events, end := endedLog(3000, 1000)
	s["large"] = inPieces(events, end)
	r := testReplays(s, limit)
	var group sync.WaitGroup
	for run, stored := range s {
		group.Go(func() {
			want := stored[len(stored)-1].Last
			last, err := r.Read(t.Context(), run, 0, 0, func([]runlog.Event) error {
				if kept := r.cache.Stats(); kept.Bytes > limit && kept.Runs > 1 {
					t.Errorf("%d bytes of %d runs are in memory, want them within the limit", kept.Bytes, kept.Runs)
				}
				return nil
			})
			if last != want || err != nil {
				t.Errorf("%s ends with %d and %v, want %d", run, last, err, want)
			}
		})
	}
	group.Wait()
	if stay := r.cache.Stats().Bytes; stay > limit {
		t.Errorf("%d bytes stay", stay)
	}
}

// A reader that waits too long for room or for its turn gets an error, and may
// come back.
func TestReplaysWaitsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, end := endedLog(300, 1000)
		r := testReplays(storedLogs{"a": inPieces(events, end), "b": inPieces(events, end)}, 1<<20)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = r.Read(ctx, "a", end.Seq-1, 0, func([]runlog.Event) error { <-ctx.Done(); return ctx.Err() })
		}()
		synctest.Wait()
		began := time.Now()
		if _, err := readPast(r, "b", end.Seq-1, 0); schemas.Visible(err).Code != schemas.CodeTooManyStreams || time.Since(began) != segments.Wait {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		cancel()
		synctest.Wait()
		if got, err := readPast(r, "b", end.Seq-1, 0); err != nil || len(got) != 1 {
			t.Errorf("got %d events and %v once there is room", len(got), err)
		}
	})
}
