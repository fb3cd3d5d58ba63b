package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/admin"
	"github.com/chattray/chattray/services/eventlog"
)

// data is a store with one run.
type data struct {
	run      schemas.AdminRun
	attempts []schemas.AdminAttempt
	log      []record.Segment
	calls    []record.ToolCall
	trace    json.RawMessage
	stats    record.AdminStatsQuery
	runs     record.AdminRunQuery
}

func (d *data) AdminRuns(_ context.Context, q record.AdminRunQuery) (schemas.AdminRunList, error) {
	d.runs = q
	return schemas.AdminRunList{}, nil
}

func (d *data) AdminRun(_ context.Context, id string) (schemas.AdminRun, []schemas.AdminAttempt, error) {
	if id != d.run.RunID {
		return schemas.AdminRun{}, nil, schemas.ErrNotFound
	}
	return d.run, append([]schemas.AdminAttempt{}, d.attempts...), nil
}

func (d *data) AdminStats(_ context.Context, q record.AdminStatsQuery) (schemas.AdminStats, error) {
	d.stats = q
	return schemas.AdminStats{}, nil
}

func (d *data) OpenRuns(context.Context) (int64, error) { return 3, nil }

func (d *data) NextSegment(_ context.Context, _ string, after int64) (record.Segment, error) {
	for _, s := range d.log {
		if s.Last > after {
			return s, nil
		}
	}
	return record.Segment{}, nil
}

func (d *data) ToolCalls(context.Context, string) ([]record.ToolCall, error) { return d.calls, nil }

func (d *data) Trace(context.Context, string) (json.RawMessage, error) {
	if d.trace == nil {
		return nil, schemas.ErrNotFound
	}
	return d.trace, nil
}

var began = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// at is so many milliseconds after the run's start.
func at(ms int64) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }

func newAdmin(d *data) *admin.Admin {
	return admin.New(admin.Options{
		Store: d, Logs: d, Self: func() string { return "me" }, Now: func() time.Time { return at(0) },
		Servers: func() []schemas.AdminMCPServer { return []schemas.AdminMCPServer{{Name: "files"}} },
	})
}

// entry is an event at a time.
type entry struct {
	ms   int64
	at   runlog.Level
	body runlog.Body
}

// attempt adds the log of an attempt to the store.
func (d *data) attempt(number int, entries ...entry) {
	now := int64(0)
	l := eventlog.New(number, func() int64 { return now })
	for _, e := range entries {
		now = at(e.ms).UnixMilli()
		if err := l.Append(e.at, e.body); err != nil {
			panic(err)
		}
	}
	raw, _, _ := l.Source(l.Base()).Append(nil, 1<<30)
	d.log = append(d.log, record.Segment{First: l.Base() + 1, Last: l.Last(), Data: raw})
}

func group(n uint32) runlog.Level { return runlog.Level{Group: n} }

func model(n uint32, ms int64) entry {
	return entry{ms, group(n), &runlog.LevelStart{Depth: runlog.GroupLevel, Type: "llm", Label: "Answer"}}
}

func modelEnd(n uint32, ms int64, status string) entry {
	return entry{ms, group(n), &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: "llm", Status: status}}
}

func tool(index int, name string, ms int64) entry {
	return entry{ms, group(9), &runlog.ToolStart{Tool: name, ToolUseID: fmt.Sprint("call", index), Index: index, Input: json.RawMessage(`{}`)}}
}

func toolEnd(index int, name string, ms int64, failed bool) entry {
	return entry{ms, group(9), &runlog.ToolComplete{Tool: name, ToolUseID: fmt.Sprint("call", index), Index: index, IsError: failed}}
}

