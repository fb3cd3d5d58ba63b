package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/approvals"
	"github.com/chattray/chattray/services/pages"
	"github.com/chattray/chattray/services/pages/pagestest"
)

// onPage is a run of the user u on the page orders, with a tool of the page's own.
type onPage struct {
	*oneRun
	state schemas.RunState
}

func (r onPage) Owned(ctx context.Context, user schemas.User, id string) (record.Run, error) {
	run, err := r.oneRun.Owned(ctx, user, id)
	run.Owner, run.State = user, r.state
	run.Request = []byte(`{"message":"m","context":{"current_page":"orders"},"client_tools":[{"name":"pick","description":"Picks.","input_schema":{"type":"object"}}]}`)
	return run, err
}

// orders are pages with the tool place_order, whose shop the page sets and whose item is a
// text, and with the tools of clients.
func orders(t *testing.T) *pages.Pages {
	t.Helper()
	parts := pagestest.Parts()
	parts.MakeHTTPTool = func(def turn.HTTPTool) (turn.Tool, error) {
		return turn.Tool{Name: def.Name, Preset: schemas.Object{"shop": json.RawMessage(`"A"`)}, Check: func(input json.RawMessage) error {
			if !strings.Contains(string(input), `"item":"`) {
				return &schemas.Error{Code: schemas.CodeInvalid, Fields: []schemas.FieldError{{Pointer: "/item", Detail: "there is no item"}}}
			}
			return nil
		}}, nil
	}
	parts.MakeClientTool = func(def schemas.ClientTool) (turn.Tool, error) { return turn.Tool{Name: def.Name, Client: true}, nil }
	files := pagestest.Folder(t, map[string]string{"orders.yaml": `http_tools: [{name: place_order, description: Orders., url: "https://shop.example/", method: POST}]`})
	p, err := pages.Load(pages.Sources{Dir: files}, parts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The user may change the input of a call that waits: into one that fits its tool, while the
// tool is there.
func TestChangedInputs(t *testing.T) {
	p := orders(t)
	missing := func(tool string) <-chan struct{} {
		if tool == "scales__weigh" {
			return make(chan struct{})
		}
		return nil
	}
	for _, tt := range []struct {
		name, tool, given string
		approved          bool
		state             schemas.RunState
		edited, message   string // what is stored, or a part of the error
	}{
		{"another one", "place_order", `{"item": "coffee"}`, true, "", `{"item":"coffee","shop":"A"}`, ""},
		{"the same", "place_order", `{"shop": "A", "item": "tea"}`, true, "", "", ""},
		{"the same but for what the page sets", "place_order", `{"item": "tea"}`, true, "", "", ""},
		{"none", "place_order", `null`, true, "", "", ""},
		{"none with a denial", "place_order", `null`, false, "", "", ""},
		{"one with a denial", "place_order", `{"item": "coffee"}`, false, "", "", "is allowed only with an approval"},
		{"a list", "place_order", `[1]`, true, "", "", "must be an object"},
		{"one that does not fit", "place_order", `{"item": 7}`, true, "", "", "/input/item there is no item"},
		{"one that is nested deep", "place_order", `{"item": ` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`, true, "", "", "nested more than 31 deep"},
		{"of a tool of the page", "pick", `{"row": 3}`, true, "", `{"row":3}`, ""},
		{"of a tool that is gone", "gone", `{"row": 3}`, true, "", "", "this tool is no longer offered"},
		{"the same of a tool that is gone", "gone", `{"item": "tea", "shop": "A"}`, true, "", "", ""},
		{"of a tool whose server is not there", "scales__weigh", `{"row": 3}`, true, "", "", "not connected yet"},
		{"of an ended run", "gone", `{"row": 3}`, true, schemas.RunCompleted, "", "the run has ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := onPage{&oneRun{over: tt.state != "", waits: []record.Wait{{
				RunID: "r", Kind: schemas.WaitApproval, ID: "p", Tool: tt.tool, Input: []byte(`{"item":"tea","shop":"A"}`), ExpiresAt: time.Now().Add(time.Hour),
			}}}, tt.state}
			a, given := approvals.New(r, r, p, missing), schemas.ApprovalAnswer{Approved: tt.approved, Input: []byte(tt.given)}
			_, err := a.Approve(t.Context(), schemas.User{ID: "u"}, "r", "p", given)
			message := ""
			if err != nil {
				seen := schemas.Visible(err)
				if message = seen.Message; len(seen.Fields) > 0 {
					message = seen.Fields[0].Pointer + " " + seen.Fields[0].Detail
				}
			}
			if (tt.message == "") != (err == nil) || !strings.Contains(message, tt.message) || string(r.waits[0].Edited) != tt.edited {
				t.Errorf("stored %s, error %v: %q; want %q, and %q in the error", r.waits[0].Edited, err, message, tt.edited, tt.message)
			}
			want := schemas.WaitDenied
			if tt.approved {
				want = schemas.WaitApproved
			}
			if err == nil && r.waits[0].Answer != want || err != nil && r.waits[0].Answer != "" {
				t.Errorf("the answer is %q with the error %v, want %q", r.waits[0].Answer, err, want)
			}
			if _, again := a.Approve(t.Context(), schemas.User{ID: "u"}, "r", "p", given); err == nil && again != nil {
				t.Errorf("given again, it is refused: %v", again)
			}
		})
	}
}

// An answer goes to the call that it names.
func TestAnswersFindTheirCall(t *testing.T) {
	end := time.Now().Add(time.Hour)
	r := &oneRun{waits: []record.Wait{
		{RunID: "r", Index: 0, Kind: schemas.WaitClientTool, ToolUseID: "same", ID: "x", ExpiresAt: end},
		{RunID: "r", Index: 1, Kind: schemas.WaitClientTool, ToolUseID: "same", ExpiresAt: end},
		{RunID: "r", Index: 2, Kind: schemas.WaitApproval, ID: "late", ToolUseID: "order", ExpiresAt: end, Answer: schemas.WaitExpired},
	}}
	a, user := approvals.New(r, r, nil, nil), schemas.User{ID: "u"}
	if _, err := a.ToolResult(t.Context(), user, "r", schemas.ClientToolResult{ToolUseID: "same", Index: new(1), Output: []byte(`"second \"row\""`)}); err != nil || r.waits[0].Answer != "" || r.waits[1].Output != `second "row"` {
		t.Errorf("a result for the second call: %v, the waits are %+v", err, r.waits)
	}
	for name, err := range map[string]error{
		"an unknown approval":      second(a.Approve(t.Context(), user, "r", "p", schemas.ApprovalAnswer{Approved: true})),
		"a result's call":          second(a.Approve(t.Context(), user, "r", "x", schemas.ApprovalAnswer{Approved: true})),
		"an unknown call":          second(a.ToolResult(t.Context(), user, "r", schemas.ClientToolResult{ToolUseID: "other", Output: []byte(`1`)})),
		"an approval's call":       second(a.ToolResult(t.Context(), user, "r", schemas.ClientToolResult{ToolUseID: "order", Output: []byte(`1`)})),
		"an index that is not its": second(a.ToolResult(t.Context(), user, "r", schemas.ClientToolResult{ToolUseID: "same", Index: new(2), Output: []byte(`1`)})),
	} {
		if !errors.Is(err, schemas.ErrNotFound) {
			t.Errorf("%s: got %v, want that it is not found", name, err)
		}
	}
	if _, err := a.Approve(t.Context(), user, "r", "late", schemas.ApprovalAnswer{Approved: true}); schemas.Visible(err).Message != "the time for this answer has expired" {
		t.Errorf("an approval that has expired: got %v", err)
	}
}

func second(_ schemas.Run, err error) error { return err }

// The list of waits shows what a page needs to answer them, and when one was answered.
func TestWaits(t *testing.T) {
	end, at := time.Now().Add(time.Hour), time.Now()
	r := &oneRun{waits: []record.Wait{
		{RunID: "r", Index: 0, Kind: schemas.WaitApproval, ID: "p", ToolUseID: "a", Tool: "place_order", Input: []byte(`{}`), ExpiresAt: end, Answer: schemas.WaitDenied, AnsweredAt: at},
		{RunID: "r", Index: 1, Kind: schemas.WaitClientTool, ID: "hidden", ToolUseID: "b", Tool: "pick", Input: []byte(`{"row":1}`), ExpiresAt: end},
	}}
	a := approvals.New(r, r, nil, nil)
	got, err := a.Waits(t.Context(), schemas.User{ID: "u"}, "r")
	want := []schemas.Wait{
		{Index: 0, Kind: schemas.WaitApproval, ApprovalID: "p", ToolUseID: "a", Tool: "place_order", Input: []byte(`{}`), ExpiresAt: end, Answer: schemas.WaitDenied, AnsweredAt: &at},
		{Index: 1, Kind: schemas.WaitClientTool, ToolUseID: "b", Tool: "pick", Input: []byte(`{"row":1}`), ExpiresAt: end},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if _, err := a.Waits(t.Context(), schemas.User{ID: "v"}, "r"); !errors.Is(err, schemas.ErrNotFound) {
		t.Errorf("another user gets %v", err)
	}
}
