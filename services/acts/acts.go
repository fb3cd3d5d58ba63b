// Package acts lets users act on runs that another replica works on. What the
// user wants is stored first; the replica of the run looks for it in the
// database. Each look is a function that may also be called at once, when
// somebody says that there is something to see.
//
// A process that has its database to itself needs none of this.
package acts

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
)

const (
	// lookEvery is how often a replica looks for what others have stored for its runs;
	// turnLooks is after how many looks it looks for queued runs whose turn it is.
	lookEvery = 500 * time.Millisecond
	turnLooks = 2
	// endEvery is how often the end of another replica's run is looked for.
	endEvery = 100 * time.Millisecond
)

// Stores are what replicas tell each other about runs; without Open there are no
// others.
type Stores struct {
	Open    Open
	Reading Reading
}

// Open knows what is to be done with unfinished runs.
type Open interface {
	// CancelRequested returns the replica's unfinished runs whose cancel is stored.
	CancelRequested(ctx context.Context, replica string) ([]string, error)
	// Answered returns the calls of these runs that have an answer.
	Answered(ctx context.Context, runs []string) ([]record.CallID, error)
	// Turns returns the replica's queued runs whose turn it is, in the order of their
	// place.
	Turns(ctx context.Context, replica string) ([]string, error)
	// Ended reports whether the run has ended, or no longer exists.
	Ended(ctx context.Context, id string) (bool, error)
	// OpenIn returns the unfinished runs of the owner's chat: the one that has begun,
	// then the queued ones in the order of their place. OpenOf returns those of all the
	// owner's chats in this order, with their requests.
	OpenIn(ctx context.Context, owner, chat string) ([]string, error)
	OpenOf(ctx context.Context, owner string) ([]record.OpenRun, error)
}

// Here are the runs of this process.
type Here interface {
	// Replica is the id under which runs are this process's now.
	Replica() string
	// Open says what there is to look for: whether there are unfinished runs, whether
	// some of them are queued, and those with a call that waits for an answer.
	Open() (some, queued bool, waiting []string)
	// Cancelled ends a run whose cancel is stored, if it is here.
	Cancelled(id string)
	// Wake wakes a call of the run, if the run is here.
	Wake(id string, call int)
	// Turn starts a queued run if it is here and it is its turn.
	Turn(ctx context.Context, id string)
}

// Acts carries acts between replicas. It is safe for concurrent use.
type Acts struct {
	store  Stores
	here   Here
	looks  []func(context.Context) error
	logger *slog.Logger

	readers readers
}

// New returns the acts of a replica, whose runs are here. Run calls looks as often as
// LookForTurns. It is nil for a process without others, whose stores are empty.
func New(store Stores, here Here, looks []func(context.Context) error, logger *slog.Logger) *Acts {
	if store.Open == nil {
		return nil
	}
	return &Acts{store: store, here: here, looks: looks, logger: logger}
}

// Run looks for acts until ctx ends. Without runs it asks the database for nothing.
func (a *Acts) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	failing := false
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := errors.Join(a.LookForCancels(ctx), a.LookForAnswers(ctx))
		if n%turnLooks == 0 {
			err = errors.Join(err, a.LookForTurns(ctx), a.tellReads(ctx))
			for _, look := range a.looks {
				err = errors.Join(err, look(ctx))
			}
		}
		if err != nil && ctx.Err() == nil && !failing {
			a.logger.Warn("could not look for what other replicas have stored for runs here", "error", err)
		}
		failing = err != nil
	}
}

// LookForCancels ends the runs here whose cancel is stored.
func (a *Acts) LookForCancels(ctx context.Context) error {
	if some, _, _ := a.here.Open(); !some {
		return nil
	}
	ids, err := a.store.Open.CancelRequested(ctx, a.here.Replica())
	for _, id := range ids {
		a.here.Cancelled(id)
	}
	return err
}

// LookForAnswers wakes the waiting calls here whose answer is stored.
func (a *Acts) LookForAnswers(ctx context.Context) error {
	_, _, waiting := a.here.Open()
	if len(waiting) == 0 {
		return nil
	}
	calls, err := a.store.Open.Answered(ctx, waiting)
	for _, c := range calls {
		a.here.Wake(c.RunID, c.Index)
	}
	return err
}

// LookForTurns starts the queued runs here whose turn has come because a run of
// another replica has ended.
func (a *Acts) LookForTurns(ctx context.Context) error {
	if _, queued, _ := a.here.Open(); !queued {
		return nil
	}
	ids, err := a.store.Open.Turns(ctx, a.here.Replica())
	for _, id := range ids {
		a.here.Turn(ctx, id)
	}
	return err
}

// AwaitEnd waits until runs of other replicas have ended, at most until ctx ends, and
// reports whether they have.
func (a *Acts) AwaitEnd(ctx context.Context, ids ...string) (bool, error) {
	if a == nil {
		return len(ids) == 0, nil
	}
	tick := time.NewTicker(endEvery)
	defer tick.Stop()
	for len(ids) > 0 {
		ended, err := a.store.Open.Ended(ctx, ids[0])
		switch {
		case ctx.Err() != nil:
			return false, nil
		case err != nil:
			return false, err
		case ended:
			ids = ids[1:]
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, nil
		}
	}
	return true, nil
}

// Live returns the unfinished runs of a user's chat, of all replicas: the one that has
// begun first.
func (a *Acts) Live(ctx context.Context, user schemas.User, chat string) ([]string, error) {
	return a.store.Open.OpenIn(ctx, user.ID, chat)
}

// LiveIn returns the unfinished runs of a user's document in the same way.
func (a *Acts) LiveIn(ctx context.Context, user schemas.User, document string) ([]string, error) {
	list, err := a.store.Open.OpenOf(ctx, user.ID)
	var ids []string
	for _, run := range list {
		var req struct {
			Context schemas.Object `json:"context"`
		}
		if json.Unmarshal(run.Request, &req) == nil && turn.DocumentID(req.Context, run.ConversationID) == document {
			ids = append(ids, run.ID)
		}
	}
	return ids, err
}
