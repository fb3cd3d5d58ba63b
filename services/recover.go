package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// checkpoint is what a checkpoint of a run holds: a whole reply of the model,
// or that a server action was about to run.
type checkpoint struct {
	Reply  *turn.Reply `json:"reply,omitempty"`
	Action bool        `json:"action,omitempty"`
	// Spent is what the run has used of each model by then.
	Spent []record.ModelUsage `json:"spent,omitempty"`
}

// prior is what earlier attempts of a run left behind.
type prior struct {
	steps  []turn.Step
	action bool
	calls  []record.ToolCall
	events []runlog.Event
	cancel bool
	spent  []record.ModelUsage
}

// Recover takes up every run that an earlier process left: those under way go
// on from their last checkpoint as a new attempt, queued ones wait for their
// turn. It returns when all have been taken up.
func (r *Runs) Recover(ctx context.Context) error {
	list, err := r.Store.Unfinished(ctx)
	if err != nil {
		return fmt.Errorf("find unfinished runs: %w", err)
	}
	var group sync.WaitGroup
	places := make(chan struct{}, recoverAtOnce)
	chats := make(map[int64]bool)
	for _, rec := range list {
		if rec.State == schemas.RunQueued {
			if err := r.requeue(rec); err != nil {
				return err
			}
			chats[rec.ConversationID] = true
			continue
		}
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			if err := r.takeUp(ctx, rec); err != nil && !errors.Is(err, record.ErrFenced) {
				r.Logger.Error("take up a run", "run_id", rec.ID, "error", err)
				r.orphan(rec.ID)
			}
		})
	}
	group.Wait()
	for id := range chats {
		r.next(id)
	}
	return nil
}

func (r *Runs) orphan(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.orphans[id] = true
}

// revive takes up the runs that were given up while the database was away.
func (r *Runs) revive(ctx context.Context) {
	tick := time.NewTicker(reviveEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		r.mu.Lock()
		ids := make([]string, 0, len(r.orphans))
		for id := range r.orphans {
			ids = append(ids, id)
		}
		r.mu.Unlock()
		for _, id := range ids {
			rec, err := r.Store.Run(ctx, id)
			if err == nil && rec.State == schemas.RunRunning {
				err = r.takeUp(ctx, rec)
			}
			if err == nil || errors.Is(err, record.ErrFenced) || errors.Is(err, schemas.ErrNotFound) {
				r.mu.Lock()
				delete(r.orphans, id)
				r.mu.Unlock()
			}
		}
	}
}

// known makes the run of a stored one.
func (r *Runs) known(rec record.Run) (*run, error) {
	one := &run{
		runs: r, id: rec.ID, conversationID: rec.ConversationID, chatKey: rec.ChatKey, owner: rec.Owner,
		messageID: rec.MessageID, userMessageID: rec.UserMessageID, createdAt: rec.CreatedAt, req: new(schemas.ChatRequest),
	}
	if err := json.Unmarshal(rec.Request, one.req); err != nil {
		return nil, fmt.Errorf("read the request of run %s: %w", rec.ID, err)
	}
	r.mu.Lock()
	r.perUser[rec.Owner.ID]++
	r.mu.Unlock()
	one.release = func() { r.dismiss(rec.Owner.ID) }
	return one, nil
}

func (r *Runs) requeue(rec record.Run) error {
	one, err := r.known(rec)
	if err != nil {
		return err
	}
	r.enlist(one, 1)
	if rec.CancelRequested {
		one.stop(errUserCancel)
	}
	return nil
}

// takeUp starts the next attempt of a run.
func (r *Runs) takeUp(ctx context.Context, rec record.Run) error {
	r.mu.Lock()
	if r.draining {
		r.mu.Unlock()
		return nil
	}
	r.work.Add(1)
	r.mu.Unlock()
	defer r.work.Done()
	p, err := r.readPrior(ctx, rec)
	if err != nil {
		return err
	}
	attempt := rec.Attempt + 1
	if err := r.Store.Claim(ctx, rec.ID, attempt); err != nil {
		return err
	}
	one, err := r.known(rec)
	if err != nil {
		return err
	}
	one.attempt, one.prior = attempt, p
	r.enlist(one, attempt)
	one.spent.restore(p.spent)
	r.goWork(one)
	return nil
}

// readPrior reads what earlier attempts of a run have stored.
func (r *Runs) readPrior(ctx context.Context, rec record.Run) (*prior, error) {
	p := &prior{cancel: rec.CancelRequested}
	checkpoints, err := r.Store.Checkpoints(ctx, rec.ID)
	if err != nil {
		return nil, err
	}
	for _, c := range checkpoints {
		var cp checkpoint
		if err := json.Unmarshal(c.Data, &cp); err != nil {
			return nil, fmt.Errorf("read checkpoint %d of run %s: %w", c.N, rec.ID, err)
		}
		p.action = p.action || cp.Action
		if cp.Spent != nil {
			p.spent = cp.Spent
		}
		if cp.Reply != nil {
			p.steps = append(p.steps, turn.Step{Reply: *cp.Reply, Results: make([]*turn.Result, len(cp.Reply.ToolCalls))})
		}
	}
	if p.calls, err = r.Store.ToolCalls(ctx, rec.ID); err != nil {
		return nil, err
	}
	segments, err := r.Store.Segments(ctx, rec.ID, 0)
	if err != nil {
		return nil, err
	}
	for _, s := range segments {
		events, err := decodeEvents(s.Data)
		if err != nil {
			return nil, fmt.Errorf("read the log of run %s: %w", rec.ID, err)
		}
		p.events = append(p.events, events...)
	}
	return p, nil
}

