package services

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
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
	log            *log
	prior          *prior // what earlier attempts left; nil in the first
	spent          *ledger

	seized bool // queued no more: somebody starts it, see seize

	//nolint:containedctx // a run's context is not a request's: it lives as long as the run
	ctx     context.Context
	stop    context.CancelCauseFunc
	done    chan struct{} // closed when the run's goroutine has ended
	limit   limit         // of the run's time
	bells   bells         // of its calls that wait
	release func()
	trace   atomic.Pointer[schemas.Diagnostics]
}

// outcome is how an attempt ended.
type outcome struct {
	state schemas.RunState // terminal, or "" for an attempt that is given up
	err   error
}

// launch makes the run of a committed Begin and starts it, unless it is queued.
func (r *Runs) launch(b *record.Begin, req *schemas.ChatRequest, user schemas.User, release func()) *run {
	one := &run{
		runs: r, id: b.Run.ID, conversationID: b.Run.ConversationID, chatKey: b.Run.ChatKey, newChat: b.NewChat, owner: user,
		messageID: b.Run.MessageID, userMessageID: b.Run.UserMessageID, userMessage: b.UserMessage, createdAt: b.Run.CreatedAt, req: req, release: release,
	}
	if b.State == schemas.RunRunning {
		one.attempt = 1
	}
	r.enlist(one, 1)
	if b.State == schemas.RunRunning {
		r.goWork(one)
	} else {
		r.next(one.conversationID) // the one before may have ended meanwhile
	}
	return one
}

// enlist makes the run known under its id, with the log of the attempt.
func (r *Runs) enlist(one *run, attempt int) {
	one.log = newLog(attempt, r.Frame, r.nowMilli)
	one.spent = &ledger{prices: r.Prices}
	one.ctx, one.stop = context.WithCancelCause(turn.WithMeter(r.base, one.spent.add))
	one.done = make(chan struct{})
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
		r.Metrics.Event(int(one.log.last() - one.log.base))
		r.ended(one)
	})
}

