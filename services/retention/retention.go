// Package retention deletes old data: the event logs and traces of runs that ended long
// ago, chats that have not been used for a long time, expired tickets, and what search indexes
// have of deleted text. It works in small steps with pauses between them, so that no user
// notices.
package retention

import (
	"context"
	"log/slog"
	"time"

	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
)

const (
	// afterStart is the time from the start of the process to its first sweep, and
	// every is the time between two sweeps.
	afterStart, every = time.Minute, time.Hour
	// idleShare is how many times longer than a step the pause after it is, at least
	// shortestPause.
	idleShare     = 9
	shortestPause = 10 * time.Millisecond
)

// Store deletes old data.
type Store interface {
	// DropLogs deletes the logs and traces of the next runs that ended before a time, now
	// being the time. It begins after a place, or with 0 at the first run, and returns the
	// place to continue after, 0 when there are no more of them.
	DropLogs(ctx context.Context, after int64, before, now time.Time) (next int64, dropped int, err error)
	// OldChats looks at the next chats and returns those without a run since a time.
	// More is false after the last chat.
	OldChats(ctx context.Context, before time.Time) (old []record.OldChat, more bool, err error)
	// DeleteOldChat deletes a chat if it still has no run since a time.
	DeleteOldChat(ctx context.Context, chat record.OldChat, before time.Time) (bool, error)
}

// Options say how long data is kept. Store must be set.
type Options struct {
	Store Store
	// Logs is how long the logs and traces of ended runs are kept, and Chats how long a
	// chat is kept after its last run; 0 means forever.
	Logs, Chats time.Duration
	// Forget does a step of removing what search indexes have of deleted text, as long as
	// it returns that there is more; nil means that nothing is to be removed.
	Forget func(context.Context) (more bool, err error)
	// Tickets does a step of deleting expired tickets, as long as it returns that there is
	// more; nil means that none are stored.
	Tickets func(context.Context) (more bool, err error)
	// Now returns the time; nil means the process's. Several processes have one clock, so that
	// none whose own is ahead deletes what is not old.
	Now func(context.Context) (time.Time, error)
	// Mine reports whether this process is the one that deletes; nil means that it is.
	Mine func(context.Context) (bool, error)
	// Deleted counts what was deleted, by kind: logs or chats. It may be nil.
	Deleted func(kind string, n int)
	Logger  *slog.Logger
}

// Sweeper deletes old data.
type Sweeper struct {
	options Options
	old     []record.OldChat // of the last page of chats, those that are left
}

// New returns a Sweeper of the options.
func New(o Options) *Sweeper {
	if o.Now == nil {
		o.Now = func(context.Context) (time.Time, error) { return time.Now(), nil }
	}
	if o.Mine == nil {
		o.Mine = func(context.Context) (bool, error) { return true, nil }
	}
	if o.Deleted == nil {
		o.Deleted = func(string, int) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Sweeper{options: o}
}

// Run sweeps every hour until ctx ends. A sweep that fails is continued by the next one.
func (s *Sweeper) Run(ctx context.Context) {
	if s.options.Logs == 0 && s.options.Chats == 0 && s.options.Forget == nil && s.options.Tickets == nil {
		return
	}
	for wait := afterStart; concurrent.Pause(ctx, wait) == nil; wait = every {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.options.Logger.Warn("old data could not be deleted; the next sweep continues", "error", err)
		}
	}
}

// Sweep deletes everything that is old now.
func (s *Sweeper) Sweep(ctx context.Context) error {
	now, err := s.options.Now(ctx)
	if err != nil {
		return err
	}
	if s.options.Logs > 0 {
		if err := s.logs(ctx, now.Add(-s.options.Logs), now); err != nil {
			return err
		}
	}
	if s.options.Chats > 0 {
		if err := s.chats(ctx, now.Add(-s.options.Chats)); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) (bool, error){s.options.Tickets, s.options.Forget} {
		if step == nil {
			continue
		}
		if err := s.steps(ctx, func() (bool, error) { return step(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// logs deletes the logs and traces of the runs that ended before a time.
func (s *Sweeper) logs(ctx context.Context, before, now time.Time) error {
	var at int64
	return s.steps(ctx, func() (more bool, err error) {
		var n int
		at, n, err = s.options.Store.DropLogs(ctx, at, before, now)
		s.options.Deleted("logs", n)
		return at > 0, err
	})
}

// chats deletes the chats without a run since a time, first those that an earlier sweep has
// left. One that cannot be deleted is not in the way of the others.
func (s *Sweeper) chats(ctx context.Context, before time.Time) error {
	more := true
	return s.steps(ctx, func() (_ bool, err error) {
		if len(s.old) == 0 {
			s.old, more, err = s.options.Store.OldChats(ctx, before)
			return more || len(s.old) > 0, err
		}
		chat := s.old[0]
		s.old = s.old[1:]
		deleted, err := s.options.Store.DeleteOldChat(ctx, chat, before)
		if deleted {
			s.options.Deleted("chats", 1)
		}
		return more || len(s.old) > 0, err
	})
}

// steps calls step, with pauses, until there is no more to do or this process is not the
// one that deletes.
func (s *Sweeper) steps(ctx context.Context, step func() (more bool, err error)) error {
	for {
		if mine, err := s.options.Mine(ctx); err != nil || !mine {
			return err
		}
		begun := time.Now()
		more, err := step()
		if err != nil || !more {
			return err
		}
		if err := concurrent.Pause(ctx, max(shortestPause, idleShare*time.Since(begun))); err != nil {
			return err
		}
	}
}