// resume brings the recorder to where the last checkpoint left it and says so
// in the log. It ends runs that are not to go on: cancelled ones, those with
// too many attempts, and actions whose outcome is unknown.
func (r *Runs) resume(one *run, rec *recorder, brief *briefing) (outcome, bool) {
	p := one.prior
	rec.restore(p)
	kept := p.keptThrough()
	text := rec.visible.String()
	if p.cancel {
		text = rec.standing(p.events)
	}
	rec.emitData(runlog.Attempt, 0, 0, 0, schemas.StatusEvent{
		Type: schemas.TypeStatus, Message: "Resuming...", RunID: one.id, ConversationID: one.conversationID, ChatID: one.chatKey,
		UserMessageID: one.userMessageID, Attempt: one.attempt, KeptThrough: &kept, Text: &text,
	})
	rec.levels.closePrior(p.open(kept))
	rec.stand(text)
	switch {
	case p.cancel:
		return outcome{schemas.RunCancelled, errUserCancel}, true
	case one.attempt > MaxAttempts:
		return outcome{schemas.RunFailed, schemas.NewError(schemas.CodeInterrupted, "the answer was interrupted several times and was given up")}, true
	case p.action:
		return outcome{schemas.RunFailed, schemas.NewError(schemas.CodeInterrupted, "the service was interrupted while the action ran; it is not known whether it took effect")}, true
	}
	return outcome{}, false
}

// restore goes through the finished steps again, in silence: the same filter
// gives the same text, the same payloads and the same markers.
func (rec *recorder) restore(p *prior) {
	rec.silent = true
	defer func() { rec.silent = false }()
	rec.interrupted = make(map[int]bool)
	for _, step := range p.steps {
		rec.spoke = false
		rec.reply(step.Reply)
		for i := range step.Reply.ToolCalls {
			rec.restoreCall(p, step.Reply.FirstIndex+i)
		}
	}
	rec.checkpoint = nil
	rec.pending = nil
	if n := len(rec.steps); n > 0 && len(rec.steps[n-1].Reply.ToolCalls) == 0 {
		rec.stop = ""
	}
}

// restoreCall takes over what is known of a call.
func (rec *recorder) restoreCall(p *prior, index int) {
	for _, row := range p.calls {
		if row.Index != index {
			continue
		}
		if row.State != record.ToolFinished {
			rec.interrupted[index] = true
			return
		}
		c := rec.at(index)
		c.ToolCall, c.payload = row, row.Payload
		result := turn.Result{Text: row.Output, IsError: row.IsError, Duration: row.Duration}
		if row.Payload != nil {
			result.Payload = &turn.Payload{Type: row.Payload.Type, Data: row.Payload.Data}
			rec.payloads = append(rec.payloads, *row.Payload)
			rec.take(row.Payload.PayloadID)
		}
		rec.result(index, result)
		rec.completed(c)
	}
}

// standing is the visible text of stored events, for a run that is cancelled
// without another call of the model: what its reader saw is kept.
func (rec *recorder) standing(events []runlog.Event) string {
	rec.visible.Reset()
	for i := range events {
		switch e := &events[i]; e.Kind { //nolint:exhaustive // the other kinds are no text
		case runlog.Text, runlog.Marker:
			rec.visible.WriteString(e.Text)
		case runlog.Attempt:
			var s schemas.StatusEvent
			if json.Unmarshal(e.Data, &s) == nil && s.Text != nil {
				rec.visible.Reset()
				rec.visible.WriteString(*s.Text)
			}
		}
	}
	return rec.visible.String()
}

// stand shows the text that stands as one whole message, for the dialects that
// have messages.
func (rec *recorder) stand(text string) {
	text = strings.TrimSpace(toolMarker.ReplaceAllString(text, ""))
	if text == "" {
		return
	}
	rec.levels.write("text")
	rec.emit(runlog.Event{Kind: runlog.Standing, Block: rec.levels.block, Message: rec.levels.text, Text: text})
	rec.levels.closeBlock("completed")
}

// open returns the starts of the levels that are open after the event of that
// number, the outermost first.
func (p *prior) open(kept int64) []runlog.Event {
	var open []runlog.Event
	for _, e := range p.events {
		if e.Seq > kept {
			break
		}
		switch e.Kind { //nolint:exhaustive // the other kinds open and close nothing
		case runlog.ThreadStart, runlog.BlockStart, runlog.MessageStart:
			open = append(open, e)
		case runlog.ThreadEnd, runlog.BlockEnd, runlog.MessageEnd:
			open = slices.DeleteFunc(open, func(o runlog.Event) bool { return closes(e, o) })
		}
	}
	return open
}

// closes says whether an event ends the level that another one started.
func closes(end, start runlog.Event) bool {
	return end.Kind == levelEnds[start.Kind] && end.Thread == start.Thread && end.Block == start.Block && end.Message == start.Message
}

// levelEnds is the kind of event that ends what another kind starts.
var levelEnds = map[runlog.Kind]runlog.Kind{
	runlog.ThreadStart: runlog.ThreadEnd, runlog.BlockStart: runlog.BlockEnd, runlog.MessageStart: runlog.MessageEnd,
}

// keptThrough is the number of the last stored event that the checkpoints
// cover: the end of a whole reply, or a finished call.
func (p *prior) keptThrough() int64 {
	var kept int64
	replies := 0
	for i := range p.events {
		e := &p.events[i]
		switch e.Kind { //nolint:exhaustive // the other kinds end nothing
		case runlog.Started, runlog.ToolComplete:
			kept = e.Seq
		case runlog.BlockEnd:
			var level runlog.Level
			if json.Unmarshal(e.Data, &level) == nil && level.Type == "llm" {
				replies++
			}
			if replies > len(p.steps) {
				return kept
			}
			kept = e.Seq
		}
	}
	return kept
}
