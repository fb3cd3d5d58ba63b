package api_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

// Every error about a frame names the frame, never a body.
func TestErrorsNameTheFrame(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	conn := dialSocket(t, ts)
	for name, frame := range map[string]string{
		"empty":         "",
		"spaces":        "  ",
		"no UTF-8":      "{\"name\":\"stop\xff\"}",
		"not JSON":      `{"name":`,
		"two values":    `{"name":"stop"} {}`,
		"a list":        `[]`,
		"null":          `null`,
		"a string":      `"stop"`,
		"wrong type":    `{"name":7}`,
		"unknown":       `{"name":"stop","extra":1}`,
		"twice":         `{"name":"stop","name":"stop"}`,
		"surrogate":     `{"name":"stop","chat_id":"\ud800"}`,
		"U+0000":        `{"name":"message","message":{"content":"\u0000"}}`,
		"no name":       `{}`,
		"no message":    `{"name":"message"}`,
		"blank":         `{"name":"message","message":{"content":" "}}`,
		"bad id":        `{"name":"stop","id":"a b"}`,
		"another user":  `{"name":"stop","chat_id":"c","user_id":"alice"}`,
		"no approval":   `{"name":"approve","run_id":"r"}`,
		"no output":     `{"name":"tool_result","run_id":"r"}`,
		"deep":          `{"name":"message","context":` + strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000) + `}`,
		"many files":    `{"name":"message","message":{"content":"x"},"attachments":[` + strings.Repeat(`{"name":"a","mime":"text/plain","content":"x"},`, 10) + `{"name":"a","mime":"text/plain","content":"x"}]}`,
		"unknown reply": `{"name":"approve","run_id":"r","approval_id":"a","approved":true}`,
	} {
		got := exchange(t, conn, frame)
		if got.Type != schemas.ChunkError || got.Code == "" || got.Content == nil || strings.Contains(*got.Content, "body") || strings.Contains(*got.Content, "request") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := exchange(t, conn, `{"name":"message","message":"hi"}`); !strings.Contains(*got.Content, "; /message must be an object") {
		t.Errorf("a message that is a text: %s, which does not name /message", *got.Content)
	}
	got := exchange(t, conn, `{"name":"stop","id":"s1","chat_id":"c","user_id":"alice"}`)
	if want := `"` + alice.ID + `"`; got.EventID != "s1" || !strings.Contains(*got.Content, "ISSUER|SUBJECT") || !strings.Contains(*got.Content, want) {
		t.Errorf("a wrong user_id: %s, which does not say the form or %s", *got.Content, want)
	}
}

// Answers to calls reach the services as over HTTP, and an event with an id is
// answered once.
func TestAnswersOverTheSocket(t *testing.T) {
	for name, tt := range map[string]struct {
		frame, call string
		want        schemas.Chunk
	}{
		"approved": {
			`{"name":"approve","id":"e","run_id":"` + aRun + `","approval_id":"` + anApproval + `","approved":true,"input":{"to":"x"}}`,
			`Approve alice ` + aRun + ` ` + anApproval + ` true {"to":"x"}`,
			schemas.Chunk{Type: schemas.ChunkAck, RunID: aRun, ApprovalID: anApproval, EventID: "e"},
		},
		"approved, with null for no input": {
			`{"name":"approve","id":"e","run_id":"` + aRun + `","approval_id":"` + anApproval + `","approved":true,"input":null}`,
			`Approve alice ` + aRun + ` ` + anApproval + ` true `,
			schemas.Chunk{Type: schemas.ChunkAck, RunID: aRun, ApprovalID: anApproval, EventID: "e"},
		},
		"denied": {
			`{"name":"approve","id":"e","run_id":"` + aRun + `","approval_id":"` + anApproval + `","approved":false}`,
			`Approve alice ` + aRun + ` ` + anApproval + ` false `,
			schemas.Chunk{Type: schemas.ChunkAck, RunID: aRun, ApprovalID: anApproval, EventID: "e"},
		},
		"outcome": {
			`{"name":"tool_result","id":"e","run_id":"` + aRun + `","tool_use_id":"toolu_1","output":{"rows":[4]},"is_error":true}`,
			`ToolResult alice ` + aRun + ` toolu_1 {"rows":[4]} true`,
			schemas.Chunk{Type: schemas.ChunkAck, RunID: aRun, ToolUseID: "toolu_1", EventID: "e"},
		},
		"null is an outcome": {
			`{"name":"tool_result","id":"e","run_id":"` + aRun + `","tool_use_id":"toolu_1","output":null}`,
			`ToolResult alice ` + aRun + ` toolu_1 null false`,
			schemas.Chunk{Type: schemas.ChunkAck, RunID: aRun, ToolUseID: "toolu_1", EventID: "e"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var w *testEnv
			var ts *httptest.Server
			w, ts = newTestEnv(t, func(*testEnv, *api.Options) {})
			got := exchange(t, dialSocket(t, ts), tt.frame)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the answer (-want +got):\n%s", diff)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.calls) != 1 || w.calls[0] != tt.call {
				t.Errorf("calls %q, want %q", w.calls, tt.call)
			}
		})
	}
}

