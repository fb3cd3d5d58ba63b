// Package acts lets users act on runs that another replica works on. What the
// user wants is stored first; the replica of the run looks for it in the
// database, regularly, and at once when another one says that there is something
// to see.
//
// A process that has its database to itself needs none of this.
package acts

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/exchange"
)

const (
	// lookEvery is how often a replica looks for what others have stored for its runs;
	// turnLooks is after how many looks it looks for queued runs whose turn it is.
	lookEvery = 500 * time.Millisecond
	turnLooks = 2
	// endEvery is how often the end of another replica's run is looked for.
	endEvery = 100 * time.Millisecond
)

// Starts are the runs that other replicas start in chats that somebody watches here.
type Starts interface {
	// LookForStarts shows them.
	LookForStarts(ctx context.Context) error
	// Watches reports whether somebody watches the chat of the owner.
	Watches(owner, chat string) bool
}

// Stores are what replicas tell each other about runs; without Open there are no
// others.
type Stores struct {
	Open    Open
	Reading Reading
}

// Open knows what is to be done with unfinished runs.
type Open interface {
	// CancelRequested returns the replica's unfinished runs whose cancel is stored, and those
	// of idle that no longer exist.
	CancelRequested(ctx context.Context, replica string, idle []string) ([]string, error)
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
	// Open says what there is to look for: whether there are unfinished runs, those that
	// are queued, and those with a call that waits for an answer.
	Open() (some bool, queued, waiting []string)
	// Cancelled ends a run whose cancel is stored or which is deleted, if it is here.
	Cancelled(id string)
	// Wake wakes a call of the run, if the run is here.
	Wake(id string, call int)
	// Turn starts a queued run if it is here and it is its turn.
	Turn(ctx context.Context, id string)
	// Look reports whether the run is here. One that ends with its last reader looks
	// whether it has some.
	Look(id string) bool
}

// Options are what Acts are made of.
type Options struct {
	Stores
	Here   Here
	Starts Starts // may be nil
	// Withdrawals finds documents and blocks that users have withdrawn from runs here; it may
	// be nil.
	Withdrawals func(ctx context.Context) error
	// Tell says something to the other replicas, if there is a way. Loose is called when
	// one says that it has let runs go.
	Tell   *exchange.Exchange
	Loose  func()
	Logger *slog.Logger
}

// Acts passes what users do to runs between replicas. It is safe for concurrent use.
type Acts struct {
	store       Stores
	here        Here
	starts      Starts
	tell        *exchange.Exchange
	loose       func()
	withdrawals func(ctx context.Context) error
	logger      *slog.Logger

	// The bells of those looks that are to be made at once.
	lookRuns, lookTurns, lookStarts chan struct{}

	readers readers
	telling concurrent.Locks // runs of which is recorded whether they have readers here
}

// New returns the acts of a replica, whose runs are here. It is nil for a process without
// others, whose stores are empty.
func New(o Options) *Acts {
	if o.Open == nil {
		return nil
	}
	bell := func() chan struct{} { return make(chan struct{}, 1) }
	return &Acts{
		store: o.Stores, here: o.Here, starts: o.Starts, tell: o.Tell, loose: o.Loose, withdrawals: o.Withdrawals, logger: o.Logger,
		lookRuns: bell(), lookTurns: bell(), lookStarts: bell(),
	}
}

// Run looks for acts until ctx ends. Without runs it asks the database for nothing.
func (a *Acts) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	failing := false
	for n := 0; ; {
		var err error
		select {
		case <-tick.C:
			if err = a.lookForRuns(ctx); n%turnLooks == 0 {
				err = errors.Join(err, a.LookForTurns(ctx), a.tellReads(ctx), a.lookForStarts(ctx), a.lookForWithdrawals(ctx))
			}
			n++
		case <-a.lookRuns:
			err = a.lookForRuns(ctx)
		case <-a.lookTurns:
			err = a.LookForTurns(ctx)
		case <-a.lookStarts:
			err = a.lookForStarts(ctx)
		case <-ctx.Done():
			return
		}
		if err != nil && ctx.Err() == nil && !failing {
			a.logger.Warn("could not look for what other replicas have stored for runs here", "error", err)
		}
		failing = err != nil
	}
}

func (a *Acts) lookForWithdrawals(ctx context.Context) error {
	if a.withdrawals == nil {
		return nil
	}
	return a.withdrawals(ctx)
}

// Hear looks at once for what another replica says that there is.
func (a *Acts) Hear(kind exchange.Kind, items []exchange.Item) {
	if kind == exchange.Loose {
		a.loose()
	}
	for i := range items {
		it := &items[i]
		switch {
		case kind == exchange.Look && a.here.Look(it.ID):
			ring(a.lookRuns)
		case kind == exchange.Free:
			ring(a.lookTurns)
		case kind == exchange.Started && a.starts != nil && a.starts.Watches(string(it.Data), it.ID):
			ring(a.lookStarts)
		}
	}
}

func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

func (a *Acts) lookForRuns(ctx context.Context) error {
	return errors.Join(a.LookForCancels(ctx), a.LookForAnswers(ctx))
}

func (a *Acts) lookForStarts(ctx context.Context) error {
	if a.starts == nil {
		return nil
	}
	return a.starts.LookForStarts(ctx)
}

// LookForCancels ends the runs here whose cancel is stored.
func (a *Acts) LookForCancels(ctx context.Context) error {
	return EndCancelled(ctx, a.store.Open, a.here)
}

// Cancels is Open for a process that has its database to itself.
type Cancels interface {
	CancelRequested(ctx context.Context, replica string, idle []string) ([]string, error)
}

// EndCancelled ends the runs here whose cancel is stored. In a process that has its
// database to itself these are the runs that a command of the operator cancels. A run that
// was deleted with its chat, by who did not see it begin, learns that from its next write;
// one that is queued or waits for an answer writes nothing, and is ended too.
func EndCancelled(ctx context.Context, stored Cancels, here Here) error {
	some, queued, waiting := here.Open()
	if !some {
		return nil
	}
	ids, err := stored.CancelRequested(ctx, here.Replica(), slices.Concat(queued, waiting))
	for _, id := range ids {
		here.Cancelled(id)
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
	if _, queued, _ := a.here.Open(); len(queued) == 0 {
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
