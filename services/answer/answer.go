package answer

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/levels"
	"github.com/chattray/chattray/services/answer/payloads"
	"github.com/chattray/chattray/services/answer/target"
	"github.com/chattray/chattray/services/answer/visible"
	"github.com/chattray/chattray/services/answer/waits"
	"github.com/chattray/chattray/services/answer/writes"
	"github.com/chattray/chattray/services/answer/written"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/guard"
	"github.com/chattray/chattray/services/trace"
)

// maxWarnings bounds the warnings of one run.
const maxWarnings = 32

// thinkingStatus is the line shown until the model writes something.
const thinkingStatus = "Thinking..."

// Writer turns the events of the loop into events of the log, and keeps the
// parts of the answer: the visible text, the tool calls, the payloads. Only the
// run's goroutine uses it.
type Writer struct {
	run      Run
	deps     Deps
	ctx      context.Context //nolint:containedctx // a run's context is not a request's: it lives as long as the writer
	prepared *Prepared
	levels   *levels.Levels
	filter   TextFilter
	payloads payloads.List
	visible  visible.Text

	steps  []turn.Step
	calls  []*call
	marked int // markers sent
	writes *writes.Writes

	values    []schemas.SuggestedValue
	actions   []schemas.SuggestedAction
	warnings  []string
	dropped   trace.Dropped
	writing   strings.Builder // the model's text of the reply under way, see turn.Request
	spoke     bool            // the reply under way has text
	asksAgain bool            // it is shown that the model is asked again
	calling   time.Time       // when the current call of the model began; zero means none
	cut       *turn.CutValue
	cutNote   string // the warning about cut
	stop      schemas.StopReason

	// silent is set while the writer goes through finished steps again: their events
	// are in the stored log, which shows the first keptMarkers markers.
	silent      bool
	keptMarkers int
	err         error // the first append that failed

	interrupted map[int]bool // calls that an earlier attempt began and did not finish; fixed once tools run

	offered []turn.Tool // the run's tools as they are, for threads
	reading *guard.Reading

	waits   *waits.Waits
	decided map[int]bool // calls whose wait decided their outcome
	asking  map[int]bool // calls that wait and have no answer
	lacks   bool         // it waits for the servers of tools
	wasIdle bool         // the last value given to deps.Idle
	// markedIdle is the value in the stored mark of this attempt, see markIdle.
	markedIdle bool

	written          *written.Calls   // nil without drafts
	watch            *documents.Watch // nil without drafts
	answer           *target.Answer
	target           runlog.Target
	unstored, unread error // see Unstored and Unread
	// rejected withdraw the blocks that the user has rejected between two attempts.
	rejected []*runlog.BlockReset

	notes notes
}

// call is a tool call of the run. Its Output is what its history shows: the whole one is only stored.
type call struct {
	record.ToolCall
	payload *schemas.CustomPayload
	done    bool
}

// New returns a writer for the attempt; ctx is the run's context.
func New(ctx context.Context, run Run, deps Deps) *Writer {
	wr := &Writer{
		run: run, deps: deps, ctx: ctx, decided: make(map[int]bool), asking: make(map[int]bool),
		payloads: payloads.New(run.ID),
		waits:    waits.New(waits.Options{Run: run.ID, Store: deps.Store, Wakeups: deps.Wakeups, Timeout: deps.ApprovalTimeout, Now: deps.Now, SharedNow: deps.SharedNow}),
		writes:   writes.New(writes.Options{Run: run.ID, Attempt: run.Attempt, Message: run.MessageID, Log: deps.Log, Commit: deps.Commit, Now: deps.Now}),
	}
	wr.levels = levels.New(levels.Options{Emit: wr.emit, Lookup: wr.tool, Status: threadStatus, Attempt: run.Attempt, Ref: run.MessageID})
	if deps.Drafts != nil {
		wr.watch = deps.Drafts.Watch(run.Owner, run.ID, func(b *runlog.BlockReset) { _ = deps.Log.Append(runlog.Level{}, b) }) // a full log ends the run
		wr.written = written.New(written.Options{
			Context: ctx, Run: run.ID, Owner: run.Owner, Document: wr.document(), Title: run.Request.Message, Drafts: deps.Drafts, Levels: wr.levels,
			Emit: wr.emit, Append: wr.withdraw, Tool: wr.tool, Asked: wr.asked, Approved: deps.Approve == guard.All, Fenced: wr.stopFenced, Logger: deps.Logger,
		})
	}
	wr.answer = target.New(target.Options{
		Run: run.ID, Owner: run.Owner, Title: run.Request.Message, Drafts: deps.Drafts, Calls: wr.written, Emit: wr.emit, Append: deps.Log.Append, Note: wr.watch.Note,
		Warn: wr.warn, Withdrawn: func() { deps.Stop(ErrWithdrawn) }, Resumed: run.Earlier != nil, Logger: deps.Logger,
	})
	return wr
}

