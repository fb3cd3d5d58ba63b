// Package answer records what one run does: it turns the events of the loop
// into events of the log and into writes, gives tools what they need, and
// continues where an earlier attempt ended. Its callers own the life of runs:
// when a run starts, what it gets and how it ends.
package answer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/waits"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/guard"
	"github.com/chattray/chattray/services/modeltext"
	"github.com/chattray/chattray/services/usage"
)

// The causes for which a run is cancelled.
var (
	ErrCancelled    = errors.New("cancelled by the user")
	ErrDisconnected = errors.New("the client disconnected")
	// ErrWithdrawn is the cause if the user has rejected or deleted the
	// answer's block.
	ErrWithdrawn = errors.New("withdrawn by the user")
)

// Run is an attempt of a run.
type Run struct {
	ID      string
	Attempt int
	Owner   schemas.User
	// ChatID is the chat's number, ChatKey its name; NewChat is true if the run
	// began the chat.
	ChatID                   int64
	ChatKey                  string
	NewChat                  bool
	MessageID, UserMessageID string
	UserMessage              *schemas.Message // nil if it has to be read from the store, as one with files
	CreatedAt                time.Time
	Request                  *schemas.ChatRequest
	Earlier                  *attempts.Earlier // nil in the first attempt
	// Replaces is true if the answer's block has shown an earlier answer.
	Replaces bool
	// Lost are ids that the client has chosen and the answer does not have.
	Lost []string
}

// names returns the ids of the run for the log.
func (r *Run) names() runlog.Run {
	return runlog.Run{RunID: r.ID, ConversationID: r.ChatID, ChatID: r.ChatKey, UserMessageID: r.UserMessageID}
}

// Deps is what a Writer works with. All fields but Drafts must be set.
type Deps struct {
	Log    *eventlog.Log
	Commit *eventlog.Committer
	Store  Store
	// Drafts stores blocks while the model writes them; if nil, they are not
	// shown before the tool has run.
	Drafts *documents.Documents
	Spent  *usage.Ledger
	Text   *modeltext.Count
	// Clock is paused while the run waits for its user.
	Clock   Clock
	Wakeups *waits.Wakeups
	// Tool returns a tool that any page may offer to the user.
	Tool func(name string) (turn.Tool, bool)
	// Missing returns a channel that is closed once the server of the tool has been connected;
	// it returns nil if that has happened, and for a tool without a server. It may be nil.
	Missing func(tool string) <-chan struct{}
	// Handles reports whether the service itself does the action.
	Handles func(action string) bool
	// OffersModel reports whether a request may name the model.
	OffersModel func(model string) bool
	// Approve decides which calls need approval once the model has read text
	// from outside; ApprovalTimeout is how long a call waits.
	Approve         guard.Mode
	ApprovalTimeout time.Duration
	// FirstToken is called with the time from the run's start to its first
	// text.
	FirstToken func(took time.Duration)
	// Idle is called with whether the run only waits. Mark stores this for a
	// later attempt of the run.
	Idle func(idle bool)
	Mark func(idle bool) *eventlog.Commit
	// Stop ends the run's context with a cause.
	Stop func(cause error)
	Now  func() time.Time
	// SharedNow is the time of the clock by which the waits of all processes expire; nil
	// means Now.
	SharedNow func(context.Context) (time.Time, error)
	Logger    *slog.Logger
}

// Store is what a Writer reads from the store, and how it ends a wait.
type Store interface {
	// Waits returns the calls of the run that wait or have waited, in order.
	Waits(ctx context.Context, runID string) ([]record.Wait, error)
	// AnswerWait stores the answer to a waiting call and returns the wait with the
	// first answer it got.
	AnswerWait(ctx context.Context, answer record.Wait) (record.Wait, error)
	// Replaced returns the ids that the run has taken from earlier answers.
	Replaced(ctx context.Context, runID string) ([]record.Replaced, error)
	// Messages returns a page of messages and the cursor of the preceding page.
	Messages(ctx context.Context, owner string, id int64, q record.MessageQuery) ([]schemas.Message, string, error)
	// File returns the content of the n-th attachment of a user's message.
	File(ctx context.Context, owner string, id int64, messageID string, n int) (string, error)
}

// Clock measures the time of a run. Each Pause has a Resume.
type Clock interface {
	Pause()
	Resume()
	// Used returns the time of all attempts.
	Used() time.Duration
}

// TextFilter lets the visible part of one model's text through and keeps what
// is for the page. It serves one run: End ends a reply, and the next may begin.
type TextFilter interface {
	Feed(delta string) string
	End(truncated bool) (visible string, found turn.Found)
	// Recover takes the model's second reply for a value that was cut off.
	Recover(cut turn.CutValue, reply string) turn.Found
}

