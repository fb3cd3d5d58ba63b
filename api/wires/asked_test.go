package wires_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/all"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// TestAnApprovalBeforeTheResponse has a client that brings the outcome of a tool of the page,
// while a call that was shown elsewhere waits for an approval. A client that cannot ask its
// user is told of that call too: its response would wait for it.
func TestAnApprovalBeforeTheResponse(t *testing.T) {
	group := runlog.Level{Group: 1}
	events := slices.Concat(beginning(0, 1), []runlog.Event{
		{Seq: 6, At: group, Body: &runlog.Call{ID: "c0", Name: "where", Index: 0, Client: true}},
		{Seq: 7, At: group, Body: &runlog.Call{ID: "c1", Name: "order", Index: 1}},
		{Seq: 8, At: group, Body: &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: "llm"}},
		asks(9, 0),
		{Seq: 10, Body: &runlog.ApprovalRequest{ApprovalID: "p", ToolUseID: "c1", Tool: "order", Index: 1}},
	}, runs(11, 0, "where"))
	run := schemas.Run{RunID: "r", State: schemas.RunWaiting, Attempt: 1, LastSequence: events[len(events)-1].Seq}
	waits := []schemas.Wait{
		{Index: 0, Kind: schemas.WaitClientTool, Tool: "where", Answer: schemas.WaitResult, AnsweredAt: new(time.UnixMilli(0))},
		{Index: 1, Kind: schemas.WaitApproval, ApprovalID: "p", Tool: "order"},
	}
	for _, w := range all.Wires() {
		for _, v := range w.Tables {
			var asked []int
			to := &shown{ctx: t.Context(), left: -1}
			c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Response: httptest.NewRecorder(), Done: func() {}}
			c.Service = &wires.Service{Runs: live{run: run, batches: [][]runlog.Event{events, {{Seq: 20, Body: &runlog.Cancelled{}}}}, waits: func() ([]schemas.Wait, error) { return waits, nil }}}
			part := wires.Response{Run: run, Table: v.Table, Given: wires.Given{Calls: map[int]bool{0: true}}, Asked: func(index int) error { asked = append(asked, index); return nil }}
			if err := c.Service.Serve(c, to, part); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(asked, []int{1}) {
				t.Errorf("%s/%s is told of the approvals of the calls %v, want of the call 1", w.Name, v.Name, asked)
			}
		}
	}
}
