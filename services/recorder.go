package services

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/eventlog"
)

// Limits of what one run may show.
const (
	maxPayloads    = 64
	maxWarnings    = 32
	maxPayloadData = 2 << 20 // bytes
)

var errPayloadSize = errors.New("the payload is too large")

// thinkingStatus is the line shown while the model has said nothing yet.
const thinkingStatus = "Thinking..."

// recorder turns the events of the loop into events of the log, and keeps what
// the answer is made of: the visible text, the tool calls, the payloads. It
// belongs to the goroutine of the run.
type recorder struct {
	run    *run
	brief  *briefing
	levels levels
	texts  runlog.Slab[runlog.Text]
	filter TextFilter
	taken  map[string]bool // payload ids of the chat

	// stood is the visible text of earlier attempts; that of this one is in its
	// log, see text. shown says that there is any, worded that it is not all white
	// space, and atMarker that it ends with a tool marker, so that a blank line is
	// due before what follows.
	stood         strings.Builder
	shown, worded bool
	newlines      int // at the end of the visible text
	atMarker      bool

	steps   []turn.Step
	calls   []*call
	marked  int                     // markers sent
	pending []schemas.CustomPayload // named, in no write yet

	payloads []schemas.CustomPayload
	values   []schemas.SuggestedValue
	actions  []schemas.SuggestedAction
	warnings []string
	dropped  []string
	writing  strings.Builder // the model's text of the reply under way, see turn.Request
	spoke    bool            // the reply under way has had text
	calling  time.Time       // when the model's call under way began; zero is none
	cut      *turn.CutValue
	cutNote  string        // the warning about cut
	usage    schemas.Usage // set at the end
	stop     schemas.StopReason

	// checkpoint is what is to be stored with the next write that does not end the
	// run, as number checkpointN; writes are those that may not be stored yet.
	checkpoint  *checkpoint
	checkpointN int
	writes      []*eventlog.Commit
	// silent is set while finished steps are gone through again, of which the
	// stored log shows the first keptMarkers markers.
	silent      bool
	keptMarkers int
	err         error // the first append that failed

	// interrupted holds the calls that an earlier attempt began and did not
	// finish; it does not change once tools run.
	interrupted map[int]bool

	offered []turn.Tool // the run's tools as they are, for threads
	heard   heard       // what the model has read

	decided map[int]bool // calls whose wait gave their outcome
	asking  map[int]bool // calls that wait and have no answer
	resting bool         // what Runs knows of it, see rest
	// markedRest is what the mark of this attempt says, see markRest.
	markedRest bool

	blocks map[int]*blockCall // calls that write blocks, by index
	answer answerDraft

	mu      sync.Mutex
	started map[int]*eventlog.Commit // the writes that say that a call begins, for the goroutines of the tools
	edited  map[int]bool             // calls whose input the user has changed
	drafts  map[int]string           // blocks that calls have written while the model wrote them
}

// call is a tool call of the run.
type call struct {
	record.ToolCall
	payload *schemas.CustomPayload
	done    bool
}

func newRecorder(r *run) *recorder {
	rec := &recorder{run: r, started: make(map[int]*eventlog.Commit), decided: make(map[int]bool), asking: make(map[int]bool), edited: make(map[int]bool)}
	rec.levels = levels{rec: rec, offset: uint32(max(r.attempt, 1)-1) * runlog.AttemptSpan} //nolint:gosec // attempts are few
	rec.levels.all = &rec.levels
	return rec
}

// use gives the recorder what the briefing found. What a recovered run has taken
// over gets the order in which it was stored.
func (rec *recorder) use(brief *briefing) {
	rec.brief, rec.filter = brief, brief.filter
	for _, id := range brief.payloadIDs {
		rec.take(id)
	}
	if len(rec.payloads) > 1 {
		slices.SortStableFunc(rec.payloads, func(a, b schemas.CustomPayload) int {
			return slices.Index(brief.payloadIDs, a.PayloadID) - slices.Index(brief.payloadIDs, b.PayloadID)
		})
	}
}

