package eventlog

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// segmentStore keeps the segments of each commit.
type segmentStore struct {
	commits []map[string]record.Segment
	writes  []int // of each commit
	away    bool
}

func (s *segmentStore) Commit(_ context.Context, writes []*record.Write) error {
	if s.away {
		return record.ErrUnavailable
	}
	segments := make(map[string]record.Segment)
	for _, w := range writes {
		if w.Segment != nil {
			segments[w.RunID] = *w.Segment
		}
	}
	s.writes = append(s.writes, len(writes))
	s.commits = append(s.commits, segments)
	return nil
}

func (*segmentStore) Tend(context.Context) error { return nil }

// last is the number of the last event of the run in the newest commit.
func (s *segmentStore) last(run string) int64 {
	if len(s.commits) == 0 {
		return 0
	}
	return s.commits[len(s.commits)-1][run].Last
}

// flushing returns a committer over the store, and a function that flushes n
// times.
func flushing(store Store) (c *Committer, flush func(n int)) {
	c = NewCommitter(CommitterOptions{Store: store, Logger: slog.New(slog.DiscardHandler), Batch: func(int, time.Duration, error) {}})
	return c, func(n int) {
		for range n {
			c.flush()
		}
	}
}

func appendTexts(t *testing.T, l *Log, n int) {
	t.Helper()
	for range n {
		if err := l.Append(runlog.Level{}, &runlog.Text{Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
}

func newTestLog() *Log {
	return New(1, func() int64 { return 1 })
}

// A flush stores many events at once, lets a few wait for some flushes, and
// does nothing for logs without new events.
func TestFlushFollowsWhatIsNew(t *testing.T) {
	store := new(segmentStore)
	c, flush := flushing(store)
	much, little := newTestLog(), newTestLog()
	c.Watch(Attempt{RunID: "much", Number: 1, Log: much})
	c.Watch(Attempt{RunID: "little", Number: 1, Log: little})
	for range 100 {
		c.Watch(Attempt{RunID: "silent", Number: 1, Log: newTestLog()})
	}
	flush(maxWaits)
	if len(store.commits) != 0 || len(c.unstored) != 0 {
		t.Fatalf("got %d commits and %d logs to store without an event, want none", len(store.commits), len(c.unstored))
	}
	appendTexts(t, much, fewEvents)
	appendTexts(t, little, 1)
	flush(1)
	if len(store.commits) != 1 || len(store.commits[0]) != 1 || store.last("much") != fewEvents {
		t.Fatalf("got commits %v, want one of %d events of the log with many", store.commits, fewEvents)
	}
	flush(maxWaits)
	if len(store.commits) != 2 || len(store.commits[1]) != 1 || store.last("little") != 1 {
		t.Fatalf("got commits %v, want another one, of the log with one event", store.commits)
	}
	appendTexts(t, much, 1)
	c.Submit(&Commit{Write: &record.Write{RunID: "much", Attempt: 1}, Log: much})
	c.drain()
	flush(2 * maxWaits)
	if len(store.commits) != 3 || store.last("much") != fewEvents+1 {
		t.Fatalf("got commits %v, want a third one: a write includes the events", store.commits)
	}
}

// If other processes read the stored events, even few events do not wait.
func TestFlushIsPrompt(t *testing.T) {
	store := new(segmentStore)
	c, flush := flushing(store)
	c.Prompt = true
	log := newTestLog()
	c.Watch(Attempt{RunID: "r", Number: 1, Log: log})
	for n := range 3 {
		appendTexts(t, log, 1)
		flush(1)
		if len(store.commits) != n+1 || store.last("r") != int64(n+1) {
			t.Fatalf("got commits %v after %d events, want one of each", store.commits, n+1)
		}
	}
}

// Events that the database refused are stored once it is back, without another
// event. The log tells of the outage and of its end, also if no write of a run or a question does.
func TestFlushAfterAnOutage(t *testing.T) {
	store := &segmentStore{away: true}
	c, flush := flushing(store)
	var logged bytes.Buffer
	c.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	log, closed := newTestLog(), newTestLog()
	c.Watch(Attempt{RunID: "r", Number: 1, Log: log})
	c.Watch(Attempt{RunID: "closed", Number: 1, Log: closed})
	appendTexts(t, log, fewEvents)
	appendTexts(t, closed, fewEvents)
	flush(5)
	if n := strings.Count(logged.String(), "writes are held or refused"); n != 1 {
		t.Errorf("%d lines tell of the outage, want 1:\n%s", n, &logged)
	}
	closed.Close()
	store.away = false
	flush(maxWaits + 1)
	if len(store.commits) != 1 || len(store.commits[0]) != 1 || store.last("r") != fewEvents {
		t.Errorf("got commits %v, want one with the events of the open log", store.commits)
	}
	if n := strings.Count(logged.String(), "the database is available again"); n != 1 {
		t.Errorf("%d lines tell of the end of the outage, want 1:\n%s", n, &logged)
	}
	if n := len(c.unstored); n != 0 {
		t.Errorf("%d logs are to be stored, want none", n)
	}
}

// A flush that is refused is not retried forever. The log tells of it, unless the attempt has
// ended.
func TestFlushThatIsRefused(t *testing.T) {
	for _, tt := range []struct {
		err   error
		lines int
	}{
		{record.ErrFenced, 0},
		{errors.New("relation does not exist"), 1},
	} {
		t.Run(tt.err.Error(), func(t *testing.T) {
			store := refusingEach{new(segmentStore), tt.err}
			c, flush := flushing(store)
			var logged bytes.Buffer
			c.Logger = slog.New(slog.NewTextHandler(&logged, nil))
			for _, run := range []string{"r", "s"} {
				log := newTestLog()
				c.Watch(Attempt{RunID: run, Number: 1, Log: log})
				appendTexts(t, log, fewEvents)
			}
			flush(3)
			if n := len(store.commits); n != 1 {
				t.Errorf("got %d commits, want 1", n)
			}
			if n := strings.Count(logged.String(), "events could not be stored"); n != tt.lines || n != strings.Count(logged.String(), tt.err.Error()) {
				t.Errorf("%d lines tell of it, want %d:\n%s", n, tt.lines, &logged)
			}
		})
	}
}

type refusingEach struct {
	*segmentStore
	err error
}

func (s refusingEach) Commit(ctx context.Context, writes []*record.Write) error {
	err := s.segmentStore.Commit(ctx, writes)
	for _, w := range writes {
		w.Err = s.err
	}
	return err
}

// A Later write is stored with the next flush, before the events after it, and
// together with the writes before it.
func TestLater(t *testing.T) {
	t.Parallel()
	store := new(segmentStore)
	c, flush := flushing(store)
	log := newTestLog()
	c.Watch(Attempt{RunID: "r", Number: 1, Log: log})
	first := c.Submit(&Commit{Write: &record.Write{RunID: "r", Attempt: 1}, Log: log, Hold: true, Later: true})
	if len(c.wake) != 0 {
		t.Error("a Later write woke the committer, want no wake-up")
	}
	appendTexts(t, log, fewEvents)
	flush(1)
	if len(store.writes) != 1 || store.writes[0] != 2 || !first.Stored() || store.last("r") != fewEvents {
		t.Errorf("got commits of %v writes, want one of 2: the events with what comes before them", store.writes)
	}
	c.Submit(&Commit{Write: &record.Write{RunID: "r", Attempt: 1}, Log: log, Hold: true, Later: true})
	c.Submit(&Commit{Write: &record.Write{RunID: "other", Attempt: 1}, Hold: true})
	c.drain()
	if len(store.writes) != 2 || store.writes[1] != 2 {
		t.Errorf("got commits of %v writes, want a second one of 2: it goes with any other", store.writes)
	}
}

// A write that depends on a failed one fails too, even if the database is back
// by then.
func TestAfterAWriteThatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &segmentStore{away: true}
		c, _ := flushing(store)
		first := c.Submit(&Commit{Write: &record.Write{RunID: "r"}, Hold: true, Later: true})
		done := make(chan struct{})
		go func() { defer close(done); c.drain() }()
		<-time.After(defaultHold - time.Second)
		second := c.Submit(&Commit{Write: &record.Write{RunID: "r"}, Hold: true, After: first})
		if err := first.Wait(t.Context()); !errors.Is(err, record.ErrUnavailable) {
			t.Errorf("got %v, want %v", err, record.ErrUnavailable)
		}
		store.away = false
		if err := second.Wait(t.Context()); !errors.Is(err, record.ErrUnavailable) {
			t.Errorf("the write after it: got %v, want %v", err, record.ErrUnavailable)
		}
		<-done
		if len(store.commits) != 0 {
			t.Errorf("got commits %v, want none", store.commits)
		}
	})
}

