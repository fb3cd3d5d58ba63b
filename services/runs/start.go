package runs

import (
	"context"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/exchange"
	"github.com/chattray/chattray/services/questions"
)

// errReplaced refuses a run where it would not be this process's.
var errReplaced = &schemas.Error{Code: schemas.CodeShuttingDown, Message: "another process answers now; try again in a moment", RetryAfter: 1}

// errDraining refuses a run while the service stops.
var errDraining = &schemas.Error{Code: schemas.CodeShuttingDown, Message: "the service is stopping; try again in a moment", RetryAfter: 1}

// Start begins a run for the request, which has been decoded and validated. The
// user's message is durable when it returns. The run continues after ctx ends. A request that
// has begun a run before is that run, whatever would refuse another one.
func (r *Runs) Start(ctx context.Context, user schemas.User, req *schemas.ChatRequest, o record.StartOptions) (schemas.Run, error) {
	name := user.ID + "\x00" + o.IdempotencyKey
	switch {
	case o.IdempotencyKey != "":
	case req.MessageID != "":
		name = user.ID + "\x02" + req.MessageID
	default:
		return r.start(ctx, user, req, o)
	}
	// Simultaneous requests find the run of the first one and do not count as runs.
	done, err := r.starting.Lock(ctx, name)
	if err != nil {
		return schemas.Run{}, err
	}
	defer done()
	// A click is found to be the same by start, which completes it.
	again, err := r.questions.Repeated(ctx, user, req, o)
	if !errors.Is(err, schemas.ErrNotFound) && !errors.Is(err, schemas.ErrTaken) {
		return r.view(ctx, again, err)
	}
	run, err := r.start(ctx, user, req, o)
	if err != nil { // it may be refused for its own run, which another process has just begun
		if again, err := r.questions.Repeated(ctx, user, req, o); err == nil {
			return r.view(ctx, again, nil)
		}
	}
	return run, err
}

// start is Start for a request that has not begun a run before.
func (r *Runs) start(ctx context.Context, user schemas.User, req *schemas.ChatRequest, o record.StartOptions) (schemas.Run, error) {
	if req.InteractionType != schemas.ActionExecuted { // a click does not ask a model
		if err := r.budgets.Check(ctx, user.ID); err != nil {
			return schemas.Run{}, err
		}
	}
	q, err := r.questions.FirstWrite(ctx, user, req, o)
	if err != nil {
		return schemas.Run{}, err
	}
	q.MaxQueued = maxQueuedOfChat
	instead := q.Cancels && len(r.liveOf(user, func(o *run) bool { return o.ChatKey == q.ChatKey || o.ChatID == q.ConversationID })) > 0
	release, err := r.admit(user, instead)
	if err != nil {
		return schemas.Run{}, err
	}
	defer r.work.Done()
	return r.begin(ctx, q, o, release)
}

// begin claims what the run writes, stores its first write and launches it. A run
// that is not launched is released.
func (r *Runs) begin(ctx context.Context, q *questions.Question, o record.StartOptions, release func()) (schemas.Run, error) {
	user, started := q.Run.Owner, false
	defer func() {
		if !started {
			release()
			r.beginning.Done(q.Run.ID)
			r.unclaim(user.ID, q.Run.ID, 0)
		}
	}()
	if q.Reserve { // the same request again is the same run, however busy the chat is
		done, err := r.starting.Lock(ctx, user.ID+"\x01"+q.Run.MessageID)
		if err != nil {
			return schemas.Run{}, err
		}
		defer done()
		if run := r.answering(q); run != nil {
			return r.Run(ctx, user, run.ID)
		}
	}
	lease := r.leases.Current()
	if lease.Lost() {
		return schemas.Run{}, errReplaced
	}
	q.Run.Replica = lease.ID
	for {
		if again, err := r.claimFirst(ctx, q, o); again.ID != "" || err != nil {
			return r.view(ctx, again, err)
		}
		r.beginning.Add(q.Run.ID)
		// The message is answered even if its client disconnects.
		err := r.committer.Submit(&eventlog.Commit{Write: &record.Write{RunID: q.Run.ID, Attempt: 1, Begin: q.Begin}}).Wait(context.WithoutCancel(ctx))
		switch {
		case err == nil:
			run := r.launch(ctx, q, lease, release)
			started = true
			return r.startedView(run, q.Begin), nil
		case errors.Is(err, record.ErrBusy):
			if err := r.busy(ctx, q, q.BusyRun, "this chat has an answer under way"); err != nil {
				return schemas.Run{}, err
			}
		case errors.Is(err, record.ErrUnavailable):
			r.park(q.Run.ID, parked{lease: lease}) // the run may have been stored
			return schemas.Run{}, schemas.Unavailable(err)
		default:
			again, err := r.questions.Instead(ctx, q, o, err)
			return r.view(ctx, again, err)
		}
	}
}