// show writes a timeline in lines that are easy to compare.
func show(t schemas.AdminTimeline) (lines []string) {
	ms := func(t *time.Time) string {
		if t == nil {
			return "-"
		}
		return fmt.Sprint(t.Sub(began).Milliseconds())
	}
	for _, a := range t.Attempts {
		lines = append(lines, fmt.Sprintf("attempt %d of %s at %s", a.Number, a.Replica, ms(a.StartedAt)))
	}
	for _, s := range t.Spans {
		tokens := 0
		if s.Usage != nil {
			tokens = s.Usage.TotalTokens
		}
		lines = append(lines, fmt.Sprintf("%d: %s %s %s..%s..%s %s error=%v thread=%d tokens=%d", s.Attempt, s.Kind, s.Name, ms(&s.StartedAt), ms(s.FirstTokenAt), ms(s.EndedAt), s.Outcome, s.IsError, s.Thread, tokens))
	}
	for _, c := range t.Commits {
		lines = append(lines, fmt.Sprintf("%s %s at %s", c.What, c.Name, ms(&c.At)))
	}
	return lines
}

func TestTimeline(t *testing.T) {
	end := at(900)
	d := &data{
		run:      schemas.AdminRun{RunID: "r", State: schemas.RunCompleted, Attempt: 2, CreatedAt: began, EndedAt: &end},
		attempts: []schemas.AdminAttempt{{Number: 1, Replica: "a"}, {Number: 2, Replica: "b"}},
	}
	thread := runlog.Level{Thread: 4, Group: 9}
	d.attempt(1,
		entry{10, runlog.Level{}, &runlog.Started{}},
		model(1, 20), entry{50, group(1), &runlog.Thinking{Text: "hm"}}, entry{60, group(1), &runlog.Text{Text: "Let me look."}}, modelEnd(1, 100, "completed"),
		tool(0, "look", 110), tool(1, "ask", 111),
		entry{120, thread, &runlog.LevelStart{Depth: runlog.GroupLevel, Type: "llm"}},
		entry{125, thread, &runlog.ThreadText{Text: "x"}},
		entry{130, thread, &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: "llm", Status: "completed"}},
		entry{140, thread, &runlog.ThreadToolStart{ToolStart: runlog.ToolStart{Tool: "inner", ToolUseID: "call0", Index: 0}}},
		entry{150, thread, &runlog.ThreadToolComplete{ToolComplete: runlog.ToolComplete{Tool: "inner", ToolUseID: "call0", Index: 0}}},
		toolEnd(1, "ask", 160, true), toolEnd(0, "look", 170, false),
		model(2, 180), tool(7, "lost", 190),
	)
	d.attempt(2,
		entry{400, runlog.Level{}, &runlog.Attempt{Number: 2}},
		modelEnd(2, 400, "partial"),
		model(3, 410), entry{420, group(3), &runlog.Call{ID: "c", Name: "delete"}}, modelEnd(3, 430, "completed"),
		entry{440, group(9), &runlog.ApprovalRequest{ApprovalID: "p", Tool: "delete", Index: 2}},
		entry{600, group(9), &runlog.ApprovalResolved{ApprovalID: "p"}},
		entry{601, group(9), &runlog.ToolRefused{ToolStart: runlog.ToolStart{Tool: "delete", ToolUseID: "c", Index: 2}}},
		entry{610, group(9), &runlog.ClientToolCall{Tool: "scroll", ToolUseID: "d", Index: 3}},
		entry{700, group(9), &runlog.ToolStart{Tool: "scroll", ToolUseID: "d", Index: 3}},
		entry{701, group(9), &runlog.ToolComplete{Tool: "scroll", ToolUseID: "d", Index: 3}},
		model(4, 710), entry{750, group(20), &runlog.BlockContent{Text: "into a document"}}, modelEnd(4, 890, "completed"),
		entry{900, runlog.Level{}, &runlog.Completed{}},
	)
	d.trace = schemas.Encode(schemas.Diagnostics{Model: "large", Iterations: []schemas.TraceIteration{
		{StartedAt: at(20), DurationMS: 78, StopReason: "tool_calls", Usage: schemas.Usage{TotalTokens: 11}},
		{StartedAt: at(411), DurationMS: 19, StopReason: "tool_calls", Usage: schemas.Usage{TotalTokens: 12}},
		{StartedAt: at(711), DurationMS: 170, StopReason: "end_turn", Usage: schemas.Usage{TotalTokens: 13}},
	}})
	got, err := newAdmin(d).Timeline(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"attempt 1 of a at 10",
		"attempt 2 of b at 400",
		"1: queue  0..-..10  error=false thread=0 tokens=0",
		"1: model large 20..50..98 tool_calls error=false thread=0 tokens=11",
		"1: tool look 110..-..170  error=false thread=0 tokens=0",
		"1: tool ask 111..-..160  error=true thread=0 tokens=0",
		"1: model  120..125..130 completed error=false thread=4 tokens=0",
		"1: tool inner 140..-..150  error=false thread=4 tokens=0",
		"1: model  180..-..- broken_off error=false thread=0 tokens=0",
		"1: tool lost 190..-..- broken_off error=false thread=0 tokens=0",
		"2: model large 410..420..430 tool_calls error=false thread=0 tokens=12",
		"2: approval delete 440..-..600 denied error=false thread=0 tokens=0",
		"2: tool delete 601..-..601 denied error=false thread=0 tokens=0",
		"2: client_tool scroll 610..-..700  error=false thread=0 tokens=0",
		"2: model large 710..750..881 end_turn error=false thread=0 tokens=13",
		"begun  at 0",
		"tool_started look at 110",
		"tool_started ask at 111",
		"tool_started lost at 190",
		"tool_started delete at 601",
		"ended  at 900",
	}
	if diff := cmp.Diff(want, show(got)); diff != "" {
		t.Errorf("the timeline (-want +got):\n%s", diff)
	}
	if got.LastSequence != runlog.AttemptSpan+15 || got.LogDropped || got.Truncated {
		t.Errorf("last %d, dropped %v, truncated %v", got.LastSequence, got.LogDropped, got.Truncated)
	}
}

