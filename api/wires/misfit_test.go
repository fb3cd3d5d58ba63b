package wires_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/all"
	"github.com/chattray/chattray/schemas"
)

// refused is what a client reads of a body with a value of a wrong type.
type refused struct{ pointer, detail string }

// TestValuesOfAWrongType has such values in the bodies of all wires: the client reads which
// one it is, with its index.
func TestValuesOfAWrongType(t *testing.T) {
	const ok = `{"role":"user","content":"a"}`
	for _, tt := range []struct {
		wire, path, body string
		want             refused
	}{
		{"completions", "/v1/chat/completions", `{"messages":[` + ok + `,` + ok + `,` + ok + `,{"role":"user","content":5}]}`, refused{"/messages/3/content", "must not be a number"}},
		{"completions", "/v1/chat/completions", `{"messages":[` + ok + `,{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":{}}]}]}`, refused{"/messages/1/content/1/text", "must not be an object"}},
		{"completions", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":7}}]}]}`, refused{"/messages/0/content/0/image_url/url", "must not be a number"}},
		{"completions", "/v1/chat/completions", `{"messages":[{"role":"user","content":[5]}]}`, refused{"/messages/0/content/0", "must not be a number"}},
		{"completions", "/v1/chat/completions", `{"messages":{}}`, refused{"/messages", "must not be an object"}},
		{"completions", "/v1/chat/completions", `{"messages":[` + ok + `],"n":1.5}`, refused{"/n", "must not be the number 1.5"}},
		{"responses", "/v1/responses", `{"input":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"input_text","text":true}]}]}`, refused{"/input/1/content/0/text", "must not be a bool"}},
		{"responses", "/v1/responses", `{"input":5}`, refused{"/input", "must not be a number"}},
		{"responses", "/v1/responses", `{"input":"a","conversation":{"id":[]}}`, refused{"/conversation/id", "must not be an array"}},
		{"responses", "/v1/responses", `{"model":"chattray","input":"a","tools":[{"type":"function","name":"f"},{"type":"function","name":[]}]}`, refused{"/tools/1/name", "must not be an array"}},
		{"ui", "/api/ui", `{"id":"c","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"a"},{"type":"text","text":5}]}]}`, refused{"/messages/0/parts/1/text", "must not be a number"}},
		{"ui", "/api/ui", `{"id":"c","client_tools":[{"name":"a/b~","description":1}]}`, refused{"/client_tools/0/description", "must not be a number"}},
		{"agui", "/api/agui", `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":[{"type":"text","text":5}]}]}`, refused{"/messages/0/content/0/text", "must not be a number"}},
		{"agui", "/api/agui", `{"threadId":"t","runId":"r","context":[{"description":"d","value":{"a":1}}]}`, refused{"/context/0/value", "must not be an object"}},
		{"agui", "/api/agui", `{"threadId":["t"]}`, refused{"/threadId", "must not be an array"}},
		{"agui", "/api/agui", `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":5}]}`, refused{"/messages/0/content", "must be a text or a list of parts"}},
		{"agui", "/api/agui", `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"a"}],"resume":[{"interruptId":5}]}`, refused{"/resume/0/interruptId", "must not be a number"}},
	} {
		t.Run(tt.wire+tt.want.pointer, func(t *testing.T) {
			e := errorOf(t, tt.wire, tt.path, tt.body)
			if len(e.Fields) != 1 || (refused{e.Fields[0].Pointer, e.Fields[0].Detail}) != tt.want {
				t.Errorf("%s is refused with %+v, want %+v", tt.body, *e, tt.want)
			}
		})
	}
}

// TestMessagesOfUnknownRoles has messages of which a wire cannot know whose they are: none is
// left out in silence.
func TestMessagesOfUnknownRoles(t *testing.T) {
	for _, tt := range []struct{ wire, path, body, pointer string }{
		{"completions", "/v1/chat/completions", `{"messages":[{"role":"user","content":"a"},{"role":"wizard","content":"b"}]}`, "/messages/1/role"},
		{"responses", "/v1/responses", `{"input":[{"role":"user","content":"a"},{"role":"wizard","content":"b"}]}`, "/input/1/role"},
		{"responses", "/v1/responses", `{"input":[{"type":"message","content":"a"},{"role":"user","content":"b"}]}`, "/input/0/role"},
		{"ui", "/api/ui", `{"id":"c","messages":[{"id":"m","role":"user","parts":[]},{"id":"n","role":"wizard","parts":[]}]}`, "/messages/1/role"},
		{"agui", "/api/agui", `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"a"},{"id":"n","role":"wizard","content":"b"}]}`, "/messages/1/role"},
	} {
		if e := errorOf(t, tt.wire, tt.path, tt.body); len(e.Fields) != 1 || e.Fields[0].Pointer != tt.pointer {
			t.Errorf("%s %s is refused with %+v, want an error at %s", tt.wire, tt.body, *e, tt.pointer)
		}
	}
}

// unwritten is a stream to which nothing is written.
type unwritten struct{ wires.Stream }

func (unwritten) Close() {}

// errorOf returns the error with which a route of a wire refuses a body.
func errorOf(t *testing.T, wire, path, body string) *schemas.Error {
	t.Helper()
	for _, w := range all.Wires() {
		for _, r := range w.Routes {
			if w.Name != wire || r.Path != path || r.Method != http.MethodPost {
				continue
			}
			req := httptest.NewRequest(http.MethodPost, path, http.NoBody)
			err := r.Handle(&wires.Call{
				Request: req, Response: httptest.NewRecorder(), Body: []byte(body), Param: func(string) string { return "" },
				Service: &wires.Service{
					Pages:  func() []schemas.Page { return nil },
					Stream: func(*wires.Call) (wires.Stream, error) { return unwritten{}, nil },
				},
			})
			if seen, ok := errors.AsType[*schemas.Error](err); ok {
				return seen
			}
			t.Fatalf("%s is answered with %v, want an error for the client", body, err)
		}
	}
	t.Fatalf("%s has no route %s", wire, path)
	return nil
}

// TestUnmarshalFinds has wrong values under names that pointers escape. If a list is too long
// for its wrong value to be found, the pointer names the list.
func TestUnmarshalFinds(t *testing.T) {
	type item struct {
		Names map[string]string `json:"names"`
		Any   json.RawMessage   `json:"any"`
	}
	many := strings.Repeat(`{"any":[1,2]},`, 10_000)
	for body, want := range map[string]string{
		`{"list":[{"any":5},{"names":{"a":"b","c/~\"":5}}]}`: `/at/list/1/names/c~1~0"`,
		`{"x":[[]],"list":[{"any":5}, 7 ,8]}`:                "/at/list/1",
		`{"list":[` + many + `7]}`:                           "/at/list",
		`{"list":[` + many[:14*9_000] + `7]}`:                "/at/list/9000",
	} {
		var v struct {
			List []item `json:"list"`
		}
		err := wires.Unmarshal([]byte(body), &v, "/at")
		e, ok := errors.AsType[*schemas.Error](err)
		if !ok || len(e.Fields) != 1 || e.Fields[0].Pointer != want || e.Code != schemas.CodeBadRequest {
			t.Errorf("%.60s gives %v, want %s", body, err, want)
		}
	}
}
