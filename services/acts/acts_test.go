package acts_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/acts"
	"github.com/chattray/chattray/services/exchange"
)

// world is the database and the runs of this process.
type world struct {
	mu               sync.Mutex
	asked            []string // questions to the database
	cancelled, turns []string
	answered         []record.CallID
	open             map[string]bool
	some             bool
	queued, waiting  []string
	did              []string // what the runs here were told
	err              error
	requests         []record.OpenRun
	looked           int // for starts
}

func newActs(w *world) *acts.Acts {
	return acts.New(acts.Options{Stores: acts.Stores{Open: w, Reading: w}, Here: w, Starts: w, Loose: func() { w.told("loose") }, Logger: slog.New(slog.DiscardHandler)})
}

func (w *world) ask(what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, what)
	return w.err
}

func (w *world) told(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did = append(w.did, what)
}

// set changes the world.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// took returns what happened since the last call.
func (w *world) took() (asked, did []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked, did = w.asked, w.did
	w.asked, w.did = nil, nil
	slices.Sort(asked)
	return slices.Compact(asked), did
}

func (w *world) CancelRequested(_ context.Context, replica string, idle []string) ([]string, error) {
	return w.cancelled, w.ask(strings.Join(append([]string{"cancels of", replica}, idle...), " "))
}

func (w *world) Answered(_ context.Context, runs []string) ([]record.CallID, error) {
	return w.answered, w.ask(fmt.Sprint("answers of ", runs))
}

func (w *world) Turns(_ context.Context, replica string) ([]string, error) {
	return w.turns, w.ask("turns of " + replica)
}

func (w *world) Ended(_ context.Context, id string) (bool, error) {
	err := w.ask("end of " + id)
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.open[id], err
}

func (w *world) OpenIn(_ context.Context, owner, chat string) ([]string, error) {
	return []string{"first", "second"}, w.ask("open in " + chat + " of " + owner)
}

func (w *world) OpenOf(_ context.Context, owner string) ([]record.OpenRun, error) {
	return w.requests, w.ask("open of " + owner)
}

func (w *world) Read(_ context.Context, runs []string, replica string, lasts time.Duration) error {
	return w.ask(fmt.Sprint("readers of ", runs, " at ", replica, " for ", lasts))
}

func (w *world) ReadElsewhere(_ context.Context, run, replica string) (bool, error) {
	return w.open[run], w.ask("readers of " + run + " but at " + replica)
}

func (w *world) Replica() string { return "me" }

func (w *world) Open() (some bool, queued, waiting []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.some, w.queued, w.waiting
}

func (w *world) Cancelled(id string)               { w.told("cancelled " + id) }
func (w *world) Wake(id string, call int)          { w.told(fmt.Sprint("wake ", id, " ", call)) }
func (w *world) Turn(_ context.Context, id string) { w.told("turn of " + id) }

func (w *world) Look(id string) bool { w.told("look " + id); return id == "here" }

func (w *world) LookForStarts(context.Context) error {
	w.set(func() { w.looked++ })
	return nil
}

func (w *world) Watches(owner, chat string) bool { return owner == "ann" && chat == "watched" }

// passes lets time pass in a bubble.
func passes(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the time of the bubble: it passes at once
	synctest.Wait()
}

// A replica looks for what others have stored, and asks the database only for what it
// has runs for.
func TestLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		a := newActs(w)
		ctx, cancel := context.WithCancel(t.Context())
		go a.Run(ctx)
		passes(time.Minute)
		expect(t, "a replica without runs", w, nil, nil)
		if w.looked != 60 {
			t.Errorf("starts were looked for %d times in a minute, want 60", w.looked)
		}

		w.set(func() { w.some, w.cancelled = true, []string{"a", "b"} })
		passes(500 * time.Millisecond)
		expect(t, "with a run", w, []string{"cancels of me"}, []string{"cancelled a", "cancelled b"})

		w.set(func() {
			w.cancelled, w.waiting, w.answered = nil, []string{"a"}, []record.CallID{{RunID: "a", Index: 3}}
		})
		passes(500 * time.Millisecond)
		expect(t, "with a call that waits", w, []string{"answers of [a]", "cancels of me a"}, []string{"wake a 3"})

		w.set(func() { w.waiting, w.queued, w.turns = nil, []string{"b"}, []string{"b", "c"} })
		passes(time.Second)
		expect(t, "with a queued run", w, []string{"cancels of me b", "turns of me"}, []string{"turn of b", "turn of c"})
		cancel()
		synctest.Wait()
		w.took()
		passes(time.Minute)
		expect(t, "after the end", w, nil, nil)
	})
}

