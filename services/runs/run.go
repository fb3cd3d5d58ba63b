package runs

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/answer/waits"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/exchange"
	"github.com/chattray/chattray/services/leases"
	"github.com/chattray/chattray/services/modeltext"
	"github.com/chattray/chattray/services/questions"
	"github.com/chattray/chattray/services/timers"
	"github.com/chattray/chattray/services/usage"
)

// run is a run in this process: queued, running, or ended but still followed.
type run struct {
	answer.Run // without Earlier; Attempt is 0 while it is queued

	lease       *leases.Lease   // under which it is this process's
	claim       documents.Claim // what it claims when it begins
	needsReader bool            // it is cancelled when its last reader has left
	log         *eventlog.Log
	earlier     *earlier // nil in the first attempt
	spent       *usage.Ledger

	waits      bool          // in the queue, or for its trial, until somebody starts it, see startOnce
	blocked    bool          // queued, and waits for the claims of others, see claimQueued
	idle       bool          // it only waits, see setIdle
	becameIdle chan struct{} // receives a value when it becomes idle

	//nolint:containedctx // a run's context is not a request's: it lives as long as the run
	ctx     context.Context
	stop    context.CancelCauseFunc
	done    chan struct{} // closed when the run's goroutine has ended
	limit   timers.Limit  // limit of the run's time
	wakeups waits.Wakeups
	release func()
	text    *modeltext.Count
	trace   atomic.Pointer[schemas.Diagnostics]
	first   *record.FirstAnswer // the argument of Answered; nil for a chat that is not new
}

// newRun makes a run from a stored one, without its request.
func newRun(stored *record.Run, lease *leases.Lease, release func()) *run {
	return &run{
		Run: answer.Run{
			ID: stored.ID, Owner: stored.Owner, ChatID: stored.ConversationID, ChatKey: stored.ChatKey,
			MessageID: stored.MessageID, UserMessageID: stored.UserMessageID, CreatedAt: stored.CreatedAt,
		},
		lease: lease, release: release,
	}
}

// take gives the run its request, which is light, and its claim.
func (run *run) take(req *schemas.ChatRequest, claim documents.Claim) {
	run.Request, run.claim, run.needsReader = req, claim, endsWithReader(req)
}

// light returns a copy of a request without the content of its files, which are large: a run
// keeps its request. Each content is replaced by its sum, so that requests can be compared.
func light(req *schemas.ChatRequest) *schemas.ChatRequest {
	out := *req
	out.Attachments = slices.Clone(req.Attachments)
	for i := range out.Attachments {
		f := &out.Attachments[i]
		f.Content = strconv.FormatUint(maphash.String(sums, f.Content), 16)
	}
	return &out
}

// sums is the seed of the sums of files.
var sums = maphash.MakeSeed()

// endsWithReader reports whether the run of a request is cancelled when its last reader
// has left.
func endsWithReader(req *schemas.ChatRequest) bool { return req.OnDisconnect == "cancel" }

// launch makes the run for a committed Begin and starts it, unless it is queued.
func (r *Runs) launch(ctx context.Context, q *questions.Question, lease *leases.Lease, release func()) *run {
	run := newRun(&q.Run, lease, release)
	run.NewChat, run.Replaces = q.NewChat, q.Replaces
	if m := q.UserMessage; m != nil && len(m.Files) == 0 { // files are read when the prompt is made: the run may wait long before
		run.UserMessage = &m.Message
	}
	run.take(light(q.Request), q.Claim)
	if q.State == schemas.RunRunning {
		run.Attempt = 1
	}
	if q.NewChat {
		run.first = questions.First(&q.Run, q.Request)
	}
	if run.Attempt == 0 { // nobody finds it yet: from then on it may begin, and hold its claims
		r.unclaim(run.Owner.ID, run.ID, 0)
		run.blocked = q.Wait
	}
	r.enlist(r.Carry(ctx, lease.Context()), run, 1)
	if q.State == schemas.RunRunning {
		r.goWork(run)
	} else {
		r.next(run.ChatID) // the run before it may have ended meanwhile
	}
	r.exchange.TellStarted(run.Owner.ID, run.ChatKey)
	return run
}

