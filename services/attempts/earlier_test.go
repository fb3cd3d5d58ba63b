package attempts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/modeltext"
)

// logOf numbers events from 1, those of later attempts from their first number.
func logOf(events ...runlog.Event) []runlog.Event {
	var seq int64
	for i := range events {
		seq++
		if _, later := events[i].Body.(*runlog.Attempt); later {
			seq = seq/runlog.AttemptSpan*runlog.AttemptSpan + runlog.AttemptSpan + 1
		}
		events[i].Seq = seq
	}
	return events
}

func event(b runlog.Body) runlog.Event { return runlog.Event{At: runlog.Level{Group: 1}, Body: b} }

func textEvent(text string) runlog.Event { return event(&runlog.Text{Text: text}) }

func markerEvent(text string) runlog.Event { return runlog.Event{Body: &runlog.Marker{Text: text}} }

func endOf(kind string) runlog.Event {
	return event(&runlog.LevelEnd{Depth: runlog.GroupLevel, Type: kind})
}

func completeEvent(index int) runlog.Event { return event(&runlog.ToolComplete{Index: index}) }

func attemptEvent(kept int64, text string) runlog.Event {
	return event(&runlog.Attempt{KeptThrough: kept, Text: text})
}

// kept returns the part of a stored log that still counts.
type kept struct {
	Kept             int64
	Replies, Markers int
	Results          map[int]bool
	Text             string
}

func keptOf(e *attempts.Earlier) kept { return kept{e.Kept, e.Replies, e.Markers, e.Results, e.Text()} }