// shows reports whether the blocks that calls write are shown while the model writes
// the calls.
func (wr *Writer) shows() bool { return wr.written != nil && !wr.silent }

// emit appends an event.
func (wr *Writer) emit(at runlog.Level, b runlog.Body) {
	if wr.silent {
		return
	}
	wr.watch.Note(b)
	wr.appended(wr.deps.Log.Append(at, b))
}

// withdraw shows that a block was withdrawn, from any goroutine.
func (wr *Writer) withdraw(at runlog.Level, b runlog.Body) error {
	wr.watch.Note(b)
	return wr.deps.Log.Append(at, b)
}

// appended keeps the first error of an append.
func (wr *Writer) appended(err error) {
	if err != nil && wr.err == nil {
		wr.err = err
	}
}

func (wr *Writer) status(s runlog.Status) { wr.emit(runlog.Level{}, &s) }

// Handle takes one event of the loop. It returns the first error of the writer, which
// ends the attempt. A piece of text takes a shorter way, because the stack is at its
// deepest while a reply streams.
func (wr *Writer) Handle(event turn.Event) error {
	if e, ok := event.(turn.TextDelta); ok {
		if wr.count(len(e.Text), false) {
			wr.modelText(e.Text)
		}
		return wr.err
	}
	wr.handleOther(event)
	return wr.err
}

// count counts n bytes that a model has written. It reports false if that is too much,
// which ends the run.
func (wr *Writer) count(n int, inThread bool) bool {
	err := wr.deps.Text.Add(n, inThread)
	if err != nil {
		wr.fail(err)
	}
	return err == nil
}

// size is how many bytes of a model's text an event holds, also that of a thread. The text of
// whole replies was counted before.
func size(event turn.Event) int {
	switch e := event.(type) {
	case turn.TextDelta:
		return len(e.Text)
	case turn.FullText:
		return len(e.Text)
	case turn.Thinking:
		return len(e.Text)
	case turn.ToolArguments:
		return len(e.Fragment)
	case turn.Reply:
		return e.Extras()
	case turn.ThreadEvent:
		return size(e.Event)
	default:
		return 0
	}
}

func (wr *Writer) handleOther(event turn.Event) {
	if _, inThread := event.(turn.ThreadEvent); !wr.count(size(event), inThread) {
		return
	}
	switch e := event.(type) {
	case turn.CallStart:
		wr.fail(wr.writes.Failed())
		wr.deps.Text.Begin()
		wr.spoke = false
		wr.visible.Part()
		wr.writing.Reset() // it may hold the text of a call that failed
		wr.calling = wr.deps.Now()
		if e.Iteration > 0 {
			wr.status(runlog.Status{Message: thinkingStatus, Code: schemas.StatusThinking})
		}
		wr.levels.BeginReply()
	case turn.ModelWaits:
		wr.modelWaits(e.For)
	case turn.Thinking:
		wr.levels.Think(e.Text)
	case turn.FullText:
		wr.modelText(e.Text)
	case turn.ToolArguments:
		if wr.shows() {
			wr.written.Arguments(e)
		} else {
			wr.levels.Arguments(e)
		}
	case turn.Reply:
		wr.reply(e)
	case turn.ToolWaiting:
		wr.toolWaiting(e)
	case turn.ToolAnswered:
		wr.toolAnswered(e)
	case turn.ToolStart:
		wr.toolStart(e)
	case turn.ToolProgress:
		wr.toolProgress(e)
	case turn.PayloadMade:
		wr.toolPayload(e)
	case turn.ToolComplete:
		wr.toolComplete(e)
	case turn.ThreadEvent:
		wr.levels.Inner(e)
	case turn.ModelAsked, turn.ThreadStart, turn.ThreadEnd: // threads begin and end only inside a ThreadEvent
	case turn.LoopComplete:
		wr.fail(wr.writes.Failed())
		wr.stop = e.StopReason
	case turn.Cancelled:
	}
	wr.reportIdle()
}

// modelText shows the part of the model's text that passes the filter.
func (wr *Writer) modelText(delta string) {
	wr.spoke = true
	wr.show(wr.answer.Feed(wr.filter.Feed(delta)))
}