// refusing refuses the writes of one commit.
type refusing struct {
	segmentStore
	refuses bool
}

func (s *refusing) Commit(ctx context.Context, writes []*record.Write) error {
	if !s.refuses {
		return s.segmentStore.Commit(ctx, writes)
	}
	for _, w := range writes {
		w.Err = errors.New("the database refuses it")
	}
	return nil
}

// The events of a write that was refused are stored with the next one.
func TestEventsOfARefusedWrite(t *testing.T) {
	store := &refusing{refuses: true}
	c, _ := flushing(store)
	log := newTestLog()
	appendTexts(t, log, 1)
	first := c.Submit(&Commit{Write: &record.Write{RunID: "r"}, Log: log})
	c.drain()
	if first.Failed() == nil {
		t.Error("a refused write has no error")
	}
	store.refuses = false
	appendTexts(t, log, 1)
	c.Submit(&Commit{Write: &record.Write{RunID: "r"}, Log: log})
	c.drain()
	if got := store.commits[0]["r"]; got.First != 1 || got.Last != 2 {
		t.Errorf("stored the events %d to %d, want 1 to 2", got.First, got.Last)
	}
}

// Of several writes of a run in one commit one stores its events; later ones store only
// what is new.
func TestEventsAreStoredOnce(t *testing.T) {
	store := new(segmentStore)
	c, _ := flushing(store)
	log := newTestLog()
	appendTexts(t, log, 2)
	c.Submit(&Commit{Write: &record.Write{RunID: "r"}, Log: log})
	c.Submit(&Commit{Write: &record.Write{RunID: "r"}, Log: log})
	c.drain()
	appendTexts(t, log, 1)
	c.Submit(&Commit{Write: &record.Write{RunID: "r"}, Log: log})
	c.drain()
	if got := store.commits[1]["r"]; got.First != 3 || got.Last != 3 {
		t.Errorf("the second commit has the events %d to %d, want the new one", got.First, got.Last)
	}
}