func expect(t *testing.T, what string, w *world, asked, did []string) {
	t.Helper()
	gotAsked, gotDid := w.took()
	if !slices.Equal(gotAsked, asked) || !slices.Equal(gotDid, did) {
		t.Errorf("%s: asked %q and did %q, want %q and %q", what, gotAsked, gotDid, asked, did)
	}
}

// What another replica says makes a replica look at once for what it is about, but only
// for that, and only if it concerns this one.
func TestHear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{some: true, queued: []string{"q"}, waiting: []string{"here"}, cancelled: []string{"here"}, turns: []string{"q"}}
		a := newActs(w)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go a.Run(ctx)
		starts := func(owner, chat string) []exchange.Item {
			return []exchange.Item{{ID: chat, Data: []byte(owner)}}
		}
		for _, tt := range []struct {
			what       string
			kind       exchange.Kind
			items      []exchange.Item
			asked, did []string
			looked     int
		}{
			{"a run here", exchange.Look, []exchange.Item{{ID: "here"}}, []string{"answers of [here]", "cancels of me q here"}, []string{"look here", "cancelled here"}, 0},
			{"a run elsewhere", exchange.Look, []exchange.Item{{ID: "elsewhere"}}, nil, []string{"look elsewhere"}, 0},
			{"a chat that is free", exchange.Free, []exchange.Item{{ID: "chat"}}, []string{"turns of me"}, []string{"turn of q"}, 0},
			{"a run in a watched chat", exchange.Started, starts("ann", "watched"), nil, nil, 1},
			{"a run in another chat", exchange.Started, starts("ann", "other"), nil, nil, 0},
			{"a run in another user's chat of that name", exchange.Started, starts("bob", "watched"), nil, nil, 0},
			{"runs that are let go", exchange.Loose, nil, nil, []string{"loose"}, 0},
			{"nothing", exchange.Free, nil, nil, nil, 0},
		} {
			a.Hear(tt.kind, tt.items)
			synctest.Wait()
			expect(t, tt.what, w, tt.asked, tt.did)
			if w.looked != tt.looked {
				t.Errorf("%s: starts were looked for %d times, want %d", tt.what, w.looked, tt.looked)
			}
			w.set(func() { w.looked = 0 })
		}
	})
}

func TestAwaitEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{open: map[string]bool{"a": true, "b": true}}
		a := newActs(w)
		time.AfterFunc(250*time.Millisecond, func() { w.set(func() { w.open["a"] = false }) })
		time.AfterFunc(350*time.Millisecond, func() { w.set(func() { w.open["b"] = false }) })
		await := func(what string, within, want time.Duration, ended bool, ids ...string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			began := time.Now()
			got, err := a.AwaitEnd(ctx, ids...)
			if took := time.Since(began); err != nil || got != ended || took != want {
				t.Errorf("%s: %v, %v after %v, want %v after %v", what, got, err, took, ended, want)
			}
		}
		await("both", time.Second, 400*time.Millisecond, true, "a", "b")
		await("ended ones", time.Second, 0, true, "a", "b")
		w.set(func() { w.open["c"] = true })
		await("one that continues", 900*time.Millisecond, 900*time.Millisecond, false, "a", "c")
		w.set(func() { w.err = record.ErrUnavailable })
		if _, err := a.AwaitEnd(t.Context(), "c"); !errors.Is(err, record.ErrUnavailable) {
			t.Errorf("without the database: error %v, want record.ErrUnavailable", err)
		}
	})
	var none *acts.Acts
	if ended, err := none.AwaitEnd(t.Context(), "a"); ended || err != nil {
		t.Errorf("without others: %v, %v, want false", ended, err)
	}
	if acts.New(acts.Options{}) != nil {
		t.Error("the acts of a process without others are not nil")
	}
}

func TestLive(t *testing.T) {
	w := &world{requests: []record.OpenRun{
		{ID: "of another", ConversationID: 7, Request: []byte(`{"context":{"document_id":"other"}}`)},
		{ID: "of it", ConversationID: 8, Request: []byte(`{"message":"q","context":{"document_id":"doc"}}`)},
		{ID: "broken", Request: []byte(`{`)},
	}}
	a := newActs(w)
	if got, err := a.Live(t.Context(), schemas.User{ID: "ann"}, "chat"); err != nil || !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("the runs of a chat are %q, %v, want both", got, err)
	}
	if got, err := a.LiveIn(t.Context(), schemas.User{ID: "ann"}, "doc"); err != nil || !slices.Equal(got, []string{"of it"}) {
		t.Errorf("the runs of a document are %q, %v, want its own", got, err)
	}
}

