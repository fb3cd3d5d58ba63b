package runs

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
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/modeltext"
	"github.com/chattray/chattray/services/questions"
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
	earlier        *earlier // nil in the first attempt
	spent          *usage.Ledger

	starting bool          // queued no more: somebody starts it, see markStarting
	resting  bool          // it does nothing but wait, see setIdle
	held     bool          // it waits for its trial, see hold
	calm     chan struct{} // rung when it rests

	//nolint:containedctx // a run's context is not a request's: it lives as long as the run
	ctx     context.Context
	stop    context.CancelCauseFunc
	done    chan struct{} // closed when the run's goroutine has ended
	limit   limit         // of the run's time
	wakeups answer.Wakeups
	release func()
	text    *modeltext.Count
	trace   atomic.Pointer[schemas.Diagnostics]
	first   *record.FirstAnswer // what Answered is told of a new chat; nil of others
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
	if b.NewChat {
		one.first = &record.FirstAnswer{Owner: user.ID, ConversationID: b.Run.ConversationID, Title: b.Title, Question: questions.FirstMessage(req)}
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
	one.text = r.text.Count()
	one.log = eventlog.New(attempt, r.Frame, r.nowMilli)
	one.spent = usage.NewLedger(r.Prices)
	one.ctx, one.stop = context.WithCancelCause(turn.WithMeter(base, one.spent.Add))
	one.done, one.calm = make(chan struct{}), make(chan struct{}, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live[one.id] = one
	if r.cancelledBeforeStart[one.id] {
		delete(r.cancelledBeforeStart, one.id)
		one.stop(answer.ErrCancelled)
	}
}

// goWork starts the goroutine of the run.
func (r *Runs) goWork(one *run) {
	r.committer.Watch(eventlog.Attempt{RunID: one.id, Number: one.attempt, Log: one.log})
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
	one.text.End()
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
	wr := r.writer(one)
	end := r.answer(one, wr)
	if end.State == "" {
		return r.giveUp(one, wr, end.Err)
	}
	if err := r.finish(one, wr, end); err != nil {
		return r.giveUp(one, wr, err)
	}
	return end.State
}

// writer returns what writes down the run's answer.
func (r *Runs) writer(one *run) *answer.Writer {
	a := answer.Run{
		ID: one.id, Attempt: one.attempt, Owner: one.owner, ChatID: one.conversationID, ChatKey: one.chatKey, NewChat: one.newChat,
		MessageID: one.messageID, UserMessageID: one.userMessageID, UserMessage: one.userMessage, CreatedAt: one.createdAt, Request: one.req,
	}
	if one.earlier != nil {
		a.Earlier = one.earlier.Earlier
	}
	return answer.New(one.ctx, a, answer.Deps{
		Log: one.log, Commit: r.committer, Store: r.Store.Answer, Drafts: r.Drafts, Spent: one.spent, Text: one.text, Clock: &one.limit, Wakeups: &one.wakeups,
		Tool:        func(name string) (turn.Tool, bool) { return r.Pages.Tool(name, one.owner) },
		OffersModel: r.offersModel,
		Approve:     r.ApproveAfterUntrusted, ApprovalTimeout: r.ApprovalTimeout, FirstToken: r.Metrics.FirstToken,
		Rest: func(resting bool) { r.setIdle(one, resting) },
		Mark: func(resting bool) *eventlog.Commit { return r.mark(one, attempts.Mark{Left: resting}) },
		Stop: one.stop, Now: r.now, Logger: r.Logger,
	})
}

// answer runs the loop. A panic is a failed run.
func (r *Runs) answer(one *run, wr *answer.Writer) (end answer.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			r.Logger.Error("a run panicked", "run_id", one.id, "panic", fmt.Sprint(p), "at", concurrent.PanicPlace())
			end = answer.Outcome{State: schemas.RunFailed, Err: schemas.NewError(schemas.CodeInternal, "something went wrong on our side; it has been logged")}
		}
	}()
	target := wr.Target(one.ctx)
	if one.earlier == nil {
		wr.Begin(target)
	} else if end, over := r.resume(one, wr); over {
		return end
	}
	if cause := context.Cause(one.ctx); cause != nil {
		return r.stopped(one, cause)
	}
	prepared, err := r.prepareApart(one.ctx, one)
	if err != nil {
		return r.stopped(one, err)
	}
	wr.Use(prepared)
	if one.req.InteractionType == schemas.ActionExecuted {
		return r.act(one, wr)
	}
	return r.converse(one, wr)
}

// converse has the conversation with the model.
func (r *Runs) converse(one *run, wr *answer.Writer) answer.Outcome {
	for event, err := range r.loop(one, wr.Ask()) {
		if err == nil {
			err = wr.Handle(event)
		}
		if err != nil {
			return r.stopped(one, err)
		}
	}
	if cause := context.Cause(one.ctx); cause != nil && !wr.Stopped() {
		return r.stopped(one, cause)
	}
	if wr.Repair(r.ask) {
		if cause := context.Cause(one.ctx); cause != nil && !errors.Is(cause, errRunTimeout) {
			return r.stopped(one, cause)
		}
	}
	return answer.Outcome{State: schemas.RunCompleted}
}

// loop starts the loop for the run. A run waits for its model on top of converse's
// frame, which so has no room for a copy of the request: with such copies most
// runs under way would have a stack of 16 KiB instead of 8.
//
//go:noinline
func (r *Runs) loop(one *run, req *turn.Request) iter.Seq2[turn.Event, error] {
	return r.Agent.Run(one.ctx, *req)
}

// stopped sorts the reason why the work ended early. The cause of a cancelled
// context counts more than the error it brought about.
func (r *Runs) stopped(one *run, err error) answer.Outcome {
	if cause := context.Cause(one.ctx); cause != nil {
		err = cause
	}
	switch {
	case errors.Is(err, answer.ErrCancelled), errors.Is(err, answer.ErrDisconnected):
		return answer.Outcome{State: schemas.RunCancelled, Err: err}
	case errors.Is(err, errShutdown), errors.Is(err, record.ErrFenced), errors.Is(err, record.ErrUnavailable):
		return answer.Outcome{Err: err}
	case errors.Is(err, eventlog.ErrFull):
		return answer.Outcome{State: schemas.RunFailed, Err: schemas.NewError(schemas.CodeInternal, "the answer grew too long and was stopped").Because(err)}
	default:
		return answer.Outcome{State: schemas.RunFailed, Err: err}
	}
}

// giveUp leaves the run to a later attempt: of the next start, of the one that
// fenced this off, or of revive once the database is back.
func (r *Runs) giveUp(one *run, wr *answer.Writer, err error) schemas.RunState {
	r.forget(one)
	switch {
	case errors.Is(err, errShutdown):
		r.leave(one)
		if err := wr.Interrupt(); err != nil {
			r.Logger.Warn("store the events of an interrupted run", "run_id", one.id, "error", err)
		}
		one.log.Close()
	case errors.Is(err, record.ErrFenced):
		r.Logger.Warn("a run goes on elsewhere", "run_id", one.id, "attempt", one.attempt)
		one.log.Close()
	default:
		r.Logger.Warn("a run is given up for now", "run_id", one.id, "attempt", one.attempt, "error", err)
		one.log.Close()
		r.park(one.id, wr.Unsaved())
	}
	return "given up"
}
