package ui

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
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

// TestAnOutputBesideAnApprovalIsSentOnce answers a tool of the page while the user is still
// asked about another call: the client's part becomes one of the service, because a client
// that sends completed calls by itself would otherwise send this one until the user decides.
// A pause of a later reply does not touch it.
func TestAnOutputBesideAnApprovalIsSentOnce(t *testing.T) {
	const want = `{"type":"tool-output-available","output":{"at":"Basel"},"providerExecuted":true,"toolCallId":"run-1"}`
	reply := &runlog.LevelStart{Depth: runlog.GroupLevel, Type: "llm"}
	for _, tt := range []struct {
		name   string
		answer record.CallAnswer
		after  []runlog.Body // the answers
		want   string        // empty for none
	}{
		{"the other call waits", record.CallAnswer{Index: 1, Output: json.RawMessage(`{"at":"Basel"}`)}, nil, want},
		{"the tool failed", record.CallAnswer{Index: 1, Output: json.RawMessage(`"no"`), IsError: true}, nil, `{"type":"tool-output-error","errorText":"no","providerExecuted":true,"toolCallId":"run-1"}`},
		{"an approval", record.CallAnswer{Index: 0, Approved: new(bool)}, nil, ""},
		{"an unknown call", record.CallAnswer{Index: 7, Output: json.RawMessage(`1`)}, nil, ""},
		{"a later reply waits", record.CallAnswer{Index: 1, Output: json.RawMessage(`1`)}, []runlog.Body{reply}, ""},
	} {
		for _, major := range []int{newest, noApprovals} {
			table := newTable(major, tt.answer)(wires.Params{Run: "run"})
			var hidden, out wires.Frames
			hidden.Mute()
			for _, b := range []runlog.Body{
				&runlog.Started{Target: runlog.Target{MessageID: "a"}}, reply,
				&runlog.ApprovalRequest{Index: 0, Tool: "order"}, &runlog.ClientToolCall{Index: 1, Tool: "where"},
			} {
				table.Event(&hidden, &runlog.Event{Seq: 1, Body: b})
			}
			table.Begin(&out, 4)
			for _, b := range tt.after {
				table.Event(&out, &runlog.Event{Seq: 5, Body: b})
			}
			table.Pause(&out, []schemas.Wait{{Index: 0}})
			got := written(&out)
			if tt.want == "" && strings.Contains(got, "tool-output") || !strings.Contains(got, tt.want) {
				t.Errorf("%s: a client of version %d gets\n%s\nwant %q", tt.name, major, got, tt.want)
			}
		}
	}
}

// TestARefusedCallIsNotRunByThePage has calls of two tools of the page, of which one is
// refused, because its arguments are no object: the page runs only the other. Its client runs
// every call whose input it reads, unless the service runs it.
func TestARefusedCallIsNotRunByThePage(t *testing.T) {
	table := newTable(newest)(wires.Params{Run: "run"})
	var out wires.Frames
	for _, b := range []runlog.Body{
		&runlog.Started{Target: runlog.Target{MessageID: "a"}}, &runlog.LevelStart{Depth: runlog.GroupLevel, Type: "llm"},
		&runlog.Call{ID: "c0", Name: "pick", Index: 0, Client: true}, &runlog.Call{ID: "c1", Name: "where", Index: 1, Client: true},
		&runlog.ToolStart{Index: 0, Tool: "pick", Input: []byte(`{"invalid_arguments":"[1]"}`)},
		&runlog.ToolComplete{Index: 0, Tool: "pick", Output: "the tool was not run", IsError: true},
		&runlog.ClientToolCall{Index: 1, Tool: "where", Input: []byte(`{}`)},
		&runlog.ToolStart{Index: 1, Tool: "where", Input: []byte(`{}`)},
	} {
		table.Event(&out, &runlog.Event{Seq: 1, Body: b})
	}
	got := written(&out)
	for call, runs := range map[string]bool{"run-0": false, "run-1": true} {
		for line := range strings.Lines(got) {
			if strings.Contains(line, `"tool-input-available"`) && strings.Contains(line, call) && strings.Contains(line, "providerExecuted") == runs {
				t.Errorf("the page runs the call %s: %t, want %t: %s", call, !runs, runs, line)
			}
		}
	}
	if strings.Count(got, `"tool-input-available"`) != 2 {
		t.Errorf("the client gets\n%s\nwant the input of both calls, once", got)
	}
}

// TestTheStepOfCallsGoesOnInALaterAttempt has a later attempt that goes on with a call of a
// reply: the client looks for the call's part in its last step, so that no other one begins.
func TestTheStepOfCallsGoesOnInALaterAttempt(t *testing.T) {
	reply := &runlog.LevelStart{Depth: runlog.GroupLevel, Type: "llm"}
	run := []runlog.Body{&runlog.ToolStart{Index: 0, Tool: "order", Input: []byte(`{}`)}, &runlog.ToolComplete{Index: 0, Tool: "order", Output: "done"}}
	for _, tt := range []struct {
		name   string
		before []runlog.Body
		steps  int
	}{
		{"it waits for the user", []runlog.Body{&runlog.ApprovalRequest{Index: 0, Tool: "order", Input: []byte(`{}`)}}, 1},
		{"its input is not shown yet", nil, 1},
		{"it has ended", run, 2},
	} {
		table := newTable(newest)(wires.Params{Run: "run", Answered: map[int]bool{0: true}})
		var out wires.Frames
		list := []runlog.Body{&runlog.Started{Target: runlog.Target{MessageID: "a"}}, reply, &runlog.Call{ID: "c0", Name: "order"}}
		list = append(append(list, tt.before...), &runlog.Attempt{Number: 2}, reply)
		for _, b := range append(list, run...) {
			table.Event(&out, &runlog.Event{Seq: 1, Body: b})
		}
		if got := written(&out); strings.Count(got, `"start-step"`) != tt.steps {
			t.Errorf("%s: the client gets\n%s\nwant %d steps", tt.name, got, tt.steps)
		}
	}
}