// ended forgets a run that nobody reads and lets the chat's next one begin.
func (r *Runs) ended(one *run) {
	if one.log.readers() == 0 {
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

// seize makes the caller the one who starts a queued run, and counts that as
// work that Shutdown waits for.
func (r *Runs) seize(one *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.attempt != 0 || one.seized || r.draining {
		return false
	}
	one.seized = true
	r.work.Add(1)
	return true
}

// wake ends a queued run that has been cancelled now and not when its turn
// comes: as attempt 0, for it never began.
func (r *Runs) wake(one *run) {
	if r.seize(one) {
		r.goWork(one)
		r.work.Done()
	}
}

// claim starts a queued run that was seized, if it is its turn.
func (r *Runs) claim(ctx context.Context, one *run) {
	defer r.work.Done()
	err := r.Store.Claim(ctx, one.id, 1)
	r.mu.Lock()
	if err == nil {
		one.attempt = 1
	} else {
		one.seized = false
	}
	r.mu.Unlock()
	switch {
	case err == nil:
		r.goWork(one)
	case errors.Is(err, record.ErrBusy), errors.Is(err, record.ErrFenced):
		if context.Cause(one.ctx) != nil { // cancelled meanwhile
			r.wake(one)
		}
	default:
		r.Logger.Error("start a queued run", "run_id", one.id, "error", err)
		r.stall(one.conversationID)
	}
}

// next starts the oldest queued run of a chat, if none is under way.
func (r *Runs) next(conversationID int64) {
	if !r.hasQueued(conversationID) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitWait)
	defer cancel()
	rec, err := r.Store.NextQueued(ctx, conversationID)
	if err != nil {
		if !errors.Is(err, schemas.ErrNotFound) {
			r.Logger.Error("find a queued run", "conversation_id", conversationID, "error", err)
			r.stall(conversationID)
		}
		return
	}
	if one := r.find(rec.ID); one != nil && r.seize(one) {
		r.claim(ctx, one)
	}
}

func (r *Runs) hasQueued(conversationID int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.live {
		if one.conversationID == conversationID && one.attempt == 0 && !one.seized {
			return true
		}
	}
	return false
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
			r.Logger.Error("a run panicked", "run_id", one.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			end = outcome{schemas.RunFailed, schemas.NewError(schemas.CodeInternal, "something went wrong on our side; it has been logged")}
		}
	}()
	target := rec.target(one.ctx)
	if one.prior != nil {
		if end, over := r.resume(one, rec); over {
			return end
		}
	} else {
		rec.emit(runlog.Event{Kind: runlog.Started, Text: string(encode(target)), Data: encode(schemas.StatusEvent{
			Type: schemas.TypeStatus, Message: thinkingStatus, RunID: one.id, ConversationID: one.conversationID,
			ChatID: one.chatKey, UserMessageID: one.userMessageID,
		})})
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

// converse has the conversation with the model.
func (r *Runs) converse(one *run, rec *recorder, brief *briefing) outcome {
	brief.request.Steps = rec.steps
	brief.request.Tools = rec.wrap(brief.request.Tools)
	for event, err := range r.Agent.Run(one.ctx, brief.request) {
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
	case errors.Is(err, errLogFull):
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
		if spent := one.spent.models(); len(spent) > 0 {
			w.Checkpoint = &record.Checkpoint{N: len(rec.steps) + 1, Data: encode(checkpoint{Spent: spent})}
		}
		if err := rec.submit(w, false).wait(context.WithoutCancel(one.ctx)); err != nil {
			r.Logger.Warn("store the events of an interrupted run", "run_id", one.id, "error", err)
		}
		one.log.close()
	case errors.Is(err, record.ErrFenced):
		r.Logger.Warn("a run goes on elsewhere", "run_id", one.id, "attempt", one.attempt)
		one.log.close()
	default:
		r.Logger.Warn("a run is given up for now", "run_id", one.id, "attempt", one.attempt, "error", err)
		one.log.close()
		r.orphan(one.id, rec.unsaved())
	}
	return "given up"
}

// finish commits the answer, the trace and the whole log with its terminal
// event, and only then shows that event.
func (r *Runs) finish(one *run, rec *recorder, end outcome) error {
	if end.state != schemas.RunCompleted {
		rec.breakOff()
	}
	rec.endBlocks(levelStatus[end.state])
	rec.levels.closeBlock(levelStatus[end.state])
	rec.usage = one.spent.total()
	d := rec.diagnostics()
	fin := &record.Finish{
		State: end.state, StopReason: rec.stop, Usage: rec.usage, Spent: one.spent.of(d.Model), EndedAt: r.now(), Trace: encode(d),
	}
	event := rec.terminal(end, fin)
	if end.err != nil && end.state == schemas.RunFailed {
		r.Logger.Warn("a run failed", "run_id", one.id, "user", one.owner.ID, "code", schemas.Visible(end.err).Code, "error", end.err)
	}
	w := &record.Write{Finish: fin}
	fin.Log = &record.Segment{Data: one.log.seal(&event)}
	fin.Log.First, fin.Log.Last = one.log.base+1, event.Seq
	booked := r.budget.booking(one.owner.ID, fin)
	err := rec.write(w).wait(context.WithoutCancel(one.ctx))
	booked(err)
	if err != nil {
		return err
	}
	one.trace.Store(&d)
	one.log.publish(event)
	return nil
}

// levelStatus is the status of levels that a run's end closes.
var levelStatus = map[schemas.RunState]string{
	schemas.RunCompleted: "completed", schemas.RunFailed: "error", schemas.RunCancelled: "cancelled",
}

// terminal makes the last event of the run, and the message that is kept.
func (rec *recorder) terminal(end outcome, fin *record.Finish) runlog.Event {
	m := &schemas.Message{
		ID: rec.run.messageID, ConversationID: rec.run.conversationID, Role: "assistant", Type: "md", Content: rec.message(),
		CreatedAt: fin.EndedAt, RunID: rec.run.id, Usage: &rec.usage,
		SuggestedValues: rec.values, SuggestedActions: rec.actions, CustomPayload: rec.customPayload(), Warnings: rec.warnings,
	}
	fin.Message = m
	switch end.state {
	case schemas.RunCompleted:
		m.Status, m.StopReason = schemas.MessageComplete, rec.stop
		if rec.stop == schemas.MaxTokens || rec.stop == schemas.ContentFilter {
			m.Status = schemas.MessageIncomplete
		}
		payload := rec.complete()
		return runlog.Event{Kind: runlog.Completed, Data: payload.AppendJSON(nil)}
	case schemas.RunCancelled:
		m.Status = schemas.MessageCancelled
		if !rec.produced() {
			fin.Message = nil
		}
		return runlog.Event{Kind: runlog.Cancelled, Data: encode(schemas.CancelledEvent{Type: schemas.TypeCancelled, MessageID: keptID(fin)})}
	default:
		seen := schemas.Visible(end.err)
		m.Status, m.Error = schemas.MessageError, &schemas.MessageFailure{Code: seen.Code, Message: seen.Message}
		fin.Error = m.Error
		return runlog.Event{Kind: runlog.Failed, Data: encode(schemas.ErrorEvent{
			Type: schemas.TypeError, Message: seen.Message, Code: seen.Code, Retryable: seen.Code.Retryable(), MessageID: keptID(fin),
		})}
	}
}

func keptID(fin *record.Finish) string {
	if fin.Message == nil {
		return ""
	}
	return fin.Message.ID
}

// complete is the payload of a run that has its answer (specs 001 and 003).
func (rec *recorder) complete() schemas.ChatResponsePayload {
	return schemas.ChatResponsePayload{
		Message: rec.message(), SuggestedValues: rec.values, SuggestedActions: rec.actions, CustomPayload: rec.customPayload(),
		Payloads: rec.payloads, ToolHistory: rec.history(), ConversationID: rec.run.conversationID, ChatID: rec.run.chatKey,
		MessageID: rec.run.messageID, RunID: rec.run.id, StopReason: rec.stop, Usage: rec.usage, Warnings: rec.warnings,
	}
}

// customPayload is the last payload of a tool, else the last of the model's
// text, else, when tools ran, their history.
func (rec *recorder) customPayload() *schemas.CustomPayload {
	for _, source := range []string{"tool", "llm"} {
		for _, v := range slices.Backward(rec.payloads) {
			if v.Source == source {
				p := v
				return &p
			}
		}
	}
	if history := rec.history(); len(history) > 0 {
		return &schemas.CustomPayload{Type: "tool_history", Data: encode(history)}
	}
	return nil
}
