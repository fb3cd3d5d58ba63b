package wires_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/all"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// twoCalls is a reply with text that calls two tools of the page, and one of the service
// between them if withTool is set.
func twoCalls(withTool bool) []runlog.Event {
	group := runlog.Level{Group: 1}
	list := append(beginning(0, 1),
		runlog.Event{Seq: 5, At: runlog.Level{Group: 1, Message: 2}, Body: &runlog.LevelEnd{Depth: runlog.MessageLevel, Type: "text"}},
		runlog.Event{Seq: 6, At: group, Body: &runlog.Call{ID: "c0", Name: "where", Index: 0, Client: true}},
		runlog.Event{Seq: 7, At: group, Body: &runlog.Call{ID: "c1", Name: "where", Index: 1, Client: true}},
	)
	if withTool {
		list = append(list, runlog.Event{Seq: 8, At: group, Body: &runlog.Call{ID: "c2", Name: "look", Index: 2}})
	}
	return append(list, runlog.Event{Seq: 9, At: group, Body: &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: "llm"}})
}

// again is the beginning of the second attempt, which keeps the events up to kept.
func again(kept int64) []runlog.Event {
	const base = runlog.AttemptSpan
	group := runlog.Level{Group: base + 1}
	return []runlog.Event{
		{Seq: base + 1, Body: &runlog.Attempt{Run: runlog.Run{RunID: "r"}, Target: runlog.Target{MessageID: "a"}, Number: 2, KeptThrough: kept, Text: "half"}},
		{Seq: base + 2, At: group, Body: &runlog.LevelStart{Depth: runlog.GroupLevel, Type: "llm"}},
		{Seq: base + 3, At: group, Body: &runlog.KeptText{Text: "half"}},
		{Seq: base + 4, At: group, Body: &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: "llm"}},
	}
}

// asks is the page's call with the index.
func asks(seq int64, index int) runlog.Event {
	return runlog.Event{Seq: seq, Body: &runlog.ClientToolCall{Tool: "where", ToolUseID: "c" + strconv.Itoa(index), Index: index, Input: []byte("{}")}}
}

// runs is a call that runs and ends, in two events.
func runs(seq int64, index int, tool string) []runlog.Event {
	return []runlog.Event{
		{Seq: seq, Body: &runlog.ToolStart{Tool: tool, Index: index, Input: []byte("{}")}},
		{Seq: seq + 1, Body: &runlog.ToolComplete{Tool: tool, Index: index, Output: "Basel"}},
	}
}

// asksPage is how each wire asks the page to run a call.
var asksPage = map[string]string{
	"ui": `"type":"tool-input-available"`, "agui": `"name":"tool-input-available"`, "completions": `"tool_calls":[{"index":`, "responses": `"type":"response.output_item.done"`,
}

// pauses is how each wire says that calls wait.
var pauses = map[string]string{
	"ui": `"type":"finish"`, "agui": `"type":"RUN_FINISHED"`, "completions": `"finish_reason":"tool_calls"`, "responses": `"type":"response.completed"`,
}

// TestTwoWaitsOfALaterAttempt stops the process while two calls of one reply wait. The next
// attempt shows them one after the other: a response pauses only when both wait, asks the page
// once for each, and does not ask again what the client has seen.
func TestTwoWaitsOfALaterAttempt(t *testing.T) {
	const base = runlog.AttemptSpan
	both := []runlog.Event{asks(10, 0), asks(11, 1)}
	for _, tt := range []struct {
		name   string
		events []runlog.Event
		given  map[int]bool
		asked  []int // by the response
	}{
		{"both are shown again", slices.Concat(twoCalls(false), both, again(9), []runlog.Event{asks(base+5, 0), asks(base+6, 1)}), nil, []int{0, 1}},
		{"the first was never shown", slices.Concat(twoCalls(false), again(9), []runlog.Event{asks(base+5, 0), asks(base+6, 1)}), nil, []int{0, 1}},
		{
			"one is answered before the other is shown again",
			slices.Concat(twoCalls(false), both, again(9), []runlog.Event{asks(base+5, 0)}, runs(base+6, 0, "where"), []runlog.Event{asks(base+8, 1)}),
			map[int]bool{0: true},
			nil,
		},
		{
			"one is answered after both are shown again",
			slices.Concat(twoCalls(false), both, again(9), []runlog.Event{asks(base+5, 0), asks(base+6, 1)}, runs(base+7, 0, "where")),
			map[int]bool{0: true},
			nil,
		},
		{
			"the attempt keeps that the first waits",
			slices.Concat(twoCalls(true), []runlog.Event{asks(10, 0)}, runs(11, 2, "look"), []runlog.Event{asks(13, 1)}, again(12), []runlog.Event{asks(base+5, 0), asks(base+6, 1)}),
			nil,
			[]int{0, 1},
		},
	} {
		for _, w := range all.Wires() {
			for _, v := range w.Tables {
				t.Run(tt.name+"/"+w.Name+" "+v.Name, func(t *testing.T) {
					got := serveWaits(t, v, tt.events, tt.given)
					for index := range 2 {
						want := 0
						if slices.Contains(tt.asked, index) {
							want = 1
						}
						if n := asked(w.Name, got, index); n != want {
							t.Errorf("the page is asked %d times to run the call %d, want %d:\n%s", n, index, want, got)
						}
					}
					if n := strings.Count(got, pauses[w.Name]); n != 1 {
						t.Errorf("the response pauses %d times, want once:\n%s", n, got)
					}
				})
			}
		}
	}
}