// A run under way has no trace: what is open has no end.
func TestTimelineOfARunUnderWay(t *testing.T) {
	d := &data{run: schemas.AdminRun{RunID: "r", State: schemas.RunRunning, Attempt: 1, CreatedAt: began}, attempts: []schemas.AdminAttempt{{Number: 1}}}
	a := newAdmin(d)
	got, err := a.Timeline(t.Context(), "r")
	if diff := cmp.Diff([]string{"attempt 1 of  at -", "begun  at 0"}, show(got)); err != nil || diff != "" || got.LogDropped {
		t.Errorf("before its first event: %v, dropped %v\n%s", err, got.LogDropped, diff)
	}
	d.attempt(1, entry{10, runlog.Level{}, &runlog.Started{}}, model(1, 20))
	got, err = a.Timeline(t.Context(), "r")
	want := []string{"attempt 1 of  at 10", "1: queue  0..-..10  error=false thread=0 tokens=0", "1: model  20..-..-  error=false thread=0 tokens=0", "begun  at 0"}
	if diff := cmp.Diff(want, show(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// The database has the microseconds of a run's beginning, the log has milliseconds.
func TestTimelineOfARunThatBeganAtOnce(t *testing.T) {
	d := &data{run: schemas.AdminRun{RunID: "r", State: schemas.RunRunning, Attempt: 1, CreatedAt: at(10).Add(168 * time.Microsecond)}, attempts: []schemas.AdminAttempt{{Number: 1}}}
	d.attempt(1, entry{10, runlog.Level{}, &runlog.Started{}})
	got, err := newAdmin(d).Timeline(t.Context(), "r")
	if err != nil || len(got.Spans) != 1 || got.Spans[0].EndedAt.Before(got.Spans[0].StartedAt) {
		t.Errorf("%v, %+v, want a wait in the queue that does not end before it begins", err, got.Spans)
	}
}

func TestTimelineOfADroppedLog(t *testing.T) {
	end := at(900)
	d := &data{
		run:      schemas.AdminRun{RunID: "r", State: schemas.RunCompleted, Attempt: 1, CreatedAt: began, EndedAt: &end},
		attempts: []schemas.AdminAttempt{{Number: 1, Replica: "a"}},
		calls: []record.ToolCall{
			{Name: "look", Attempt: 1, State: record.ToolFinished, StartedAt: at(100), Duration: 50 * time.Millisecond},
			{Name: "ask", Index: 1, Attempt: 1, State: record.ToolStarted, StartedAt: at(120)},
		},
	}
	got, err := newAdmin(d).Timeline(t.Context(), "r")
	want := []string{
		"attempt 1 of a at -", "1: tool look 100..-..150  error=false thread=0 tokens=0", "1: tool ask 120..-..-  error=false thread=0 tokens=0",
		"begun  at 0", "tool_started look at 100", "tool_started ask at 120", "ended  at 900",
	}
	if diff := cmp.Diff(want, show(got)); err != nil || diff != "" || !got.LogDropped {
		t.Errorf("%v, dropped %v (-want +got):\n%s", err, got.LogDropped, diff)
	}
}

func TestTimelineIsBounded(t *testing.T) {
	d := &data{run: schemas.AdminRun{RunID: "r", State: schemas.RunRunning, Attempt: 1, CreatedAt: began}}
	var many []entry
	for i := range 3000 {
		many = append(many, tool(i, "look", int64(i)), toolEnd(i, "look", int64(i), false))
	}
	d.attempt(1, many...)
	got, err := newAdmin(d).Timeline(t.Context(), "r")
	if err != nil || len(got.Spans) != 2000 || !got.Truncated {
		t.Errorf("%v, %d spans, truncated %v; want 2000 of 3000", err, len(got.Spans), got.Truncated)
	}
}

func TestEventsInPages(t *testing.T) {
	d := &data{run: schemas.AdminRun{RunID: "r"}}
	var many []entry
	for i := range 25 {
		many = append(many, entry{int64(i), group(1), &runlog.Text{Text: "word"}})
	}
	d.attempt(1, many...)
	a := newAdmin(d)
	var sizes []int
	var last int64
	for after := int64(0); ; {
		events, next, err := a.Events(t.Context(), "r", after, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Seq != last+1 || e.Time != at(last).UnixMilli() {
				t.Errorf("after %d comes %d at %d", last, e.Seq, e.Time)
			}
			last = e.Seq
		}
		sizes = append(sizes, len(events))
		if after = next; next == 0 {
			break
		}
	}
	if diff := cmp.Diff([]int{10, 10, 5}, sizes); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestUnknownRuns(t *testing.T) {
	a := newAdmin(&data{run: schemas.AdminRun{RunID: "r"}})
	_, timeline := a.Timeline(t.Context(), "other")
	_, _, events := a.Events(t.Context(), "other", 0, 10)
	_, trace := a.Diagnostics(t.Context(), "r")
	for name, err := range map[string]error{"timeline": timeline, "events": events, "diagnostics": trace} {
		if !errors.Is(err, schemas.ErrNotFound) {
			t.Errorf("%s: %v, want not found", name, err)
		}
	}
}

func TestStatsBoundTheDays(t *testing.T) {
	d := &data{}
	a := newAdmin(d)
	if _, err := a.Stats(t.Context(), time.Time{}, time.Time{}, 0); err != nil || d.stats != (record.AdminStatsQuery{From: "2026-10-23", To: "2026-11-21", Top: 10}) {
		t.Errorf("%v, asked %+v", err, d.stats)
	}
	for _, days := range [][2]time.Time{{began, began.AddDate(0, 0, -1)}, {began.AddDate(-2, 0, 0), began}} {
		if _, err := a.Stats(t.Context(), days[0], days[1], 0); schemas.Visible(err).Code != schemas.CodeInvalid {
			t.Errorf("%v gives %v, want invalid", days, err)
		}
	}
	for _, q := range []record.AdminRunQuery{{State: "done"}, {From: began, To: began}} {
		if _, err := a.Runs(t.Context(), q); schemas.Visible(err).Code != schemas.CodeInvalid {
			t.Errorf("%+v gives %v, want invalid", q, err)
		}
	}
}

func TestTheOnlyProcess(t *testing.T) {
	list, err := newAdmin(&data{}).Processes(t.Context())
	if diff := cmp.Diff([]schemas.AdminReplica{{ID: "me", Live: true, OpenRuns: 3, This: true}}, list); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