// enlist registers the run by its id, with the log of the attempt. Base is
// the context of its lease, with the values that Carry adds from a request.
func (r *Runs) enlist(base context.Context, run *run, attempt int) {
	run.text = r.text.Count()
	run.log = eventlog.New(attempt, r.nowMilli)
	run.spent = usage.NewLedger(r.Prices)
	base = record.WithFence(base, record.Fence{RunID: run.ID, Attempt: attempt})
	run.ctx, run.stop = context.WithCancelCause(turn.WithMeter(base, run.spent.Add))
	run.done, run.becameIdle = make(chan struct{}), make(chan struct{}, 1)
	defer func() {
		if run.lease.Lost() { // before the run was here
			r.lost(run.lease)
		}
	}()
	defer r.leaveLate(run)
	defer r.readers.Came(run.ID) // readers may have followed it elsewhere
	defer r.beginning.Done(run.ID)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live[run.ID], run.waits = run, run.Attempt == 0
}

// goWork starts the goroutine of the run.
func (r *Runs) goWork(run *run) {
	r.committer.Watch(eventlog.Attempt{RunID: run.ID, Number: run.Attempt, Log: run.log})
	r.work.Go(func() {
		concurrent.GrowStack()
		began := r.now()
		r.Metrics.RunStarted()
		run.limit.Start(r.RunTimeout, func() { run.stop(errRunTimeout) })
		end := r.attempt(run)
		run.limit.Stop()
		run.stop(nil)
		r.Metrics.RunEnded(string(end), r.now().Sub(began))
		r.Metrics.Event(int(run.log.Last() - run.log.Base()))
		r.ended(run)
	})
}

// ended drops a run that nobody follows and lets the chat's next run begin.
func (r *Runs) ended(run *run) {
	r.absent.End(run)
	if run.log.Readers() == 0 {
		r.forget(run)
	}
	r.free(run)
	r.giveBack(run)
	close(run.done)
	r.exchange.Tell(exchange.Free, run.ChatKey)
	if !r.Draining() {
		r.next(run.ChatID)
	}
}

// free ends what the run holds against other runs of its user.
func (r *Runs) free(run *run) {
	if run.release != nil {
		run.release()
		run.release = nil
	}
	run.text.End()
}

func (r *Runs) forget(run *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live[run.ID] == run {
		delete(r.live, run.ID)
	}
}

// attempt does the work of one attempt and stores its end. It returns the state
// of the run, or "given up" if a later attempt has to continue it.
func (r *Runs) attempt(run *run) (reached schemas.RunState) {
	wr := r.writer(run)
	end := r.answer(run, wr)
	if end.State == "" {
		return r.giveUp(run, wr, end.Err)
	}
	if err := r.finish(run, wr, end); err != nil {
		return r.giveUp(run, wr, err)
	}
	return end.State
}

// part is the run as answer knows it.
func (run *run) part() answer.Run {
	part := run.Run
	if run.earlier != nil {
		part.Earlier = run.earlier.Earlier
	}
	return part
}

// writer returns the writer of the run's answer.
func (r *Runs) writer(run *run) *answer.Writer {
	return answer.New(run.ctx, run.part(), answer.Deps{
		Log: run.log, Commit: r.committer, Store: r.Store.Answer, Drafts: r.Drafts, Spent: run.spent, Text: run.text, Clock: &run.limit, Wakeups: &run.wakeups,
		Tool:        func(name string) (turn.Tool, bool) { return r.Pages.Tool(name, run.Owner) },
		Missing:     r.Missing,
		Handles:     r.Actions.Has,
		OffersModel: r.OffersModel,
		Approve:     r.ApproveAfterUntrusted, ApprovalTimeout: r.ApprovalTimeout, FirstToken: r.Metrics.FirstToken,
		Idle: func(idle bool) { r.setIdle(run, idle) },
		Mark: func(idle bool) *eventlog.Commit { return r.mark(run, attempts.Mark{Left: idle}) },
		Stop: run.stop, Now: r.now, SharedNow: r.SharedNow, Logger: r.Logger,
	})
}

