package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

const (
	approvalPath = "/api/chat/runs/" + aRun + "/approvals/" + anApproval
	resultPath   = "/api/chat/runs/" + aRun + "/tool_results"
)

func TestBadAnswers(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	for _, tt := range []struct {
		name, path, body string
		status           int
		errors           []schemas.FieldError
	}{
		{"no body", approvalPath, "", 415, nil},
		{"not JSON", approvalPath, "yes", 400, nil},
		{"text for a yes", approvalPath, `{"approved":"yes"}`, 400, at("/approved", "must be a boolean, not a string")},
		{"null for a yes", approvalPath, `{"approved":null}`, 400, at("/approved", "must be a boolean, not null")},
		{"unknown field", approvalPath, `{"approved":true,"inputs":{}}`, 400, at("/inputs", "is not a known field")},
		{"neither yes nor no", approvalPath, `{}`, 422, at("/approved", "is required")},
		{"an input and no yes", approvalPath, `{"input":{}}`, 422, at("/approved", "is required")},
		{"NUL in an input", approvalPath, `{"approved":true,"input":{"a":"\u0000"}}`, 422, at("/input/a", "must not contain U+0000")},
		{"2 MiB of input", approvalPath, `{"approved":true,"input":{"a":"` + strings.Repeat("a", 2<<20) + `"}}`, 413, nil},
		{"a result of nothing", resultPath, `{"output":"x"}`, 422, at("/tool_use_id", "is required")},
		{"no output", resultPath, `{"tool_use_id":"toolu_1"}`, 422, at("/output", "is required")},
		{"a long id", resultPath, `{"tool_use_id":"` + strings.Repeat("a", schemas.MaxCallID+1) + `","output":1}`, 422, at("/tool_use_id", "must have at most 256 characters")},
		{"a word for an error", resultPath, `{"tool_use_id":"toolu_1","output":1,"is_error":"no"}`, 400, at("/is_error", "must be a boolean, not a string")},
		{"2 MiB of output", resultPath, `{"tool_use_id":"toolu_1","output":"` + strings.Repeat("a", 2<<20) + `"}`, 413, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, req := send(t, ts.URL, http.MethodPost, tt.path, tt.body)
			w.CheckResponse(t, req, got.status, got.header, got.body)
			p := got.problem(t)
			if diff := cmp.Diff([]any{tt.status, tt.errors}, []any{p.Status, p.Errors}); diff != "" {
				t.Errorf("the answer differs (-want +got):\n%s", diff)
			}
		})
	}
	if len(w.calls) > 0 {
		t.Errorf("services were asked: %v", w.calls)
	}
}

func TestAnswersReachTheRun(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	for path, body := range map[string]string{
		approvalPath: `{"approved":true,"input":{"seat":"14C"}}`, resultPath: `{"tool_use_id":"toolu_1","output":{"rows":[1]},"is_error":true}`,
	} {
		w.calls = nil
		got, req := send(t, ts.URL, http.MethodPost, path, body)
		w.CheckResponse(t, req, got.status, got.header, got.body)
		want := "Approve alice " + aRun + " " + anApproval + ` true {"seat":"14C"}`
		if path == resultPath {
			want = "ToolResult alice " + aRun + ` toolu_1 {"rows":[1]} true`
		}
		if got.status != http.StatusOK || len(w.calls) != 1 || w.calls[0] != want {
			t.Errorf("%s answers %d and asks %v, want %s", path, got.status, w.calls, want)
		}
	}
}

func TestConflictOfAnswers(t *testing.T) {
	w, ts := newTestEnv(t, func(w *testEnv, _ *api.Options) {
		w.fails = schemas.NewError(schemas.CodeConflict, "this call already has a different answer")
	})
	for path, body := range map[string]string{approvalPath: `{"approved":false}`, resultPath: `{"tool_use_id":"toolu_1","output":null}`} {
		got, req := send(t, ts.URL, http.MethodPost, path, body)
		w.CheckResponse(t, req, got.status, got.header, got.body)
		if p := got.problem(t); p.Status != http.StatusConflict || p.Code != schemas.CodeConflict {
			t.Errorf("%s: got %s", path, got.body)
		}
	}
}