// Prepared is what a run needs to begin: the request for the loop, the filter
// for its text, and the payload types and ids of the chat.
type Prepared struct {
	Request    turn.Request
	Filter     TextFilter
	Types      []turn.PayloadType
	Actions    []schemas.Action // that the model may suggest
	PayloadIDs []string         // in the order in which they were stored
	Outside    bool             // the prompt has text from outside the service
	Warnings   []string         // for the user: what the prompt leaves out
}

// Use gives the writer what was prepared for the run.
func (wr *Writer) Use(p *Prepared) {
	wr.prepared, wr.filter = p, p.Filter
	wr.payloads.Use(p.Types, p.PayloadIDs)
	for _, w := range p.Warnings {
		wr.warn(w)
	}
}

// Begin logs that the run begins.
func (wr *Writer) Begin(target runlog.Target) {
	wr.emit(runlog.Level{}, &runlog.Started{Run: wr.run.names(), Message: thinkingStatus, Code: schemas.StatusThinking, Target: target})
	wr.clear(&target)
	for _, id := range wr.run.Lost {
		wr.warn("The answer could not be written into the block " + id + ": this id is already in use.")
	}
}

// Ask returns the request for the loop: the prepared one with the finished
// steps and with the functions that run calls.
func (wr *Writer) Ask() *turn.Request {
	req := &wr.prepared.Request
	req.Steps = wr.steps
	req.RunID, req.Attempt, req.ConversationID = wr.run.ID, wr.run.Attempt, wr.run.ChatID
	req.RunTool, req.Await, req.Asks = wr.runTool, wr.await, wr.asks
	req.Writing = &wr.writing
	wr.offered = req.Tools
	wr.reading = wr.newReading()
	return req
}

// Stopped reports whether the loop has come to its end.
func (wr *Writer) Stopped() bool { return wr.stop != "" }

// Repair asks the model once more for the value that was cut off at the end of its
// reply. It reports false if there is none. Ask makes a call of the model and returns
// its text.
func (wr *Writer) Repair(ask func(ctx context.Context, req turn.Request) (string, error)) bool {
	if wr.cut == nil || wr.stop != schemas.MaxTokens {
		return false
	}
	if wr.Write(&record.Write{}).Wait(wr.ctx) != nil { // the reply is whole
		return true
	}
	cut, req := wr.cut, wr.prepared.Request
	req.Tools, req.Steps, req.Writing, req.MaxIterations = nil, nil, nil, 1
	req.Messages = append(slices.Clip(req.Messages),
		turn.Message{Role: turn.Assistant, Content: wr.visible.Whole() + "\n\n" + cut.Marker + " " + cut.Text},
		turn.Message{Role: turn.User, Content: "Your reply was cut off inside the JSON after " + cut.Marker +
			" Write that JSON value again, complete and as short as it can be, and nothing else."})
	text, err := ask(wr.ctx, req)
	if err != nil {
		wr.deps.Logger.Warn("could not ask again for a value that was cut off", "run_id", wr.run.ID, "error", err)
		return true
	}
	wr.levels.BeginReply()
	wr.repaired(text)
	wr.levels.Close("completed")
	return true
}

// BeginAction stores that a server action is about to run, so that it never
// runs twice; it returns once this is on disk.
func (wr *Writer) BeginAction() error {
	wr.writes.Keep(1, attempts.Checkpoint{Action: true})
	return wr.Write(&record.Write{}).Wait(wr.ctx)
}

// EndAction shows the result of an action.
func (wr *Writer) EndAction(text string, payload *turn.Payload) {
	wr.show(text)
	if payload != nil {
		wr.showPayload(*payload, "tool", 0)
	}
	wr.levels.Close("completed")
	wr.stop = schemas.EndTurn
}

// Interrupt stores the events and the usage of an attempt that a later one
// continues, after all checkpoints that this later one needs.
func (wr *Writer) Interrupt() error {
	number := max(wr.writes.Number(), wr.run.Earlier.Checkpoints()) + 1
	w := &record.Write{Checkpoint: &record.Checkpoint{N: number, Data: schemas.Encode(wr.used())}}
	return wr.writes.AddNow(w).Wait(context.WithoutCancel(wr.ctx))
}

// Unsaved returns the writes of the attempt that could not be stored. A tool or an action
// whose start is among them never began.
func (wr *Writer) Unsaved() []*eventlog.Commit {
	lost := wr.writes.Unsaved()
	for _, e := range lost {
		if wr.run.Request.InteractionType == schemas.ActionExecuted {
			e.Write.Checkpoint = nil
		}
	}
	return lost
}

// Write submits a write of the run, with what waits to be stored. It is held while the
// database is not available.
func (wr *Writer) Write(w *record.Write) *eventlog.Commit { return wr.writes.Add(w) }
