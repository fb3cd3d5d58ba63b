// Package views reads what users see of their runs: the state of a run, its tool
// calls and its diagnostics. It changes nothing.
package views

import (
	"context"
	"encoding/json"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/trace"
)

// maxLater bounds what Later returns.
const maxLater = 32

// Store reads runs. An unknown id is schemas.ErrNotFound.
type Store interface {
	Run(ctx context.Context, id string) (record.Run, error)
	// RunByKey finds the run that the owner started under an Idempotency-Key.
	RunByKey(ctx context.Context, owner, key string) (record.Run, error)
	// RunsAfter returns the ids of the runs after one in its chat, the oldest
	// first, at most limit.
	RunsAfter(ctx context.Context, id string, limit int) ([]string, error)
	// ToolCall returns a call of a run; schemas.ErrNotFound if it has none of that index.
	ToolCall(ctx context.Context, id string, index int) (record.ToolCall, error)
	Trace(ctx context.Context, id string) (json.RawMessage, error)
}

// Options are what Views reads from. All must be set.
type Options struct {
	Store Store
	// Words returns the words in which the user is shown a tool's calls.
	Words func(tool string, user schemas.User) turn.Words
	// Last returns the number of the newest event of an unfinished run, 0 if it is not
	// known.
	Last func(ctx context.Context, run record.Run) int64
	// Trace returns the trace of a user's run if this process still has it, else nil.
	Trace func(user schemas.User, id string) *schemas.Diagnostics
}

// Views shows users their runs. It is safe for concurrent use.
type Views struct{ options Options }

// New returns the Views of the options.
func New(o Options) *Views { return &Views{o} }

// Run returns a run of the user.
func (v *Views) Run(ctx context.Context, user schemas.User, id string) (schemas.Run, error) {
	stored, err := v.Owned(ctx, user, id)
	if err != nil {
		return schemas.Run{}, err
	}
	return v.View(ctx, stored), nil
}

// Owned reads a stored run of the user.
func (v *Views) Owned(ctx context.Context, user schemas.User, id string) (record.Run, error) {
	stored, err := v.options.Store.Run(ctx, id)
	if err != nil {
		return stored, err
	}
	if stored.Owner.ID != user.ID {
		return record.Run{}, schemas.ErrNotFound
	}
	return stored, nil
}

// View returns a stored run in the form of the wire, with the values that only
// the live run knows.
func (v *Views) View(ctx context.Context, stored record.Run) schemas.Run {
	run := schemas.Run{
		RunID: stored.ID, ConversationID: stored.ConversationID, ChatID: stored.ChatKey, State: stored.State, Attempt: stored.Attempt,
		LastSequence: stored.LastSeq, UserMessageID: stored.UserMessageID, CreatedAt: stored.CreatedAt,
		StopReason: stored.StopReason, Usage: stored.Usage, Error: stored.Error,
	}
	if !stored.EndedAt.IsZero() {
		run.EndedAt = &stored.EndedAt
		run.MessageID = stored.MessageID
	}
	if !stored.State.Terminal() {
		run.LastSequence = max(run.LastSequence, v.options.Last(ctx, stored))
	}
	return run
}

// ByKey returns the run that the user started under an Idempotency-Key.
func (v *Views) ByKey(ctx context.Context, user schemas.User, key string) (schemas.Run, error) {
	stored, err := v.options.Store.RunByKey(ctx, user.ID, key)
	if err != nil {
		return schemas.Run{}, err
	}
	return v.View(ctx, stored), nil
}

// Later returns the ids of the runs that started after a user's run in its
// chat, including ended ones, the oldest first.
func (v *Views) Later(ctx context.Context, user schemas.User, id string) ([]string, error) {
	if _, err := v.Owned(ctx, user, id); err != nil {
		return nil, err
	}
	return v.options.Store.RunsAfter(ctx, id, maxLater)
}

// ToolCall returns a tool call of a user's run, with its whole output.
func (v *Views) ToolCall(ctx context.Context, user schemas.User, id string, index int) (schemas.ToolCall, error) {
	if _, err := v.Owned(ctx, user, id); err != nil {
		return schemas.ToolCall{}, err
	}
	c, err := v.options.Store.ToolCall(ctx, id, index)
	if err != nil {
		return schemas.ToolCall{}, err
	}
	words := v.options.Words(c.Name, user)
	return schemas.ToolCall{
		ToolName: c.Name, Input: c.Input, Output: c.Output, IsError: c.IsError,
		ToolUseID: c.ToolUseID, DurationMS: c.Duration.Milliseconds(), Title: words.Title, Done: words.Done,
	}, nil
}

// Diagnostics returns the trace of an ended run of the user.
func (v *Views) Diagnostics(ctx context.Context, user schemas.User, id string) (schemas.Diagnostics, error) {
	if d := v.options.Trace(user, id); d != nil {
		return trace.Expand(*d), nil
	}
	if _, err := v.Owned(ctx, user, id); err != nil {
		return schemas.Diagnostics{}, err
	}
	raw, err := v.options.Store.Trace(ctx, id)
	if err != nil {
		return schemas.Diagnostics{}, err
	}
	var d schemas.Diagnostics
	if err := json.Unmarshal(raw, &d); err != nil {
		return schemas.Diagnostics{}, err
	}
	return trace.Expand(d), nil
}
