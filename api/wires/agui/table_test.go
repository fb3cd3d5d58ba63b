package agui

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/wirestest"
	"github.com/chattray/chattray/schemas/runlog"
)

// body collects what is written to a stream.
type body struct{ strings.Builder }

func (*body) Context() context.Context   { return context.Background() }
func (b *body) Write(frames []byte) bool { b.Builder.Write(frames); return true }
func (*body) Close()                     {}

func written(out *wires.Frames) string {
	var b body
	_ = (&wires.Service{}).ServeFrames(&wires.Call{Response: httptest.NewRecorder()}, &b, out)
	return b.String()
}

func events(list ...runlog.Event) []runlog.Event { return list }

// group is a reply with a text, without its end.
func group(seq int64, number uint32, text string) []runlog.Event {
	at := runlog.Level{Group: number, Message: number + 1}
	return events(
		runlog.Event{Seq: seq, At: at, Body: &runlog.LevelStart{Depth: runlog.GroupLevel, Type: "llm"}},
		runlog.Event{Seq: seq + 1, At: at, Body: &runlog.Text{Text: text}},
	)
}

// TestNumbersOfAResponseThatContinues has outcomes that are shown again when a response
// continues its run. Their numbers are between those of the events before and after.
func TestNumbersOfAResponseThatContinues(t *testing.T) {
	table := build(wires.Params{Run: "run", Answered: map[int]bool{0: true}}, client{thread: "T", run: "R"})
	table.ended = []*runlog.ToolComplete{{Tool: "a", Output: "x"}, {Tool: "b", Index: 1, Output: "y"}}
	var out wires.Frames
	out.Numbered(number)
	table.Begin(&out, 25)
	frames := strings.Split(written(&out), "\n\n")
	for i, n := range []string{"25997", "25998", "25999"} {
		if len(frames) != 4 || !strings.HasPrefix(frames[i], "id: "+n+"\n") {
			t.Fatalf("the response begins with %q, want three frames up to 25999", frames)
		}
	}
}

// TestReplacedEventsAreTakenBack has a client that has seen text which a later attempt
// replaced: what is open ends, and the messages are as they are.
func TestReplacedEventsAreTakenBack(t *testing.T) {
	target := runlog.Target{MessageID: "a"}
	kept := append(events(runlog.Event{Seq: 1, Body: &runlog.Started{Target: target}}), group(2, 1, "kept")...)
	kept = append(kept, runlog.Event{Seq: 4, At: runlog.Level{Group: 1}, Body: &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: "llm"}})
	lost := group(5, 3, "lost")
	rest := events(runlog.Event{Seq: 1_000_001, Body: &runlog.Attempt{Target: target, Number: 2, KeptThrough: 4}})
	rest = append(rest, group(1_000_002, 1_000_001, "new")...)
	rest = append(rest, runlog.Event{Seq: 1_000_004, Body: &runlog.Completed{}})

	who := client{thread: "T", run: "R", stored: []message{{ID: "u", Role: "user", Content: "question"}}}
	first, again := build(wires.Params{Run: "run"}, who), build(wires.Params{Run: "run"}, who)
	var before, hidden, after wires.Frames
	for _, e := range append(kept, lost...) {
		first.Event(&before, &e)
	}
	again.Replaced(1_000_001, lost)
	hidden.Mute()
	for _, e := range kept {
		again.Event(&hidden, &e)
	}
	for _, e := range rest {
		again.Event(&after, &e)
	}
	seen, shown := written(&before), written(&after)
	if _, err := wirestest.Check("agui", "0.0.59", [][]byte{[]byte(seen + shown)}); err != nil {
		t.Errorf("the client refuses the stream: %v\n%s", err, seen+shown)
	}
	at := strings.Index(shown, "MESSAGES_SNAPSHOT")
	if at < 0 || !strings.Contains(shown[at:], `"question"`) || !strings.Contains(shown[at:], `"kept"`) || strings.Contains(shown, "lost") || strings.Contains(shown, "RUN_STARTED") {
		t.Errorf("the client gets\n%s\nwant the question and what is kept, and nothing that is lost", shown)
	}
	if end := strings.Index(shown, `{"type":"TEXT_MESSAGE_END","messageId":"a-3"}`); end < 0 || end > at {
		t.Errorf("the client gets\n%s\nwant the end of the open message before the messages", shown)
	}
}