// A flush of very many logs has several commits. Events that came before a log was watched
// are stored too.
func TestFlushOfManyLogs(t *testing.T) {
	store := new(segmentStore)
	c, flush := flushing(store)
	c.Prompt = true
	for n := range maxBatch + 3 {
		log := newTestLog()
		appendTexts(t, log, 1)
		c.Watch(Attempt{RunID: strconv.Itoa(n), Number: 1, Log: log})
	}
	flush(1)
	if len(store.writes) != 2 || store.writes[0] != maxBatch || store.writes[1] != 3 {
		t.Errorf("commits of %v writes, want %d and 3", store.writes, maxBatch)
	}
}

// What is queued when the committer ends is stored.
func TestEndStoresWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := flushing(new(segmentStore))
		ctx, end := context.WithCancel(t.Context())
		end()
		later := c.Submit(&Commit{Write: &record.Write{RunID: "r"}, Later: true})
		c.Run(ctx)
		if !later.Stored() {
			t.Error("a write was left in the queue")
		}
	})
}

// BenchmarkFlush stores eight events of one log while many others are open.
func BenchmarkFlush(b *testing.B) {
	for _, open := range []int{0, 10_000} {
		b.Run("open="+strconv.Itoa(open), func(b *testing.B) {
			c, flush := flushing(discard{})
			for range open {
				c.Watch(Attempt{RunID: "silent", Number: 1, Log: newTestLog()})
			}
			log := newTestLog()
			c.Watch(Attempt{RunID: "r", Number: 1, Log: log})
			text := &runlog.Text{Text: "token "}
			b.ReportAllocs()
			for b.Loop() {
				for range fewEvents {
					if err := log.Append(runlog.Level{}, text); err != nil {
						b.Fatal(err)
					}
				}
				flush(1)
			}
		})
	}
}

type discard struct{}

func (discard) Commit(context.Context, []*record.Write) error { return nil }

func (discard) Tend(context.Context) error { return nil }