// The log is kept up to the last event that agrees with the finished steps and calls.
func TestKept(t *testing.T) {
	started := event(&runlog.Started{})
	standing := runlog.Event{At: runlog.Level{Group: 9}, Body: &runlog.KeptText{}}
	endOfStanding := endOf("llm")
	endOfStanding.At.Group = 9
	step := turn.Step{Reply: turn.Reply{ToolCalls: make([]turn.ToolCall, 2)}}
	finished := []record.ToolCall{{Index: 0, State: record.ToolFinished}, {Index: 1, State: record.ToolFinished}}
	tests := []struct {
		name   string
		events []runlog.Event
		steps  []turn.Step
		calls  []record.ToolCall
		want   kept
	}{
		{"nothing stored", nil, nil, nil, kept{Results: map[int]bool{}}},
		{"in the first reply", logOf(started, textEvent("a"), textEvent("b")), nil, nil, kept{Kept: 1, Results: map[int]bool{}, Text: "ab"}},
		{
			"a reply that is in no checkpoint", logOf(started, textEvent("a"), endOf("llm")), nil, nil,
			kept{Kept: 1, Results: map[int]bool{}, Text: "a"},
		},
		{
			"a reply that the log does not show", logOf(started, textEvent("a")),
			[]turn.Step{step},
			nil,
			kept{Kept: 1, Results: map[int]bool{}, Text: "a"},
		},
		{
			"in the tools", logOf(started, textEvent("a"), endOf("llm"), event(&runlog.ToolStart{})),
			[]turn.Step{step},
			nil,
			kept{Kept: 3, Replies: 1, Results: map[int]bool{}, Text: "a"},
		},
		{
			"one result shown", logOf(started, textEvent("a"), endOf("llm"), completeEvent(1)),
			[]turn.Step{step},
			finished,
			kept{Kept: 4, Replies: 1, Results: map[int]bool{1: true}, Text: "a"},
		},
		{
			"a result that is not stored", logOf(started, textEvent("a"), endOf("llm"), completeEvent(1), completeEvent(0)),
			[]turn.Step{step},
			[]record.ToolCall{{Index: 0, State: record.ToolStarted}, {Index: 1, State: record.ToolFinished}},
			kept{Kept: 4, Replies: 1, Results: map[int]bool{1: true}, Text: "a"},
		},
		{
			"half a marker", logOf(started, textEvent("a"), endOf("llm"), completeEvent(0), markerEvent("\n\n")),
			[]turn.Step{step},
			finished,
			kept{Kept: 4, Replies: 1, Results: map[int]bool{0: true}, Text: "a\n\n"},
		},
		{
			"a marker", logOf(started, textEvent("a"), endOf("llm"), completeEvent(0), markerEvent("\n\n"), markerEvent("[[tool:0]]")),
			[]turn.Step{step},
			finished,
			kept{Kept: 6, Replies: 1, Markers: 1, Results: map[int]bool{0: true}, Text: "a\n\n[[tool:0]]"},
		},
		{
			"in the second reply", logOf(started, textEvent("a"), endOf("llm"), completeEvent(0), completeEvent(1), endOf("tool"), textEvent("b")),
			[]turn.Step{step},
			finished,
			kept{Kept: 5, Replies: 1, Results: map[int]bool{0: true, 1: true}, Text: "ab"},
		},
		{
			"a void reply counts no more",
			logOf(started, textEvent("a"), endOf("llm"), attemptEvent(1, ""), textEvent("b"), endOf("llm"), textEvent("c")),
			[]turn.Step{step},
			nil,
			kept{Kept: 1_000_003, Replies: 1, Results: map[int]bool{}, Text: "bc"},
		},
		{
			"a kept text is no reply",
			logOf(started, textEvent("a"), endOf("llm"), attemptEvent(3, "a"), standing, endOfStanding, textEvent("b")),
			[]turn.Step{step},
			nil,
			kept{Kept: 1_000_003, Replies: 1, Results: map[int]bool{}, Text: "ab"},
		},
		{
			"a third attempt that continues the first",
			logOf(started, textEvent("a"), endOf("llm"), attemptEvent(3, "a"), textEvent("b"), attemptEvent(3, "a"), textEvent("c")),
			[]turn.Step{step},
			nil,
			kept{Kept: 2_000_001, Replies: 1, Results: map[int]bool{}, Text: "ac"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := keptOf(attempts.EarlierOf(tt.steps, tt.calls, tt.events))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A continued run continues to count the model's text where its earlier
// attempts ended: that of replies, and of threads.
func TestWritten(t *testing.T) {
	steps := []turn.Step{{Reply: turn.Reply{Text: "12", Reasoning: "567", ToolCalls: []turn.ToolCall{{Arguments: "{}", Extra: "{}"}}}}}
	events := []runlog.Event{{Body: &runlog.Text{Text: "1234"}}, {At: runlog.Level{Thread: 1}, Body: &runlog.ThreadText{Text: "x"}}}
	n := attempts.EarlierOf(steps, nil, events).Written()
	if n != 10 {
		t.Errorf("Written() = %d, want 10", n)
	}
	for more, want := range map[int]bool{2: true, 3: false} {
		all := modeltext.New(modeltext.Limits{Reply: 100, Run: 12, All: 100})
		c := all.Count()
		c.Hold(n)
		if held := all.Bytes(); held != int64(n) {
			t.Errorf("Bytes() = %d, want %d", held, n)
		}
		if err := c.Add(more, false); (err == nil) != want {
			t.Errorf("Add(%d) after Hold(%d) of 12 gives %v, want success %t", more, n, err, want)
		}
	}
}

// The texts in blocks are those that no reset has withdrawn: a reset without an end
// begins a text.
func TestBlockTexts(t *testing.T) {
	at := func(id string) runlog.Place { return runlog.Place{BlockIDs: id, DocumentID: "d", Type: "md"} }
	log := logOf(
		event(&runlog.BlockReset{Place: at("answer"), Revision: 2}),
		event(&runlog.BlockContent{Place: at("call"), Text: "One ", Revision: 3}),
		event(&runlog.BlockContent{Place: at("gone"), Text: "x", Revision: 4}),
		event(&runlog.BlockContent{Place: at("call"), Text: "two", Revision: 3}),
		event(&runlog.BlockReset{Place: at("gone"), End: true, Revision: 4}),
	)
	want := []attempts.BlockText{{Place: at("answer"), Revision: 2}, {Place: at("call"), Revision: 3, Text: "One two"}}
	if diff := cmp.Diff(want, attempts.EarlierOf(nil, nil, log).BlockTexts()); diff != "" {
		t.Errorf("the texts differ (-want +got):\n%s", diff)
	}
}

// If the user withdraws a block, only the call that wrote it last is refused. A later call may
// write the block again.
func TestWithdrew(t *testing.T) {
	place := runlog.Place{BlockIDs: "b", DocumentID: "d", Type: "md"}
	by := func(index int) *runlog.Caller { return &runlog.Caller{Tool: "write_block", Index: index} }
	begins := func(index int) runlog.Event { return event(&runlog.BlockReset{Place: place, By: by(index)}) }
	writes := func(index int) runlog.Event {
		return event(&runlog.BlockContent{Place: place, Text: "text", By: by(index)})
	}
	withdrawn := event(&runlog.BlockReset{Place: place, End: true})
	for name, tt := range map[string]struct {
		log  []runlog.Event
		want [4]bool // calls 0 to 3; 3 is of no finished reply
	}{
		"nothing":                    {log: logOf(writes(0))},
		"the text of a call":         {log: logOf(begins(0), writes(0), withdrawn), want: [4]bool{0: true}},
		"the text of a later call":   {log: logOf(writes(0), begins(1), writes(1), withdrawn), want: [4]bool{1: true}},
		"an empty text":              {log: logOf(writes(0), begins(1), withdrawn), want: [4]bool{1: true}},
		"and written again":          {log: logOf(writes(0), withdrawn, writes(1))},
		"a call that is asked again": {log: logOf(writes(3), withdrawn)},
		"by a version that names no calls": {
			log: logOf(event(&runlog.BlockContent{Place: place, Text: "text"}), withdrawn), want: [4]bool{true, true, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			steps := []turn.Step{{Reply: turn.Reply{ToolCalls: make([]turn.ToolCall, 1)}}, {Reply: turn.Reply{FirstIndex: 1, ToolCalls: make([]turn.ToolCall, 2)}}}
			e := attempts.EarlierOf(steps, nil, tt.log)
			for index, want := range tt.want {
				if got := e.Withdrew(index, "b"); got != want {
					t.Errorf("withdrew what call %d wrote: %t, want %t", index, got, want)
				}
			}
		})
	}
}
