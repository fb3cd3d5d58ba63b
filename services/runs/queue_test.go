package runs_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/prepare"
	"github.com/chattray/chattray/services/runs"
)

// queue is the store's queue with one run.
type queue struct {
	runs.QueueStore
	next  record.Run
	begin func() error
	tries int
}

func (q *queue) NextQueued(context.Context, int64) (record.Run, error) { return q.next, nil }

func (q *queue) BeginQueued(context.Context, string, string, []string) (record.Begun, error) {
	q.tries++
	return record.Begun{}, q.begin()
}

// uncancelled is the store's runs, of which none is to be cancelled.
type uncancelled struct{ runs.RunStore }

func (uncancelled) CancelRequested(context.Context, string, []string) ([]string, error) {
	return nil, nil
}

func (uncancelled) Run(_ context.Context, id string) (record.Run, error) {
	return record.Run{ID: id}, nil
}

// tended is a store that has nothing to do later.
type tended struct{ eventlog.Store }

func (tended) Tend(context.Context) error { return nil }

// unread is a store of logs that are not read.
type unread struct{ runs.LogStore }

// A queued run is refused because the run before it is under way, which ends before the
// refusal is known here. The queued run starts all the same, also while somebody still
// follows the one before it.
func TestTheRunBeforeAQueuedOneEndsAsItIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{next: record.Run{ID: "queued"}}
		r := runs.New(runs.Options{Store: runs.Stores{Commit: tended{}, Queue: q, Runs: uncancelled{}, Logs: unread{}}})
		defer r.Shutdown(t.Context())
		end := r.EnlistFollowed(t.Context(), "before")
		r.Enlist(t.Context(), "queued")
		q.begin = func() error {
			if q.tries > 1 {
				return record.ErrFenced // enough: it has been tried again
			}
			end()
			return record.ErrBusy
		}
		r.Next(0)
		<-time.After(time.Minute)
		if q.tries != 2 {
			t.Errorf("the queued run was tried %d times in a minute, want again after it was refused", q.tries)
		}
	})
}

// queuedRuns is the store's runs, which are all queued runs of the process.
type queuedRuns struct {
	uncancelled
	of func() string
}

func (q *queuedRuns) Run(_ context.Context, id string) (record.Run, error) {
	return record.Run{ID: id, Replica: q.of(), State: schemas.RunQueued, Request: []byte("{}")}, nil
}

// While the database can be read but not written, a queued run is tried again and again.
func TestAQueuedRunIsTriedUntilTheDatabaseTakesWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{next: record.Run{ID: "queued"}}
		q.begin = func() error {
			if q.tries > 3 {
				return record.ErrFenced // enough
			}
			return record.ErrUnavailable
		}
		stored := &queuedRuns{}
		r := runs.New(runs.Options{Store: runs.Stores{Commit: tended{}, Queue: q, Runs: stored, Logs: unread{}}})
		defer r.Shutdown(t.Context())
		stored.of = r.Replica
		r.Enlist(t.Context(), "queued")
		r.Next(0)
		<-time.After(time.Minute)
		if q.tries != 4 {
			t.Errorf("the queued run was tried %d times in a minute, want 4", q.tries)
		}
	})
}

// lines counts the warnings and errors of a log.
type lines struct {
	slog.Handler
	said *atomic.Int64
}

func (l lines) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		l.said.Add(1)
	}
	return l.Handler.Handle(ctx, r)
}