// answer runs the loop. A panic fails the run.
func (r *Runs) answer(run *run, wr *answer.Writer) (end answer.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			r.Logger.Error("a run panicked", "run_id", run.ID, "panic", fmt.Sprint(p), "at", concurrent.PanicPlace())
			end = answer.Outcome{State: schemas.RunFailed, Err: schemas.NewError(schemas.CodeInternal, "something went wrong on our side; it has been logged")}
		}
	}()
	if r.Drafts != nil && run.Attempt > 0 { // by now another run may hold the claims of a later attempt
		r.Drafts.Await(run.ctx, run.claim, 0)
	}
	target := wr.Target(run.ctx)
	if run.earlier == nil {
		wr.Begin(target)
	} else if end, over := r.resume(run, wr); over {
		return end
	}
	err := context.Cause(run.ctx)
	if err == nil {
		err = concurrent.OnFreshStack(func() error {
			prepared, err := r.prepare.Prepare(run.ctx, run.part())
			if err == nil {
				wr.Use(prepared)
			}
			return err
		})
	}
	switch {
	case err != nil:
	case run.Request.InteractionType == schemas.ActionExecuted:
		err = r.clicks.Do(run.ctx, run.part(), wr)
	default:
		err = r.converse(run, wr)
	}
	if err != nil {
		return stopped(run.ctx, err)
	}
	return answer.Outcome{State: schemas.RunCompleted}
}

// converse runs the conversation with the model.
func (r *Runs) converse(run *run, wr *answer.Writer) error {
	for event, err := range r.loop(run, wr.Ask()) {
		if _, next := event.(turn.CallStart); next && r.leavesNow(run) {
			return errShutdown
		}
		if err == nil {
			err = wr.Handle(event)
		}
		if err != nil {
			return err
		}
	}
	if cause := context.Cause(run.ctx); cause != nil && !wr.Stopped() {
		return cause
	}
	if wr.Repair(r.ask) {
		if cause := context.Cause(run.ctx); cause != nil && !errors.Is(cause, errRunTimeout) {
			return cause
		}
	}
	return nil
}

// loop starts the loop for the run. While a run waits for its model, converse's
// frame is on its stack. The request is copied here to keep that frame small:
// otherwise most running runs would have a stack of 16 KiB instead of 8.
//
//go:noinline
func (r *Runs) loop(run *run, req *turn.Request) iter.Seq2[turn.Event, error] {
	return r.Agent.Run(run.ctx, *req)
}

// stopped is the outcome of work that ended early with err. The cause of a
// cancelled context counts more than an error that follows from it.
func stopped(ctx context.Context, err error) answer.Outcome {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	switch {
	case errors.Is(err, answer.ErrCancelled), errors.Is(err, answer.ErrDisconnected), errors.Is(err, answer.ErrWithdrawn):
		return answer.Outcome{State: schemas.RunCancelled, Err: err}
	case errors.Is(err, errShutdown), errors.Is(err, record.ErrFenced), errors.Is(err, record.ErrUnavailable):
		return answer.Outcome{Err: err}
	case errors.Is(err, eventlog.ErrFull):
		return answer.Outcome{State: schemas.RunFailed, Err: schemas.NewError(schemas.CodeUpstreamError, "the answer grew too long and was stopped").Because(err)}
	default:
		return answer.Outcome{State: schemas.RunFailed, Err: err}
	}
}

// giveUp leaves the run to a later attempt, which the next start begins, or the process that
// has fenced off this attempt, or revive once the database is back.
func (r *Runs) giveUp(run *run, wr *answer.Writer, err error) schemas.RunState {
	switch {
	case errors.Is(err, errShutdown):
		r.forget(run)
		r.leave(run)
		if err := wr.Interrupt(); err != nil {
			r.Logger.Warn("could not store the events of an interrupted run", "run_id", run.ID, "error", err)
		}
		r.letGo(run.lease, run.ID)
		run.log.Close()
	case errors.Is(err, record.ErrFenced):
		r.forget(run)
		r.leases.Fenced()
		attempts.Lost(r.Store.Runs, run.log, run.ID, r.Logger)
	default:
		r.Logger.Warn("a run is left to a later attempt", "run_id", run.ID, "attempt", run.Attempt, "error", err)
		r.park(run.ID, parked{lease: run.lease, lost: wr.Unsaved(), was: run, fatal: run.earlier != nil && run.earlier.Fatal})
		run.log.Close()
	}
	return "given up"
}