// emit appends an event.
func (rec *recorder) emit(at runlog.Level, b runlog.Body) {
	if rec.silent {
		return
	}
	if err := rec.run.log.Append(at, b); err != nil && rec.err == nil {
		rec.err = err
	}
}

// encode is JSON of a value of ours, which cannot fail.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

func (rec *recorder) status(message string) {
	rec.emit(runlog.Level{}, &runlog.Status{Message: message})
}

// handle takes one event of the loop. A piece of text, on top of whose stack a
// reply streams, takes the short way.
func (rec *recorder) handle(event turn.Event) {
	if e, ok := event.(turn.TextDelta); ok {
		if rec.count(len(e.Text), false) {
			rec.modelText(e.Text)
		}
		return
	}
	rec.handleOther(event)
}

// count counts what a model has written; false means that it is too much, which
// ends the run.
func (rec *recorder) count(n int, inThread bool) bool {
	err := rec.run.text.add(n, inThread)
	if err != nil {
		rec.fail(err)
	}
	return err == nil
}

// written is how much of what a model writes is in an event, whole replies aside.
func written(event turn.Event) int {
	switch e := event.(type) {
	case turn.TextDelta:
		return len(e.Text)
	case turn.FullText:
		return len(e.Text)
	case turn.Thinking:
		return len(e.Text)
	case turn.ToolArguments:
		return len(e.Fragment)
	default:
		return 0
	}
}

func (rec *recorder) handleOther(event turn.Event) {
	inner, inThread := event.(turn.ThreadEvent)
	if inThread && !rec.count(written(inner.Event), true) || !rec.count(written(event), false) {
		return
	}
	switch e := event.(type) {
	case turn.CallStart:
		rec.run.text.begin()
		rec.spoke = false
		rec.writing.Reset() // of a model call that failed
		rec.calling = rec.run.runs.now()
		if e.Iteration > 0 {
			rec.status(thinkingStatus)
		}
		rec.levels.openBlock("llm")
	case turn.Thinking:
		rec.levels.write("thinking")
		rec.emit(rec.levels.at(rec.levels.text), rec.levels.all.thinking.New(runlog.Thinking{Text: e.Text}))
	case turn.FullText:
		rec.modelText(e.Text)
	case turn.ToolArguments:
		rec.levels.arguments(e.Index, e.ID, e.Name, e.Fragment)
		rec.blockArguments(e.Index, e.Name, e.Fragment)
	case turn.Reply:
		rec.reply(e)
	case turn.ToolWaiting:
		rec.toolWaiting(e)
	case turn.ToolAnswered:
		rec.toolAnswered(e)
	case turn.ToolStart:
		rec.toolStart(e)
	case turn.ToolProgress:
		rec.toolProgress(e)
	case turn.PayloadMade:
		rec.toolPayload(e)
	case turn.ToolComplete:
		rec.toolComplete(e)
	case turn.ThreadEvent:
		rec.threadEvent(e)
	case turn.ThreadStart, turn.ThreadEnd: // only inside of the above
	case turn.LoopComplete:
		rec.stop = e.StopReason
	case turn.Cancelled:
	}
	rec.rest()
}

// modelText shows what the filter lets through of a piece of the model's text.
func (rec *recorder) modelText(delta string) {
	rec.spoke = true
	rec.show(rec.filter.Feed(delta))
}

// show appends visible text. Behind a tool marker it begins after one blank
// line, whatever line breaks the model wrote there.
func (rec *recorder) show(text string) {
	if rec.atMarker {
		text = strings.TrimLeft(text, "\r\n")
		if text == "" {
			return
		}
		rec.atMarker = false
		rec.putMarker("\n\n")
	}
	if text == "" {
		return
	}
	if !rec.shown && !rec.silent {
		rec.run.runs.Metrics.FirstToken(rec.run.runs.now().Sub(rec.run.createdAt))
	}
	rec.put(text)
	rec.answer.add(rec, text)
	rec.levels.write("text")
	rec.emit(rec.levels.at(rec.levels.text), rec.texts.New(runlog.Text{Text: text}))
}