// TestAnswersThatALaterAttemptKeeps asks again for the response to answers that an earlier
// attempt has used: it begins at once, and not when the run ends.
func TestAnswersThatALaterAttemptKeeps(t *testing.T) {
	events := slices.Concat(twoCalls(false), []runlog.Event{asks(10, 0), asks(11, 1)}, runs(12, 0, "where"), runs(14, 1, "where"), again(15), []runlog.Event{
		{Seq: runlog.AttemptSpan + 5, At: runlog.Level{Group: runlog.AttemptSpan + 5}, Body: &runlog.LevelStart{Depth: runlog.GroupLevel, Type: "llm"}},
		{Seq: runlog.AttemptSpan + 6, At: runlog.Level{Group: runlog.AttemptSpan + 5, Message: 9}, Body: &runlog.Text{Text: "so far"}},
	})
	for _, w := range all.Wires() {
		for _, v := range w.Tables {
			t.Run(w.Name+" "+v.Name, func(t *testing.T) {
				if got := serveWaits(t, v, events, map[int]bool{0: true, 1: true}); !strings.Contains(got, "so far") || strings.Contains(got, "half") {
					t.Errorf("the response is\n%s\nwant what comes after the calls, while the run goes on", got)
				}
			})
		}
	}
}

// asked counts how often a response asks the page to run the call.
func asked(wire, response string, index int) (n int) {
	call := "r-" + strconv.Itoa(index)
	for line := range strings.Lines(response) {
		if strings.Contains(line, asksPage[wire]) && strings.Contains(line, `"`+call+`"`) {
			n++
		}
	}
	return n
}

// serveWaits serves a run in its second attempt, whose calls 0 and 1 wait unless they are
// given.
func serveWaits(t *testing.T, v wires.Version, events []runlog.Event, given map[int]bool) (response string) {
	t.Helper()
	waits := []schemas.Wait{{Index: 0, Kind: schemas.WaitClientTool, Tool: "where"}, {Index: 1, Kind: schemas.WaitClientTool, Tool: "where"}}
	for i := range waits {
		if given[i] {
			waits[i].Answer, waits[i].AnsweredAt = schemas.WaitResult, new(time.UnixMilli(0))
		}
	}
	run := schemas.Run{RunID: "r", State: schemas.RunWaiting, Attempt: 2, LastSequence: events[len(events)-1].Seq}
	to := &shown{ctx: t.Context(), left: -1}
	to.ctx, to.gone = context.WithCancel(t.Context())
	defer to.gone()
	c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Response: httptest.NewRecorder(), Done: func() {}}
	c.Service = &wires.Service{Runs: live{run: run, batches: [][]runlog.Event{events}, waits: func() ([]schemas.Wait, error) { return waits, nil }}}
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // the value itself is what the server looks for
			panic(p)
		}
		response = to.String() // also of a run that goes on
	}()
	if err := c.Service.Serve(c, to, wires.Response{Run: run, Table: v.Table, Given: wires.Given{Calls: maps.Clone(given)}}); err != nil {
		t.Fatal(err)
	}
	return ""
}