// A run's replica is told as long as the run has a reader here.
func TestReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		a := newActs(w)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go a.Run(ctx)
		reads := func(run string) func() {
			t.Helper()
			return a.Reads(t.Context(), run)
		}
		first := reads("r")
		second := reads("r")
		expect(t, "the first reader", w, []string{"readers of [r] at me for 3s"}, nil)
		passes(2 * time.Second)
		first()
		expect(t, "while it has readers", w, []string{"readers of [r] at me for 3s"}, nil)
		passes(2 * time.Second)
		expect(t, "while it has a reader", w, []string{"readers of [r] at me for 3s"}, nil)
		second()
		expect(t, "when the last has left", w, []string{"readers of [r] at me for 0s"}, nil)
		passes(time.Minute)
		expect(t, "without readers", w, nil, nil)
	})
	var none *acts.Acts
	if read, err := none.ReadElsewhere(t.Context(), "r"); read || err != nil {
		t.Errorf("without others: %v, %v, want false", read, err)
	}
}

// slowEnds is a database in which the record that a run has no reader any more takes long.
type slowEnds struct {
	*world
	end  chan struct{}
	read time.Duration // how long the run counts as read
}

func (s *slowEnds) Read(_ context.Context, _ []string, _ string, lasts time.Duration) error {
	if lasts == 0 {
		<-s.end
	}
	s.read = lasts
	return nil
}

// A reader who comes while the last one leaves is known at the run's replica.
func TestReaderThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		s := &slowEnds{world: w, end: make(chan struct{})}
		a := acts.New(acts.Options{Stores: acts.Stores{Open: w, Reading: s}, Here: w, Logger: slog.New(slog.DiscardHandler)})
		left := a.Reads(t.Context(), "r")
		go left()
		synctest.Wait()
		var leave func()
		go func() { leave = a.Reads(t.Context(), "r") }()
		synctest.Wait()
		close(s.end)
		synctest.Wait()
		if s.read == 0 {
			t.Error("the run counts as not read, but has a reader here")
		}
		leave()
		if s.read != 0 {
			t.Errorf("without a reader the run counts as read for %v", s.read)
		}
	})
}

// warnings counts the warnings of a log.
type warnings struct {
	slog.Handler
	n *int
}

func (w warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w warnings) Handle(context.Context, slog.Record) error { *w.n++; return nil }

// While the database is away the log says so once, each time.
func TestFailedLooksAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, said := &world{some: true}, 0
		a := acts.New(acts.Options{Stores: acts.Stores{Open: w}, Here: w, Logger: slog.New(warnings{slog.DiscardHandler, &said})})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go a.Run(ctx)
		for want := 1; want <= 2; want++ {
			w.set(func() { w.err = record.ErrUnavailable })
			passes(time.Minute)
			if said != want {
				t.Errorf("%d warnings, want %d", said, want)
			}
			w.set(func() { w.err = nil })
			passes(time.Minute)
		}
	})
}

// What users withdraw from runs here is looked for every second.
func TestLooksForWithdrawals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, looked := &world{}, 0
		a := acts.New(acts.Options{
			Stores: acts.Stores{Open: w}, Here: w, Logger: slog.New(slog.DiscardHandler), Withdrawals: func(context.Context) error { looked++; return nil },
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go a.Run(ctx)
		passes(time.Minute)
		if looked != 60 {
			t.Errorf("looked %d times in a minute, want 60", looked)
		}
	})
}

// hung is a database that answers nothing.
type hung struct{ *world }

func (hung) Read(ctx context.Context, _ []string, _ string, lasts time.Duration) error {
	if lasts > 0 {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (hung) Ended(ctx context.Context, _ string) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

// A database that does not answer holds no reader that leaves, and no caller that waits for
// the end of a run.
func TestDatabaseThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := hung{&world{}}
		a := acts.New(acts.Options{Stores: acts.Stores{Open: w, Reading: w}, Here: w, Logger: slog.New(slog.DiscardHandler)})
		began := time.Now()
		a.Reads(t.Context(), "r")()
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("a reader leaves within %v, want 3s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if ended, err := a.AwaitEnd(ctx, "r"); ended || err != nil {
			t.Errorf("got %v, %v, want that the run has not ended", ended, err)
		}
	})
}
