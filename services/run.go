package services

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/usage"
)

// run is a run of this process: queued, under way, or ended with readers left.
type run struct {
	runs           *Runs
	id             string
	attempt        int
	conversationID int64
	chatKey        string
	newChat        bool
	owner          schemas.User
	messageID      string
	userMessageID  string
	userMessage    *record.UserMessage // nil when it is to be read
	createdAt      time.Time
	req            *schemas.ChatRequest
	log            *eventlog.Log
	prior          *prior // what earlier attempts left; nil in the first
	spent          *usage.Ledger

	seized  bool          // queued no more: somebody starts it, see seize
	resting bool          // it does nothing but wait, see rest
	held    bool          // it waits for its trial, see hold
	calm    chan struct{} // rung when it rests

	//nolint:containedctx // a run's context is not a request's: it lives as long as the run
	ctx     context.Context
	stop    context.CancelCauseFunc
	done    chan struct{} // closed when the run's goroutine has ended
	limit   limit         // of the run's time
	bells   bells         // of its calls that wait
	release func()
	text    textCount
	trace   atomic.Pointer[schemas.Diagnostics]
}

// outcome is how an attempt ended.
type outcome struct {
	state schemas.RunState // terminal, or "" for an attempt that is given up
	err   error
}

// launch makes the run of a committed Begin and starts it, unless it is queued.
func (r *Runs) launch(ctx context.Context, b *record.Begin, req *schemas.ChatRequest, user schemas.User, release func()) *run {
	one := &run{
		runs: r, id: b.Run.ID, conversationID: b.Run.ConversationID, chatKey: b.Run.ChatKey, newChat: b.NewChat, owner: user,
		messageID: b.Run.MessageID, userMessageID: b.Run.UserMessageID, userMessage: b.UserMessage, createdAt: b.Run.CreatedAt, req: req, release: release,
	}
	if b.State == schemas.RunRunning {
		one.attempt = 1
	}
	r.enlist(r.Carry(ctx, r.base), one, 1)
	if b.State == schemas.RunRunning {
		r.goWork(one)
	} else {
		r.next(one.conversationID) // the one before may have ended meanwhile
	}
	return one
}