// putMarker shows a tool marker or the blank line around it.
func (rec *recorder) putMarker(text string) {
	rec.put(text)
	rec.answer.joiner.Marker()
	rec.emit(runlog.Level{}, &runlog.Marker{Text: text})
}

// put notes that visible text is shown.
func (rec *recorder) put(text string) {
	rec.shown = true
	rec.worded = rec.worded || strings.TrimSpace(text) != ""
	if rec.silent {
		rec.stood.WriteString(text)
	}
	if trimmed := strings.TrimRight(text, "\n"); trimmed == "" {
		rec.newlines += len(text)
	} else {
		rec.newlines = len(text) - len(trimmed)
	}
}

// reply ends a reply: what the filter still holds, the payloads of its text,
// the calls it asks for. It becomes a checkpoint with the next write.
func (rec *recorder) reply(e turn.Reply) {
	rec.calling = time.Time{}
	if !rec.spoke && e.Text != "" {
		rec.modelText(e.Text)
	}
	rest, found := rec.filter.End(e.StopReason == schemas.MaxTokens)
	rec.show(rest)
	rec.found(found)
	for i, c := range e.ToolCalls {
		rec.levels.wholeCall(e.FirstIndex+i, c)
	}
	rec.wholeBlocks(&e)
	rec.levels.closeBlock("completed")
	rec.steps = append(rec.steps, turn.Step{Reply: e, Results: make([]*turn.Result, len(e.ToolCalls))})
	rec.writing.Reset()
	rec.checkpoint, rec.checkpointN = &checkpoint{Reply: &e, Spent: rec.run.spent.Models()}, len(rec.steps)
	if e.Model != "" {
		rec.warn("The model " + rec.brief.request.Model + " did not answer; " + e.Model + " answered in its place.")
	}
}

// found takes what the filter cut out of a reply.
func (rec *recorder) found(f turn.Found) {
	for _, p := range f.Payloads {
		if named := rec.name(p, "llm"); named != nil {
			rec.pending = append(rec.pending, *named)
			rec.levels.payload(0, *named)
		}
	}
	if f.Values != nil {
		rec.values = f.Values
	}
	if f.Actions != nil {
		rec.actions = f.Actions
	}
	for _, w := range f.Warnings {
		rec.warn(w)
	}
	rec.dropped = append(rec.dropped, f.Dropped...)
	if rec.cut = f.Cut; f.Cut != nil && len(f.Warnings) > 0 {
		rec.cutNote = f.Warnings[len(f.Warnings)-1]
	}
}

// repaired takes the model's second try at the value that was cut off, in the
// place of the warning about it; a try that gave nothing changes nothing.
func (rec *recorder) repaired(text string) {
	f := rec.filter.Recover(*rec.cut, text)
	if len(f.Payloads) == 0 && f.Values == nil && f.Actions == nil {
		rec.dropped = append(rec.dropped, text)
		return
	}
	rec.warnings = slices.DeleteFunc(rec.warnings, func(w string) bool { return w == rec.cutNote })
	rec.found(f)
}

func (rec *recorder) warn(text string) {
	if len(rec.warnings) < maxWarnings && !slices.Contains(rec.warnings, text) {
		rec.warnings = append(rec.warnings, text)
	}
}

// produced says whether there is anything of an answer to keep.
func (rec *recorder) produced() bool { return rec.worded || len(rec.calls) > 0 }

// history is the tool history in the order in which the model asked.
func (rec *recorder) history() []schemas.ToolCall {
	var list []schemas.ToolCall
	for _, c := range rec.calls {
		if c == nil {
			continue
		}
		list = append(list, schemas.ToolCall{
			ToolName: c.Name, Input: schemas.CutStrings(c.Input), Output: schemas.CutText(c.Output), IsError: c.IsError,
			ToolUseID: c.ToolUseID, DurationMS: c.Duration.Milliseconds(), Title: rec.tool(c.Name).Title, Done: rec.tool(c.Name).Done,
		})
	}
	return list
}
