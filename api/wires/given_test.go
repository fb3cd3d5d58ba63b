package wires_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/all"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// answering is a run that waits for an approval and for a tool of the page. The first answer
// to each counts.
type answering struct {
	live

	list    []schemas.Wait
	outputs map[int]string
	now     int64 // milliseconds
}

func (r *answering) Waits(context.Context, schemas.User, string) ([]schemas.Wait, error) {
	return slices.Clone(r.list), nil
}

func (r *answering) Answer(_ context.Context, _ schemas.User, _ string, answers []record.CallAnswer) ([]error, error) {
	errs := make([]error, len(answers))
	for i, a := range answers {
		answer := schemas.WaitResult
		if a.Approved != nil {
			answer = schemas.WaitApproved
		}
		switch w := &r.list[a.Index]; {
		case w.Answer == "":
			w.Answer, w.AnsweredAt, r.outputs[a.Index] = answer, new(time.UnixMilli(r.now)), string(a.Output)
		case w.Answer != answer || r.outputs[a.Index] != string(a.Output):
			errs[i] = schemas.NewError(schemas.CodeConflict, "it has another answer")
		}
	}
	return errs, nil
}

// at sets the time of events, in milliseconds.
func at(milli int64, events ...runlog.Event) []runlog.Event {
	for i := range events {
		events[i].Time = milli
	}
	return events
}

// send sends a request with answers and returns its response.
func (r *answering) send(t *testing.T, v wires.Version, answers []record.CallAnswer) string {
	t.Helper()
	given, err := (&wires.Service{Runs: r}).Answers(t.Context(), schemas.User{}, r.run, func() (string, error) { return "r", nil }, answers, func(int) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return read(t, r, wires.Response{Run: r.run, Table: v.Table, Given: given})
}

// read returns a response.
func read(t *testing.T, r *answering, response wires.Response) string {
	t.Helper()
	to := &shown{ctx: t.Context(), left: -1}
	c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Response: httptest.NewRecorder(), Done: func() {}}
	c.Service = &wires.Service{Runs: r}
	if err := c.Service.Serve(c, to, response); err != nil {
		t.Fatal(err)
	}
	return to.String()
}

// twoWaits is a run whose call 0 waits for an approval and whose call 1 for the page.
func twoWaits() *answering {
	return &answering{outputs: map[int]string{}, now: 20, list: []schemas.Wait{
		{Index: 0, Kind: schemas.WaitApproval, Tool: "order", ApprovalID: "p"}, {Index: 1, Kind: schemas.WaitClientTool, Tool: "where"},
	}}
}

// orderAndWhere is the log of twoWaits up to where it waits.
func orderAndWhere() []runlog.Event {
	group := runlog.Level{Group: 1}
	return at(10, append(beginning(0, 1),
		runlog.Event{Seq: 5, At: group, Body: &runlog.Call{ID: "c0", Name: "order", Index: 0}},
		runlog.Event{Seq: 6, At: group, Body: &runlog.Call{ID: "c1", Name: "where", Index: 1, Client: true}},
		runlog.Event{Seq: 7, At: group, Body: &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: "llm"}},
		runlog.Event{Seq: 8, Body: &runlog.ApprovalRequest{ApprovalID: "p", ToolUseID: "c0", Tool: "order", Index: 0}},
		asks(9, 1))...)
}

// TestAnAnswerThatDidNotCount brings the output of a tool of the page together with an
// approval, when the tool has got another output elsewhere: the response to the approval
// begins with that one, since the client shows its own.
func TestAnAnswerThatDidNotCount(t *testing.T) {
	output := func(text string) record.CallAnswer { return record.CallAnswer{Index: 1, Output: []byte(text)} }
	for _, w := range all.Wires() {
		shows := map[string]string{"ui": `"output":"Basel","providerExecuted":true`, "agui": `"content":"Basel"`}[w.Name]
		if shows == "" {
			continue // its clients show no outputs of their tools
		}
		for _, v := range w.Tables {
			for _, second := range []string{`"Rome"`, `"Basel"`} {
				run := twoWaits()
				run.run = schemas.Run{RunID: "r", State: schemas.RunRunning, Attempt: 1, LastSequence: 11}
				run.batches = [][]runlog.Event{orderAndWhere(), at(30, runs(10, 1, "where")...)}
				run.send(t, v, []record.CallAnswer{output(`"Basel"`)})
				run.now, run.run.LastSequence = 40, 14
				end := append(runs(12, 0, "order"), runlog.Event{Seq: 14, Body: &runlog.Completed{}})
				end[1].Body.(*runlog.ToolComplete).Output = "booked"
				run.batches = append(run.batches, at(50, end...))
				got := run.send(t, v, []record.CallAnswer{output(second), {Index: 0, Approved: new(true)}})
				if n, want := strings.Count(got, shows), map[bool]int{true: 1}[second == `"Rome"`]; n != want || !strings.Contains(got, "booked") {
					t.Errorf("%s %s: a client that brings %s gets\n%s\nwant the output Basel %d times", w.Name, v.Name, second, got, want)
				}
			}
		}
	}
}

