package runs

import (
	"context"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/approvals"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/clicks"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/prepare"
	"github.com/chattray/chattray/services/prompt"
	"github.com/chattray/chattray/services/questions"
	"github.com/chattray/chattray/services/usage"
	"github.com/chattray/chattray/services/views"
)

// Stores are the parts of the store, one for each use. An unknown id is schemas.ErrNotFound.
type Stores struct {
	Runs      RunStore
	Queue     QueueStore
	Logs      LogStore
	Views     views.Store
	Questions questions.Store
	Attempts  attempts.Store
	Clicks    clicks.Store
	Prepare   prepare.Store
	Waits     approvals.Store
	Commit    eventlog.Store
	Answer    answer.Store
	History   prompt.HistoryStore
	Usage     usage.Store
}

// RunStore finds runs, and stores that they are cancelled.
type RunStore interface {
	Run(ctx context.Context, id string) (record.Run, error)
	// RunByKey finds the run that the owner started under an Idempotency-Key.
	RunByKey(ctx context.Context, owner, key string) (record.Run, error)
	// RunByMessage finds the run that the owner's message began.
	RunByMessage(ctx context.Context, owner, messageID string) (record.Run, error)
	// RunOfAnswer returns the unfinished run of the chat whose answer has the id.
	RunOfAnswer(ctx context.Context, owner string, id int64, answer string) (record.Run, error)
	// RequestCancel stores that the run is cancelled; it does nothing to a run that has
	// ended. CancelRequested returns the replica's unfinished runs of which that is stored,
	// and those of idle that no longer exist.
	RequestCancel(ctx context.Context, id string) error
	CancelRequested(ctx context.Context, replica string, idle []string) ([]string, error)
}

// QueueStore knows which runs have work left, and which attempt does it.
type QueueStore interface {
	// Take gives some of the unfinished runs of these replicas, nil for all others, to the
	// replica to. Those that had begun are at their next attempt then. It ends with none.
	Take(ctx context.Context, from []string, to string) ([]record.Taken, error)
	// Held returns the unfinished runs of a replica.
	Held(ctx context.Context, replica string) ([]record.Taken, error)
	// Tidy moves what these replicas' runs have written, nil for all, to its final
	// place. It is called between Take and the first read of a run.
	Tidy(ctx context.Context, replicas []string) error
	// NextQueued returns the oldest queued run of a chat.
	NextQueued(ctx context.Context, conversationID int64) (record.Run, error)
	// BeginAttempt makes attempt the current one, and the run running or waiting. An earlier
	// attempt that was waiting does not count. A run that has ended, is not at attempt-1 or is
	// not the replica's is record.ErrFenced. A queued run is record.ErrBusy while another run
	// of its chat is running or waiting.
	BeginAttempt(ctx context.Context, id string, attempt int, replica string) error
	// BeginQueued is BeginAttempt for the first attempt of a queued run, whose answer
	// gets these ids. If its question has been replaced, it is record.ErrReplaced.
	BeginQueued(ctx context.Context, id, replica string, names []string) (record.Begun, error)
}

// LogStore reads what runs have written.
type LogStore interface {
	// NextSegment returns the first segment of the run's log with events after the
	// sequence number, decompressed; one whose Last is 0 if there is none.
	NextSegment(ctx context.Context, id string, after int64) (record.Segment, error)
	// Message returns a message of the owner's chat.
	Message(ctx context.Context, owner string, conversationID int64, id string) (schemas.Message, error)
}