// answering returns the run under way that the request has begun and whose answer has
// the id that the request reserves, nil for none.
func (r *Runs) answering(q *questions.Question) *run {
	asked := light(q.Request)
	list := r.those(func(run *run) bool {
		_, over := run.log.Ended()
		return !over && run.MessageID == q.Run.MessageID && run.Owner.ID == q.Run.Owner.ID && asked.Repeats(run.Request)
	})
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// view shows the user a run that was found.
func (r *Runs) view(ctx context.Context, stored record.Run, err error) (schemas.Run, error) {
	if err != nil {
		return schemas.Run{}, err
	}
	return r.View(ctx, stored), nil
}

// admit counts a run of the user, which may begin instead of another one, and the start
// as work that Shutdown waits for; release is called when the run has ended.
func (r *Runs) admit(user schemas.User, instead bool) (release func(), err error) {
	if !r.enter() {
		return nil, errDraining
	}
	if instead {
		return r.running.Continue(user.ID), nil
	}
	if release, err = r.running.Begin(user.ID); err != nil {
		r.work.Done()
	}
	return release, err
}

// busy refuses a question that would have to wait for a run, or cancels that run. If the run
// is in the question's chat, it first cancels those that wait there, so that none begins. A
// nil error means to try again.
func (r *Runs) busy(ctx context.Context, q *questions.Question, running, why string) error {
	if !q.Cancels {
		return questions.Busy(running, why, 0)
	}
	stored, err := r.Store.Runs.Run(ctx, running)
	if err != nil && !errors.Is(err, schemas.ErrNotFound) { // the first write of a run that holds a block may be under way
		return err
	}
	for stored.ConversationID == q.ConversationID || q.ChatKey != "" && stored.ChatKey == q.ChatKey {
		waits, err := r.Store.Queue.NextQueued(ctx, stored.ConversationID)
		switch {
		case errors.Is(err, schemas.ErrNotFound):
			return r.end(ctx, running)
		case err == nil:
			err = r.end(ctx, waits.ID)
		}
		if err != nil {
			return err
		}
	}
	return r.end(ctx, running)
}

// end cancels a run and waits for its end. An unfinished run that this process does not know
// waits for recovery: its chat is busy until then.
func (r *Runs) end(ctx context.Context, id string) error {
	if err := r.Store.Runs.RequestCancel(ctx, id); err != nil {
		return err
	}
	if r.cancel(ctx, id) {
		return context.Cause(ctx)
	}
	r.exchange.Tell(exchange.Look, id)
	wait, done := context.WithTimeout(ctx, busyWait)
	defer done()
	if ended, err := r.acts.AwaitEnd(wait, id); ended || err != nil {
		return err
	}
	stored, err := r.Store.Runs.Run(ctx, id)
	if err != nil || stored.State.Terminal() {
		return err
	}
	return questions.Busy(id, "this chat has an answer that is about to continue; try again in a moment", 2)
}

// startedView returns the run as Start returns it. A queued run may have begun meanwhile.
func (r *Runs) startedView(run *run, b *record.Begin) schemas.Run {
	attempt := 0
	if b.State == schemas.RunRunning {
		attempt = 1
	}
	return schemas.Run{
		RunID: run.ID, ConversationID: run.ChatID, ChatID: run.ChatKey, State: b.State, Attempt: attempt,
		UserMessageID: run.UserMessageID, CreatedAt: b.Run.CreatedAt, Begun: true,
	}
}