// An answer without one of its fields is refused, because nothing is an answer too.
func TestAnswersThatLackAField(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	conn := dialSocket(t, ts)
	for frame, want := range map[string]string{
		`{"name":"approve","approval_id":"a","approved":true}`:  "/run_id",
		`{"name":"approve","run_id":"r","approved":true}`:       "/approval_id",
		`{"name":"approve","run_id":"r","approval_id":"a"}`:     "/approved",
		`{"name":"tool_result","tool_use_id":"t","output":1}`:   "/run_id",
		`{"name":"tool_result","run_id":"r","output":1}`:        "/tool_use_id",
		`{"name":"tool_result","run_id":"r","tool_use_id":"t"}`: "/output",
	} {
		if got := exchange(t, conn, frame); got.Code != schemas.CodeInvalid || !strings.Contains(*got.Content, want+" is required") {
			t.Errorf("%s: %+v", frame, got)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.calls) > 0 {
		t.Errorf("services were asked: %q", w.calls)
	}
}

// lastingRuns note the calls whose context ends when the client goes away.
type lastingRuns struct {
	chatRuns
	ending *[]string
}

func (r lastingRuns) note(ctx context.Context, call string) {
	if ctx.Done() != nil {
		*r.ending = append(*r.ending, call)
	}
}

func (r lastingRuns) Approve(ctx context.Context, _ schemas.User, _, _ string, _ schemas.ApprovalAnswer) (schemas.Run, error) {
	r.note(ctx, "approve")
	return schemas.Run{}, nil
}

func (r lastingRuns) ToolResult(ctx context.Context, _ schemas.User, _ string, _ schemas.ClientToolResult) (schemas.Run, error) {
	r.note(ctx, "tool_result")
	return schemas.Run{}, nil
}

func (r lastingRuns) CancelAll(ctx context.Context, _ schemas.User, stored func(), _ ...string) error {
	r.note(ctx, "stop")
	stored()
	return nil
}

// What the user has decided counts, even if the client goes away at once.
func TestDecisionsOutliveTheirSocket(t *testing.T) {
	var ending []string
	_, _, conn := newLiveEnv(t, nil, func(o *api.Options) { o.Runs = lastingRuns{o.Runs.(chatRuns), &ending} })
	for _, frame := range []string{
		`{"name":"approve","id":"e","run_id":"r","approval_id":"a","approved":true}`,
		`{"name":"tool_result","id":"e","run_id":"r","tool_use_id":"t","output":1}`,
		`{"name":"stop","chat_id":"c"}`,
	} {
		exchange(t, conn, frame)
	}
	if len(ending) > 0 {
		t.Errorf("these end with their socket: %q", ending)
	}
}

// A bad id is found under the member of the frame that has it.
func TestErrorsPointAtTheMemberOfBlocks(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	conn := dialSocket(t, ts)
	for member, frame := range map[string]string{
		"/block_id ":  `{"name":"message","message":{"content":"x"},"block_id":"a b"}`,
		"/block_ids ": `{"name":"message","message":{"content":"x"},"block_ids":"a b"}`,
	} {
		if got := exchange(t, conn, frame); got.Content == nil || !strings.Contains(*got.Content, member) {
			t.Errorf("a bad id in %s: %+v", member, got)
		}
	}
}

// A frame that is no event is refused under the names that it has, so that the block for which
// a client waits ends. What is no id is not repeated.
func TestRefusedFramesNameWhatTheyAreAbout(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	conn := dialSocket(t, ts)
	for frame, want := range map[string]schemas.Chunk{
		`{"name":"message","id":"e","block_id":"b","extra":1}`:                      {EventID: "e", BlockIDs: "b", End: true},
		`{"name":"message","block_ids":"b1, b2,b1","message":"hi"}`:                 {BlockIDs: "b1,b2", End: true},
		`{"name":"message","block_id":"b","mode":"other"}`:                          {BlockIDs: "b", End: true},
		`{"name":"message","block_id":7,"block_ids":"b","id":"e"}`:                  {EventID: "e", BlockIDs: "b", End: true},
		`{"name":"message","block_id":"a b","id":"a b","extra":1}`:                  {End: true},
		`{"name":"approve","run_id":"r","approval_id":"a","approved":1}`:            {ApprovalID: "a", End: true},
		`{"name":"tool_result","run_id":"r","tool_use_id":"call:0","is_error":"x"}`: {ToolUseID: "call:0", End: true},
	} {
		got := exchange(t, conn, frame)
		if want.Type, want.Code, want.Content = schemas.ChunkError, got.Code, got.Content; !cmp.Equal(want, got) || got.Code == "" {
			t.Errorf("%s: %+v, want %+v", frame, got, want)
		}
	}
}
