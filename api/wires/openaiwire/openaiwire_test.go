package openaiwire_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/openaiwire"
	"github.com/chattray/chattray/schemas"
)

func service(models ...string) *wires.Service {
	s := &wires.Service{Pages: func() []schemas.Page { return []schemas.Page{{Page: "reports", Aliases: []string{"report_list"}}} }}
	for _, name := range models {
		s.Models = append(s.Models, schemas.ModelOffer{Name: name})
	}
	return s
}

func TestModels(t *testing.T) {
	for _, tt := range []struct {
		offered []string
		want    []string
	}{
		{[]string{"a"}, []string{"chattray", "chattray/reports"}},
		{[]string{"a", "b/c@1"}, []string{"chattray", "chattray/reports", "chattray@a", "chattray@b/c@1", "chattray/reports@a", "chattray/reports@b/c@1"}},
	} {
		s := service(tt.offered...)
		var got []string
		for _, m := range openaiwire.Models(s) {
			got = append(got, m.ID)
			if _, _, err := openaiwire.Named(s, m.ID); err != nil {
				t.Errorf("the model %s is listed, but gives %v", m.ID, err)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("with %v (-want +got):\n%s", tt.offered, diff)
		}
	}
}

func TestWhatAModelNames(t *testing.T) {
	s := service("a", "b/c@1")
	for _, tt := range []struct {
		id, page, model string
		known           bool
	}{
		{"chattray", "", "", true},
		{"chattray/reports", "reports", "", true},
		{"chattray/report_list", "reports", "", true},
		{"chattray/reports@b/c@1", "reports", "b/c@1", true},
		{"chattray@a", "", "a", true},
		{"a", "", "a", true},
		{"b/c@1", "", "b/c@1", true},
		{"", "", "", false},
		{"gpt-5", "", "", false},
		{"chattray/", "", "", false},
		{"chattray/nothing", "", "", false},
		{"chattray@", "", "", false},
		{"chattray@nothing", "", "", false},
		{"chattray/reports@", "", "", false},
		{"chattrays", "", "", false},
	} {
		page, model, err := openaiwire.Named(s, tt.id)
		if page != tt.page || model != tt.model || (err == nil) != tt.known {
			t.Errorf("%q names the page %q and the model %q (%v), want %q and %q", tt.id, page, model, err, tt.page, tt.model)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		status int
		e      *schemas.Error
		want   int
		kind   string
		retry  bool
	}{
		{422, schemas.Invalid("/a", "is bad"), 400, "invalid_request_error", false},
		{401, schemas.NewError(schemas.CodeUnauthorized, "x"), 401, "authentication_error", false},
		{403, schemas.NewError(schemas.CodeForbidden, "x"), 403, "permission_error", false},
		{409, schemas.NewError(schemas.CodeBusy, "x"), 409, "invalid_request_error", false},
		{429, schemas.NewError(schemas.CodeTooManyRuns, "x"), 429, "rate_limit_error", true},
		{503, schemas.NewError(schemas.CodeShuttingDown, "x"), 503, "server_error", true},
		{502, schemas.NewError(schemas.CodeUpstreamAuth, "x"), 502, "server_error", true},
		{500, schemas.NewError(schemas.CodeInternal, "x"), 500, "server_error", true},
		{502, &schemas.Error{Code: schemas.CodeUpstreamTimeout, Message: "x", RunID: "r"}, 502, "server_error", false},
		{503, &schemas.Error{Code: schemas.CodeInterrupted, Message: "x", RunID: "r"}, 503, "server_error", true},
	} {
		w := httptest.NewRecorder()
		openaiwire.Fail(w, tt.status, tt.e)
		var body struct{ Error openaiwire.Problem }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if retry := w.Header().Get("X-Should-Retry") != "false"; w.Code != tt.want || body.Error.Type != tt.kind || retry != tt.retry || body.Error.Code != string(tt.e.Code) {
			t.Errorf("%v gives %d, %+v, retry %v, want %d, %s, %v", tt.e, w.Code, body.Error, retry, tt.want, tt.kind, tt.retry)
		}
	}
}

func TestRefusalsAreAnswered(t *testing.T) {
	w := httptest.NewRecorder()
	handle := openaiwire.Handler(func(*wires.Call) error { return openaiwire.Unsupported("/n", "no") })
	if err := handle(&wires.Call{Response: w}); err != nil || w.Code != http.StatusBadRequest || w.Header().Get("X-Should-Retry") != "false" {
		t.Errorf("a refusal gives %v and %d, want the answer 400", err, w.Code)
	}
	other := errors.New("other")
	if err := openaiwire.Handler(func(*wires.Call) error { return other })(&wires.Call{Response: w}); !errors.Is(err, other) {
		t.Errorf("another error gives %v, want it returned", err)
	}
}

func TestFilesOfMessages(t *testing.T) {
	const png = `"data:image/png;base64,AQI="`
	for _, tt := range []struct {
		name, content string
		want          []schemas.Attachment
		refused       bool
	}{
		{"a text", `"x"`, nil, false},
		{"an image", `[{"type":"image_url","image_url":{"url":` + png + `}}]`, []schemas.Attachment{{Name: "file-1", MIME: "image/png", Content: "AQI="}}, false},
		{"an image of responses", `[{"type":"input_image","image_url":` + png + `}]`, []schemas.Attachment{{Name: "file-1", MIME: "image/png", Content: "AQI="}}, false},
		{"a file", `[{"type":"file","file":{"filename":"a.csv","file_data":"data:text/csv;base64,YSxi"}}]`, []schemas.Attachment{{Name: "a.csv", MIME: "text/csv", Content: "a,b"}}, false},
		{"a file in base64 alone", `[{"type":"input_file","filename":"a.pdf","file_data":"AQI="}]`, []schemas.Attachment{{Name: "a.pdf", MIME: "application/pdf", Content: "AQI="}}, false},
		{"a URL", `[{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]`, nil, true},
		{"a file of OpenAI's", `[{"type":"input_file","file_id":"file-1"}]`, nil, true},
		{"a file by its URL", `[{"type":"input_file","file_url":"https://example.org/a.pdf"}]`, nil, true},
		{"audio", `[{"type":"input_audio","input_audio":{}}]`, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c openaiwire.Content
			if err := json.Unmarshal([]byte(tt.content), &c); err != nil {
				t.Fatal(err)
			}
			got, pointers, err := c.Files("/at")
			if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != tt.refused || len(pointers) != len(got) {
				t.Errorf("%v, pointers %v (-want +got):\n%s", err, pointers, diff)
			}
		})
	}
}
