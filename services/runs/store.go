package runs

import (
	"context"
	"encoding/json"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/prompt"
	"github.com/chattray/chattray/services/questions"
	"github.com/chattray/chattray/services/usage"
)

// Stores is the store, by what is asked of it. An unknown id is schemas.ErrNotFound.
type Stores struct {
	Runs      RunStore
	Queue     QueueStore
	Logs      LogStore
	Questions questions.Store
	Attempts  attempts.Store
	Chats     ChatStore
	Waits     WaitStore
	Commit    eventlog.Store
	Answer    answer.Store
	History   prompt.HistoryStore
	Usage     usage.Store
}

// RunStore reads runs.
type RunStore interface {
	Run(ctx context.Context, id string) (record.Run, error)
	// RunByKey finds the run that the owner started under an Idempotency-Key.
	RunByKey(ctx context.Context, owner, key string) (record.Run, error)
	// RunsAfter returns the ids of the runs after one in its chat, the oldest
	// first, at most limit.
	RunsAfter(ctx context.Context, id string, limit int) ([]string, error)
}

// QueueStore says which runs are to be worked on, and by whom.
type QueueStore interface {
	// Unfinished returns the runs in no terminal state, oldest first.
	Unfinished(ctx context.Context) ([]record.Run, error)
	// NextQueued returns the oldest queued run of a chat.
	NextQueued(ctx context.Context, conversationID int64) (record.Run, error)
	// Claim makes attempt the current one and the state running, or waiting; the
	// attempt before does not count if it was waiting. The run must be in no
	// terminal state and at attempt-1, else record.ErrFenced. A queued run can be
	// claimed only while no other run of its chat is running or waiting, else
	// record.ErrBusy.
	Claim(ctx context.Context, id string, attempt int) error
	// RequestCancel makes a cancel durable; a no-op for a run that has ended.
	RequestCancel(ctx context.Context, id string) error
}

// LogStore reads what runs have written.
type LogStore interface {
	// NextSegment returns the first segment of the run's log with events after the
	// sequence number, decompressed; one whose Last is 0 if there is none.
	NextSegment(ctx context.Context, id string, after int64) (record.Segment, error)
	ToolCalls(ctx context.Context, id string) ([]record.ToolCall, error)
	Trace(ctx context.Context, id string) (json.RawMessage, error)
}

// WaitStore reads and ends the waits of calls; record.Write adds them.
type WaitStore interface {
	// Waits returns the calls of the run that wait or have waited, in order.
	Waits(ctx context.Context, runID string) ([]record.Wait, error)
	// AnswerWait gives a call that waits its answer and returns the wait as it is
	// then, with the first answer. A call that never waited is schemas.ErrNotFound,
	// one of a run that has ended record.ErrEnded.
	AnswerWait(ctx context.Context, answer record.Wait) (record.Wait, error)
}

// ChatStore reads chats.
type ChatStore interface {
	// Payloads returns the chat's payloads in order, without their data, except
	// those of superseded messages. A chat that is unknown or somebody else's is
	// schemas.ErrNotFound.
	Payloads(ctx context.Context, owner string, id int64) ([]schemas.CustomPayload, error)
	// ClaimPayload decides a payload that is not decided yet; else the error is of code
	// conflict. ReleasePayload takes that back.
	ClaimPayload(ctx context.Context, owner string, id int64, payloadID, outcome string) error
	ReleasePayload(ctx context.Context, owner string, id int64, payloadID string) error
}