// While the database takes no writes for a long time, the queued runs of many chats are tried
// again every few seconds. The log says so from time to time, not for each.
func TestQueuedRunsThatCannotStartAreLoggedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queues{first: map[int64]string{}, begin: func(string) error { return record.ErrUnavailable }}
		stored, said := &queuedRuns{}, new(atomic.Int64)
		r := runs.New(runs.Options{
			Store: runs.Stores{Commit: tended{}, Queue: q, Runs: stored, Logs: unread{}}, Logger: slog.New(lines{slog.NewTextHandler(io.Discard, nil), said}),
		})
		defer r.Shutdown(t.Context())
		stored.of = r.Replica
		for chat := range int64(20) {
			q.first[chat] = fmt.Sprint("run ", chat)
			r.EnlistWriting(t.Context(), q.first[chat], chat)
			r.Next(chat)
		}
		<-time.After(10 * time.Minute)
		if n := said.Load(); n == 0 || n > 11 {
			t.Errorf("20 runs log %d errors in 10 minutes, want one a minute", n)
		}
	})
}

// A process cannot look for unfinished runs, because the disk is full. It tries every few
// seconds, and says so once a minute.
func TestRunsThatCannotBeLookedForAreLoggedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stored, said := &queuedRuns{}, new(atomic.Int64)
		r := runs.New(runs.Options{
			Store: runs.Stores{Commit: tended{}, Queue: new(fills), Attempts: none{}, Runs: stored, Logs: unread{}}, Logger: slog.New(lines{slog.NewTextHandler(io.Discard, nil), said}),
		})
		defer r.Shutdown(t.Context())
		stored.of = r.Replica
		if err := r.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Minute)
		if n := said.Load(); n == 0 || n > 11 {
			t.Errorf("logs %d lines in 10 minutes, want one a minute", n)
		}
	})
}

// none has no attempts.
type none struct{ attempts.Store }

func (none) Left(context.Context, []string, int, func([]record.Left)) {}

// fills is the store's queue on a disk that is full after the first look.
type fills struct {
	runs.QueueStore
	looked bool
}

func (f *fills) Take(context.Context, []string, string) ([]record.Taken, error) {
	if !f.looked {
		return nil, nil
	}
	return nil, record.ErrUnavailable
}

func (f *fills) Tidy(context.Context, []string) error {
	if !f.looked {
		f.looked = true
		return nil
	}
	return record.ErrUnavailable
}

// queues is the store's queue with the first run of each chat.
type queues struct {
	runs.QueueStore
	first  map[int64]string
	begin  func(id string) error
	looked int
}

func (q *queues) NextQueued(_ context.Context, chat int64) (record.Run, error) {
	q.looked++
	return record.Run{ID: q.first[chat]}, nil
}

func (q *queues) BeginQueued(_ context.Context, id, _ string, _ []string) (record.Begun, error) {
	return record.Begun{}, q.begin(id)
}

// A queued run finds its block claimed by another one, which is about to begin and is then
// refused. Nothing ends that would start the first one.
func TestAQueuedRunMeetsAClaimOfARunThatDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tried []string
		q := &queues{first: map[int64]string{1: "waits", 2: "refused"}}
		r := runs.New(runs.Options{
			Options: prepare.Options{Drafts: documents.New(nil, nil, nil, nil, nil)}, Store: runs.Stores{Commit: tended{}, Queue: q, Runs: uncancelled{}, Logs: unread{}},
		})
		defer r.Shutdown(t.Context())
		q.begin = func(id string) error {
			if tried = append(tried, id); id == "refused" {
				r.Next(1)
			}
			return record.ErrFenced
		}
		r.EnlistWriting(t.Context(), "waits", 1, "block")
		r.EnlistWriting(t.Context(), "refused", 2, "block")
		r.Next(2)
		<-time.After(time.Minute)
		if want := []string{"refused", "waits"}; !slices.Equal(tried, want) {
			t.Errorf("the runs %q were tried, want %q", tried, want)
		}
	})
}