// enlist makes the run known under its id, with the log of the attempt. Base is
// r.base, with what a request carries over.
func (r *Runs) enlist(base context.Context, one *run, attempt int) {
	one.text.of = &r.text
	one.log = eventlog.New(attempt, r.Frame, r.nowMilli)
	one.spent = usage.NewLedger(r.Prices)
	one.ctx, one.stop = context.WithCancelCause(turn.WithMeter(base, one.spent.Add))
	one.done, one.calm = make(chan struct{}), make(chan struct{}, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live[one.id] = one
	if r.doomed[one.id] {
		delete(r.doomed, one.id)
		one.stop(errUserCancel)
	}
}

// goWork starts the goroutine of the run.
func (r *Runs) goWork(one *run) {
	r.work.Go(func() {
		began := r.now()
		r.Metrics.RunStarted()
		one.limit.start(r.RunTimeout, func() { one.stop(errRunTimeout) })
		end := r.attempt(one)
		one.limit.timer.Stop()
		one.stop(nil)
		r.Metrics.RunEnded(string(end), r.now().Sub(began))
		r.Metrics.Event(int(one.log.Last() - one.log.Base()))
		r.ended(one)
	})
}

// ended forgets a run that nobody reads and lets the chat's next one begin.
func (r *Runs) ended(one *run) {
	r.absent.end(one)
	one.text.end()
	if one.log.Readers() == 0 {
		r.forget(one)
	}
	if one.release != nil {
		one.release()
	}
	close(one.done)
	if !r.Draining() {
		r.next(one.conversationID)
	}
}

func (r *Runs) forget(one *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live[one.id] == one {
		delete(r.live, one.id)
	}
}

// attempt does the work of one attempt and brings it to its end; it returns the
// state reached, or "given up".
func (r *Runs) attempt(one *run) (reached schemas.RunState) {
	rec := newRecorder(one)
	end := r.answer(one, rec)
	if end.state == "" {
		return r.giveUp(one, rec, end.err)
	}
	if err := r.finish(one, rec, end); err != nil {
		return r.giveUp(one, rec, err)
	}
	return end.state
}

// answer runs the loop. A panic is a failed run.
func (r *Runs) answer(one *run, rec *recorder) (end outcome) {
	defer func() {
		if p := recover(); p != nil {
			r.Logger.Error("a run panicked", "run_id", one.id, "panic", fmt.Sprint(p), "at", concurrent.PanicPlace())
			end = outcome{schemas.RunFailed, schemas.NewError(schemas.CodeInternal, "something went wrong on our side; it has been logged")}
		}
	}()
	target := rec.target(one.ctx)
	if one.prior == nil {
		rec.begun(target)
	} else if end, over := r.resume(one, rec); over {
		return end
	}
	if cause := context.Cause(one.ctx); cause != nil {
		return r.stopped(one, cause)
	}
	brief, err := r.briefApart(one.ctx, one)
	if err != nil {
		return r.stopped(one, err)
	}
	rec.use(brief)
	if one.req.InteractionType == schemas.ActionExecuted {
		return r.act(one, rec)
	}
	return r.converse(one, rec, brief)
}

// begun says in the log that the run begins.
func (rec *recorder) begun(target runlog.Target) {
	rec.emit(runlog.Level{}, &runlog.Started{Run: rec.run.names(), Message: thinkingStatus, Target: target})
}

// names is how the log names the run.
func (one *run) names() runlog.Run {
	return runlog.Run{RunID: one.id, ConversationID: one.conversationID, ChatID: one.chatKey, UserMessageID: one.userMessageID}
}

// converse has the conversation with the model.
func (r *Runs) converse(one *run, rec *recorder, brief *briefing) outcome {
	for event, err := range r.loop(one, rec, &brief.request) {
		if err != nil {
			return r.stopped(one, err)
		}
		rec.handle(event)
		if rec.err != nil {
			return r.stopped(one, rec.err)
		}
	}
	if cause := context.Cause(one.ctx); cause != nil && rec.stop == "" {
		return r.stopped(one, cause)
	}
	if rec.cut != nil && rec.stop == schemas.MaxTokens {
		r.repair(one, rec, brief)
		if cause := context.Cause(one.ctx); cause != nil && !errors.Is(cause, errRunTimeout) {
			return r.stopped(one, cause)
		}
	}
	return outcome{state: schemas.RunCompleted}
}

// loop starts the loop for the run. A run waits for its model on top of converse's
// frame, which so has no room for a copy of the request: with such copies most
// runs under way would have a stack of 16 KiB instead of 8.
//
//go:noinline
func (r *Runs) loop(one *run, rec *recorder, req *turn.Request) iter.Seq2[turn.Event, error] {
	req.Steps = rec.steps
	req.RunID, req.ConversationID = one.id, one.conversationID
	req.RunTool, req.Await, req.Asks = rec.runTool, rec.await, rec.asks
	req.Writing = &rec.writing
	rec.offered = req.Tools
	return r.Agent.Run(one.ctx, *req)
}

// stopped sorts the reason why the work ended early. The cause of a cancelled
// context counts more than the error it brought about.
func (r *Runs) stopped(one *run, err error) outcome {
	if cause := context.Cause(one.ctx); cause != nil {
		err = cause
	}
	switch {
	case errors.Is(err, errUserCancel), errors.Is(err, errDisconnect):
		return outcome{state: schemas.RunCancelled, err: err}
	case errors.Is(err, errShutdown), errors.Is(err, record.ErrFenced), errors.Is(err, record.ErrUnavailable):
		return outcome{err: err}
	case errors.Is(err, eventlog.ErrFull):
		return outcome{schemas.RunFailed, schemas.NewError(schemas.CodeInternal, "the answer grew too long and was stopped").Because(err)}
	default:
		return outcome{schemas.RunFailed, err}
	}
}

// giveUp leaves the run to a later attempt: of the next start, of the one that
// fenced this off, or of revive once the database is back.
func (r *Runs) giveUp(one *run, rec *recorder, err error) schemas.RunState {
	r.forget(one)
	switch {
	case errors.Is(err, errShutdown):
		w := &record.Write{}
		if spent := one.spent.Models(); len(spent) > 0 {
			w.Checkpoint = &record.Checkpoint{N: len(rec.steps) + 1, Data: encode(checkpoint{Spent: spent})}
		}
		r.leave(one)
		if err := rec.submit(w, false).Wait(context.WithoutCancel(one.ctx)); err != nil {
			r.Logger.Warn("store the events of an interrupted run", "run_id", one.id, "error", err)
		}
		one.log.Close()
	case errors.Is(err, record.ErrFenced):
		r.Logger.Warn("a run goes on elsewhere", "run_id", one.id, "attempt", one.attempt)
		one.log.Close()
	default:
		r.Logger.Warn("a run is given up for now", "run_id", one.id, "attempt", one.attempt, "error", err)
		one.log.Close()
		r.orphan(one.id, rec.unsaved())
	}
	return "given up"
}
