package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

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
	p := &prior{cancel: rec.CancelRequested, calls: make(map[int]record.ToolCall)}
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
	calls, err := r.Store.ToolCalls(ctx, rec.ID)
	if err != nil {
		return nil, err
	}
	for _, c := range calls {
		p.calls[c.Index] = c
	}
	segments, err := r.Store.Segments(ctx, rec.ID, 0)
	if err != nil {
		return nil, err
	}
	var events []runlog.Event
	for _, s := range segments {
		list, err := decodeEvents(s.Data)
		if err != nil {
			return nil, fmt.Errorf("read the log of run %s: %w", rec.ID, err)
		}
		events = append(events, list...)
	}
	p.events = standingEvents(events)
	p.compare()
	return p, nil
}