// TestOnlyTheAttemptThatReplacedTakesBack has a client that has seen the beginning of two
// attempts: the messages come with the one that replaced what it has seen, and only with that.
func TestOnlyTheAttemptThatReplacedTakesBack(t *testing.T) {
	target := runlog.Target{MessageID: "a"}
	table := build(wires.Params{Run: "run"}, client{thread: "T", run: "R"})
	table.Replaced(2_000_001, nil)
	for _, tt := range []struct {
		body  runlog.Body
		seq   int64
		shows bool
	}{
		{&runlog.Started{Target: target}, 1, false},
		{&runlog.Text{Text: "kept"}, 2, false},
		{&runlog.Attempt{Target: target, Number: 2, KeptThrough: 2}, 1_000_001, false},
		{&runlog.Attempt{Target: target, Number: 3, KeptThrough: 2}, 2_000_001, true},
		{&runlog.Attempt{Target: target, Number: 4, KeptThrough: 2}, 3_000_001, false},
	} {
		var out wires.Frames
		table.Event(&out, &runlog.Event{Seq: tt.seq, Body: tt.body})
		if got := written(&out); strings.Contains(got, "MESSAGES_SNAPSHOT") != tt.shows || tt.shows && !strings.Contains(got, `"kept"`) {
			t.Errorf("the event %d shows %q, want the messages so far: %t", tt.seq, got, tt.shows)
		}
	}
}

// TestCallsThatTheRequestAnswers shows a call to a page whose request answers it: the page is
// not asked again, and gets an outcome only if it is not the one that it brought.
func TestCallsThatTheRequestAnswers(t *testing.T) {
	for _, other := range []bool{false, true} {
		given := wires.Given{Calls: map[int]bool{0: true}}
		params := wires.Params{Run: "run"}
		if other {
			params.Answered = map[int]bool{0: true}
		}
		table := build(params, client{thread: "T", run: "R", given: given, brought: map[int]bool{0: true}})
		var out wires.Frames
		for _, b := range []runlog.Body{
			&runlog.ClientToolCall{Tool: "pick", Input: []byte("{}")}, &runlog.ToolStart{Tool: "pick", Input: []byte("{}")}, &runlog.ToolComplete{Tool: "pick", Output: "Basel"},
		} {
			table.Event(&out, &runlog.Event{Seq: 1, Body: b})
		}
		got := written(&out)
		if strings.Contains(got, "tool-input-available") || strings.Contains(got, `"Basel"`) != other {
			t.Errorf("the page gets %q, want no call, and the outcome: %t", got, other)
		}
	}
}

// TestCallsWithoutAResult stops a run with two calls. The client gets a result of each, but
// for the one that it has brought itself, and but for those that a later attempt took back.
func TestCallsWithoutAResult(t *testing.T) {
	calls := func(seq int64) []runlog.Event {
		at := runlog.Level{Group: 1, Message: 2}
		return events(runlog.Event{Seq: seq, At: at, Body: &runlog.Call{Name: "order"}}, runlog.Event{Seq: seq + 1, At: at, Body: &runlog.Call{Name: "pick", Index: 1}})
	}
	started := runlog.Event{Seq: 1, Body: &runlog.Started{}}
	again := runlog.Event{Seq: 1_000_001, Body: &runlog.Attempt{Number: 2, KeptThrough: 1}}
	for _, tt := range []struct {
		name    string
		brought map[int]bool
		seen    []runlog.Event
		log     []runlog.Event
		want    []string
	}{
		{"both are open", nil, nil, append(events(started), calls(2)...), []string{"run-0-result", "run-1-result"}},
		{"one result came with the request", map[int]bool{1: true}, nil, append(events(started), calls(2)...), []string{"run-0-result"}},
		{"both were taken back", nil, calls(2), events(started, again), nil},
	} {
		table := build(wires.Params{Run: "run"}, client{thread: "T", run: "R", brought: tt.brought})
		if tt.seen != nil {
			table.Replaced(again.Seq, tt.seen)
		}
		var out wires.Frames
		for _, e := range append(tt.log, runlog.Event{Seq: 1_000_002, Body: &runlog.Cancelled{}}) {
			table.Event(&out, &e)
		}
		var got []string
		for line := range strings.SplitSeq(written(&out), "\n") {
			if _, rest, ok := strings.Cut(line, `"TOOL_CALL_RESULT"`); ok {
				_, id, _ := strings.Cut(rest, `"messageId":"`)
				id, _, _ = strings.Cut(id, `"`)
				got = append(got, id)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: the client gets the results %q, want %q", tt.name, got, tt.want)
		}
	}
}
