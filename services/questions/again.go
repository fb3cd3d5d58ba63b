package questions

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// Repeated returns the run that the same request has begun before: under its Idempotency-Key,
// or with the id that it gives its message. A client that does not know whether its request
// arrived sends it again.
func (q *Questions) Repeated(ctx context.Context, user schemas.User, req *schemas.ChatRequest, o record.StartOptions) (record.Run, error) {
	if o.IdempotencyKey != "" {
		stored, err := q.Runs.RunByKey(ctx, user.ID, o.IdempotencyKey)
		if err == nil && stored.BodyHash != o.BodyHash {
			err = schemas.ErrKeyReused
		}
		if !errors.Is(err, schemas.ErrNotFound) {
			return stored, err
		}
	}
	if req.MessageID == "" {
		return record.Run{}, schemas.ErrNotFound
	}
	return q.resent(ctx, user, req)
}

// Instead returns the run that the request of a question has begun before, if the first write
// is refused for that. Otherwise the error says to the client why it is refused.
func (q *Questions) Instead(ctx context.Context, asked *Question, o record.StartOptions, refused error) (record.Run, error) {
	switch user := asked.Run.Owner; {
	case errors.Is(refused, record.ErrDuplicate):
		return q.Repeated(ctx, user, asked.Request, o)
	case errors.Is(refused, schemas.ErrTaken):
		stored, err := q.Repeated(ctx, user, asked.Request, o)
		if errors.Is(err, schemas.ErrNotFound) {
			err = schemas.ErrTaken
		}
		return stored, err
	case errors.Is(refused, record.ErrSame):
		return q.Runs.Run(ctx, asked.BusyRun)
	case errors.Is(refused, record.ErrNotCurrent):
		return record.Run{}, notCurrent(asked.Request)
	case errors.Is(refused, record.ErrQueueFull):
		return record.Run{}, errQueueFull
	}
	return record.Run{}, refused
}

// resent returns the run that the message of the same request has begun; the message of
// another request is ErrTaken.
func (q *Questions) resent(ctx context.Context, user schemas.User, req *schemas.ChatRequest) (record.Run, error) {
	stored, err := q.Runs.RunByMessage(ctx, user.ID, req.MessageID)
	if err != nil {
		return record.Run{}, err
	}
	var before schemas.ChatRequest
	if err := json.Unmarshal(stored.Request, &before); err != nil {
		return record.Run{}, err
	}
	if req.Repeats(&before) {
		return stored, nil
	}
	placed := *req // it may leave out where its blocks are
	if _, err := q.place(ctx, user, &placed); err != nil {
		return record.Run{}, err
	}
	if !placed.Repeats(&before) {
		return record.Run{}, schemas.ErrTaken
	}
	return stored, nil
}

// First returns the question of a run, without the answer, as the first one of its chat.
func First(run *record.Run, req *schemas.ChatRequest) *record.FirstAnswer {
	first := firstMessage(req)
	return &record.FirstAnswer{Owner: run.Owner.ID, ConversationID: run.ConversationID, Title: title(first), Question: first}
}