// TestTheSameAnswersAgain answers an approval and a tool of the page, and sends the request
// again when the run has ended: the response is the same. It shows the outcome of the approved
// call, which came before the page's, only if the client has not got it with an earlier
// response.
func TestTheSameAnswersAgain(t *testing.T) {
	approve, output := record.CallAnswer{Index: 0, Approved: new(true)}, record.CallAnswer{Index: 1, Output: []byte(`"Basel"`)}
	waiting := orderAndWhere()
	order := at(30, slices.Concat([]runlog.Event{{Seq: 10, Body: &runlog.ApprovalResolved{ApprovalID: "p"}}}, runs(11, 0, "order"))...)
	where := at(50, append(runs(13, 1, "where"), runlog.Event{Seq: 15, Body: &runlog.Completed{Payload: schemas.ChatResponsePayload{Message: "half"}}})...)
	for _, tt := range []struct {
		name    string
		before  []record.CallAnswer // in an earlier request
		answers []record.CallAnswer
		now     int64 // of the request
		order   bool  // its outcome is shown
	}{
		{"together", nil, []record.CallAnswer{approve, output}, 20, true},
		{"together, the page's first", nil, []record.CallAnswer{output, approve}, 20, true},
		{"together, as the call ends", nil, []record.CallAnswer{approve, output}, 30, true},
		{"one after the other", []record.CallAnswer{approve}, []record.CallAnswer{output}, 40, false},
		{"one after the other, by a client that sends all", []record.CallAnswer{approve}, []record.CallAnswer{approve, output}, 40, false},
	} {
		for _, w := range all.Wires() {
			for _, v := range w.Tables {
				t.Run(tt.name+"/"+w.Name+" "+v.Name, func(t *testing.T) {
					run := twoWaits()
					run.run = schemas.Run{RunID: "r", State: schemas.RunRunning, Attempt: 1, LastSequence: 15}
					run.batches = [][]runlog.Event{slices.Concat(waiting, order, where)}
					if tt.before != nil {
						run.send(t, v, tt.before)
					}
					run.now = tt.now
					first := run.send(t, v, tt.answers)
					run.run.State = schemas.RunCompleted
					if d := cmp.Diff(first, run.send(t, v, tt.answers)); d != "" {
						t.Errorf("the response to the same answers (-first +again):\n%s", d)
					}
					shows := strings.Contains(first, `"toolCallId":"r-0"`) || strings.Contains(first, `"name":"order"`)
					if w.Name != "completions" && shows != tt.order {
						t.Errorf("the response shows the approved call: %t, want %t:\n%s", shows, tt.order, first)
					}
				})
			}
		}
	}
}

// TestLateEvents answers the second of two calls at a process to which the events of the
// run's own come late: the response begins where it begins if they are all there.
func TestLateEvents(t *testing.T) {
	approve, output := record.CallAnswer{Index: 0, Approved: new(true)}, record.CallAnswer{Index: 1, Output: []byte(`"Basel"`)}
	order := at(30, slices.Concat([]runlog.Event{{Seq: 10, Body: &runlog.ApprovalResolved{ApprovalID: "p"}}}, runs(11, 0, "order"))...)
	where := at(50, append(runs(13, 1, "where"), runlog.Event{Seq: 15, Body: &runlog.Completed{}})...)
	early := slices.Concat(orderAndWhere(), order)
	for _, w := range all.Wires() {
		for _, v := range w.Tables {
			response := func(here int) string {
				run := twoWaits()
				run.run = schemas.Run{RunID: "r", State: schemas.RunRunning, Attempt: 1, LastSequence: early[len(early)-1].Seq}
				run.batches = [][]runlog.Event{slices.Concat(early, where)}
				run.send(t, v, []record.CallAnswer{approve})
				run.now, run.run.LastSequence = 40, early[here-1].Seq
				run.batches = [][]runlog.Event{slices.Clone(early[:here]), slices.Concat(early[here:], where)}
				return run.send(t, v, []record.CallAnswer{output})
			}
			want := response(len(early))
			for here := 1; here < len(early); here++ {
				if d := cmp.Diff(want, response(here)); d != "" {
					t.Errorf("%s %s, events up to %d (-all are there +the others are late):\n%s", w.Name, v.Name, early[here-1].Seq, d)
				}
			}
		}
	}
}

// TestAPauseThatIsNotStored reads a response again that paused in an attempt whose process
// was killed before it had stored that. The next attempt shows the wait after it was answered:
// the response ends there, as it ended for the client.
func TestAPauseThatIsNotStored(t *testing.T) {
	const span = runlog.AttemptSpan
	group := runlog.Level{Group: span + 1}
	shown := append(beginning(span, 2),
		runlog.Event{Seq: span + 5, At: group, Body: &runlog.Call{ID: "c1", Name: "where", Index: 1, Client: true}},
		runlog.Event{Seq: span + 6, At: group, Body: &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: "llm"}}, asks(span+7, 1))
	after := append(runs(span+8, 1, "where"), runlog.Event{Seq: span + 10, At: runlog.Level{Group: span + 10, Message: span + 11}, Body: &runlog.Text{Text: "the end"}}, runlog.Event{Seq: span + 11, Body: &runlog.Completed{}})
	for _, answered := range []int64{40, 65} { // before the attempt shows the wait, and after
		for _, w := range all.Wires() {
			if w.Name != "responses" {
				continue // the others show the newest attempt alone
			}
			run := &answering{outputs: map[int]string{}}
			run.run = schemas.Run{RunID: "r", State: schemas.RunCompleted, Attempt: 2, LastSequence: span + 11}
			run.list = []schemas.Wait{{Index: 1, Kind: schemas.WaitClientTool, Tool: "where", Answer: schemas.WaitResult, AnsweredAt: new(time.UnixMilli(answered))}}
			run.batches = [][]runlog.Event{slices.Concat(at(10, beginning(0, 1)...), at(60, shown...), at(70, after...))}
			got := read(t, run, wires.Response{Run: run.run, Table: w.Tables[0].Table})
			if !strings.Contains(got, `"name":"where"`) || strings.Contains(got, "the end") {
				t.Errorf("a wait that was answered at %d: the response is\n%s\nwant that it ends with the call", answered, got)
			}
		}
	}
}
