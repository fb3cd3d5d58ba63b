package admin

import (
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// The kinds of commits.
const (
	commitBegun       = "begun"
	commitToolStarted = "tool_started"
	commitEnded       = "ended"
)

// brokenOff is the outcome of a span that a later attempt found open.
const brokenOff = "broken_off"

// modelGroup is the type of the group of a call of the model.
const modelGroup = "llm"

// spanKey names an open span: a call of the model by its group, a call of a tool by its
// thread and index, an approval by its id.
type spanKey struct {
	kind   schemas.SpanKind
	thread uint32
	number int
	id     string
}

// timeline builds the timeline of a run from the events of its log, in order.
type timeline struct {
	schemas.AdminTimeline

	open    map[spanKey]int // index in Spans
	calling int             // the last call of the model, -1 for none
	dead    map[int]bool    // spans that were open when their attempt ended
}

func newTimeline(run schemas.AdminRun, attempts []schemas.AdminAttempt) *timeline {
	return &timeline{
		AdminTimeline: schemas.AdminTimeline{
			Run: run, Attempts: attempts, Spans: []schemas.AdminSpan{}, Commits: []schemas.AdminCommit{{At: run.CreatedAt, What: commitBegun}},
		},
		open: make(map[spanKey]int), calling: -1, dead: make(map[int]bool),
	}
}

// add takes the next event.
func (t *timeline) add(e *runlog.Event) {
	t.LastSequence = e.Seq
	at := time.UnixMilli(e.Time).UTC()
	switch b := e.Body.(type) {
	case *runlog.Started:
		t.begins(1, at)
		t.span(spanKey{}, schemas.AdminSpan{Kind: schemas.SpanQueue, Attempt: 1, StartedAt: t.Run.CreatedAt.Truncate(time.Millisecond), EndedAt: &at})
	case *runlog.Attempt:
		t.breakOff()
		t.begins(b.Number, at)
	case *runlog.LevelStart:
		if b.Depth == runlog.GroupLevel && b.Type == modelGroup {
			t.calling = t.start(e, at, spanKey{kind: schemas.SpanModel, number: int(e.At.Group)}, schemas.AdminSpan{})
		}
	case *runlog.LevelEnd:
		if b.Depth == runlog.GroupLevel && b.Type == modelGroup {
			t.end(spanKey{kind: schemas.SpanModel, number: int(e.At.Group)}, at, b.Status, false)
		}
	case *runlog.Text, *runlog.Thinking, *runlog.ThreadText, *runlog.Call, *runlog.Arguments, *runlog.BlockContent, *runlog.BlockHeader:
		t.token(e, at)
	default:
		t.call(e, at)
	}
}

// call takes an event of a call of a tool.
func (t *timeline) call(e *runlog.Event, at time.Time) {
	switch b := e.Body.(type) {
	case *runlog.ToolStart:
		t.tool(e, at, b)
	case *runlog.ThreadToolStart:
		t.tool(e, at, &b.ToolStart)
	case *runlog.ToolRefused:
		t.tool(e, at, &b.ToolStart)
		t.end(toolKey(0, b.Index, b.ToolUseID), at, "denied", false)
	case *runlog.ToolComplete:
		t.end(spanKey{kind: schemas.SpanClientTool, number: b.Index}, at, "", b.IsError)
		t.end(toolKey(0, b.Index, b.ToolUseID), at, "", b.IsError)
	case *runlog.ThreadToolComplete:
		t.end(toolKey(e.At.Thread, b.Index, b.ToolUseID), at, "", b.IsError)
	case *runlog.ApprovalRequest:
		t.start(e, at, spanKey{kind: schemas.SpanApproval, id: b.ApprovalID}, schemas.AdminSpan{Name: b.Tool, ToolUseID: b.ToolUseID})
	case *runlog.ApprovalResolved:
		outcome := "denied"
		if b.Approved {
			outcome = "approved"
		}
		t.end(spanKey{kind: schemas.SpanApproval, id: b.ApprovalID}, at, outcome, false)
	case *runlog.ClientToolCall:
		t.start(e, at, spanKey{kind: schemas.SpanClientTool, number: b.Index}, schemas.AdminSpan{Name: b.Tool, ToolUseID: b.ToolUseID})
	default:
	}
}

// toolKey names a call. The calls of the run itself, which may be in threads of their
// own, are told apart by their index, those in a thread by the thread too.
func toolKey(thread uint32, index int, id string) spanKey {
	return spanKey{kind: schemas.SpanTool, thread: thread, number: index, id: id}
}

// tool begins the span of a call. A call that waited for the page has ended its wait.
func (t *timeline) tool(e *runlog.Event, at time.Time, b *runlog.ToolStart) {
	thread := uint32(0)
	if _, inner := e.Body.(*runlog.ThreadToolStart); inner {
		thread = e.At.Thread
	}
	if thread == 0 && t.end(spanKey{kind: schemas.SpanClientTool, number: b.Index}, at, "", false) {
		return // the page has run it
	}
	if t.start(e, at, toolKey(thread, b.Index, b.ToolUseID), schemas.AdminSpan{Name: b.Tool, ToolUseID: b.ToolUseID}) >= 0 && thread == 0 {
		t.Commits = append(t.Commits, schemas.AdminCommit{At: at, What: commitToolStarted, Name: b.Tool})
	}
}

// begins notes when an attempt has begun.
func (t *timeline) begins(number int, at time.Time) {
	for i := range t.Attempts {
		if t.Attempts[i].Number == number {
			t.Attempts[i].StartedAt = &at
		}
	}
}

// start adds a span of that event's attempt and returns its place, -1 if there are too
// many.
func (t *timeline) start(e *runlog.Event, at time.Time, key spanKey, s schemas.AdminSpan) int {
	s.Kind, s.StartedAt = key.kind, at
	s.Attempt, s.Thread = int((e.Seq-1)/runlog.AttemptSpan)+1, int64(e.At.Thread)
	return t.span(key, s)
}

func (t *timeline) span(key spanKey, s schemas.AdminSpan) int {
	if len(t.Spans) == maxSpans {
		t.Truncated = true
		return -1
	}
	t.Spans = append(t.Spans, s)
	if s.EndedAt == nil {
		t.open[key] = len(t.Spans) - 1
	}
	return len(t.Spans) - 1
}

// end ends an open span. It reports whether there is one.
func (t *timeline) end(key spanKey, at time.Time, outcome string, failed bool) bool {
	i, ok := t.open[key]
	if !ok {
		return false
	}
	delete(t.open, key)
	s := &t.Spans[i]
	s.EndedAt, s.Outcome, s.IsError = &at, outcome, failed || outcome == "error"
	return true
}

// token notes the first token of the call of the model that wrote it.
func (t *timeline) token(e *runlog.Event, at time.Time) {
	i, ok := t.open[spanKey{kind: schemas.SpanModel, number: int(e.At.Group)}]
	if !ok {
		i = t.calling // what is written into a document has a group of its own
	}
	if i < 0 || t.Spans[i].FirstTokenAt != nil || t.Spans[i].EndedAt != nil || t.dead[i] {
		return
	}
	t.Spans[i].FirstTokenAt = &at
}

// breakOff leaves the open spans without an end: nobody knows when their attempt ended.
func (t *timeline) breakOff() {
	for _, i := range t.open {
		t.dead[i] = true
		t.Spans[i].Outcome = brokenOff
	}
	clear(t.open)
	t.calling = -1
}

// dropped shows the calls of a run whose log was deleted.
func (t *timeline) dropped(calls []record.ToolCall) {
	t.LogDropped = true
	for _, c := range calls {
		s := schemas.AdminSpan{
			Kind: schemas.SpanTool, Name: c.Name, ToolUseID: c.ToolUseID, Attempt: c.Attempt, StartedAt: c.StartedAt.UTC(), IsError: c.IsError,
		}
		if c.State == record.ToolFinished {
			end := s.StartedAt.Add(c.Duration)
			s.EndedAt = &end
		}
		t.span(toolKey(0, c.Index, c.ToolUseID), s)
		t.Commits = append(t.Commits, schemas.AdminCommit{At: s.StartedAt, What: commitToolStarted, Name: c.Name})
	}
}

// trace adds to the calls of the model what only the trace has: each iteration belongs to
// the call that began at about its time.
func (t *timeline) trace(d *schemas.Diagnostics) {
	used := make(map[int]bool)
	for i := range d.Iterations {
		it := &d.Iterations[i]
		nearest := -1
		for n := range t.Spans {
			s := &t.Spans[n]
			if s.Kind != schemas.SpanModel || s.Thread != 0 || used[n] {
				continue
			}
			if nearest < 0 || apart(s.StartedAt, it.StartedAt) < apart(t.Spans[nearest].StartedAt, it.StartedAt) {
				nearest = n
			}
		}
		if nearest < 0 {
			return
		}
		used[nearest] = true
		s, end := &t.Spans[nearest], it.StartedAt.UTC().Add(time.Duration(it.DurationMS)*time.Millisecond)
		if end.Before(s.StartedAt) {
			end = s.StartedAt
		}
		s.EndedAt, s.Usage, s.Outcome = &end, &it.Usage, it.StopReason
		if s.Name = it.Model; s.Name == "" && d.Iterations[len(d.Iterations)-1].Model == "" {
			s.Name = d.Model // nothing answered in place of the model that was asked
		}
	}
}

func apart(a, b time.Time) time.Duration { return a.Sub(b).Abs() }

// ended returns the timeline of the events so far.
func (t *timeline) ended() schemas.AdminTimeline {
	if t.Run.EndedAt != nil {
		t.Commits = append(t.Commits, schemas.AdminCommit{At: *t.Run.EndedAt, What: commitEnded})
	}
	byStart := func(a, b schemas.AdminSpan) int { return a.StartedAt.Compare(b.StartedAt) }
	slices.SortStableFunc(t.Spans, byStart)
	slices.SortStableFunc(t.Commits, func(a, b schemas.AdminCommit) int { return a.At.Compare(b.At) })
	return t.AdminTimeline
}