// show appends visible text. After a tool marker it puts one blank line, whatever line
// breaks the model wrote there.
func (wr *Writer) show(text string) {
	if wr.visible.AtMarker() {
		text = strings.TrimLeft(text, "\r\n")
		if text == "" {
			return
		}
		wr.putMarker("\n\n")
	}
	if text == "" {
		return
	}
	if !wr.visible.Shown() && !wr.silent {
		wr.deps.FirstToken(wr.deps.Now().Sub(wr.run.CreatedAt))
	}
	wr.visible.Put(text, wr.writing.String())
	wr.answer.Add(text, wr.silent)
	if at := wr.levels.Text(); !wr.silent {
		wr.appended(wr.deps.Log.AppendText(at, text))
	}
}

// showLast shows the end of a reply's text.
func (wr *Writer) showLast(rest string) {
	wr.show(wr.answer.Last(rest))
	wr.answer.EndText()
}

// putMarker shows a tool marker or the blank line around it.
func (wr *Writer) putMarker(text string) {
	wr.visible.Put(text, wr.writing.String())
	wr.answer.Marker()
	wr.emit(runlog.Level{}, &runlog.Marker{Text: text})
}

// reply ends a reply: it shows the text that the filter still holds, the
// reply's payloads and the calls it asks for. The reply is stored as a
// checkpoint with the next write.
func (wr *Writer) reply(e turn.Reply) {
	wr.calling = time.Time{}
	if !wr.spoke && e.Text != "" {
		wr.modelText(e.Text)
	}
	rest, found := wr.filter.End(e.StopReason == schemas.MaxTokens)
	wr.showLast(rest)
	wr.found(found)
	if wr.shows() {
		wr.written.Reply(&e)
	}
	if !wr.silent {
		wr.answer.EndReply()
	}
	wr.levels.Whole(&e)
	wr.levels.Close("completed")
	wr.steps = append(wr.steps, turn.Step{Reply: e, Results: make([]*turn.Result, len(e.ToolCalls))})
	wr.writing.Reset()
	checkpoint := wr.used()
	checkpoint.Reply = &e
	wr.writes.Keep(len(wr.steps), checkpoint)
	if e.Model != "" {
		wr.warn("The model " + wr.prepared.Request.Model + " did not answer; " + e.Model + " answered in its place.")
	}
}

// used returns a checkpoint with what the run has used.
func (wr *Writer) used() attempts.Checkpoint {
	return attempts.Checkpoint{Spent: wr.deps.Spent.Models(), WorkedMS: wr.deps.Clock.Used().Milliseconds()}
}

// found takes the values that the filter found in a reply.
func (wr *Writer) found(f turn.Found) {
	for _, p := range f.Payloads {
		wr.showPayload(p, "llm", payloads.TextPlace(wr.asked()))
	}
	if f.Values != nil {
		wr.values = f.Values
	}
	if f.Actions != nil {
		wr.actions = f.Actions
	}
	for _, w := range f.Warnings {
		wr.warn(w)
	}
	for _, d := range f.Dropped {
		wr.drop(d)
	}
	if wr.cut = f.Cut; f.Cut != nil && len(f.Warnings) > 0 {
		wr.cutNote = f.Warnings[len(f.Warnings)-1]
	}
}

// addPayload gives a payload its id. It returns nil for one that cannot be shown, and
// warns of it.
func (wr *Writer) addPayload(p turn.Payload, source string, place int) *schemas.CustomPayload {
	named, refused := wr.payloads.Add(p, source, place)
	if refused != nil {
		wr.warn(refused.Warning)
		wr.drop(refused.Dropped)
	}
	return named
}

// showPayload shows a payload that is of no call, where the answer is now.
func (wr *Writer) showPayload(p turn.Payload, source string, place int) {
	if named := wr.addPayload(p, source, place); named != nil {
		wr.writes.Payload(*named)
		wr.levels.Payload(*named, wr.asked())
	}
}

// asked is how many calls the finished replies have asked for.
func (wr *Writer) asked() int {
	if n := len(wr.steps); n > 0 {
		return wr.steps[n-1].Reply.FirstIndex + len(wr.steps[n-1].Reply.ToolCalls)
	}
	return 0
}

// repaired takes the model's second try at the value that was cut off. If it
// gives a value, the warning about the first one is removed.
func (wr *Writer) repaired(text string) {
	f := wr.filter.Recover(*wr.cut, text)
	if len(f.Payloads) == 0 && f.Values == nil && f.Actions == nil {
		wr.drop(schemas.DroppedPart{Type: strings.TrimSuffix(wr.cut.Marker, ":"), Reason: "asked again for it, the model wrote nothing that can be used", Text: text})
		return
	}
	wr.warnings = slices.DeleteFunc(wr.warnings, func(w string) bool { return w == wr.cutNote })
	wr.found(f)
}

func (wr *Writer) warn(text string) {
	if len(wr.warnings) < maxWarnings && !slices.Contains(wr.warnings, text) {
		wr.warnings = append(wr.warnings, text)
	}
}