// Several queued runs of a user wait for one block. A chat is looked at again by chance, while
// nothing has been released: a run that waits behind another one claims nothing. Else
// each of the two would make the other try again, for ever.
func TestRunsThatWaitDoNotWakeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drafts := documents.New(nil, nil, nil, nil, nil)
		q := &queues{first: map[int64]string{1: "1", 2: "2", 3: "3"}, begin: func(string) error { return record.ErrFenced }}
		r := runs.New(runs.Options{
			Options: prepare.Options{Drafts: drafts}, Store: runs.Stores{Commit: tended{}, Queue: q, Runs: uncancelled{}, Logs: unread{}},
		})
		defer r.Shutdown(t.Context())
		if holder, err := drafts.Claim(t.Context(), documents.Claim{Run: "0", Owner: "ann", Document: "doc", Blocks: []string{"a"}}); holder != "" || err != nil {
			t.Fatal(holder, err)
		}
		r.EnlistWriting(t.Context(), "1", 1, "a", "b")
		r.EnlistWriting(t.Context(), "2", 2, "b")
		r.EnlistWriting(t.Context(), "3", 3, "b")
		for chat := range int64(3) {
			r.Next(chat + 1)
		}
		r.Unclaim("ann", "refused")
		<-time.After(time.Minute)
		if q.looked > 8 {
			t.Errorf("the chats were looked at %d times in a minute, want once each at first and once again", q.looked)
		}
	})
}

// A queued run waits behind an earlier one of another chat, which is deleted meanwhile. Nothing
// ends that would start the later one.
func TestARunWaitsBehindOneThatIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drafts, began := documents.New(nil, nil, nil, nil, nil), false
		q := &deleted{queues: queues{first: map[int64]string{1: "1", 2: "2"}, begin: func(string) error { began = true; return record.ErrFenced }}}
		r := runs.New(runs.Options{
			Options: prepare.Options{Drafts: drafts}, Store: runs.Stores{Commit: tended{}, Queue: q, Runs: uncancelled{}, Logs: unread{}},
		})
		defer r.Shutdown(t.Context())
		if holder, err := drafts.Claim(t.Context(), documents.Claim{Run: "0", Owner: "ann", Document: "doc", Blocks: []string{"a"}}); holder != "" || err != nil {
			t.Fatal(holder, err)
		}
		r.EnlistWriting(t.Context(), "1", 1, "a", "b")
		r.EnlistWriting(t.Context(), "2", 2, "b")
		r.Next(1)
		r.Next(2)
		delete(q.first, 1)
		r.Next(1)
		<-time.After(time.Minute)
		if !began {
			t.Error("the later run still waits behind the deleted one")
		}
	})
}

// deleted is the store's queue without the runs of deleted chats.
type deleted struct{ queues }

func (q *deleted) NextQueued(ctx context.Context, chat int64) (record.Run, error) {
	if q.first[chat] == "" {
		return record.Run{}, schemas.ErrNotFound
	}
	return q.queues.NextQueued(ctx, chat)
}

// stuckRuns are the store's runs of which one cannot be read.
type stuckRuns struct{ uncancelled }

func (stuckRuns) Run(context.Context, string) (record.Run, error) {
	return record.Run{}, record.ErrUnavailable
}

// One parked run cannot be read, the others wait no longer for that.
func TestAParkedRunThatCannotBeReadHoldsUpNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tried := false
		q := &queues{first: map[int64]string{1: "stuck", 2: "queued"}}
		q.begin = func(id string) error {
			if id == "stuck" {
				return record.ErrUnavailable
			}
			if tried {
				return record.ErrFenced
			}
			tried = true
			return record.ErrBusy // and the run before it is another process's
		}
		r := runs.New(runs.Options{Store: runs.Stores{Commit: tended{}, Queue: q, Runs: stuckRuns{}, Logs: unread{}}})
		defer r.Shutdown(t.Context())
		r.EnlistWriting(t.Context(), "stuck", 1)
		r.EnlistWriting(t.Context(), "queued", 2)
		r.Next(1)
		r.Next(2)
		<-time.After(time.Minute)
		if r.Follows("queued") {
			t.Error("the queued run still waits, want it to be tried again")
		}
	})
}
