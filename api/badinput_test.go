package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

const (
	wrongShape = "the body does not have the shape of this request"
	notAllowed = "the body has values that are not allowed"
)

// at is one wrong part of a body.
func at(pointer, detail string) []schemas.FieldError {
	return []schemas.FieldError{{Pointer: pointer, Detail: detail}}
}

var badBodies = []struct {
	name, body string
	status     int
	detail     string
	errors     []schemas.FieldError
}{
	{"no body", "", 415, "the body must be application/json", nil},
	{"white space", " \n", 400, "the body is empty", nil},
	{"not JSON", "message=hi", 400, "the body is not valid JSON: byte 1 is not expected", nil},
	{"cut off", `{"message":"hi"`, 400, "the body ends within its JSON value", nil},
	{"control character", "{\"message\":\"a\x00b\"}", 400, "the body is not valid JSON: byte 14 is not expected", nil},
	{"too deep", `{"message":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`, 400, "the body is nested too deep", nil},
	{"trailing data", `{"message":"hi"} {}`, 400, "there is something after the end of the JSON value", nil},
	{"not UTF-8", "{\"message\":\"a\xffb\"}", 400, "the body is not valid UTF-8", nil},
	{"surrogate in UTF-8", "{\"message\":\"\xed\xa0\x80\"}", 400, "the body is not valid UTF-8", nil},
	{"array", `[]`, 400, wrongShape, at("", "must be an object, not an array")},
	{"null", `null`, 400, wrongShape, at("", "must be an object, not null")},
	{"number for text", `{"message":7}`, 400, wrongShape, at("/message", "must be a string, not the number 7")},
	{"null for text", `{"message":null}`, 400, wrongShape, at("/message", "must be a string, not null")},
	{"text for an id", `{"message":"hi","conversation_id":"7"}`, 400, wrongShape, at("/conversation_id", "must be an integer, not a string")},
	{"fraction for an id", `{"message":"hi","conversation_id":7.5}`, 400, wrongShape, at("/conversation_id", "must be an integer, not the number 7.5")},
	{"id beyond 64 bits", `{"message":"hi","conversation_id":9223372036854775808}`, 400, wrongShape, at("/conversation_id", "must be an integer, not the number 9223372036854775808")},
	{"list for context", `{"message":"hi","context":[1]}`, 400, wrongShape, at("/context", "must be an object, not an array")},
	{"object for history", `{"message":"hi","conversation_history":{}}`, 400, wrongShape, at("/conversation_history", "must be an array, not an object")},
	{"deep wrong type", `{"message":"hi","attachments":[{"name":"a","mime":"text/plain","content":"x"},{"name":true}]}`, 400, wrongShape, at("/attachments/1/name", "must be a string, not a boolean")},
	{"unknown field", `{"message":"hi","mesage":"hi"}`, 400, wrongShape, at("/mesage", "is not a known field")},
	{"unknown field, odd name", `{"message":"hi","a/b~c":1}`, 400, wrongShape, at("/a~1b~0c", "is not a known field")},
	{"unknown field, long name", `{"message":"hi","` + strings.Repeat("x", 500_000) + `":1}`, 400, wrongShape, at("/"+strings.Repeat("x", 99)+"…", "is not a known field")},
	{"NUL far down", `{"message":"hi","context":` + strings.Repeat(`{"`+strings.Repeat("x", 90)+`":`, 40) + `"\u0000"` + strings.Repeat("}", 41), 422, notAllowed, at("/context"+strings.Repeat("/"+strings.Repeat("x", 90), 11)+"/…", "must not contain U+0000")},
	{"another case", `{"Message":"hi"}`, 400, wrongShape, at("/Message", "is not a known field")},
	{"deep unknown field", `{"message":"hi","action_metadata":{"action_identifier":"a","x":1}}`, 400, wrongShape, at("/action_metadata/x", "is not a known field")},
	{"twice", `{"message":"hi","message":"ho"}`, 400, wrongShape, at("/message", "is given twice")},
	{"lone high surrogate", `{"message":"a\ud83d"}`, 400, wrongShape, at("/message", "is not valid Unicode: a lone surrogate")},
	{"lone low surrogate", `{"message":"\ude00"}`, 400, wrongShape, at("/message", "is not valid Unicode: a lone surrogate")},
	{"two high surrogates", `{"message":"\ud83d\ud83d\ude00"}`, 400, wrongShape, at("/message", "is not valid Unicode: a lone surrogate")},
	{"lone surrogate in context", `{"message":"hi","context":{"a":["x","\udead"]}}`, 400, wrongShape, at("/context/a/1", "is not valid Unicode: a lone surrogate")},
	{"NUL", `{"message":"a\u0000b"}`, 422, notAllowed, at("/message", "must not contain U+0000")},
	{"many NULs", `{"message":"` + strings.Repeat(`\u0000`, 100) + `"}`, 422, notAllowed, at("/message", "must not contain U+0000")},
	{"NUL in context", `{"message":"hi","context":{"page":{"x":"\u0000"}}}`, 422, notAllowed, at("/context/page/x", "must not contain U+0000")},
	{"NUL in a name", `{"message":"hi","context":{"\u0000":1}}`, 422, notAllowed, at("/context", "must not contain U+0000")},
	{"no message", `{}`, 422, notAllowed, at("/message", "must not be empty")},
	{"empty message", `{"message":""}`, 422, notAllowed, at("/message", "must not be empty")},
	{"blank message", `{"message":" \t\n\u00a0\u200b\ufeff"}`, 422, notAllowed, at("/message", "must not be empty")},
	{"long message", `{"message":"` + strings.Repeat("é", 100_001) + `"}`, 422, notAllowed, at("/message", "must have at most 100000 characters")},
	{"unknown interaction", `{"message":"hi","interaction_type":"shouted"}`, 422, notAllowed, at("/interaction_type", "must be one of text_input, value_selected, action_executed")},
	{"unknown if_busy", `{"message":"hi","if_busy":"wait"}`, 422, notAllowed, at("/if_busy", "must be one of reject, queue, cancel")},
	{"unknown on_disconnect", `{"message":"hi","on_disconnect":"stop"}`, 422, notAllowed, at("/on_disconnect", "must be one of continue, cancel")},
	{"negative id", `{"message":"hi","conversation_id":-1}`, 422, notAllowed, at("/conversation_id", "must be at least 0")},
	{"odd chat_id", `{"message":"hi","chat_id":"a b"}`, 422, notAllowed, at("/chat_id", "must be 1 to 64 letters, digits, - or _")},
	{"long chat_id", `{"message":"hi","chat_id":"` + strings.Repeat("a", 65) + `"}`, 422, notAllowed, at("/chat_id", "must have at most 64 characters")},
	{"click without action", `{"message":"","interaction_type":"action_executed"}`, 422, notAllowed, at("/action_metadata", "is required")},
	{"click on nothing", `{"message":"","interaction_type":"action_executed","action_metadata":{}}`, 422, notAllowed, at("/action_metadata/action_identifier", "is required")},
	{"edit and regenerate", `{"message":"hi","edit_message_id":"a","regenerate_message_id":"b"}`, 422, notAllowed, at("/regenerate_message_id", "must not be given together with edit_message_id")},
	{"files kept of no message", `{"message":"hi","keep_attachments":[]}`, 422, notAllowed, at("/keep_attachments", "is allowed only with edit_message_id")},
	{"a file kept twice", `{"message":"hi","edit_message_id":"a","keep_attachments":[1,1]}`, 422, notAllowed, at("/keep_attachments", "must not have an item twice")},
	{"many files kept", `{"message":"hi","edit_message_id":"a","keep_attachments":[0,1,2,3,4,5,6,7,8,9,10]}`, 422, notAllowed, at("/keep_attachments", "must have at most 10 items")},
	{"a file before the first", `{"message":"hi","edit_message_id":"a","keep_attachments":[-1]}`, 422, notAllowed, at("/keep_attachments/0", "must be at least 0")},
	{"role of history", `{"message":"hi","conversation_history":[{"role":"user","content":"a"},{"role":"system","content":"b"}]}`, 422, notAllowed, at("/conversation_history/1/role", "must be one of user, assistant")},
	{"long history", `{"message":"hi","conversation_history":[{"role":"user","content":"` + strings.Repeat("a", 100_001) + `"}]}`, 422, notAllowed, at("/conversation_history/0/content", "must have at most 100000 characters")},
	{"many attachments", `{"message":"hi","attachments":[` + strings.Repeat(`{"name":"a","mime":"text/plain","content":"x"},`, 10) + `{"name":"a","mime":"text/plain","content":"x"}]}`, 422, notAllowed, at("/attachments", "must have at most 10 items")},
	{"attachment without name", `{"message":"hi","attachments":[{"name":"","mime":"text/plain","content":"x"}]}`, 422, notAllowed, at("/attachments/0/name", "is required")},
	{"attachment of no text", `{"message":"hi","attachments":[{"name":"a","mime":"application/zip","content":"x"}]}`, 422, notAllowed, at("/attachments/0/mime", "must be a text type, image/png, image/jpeg, image/gif, image/webp or application/pdf")},
	{"attachment of any image", `{"message":"hi","attachments":[{"name":"a","mime":"image/*","content":"aGk="}]}`, 422, notAllowed, at("/attachments/0/mime", "must be a text type, image/png, image/jpeg, image/gif, image/webp or application/pdf")},
	{"PDF file in no base64", `{"message":"hi","attachments":[{"name":"a","mime":"application/pdf","content":"*"}]}`, 422, notAllowed, at("/attachments/0/content", "must be base64")},
	{"image in no base64", `{"message":"hi","attachments":[{"name":"a","mime":"image/png","content":"*"}]}`, 422, notAllowed, at("/attachments/0/content", "must be base64")},
	{"many tools of the page", `{"message":"hi","client_tools":[` + strings.Repeat(`{"name":"a","description":"d","input_schema":{}},`, 16) + `{"name":"a","description":"d","input_schema":{}}]}`, 422, notAllowed, at("/client_tools", "must have at most 16 items")},
	{"tool of the page without name", `{"message":"hi","client_tools":[{"name":"","description":"d","input_schema":{}}]}`, 422, notAllowed, at("/client_tools/0/name", "is required")},
	{"odd tool of the page", `{"message":"hi","client_tools":[{"name":"a.b","description":"d","input_schema":{}}]}`, 422, notAllowed, at("/client_tools/0/name", "must be 1 to 64 letters, digits, - or _")},
	{"long text of a tool", `{"message":"hi","client_tools":[{"name":"a","description":"` + strings.Repeat("d", 4001) + `","input_schema":{}}]}`, 422, notAllowed, at("/client_tools/0/description", "must have at most 4000 characters")},
	{"unknown field of a tool", `{"message":"hi","client_tools":[{"name":"a","description":"d","schema":{}}]}`, 400, wrongShape, at("/client_tools/0/schema", "is not a known field")},
	{"two mistakes", `{"message":"","if_busy":"x"}`, 422, notAllowed, append(at("/if_busy", "must be one of reject, queue, cancel"), at("/message", "must not be empty")...)},
	{"2 MiB", `{"message":"` + strings.Repeat("a", 2<<20) + `"}`, 413, "the body is larger than 1 MiB", nil},
	{"2 MiB of no JSON", strings.Repeat("a", 2<<20), 413, "the body is larger than 1 MiB", nil},
	{"2 MiB with no file in the list", `{"attachments":[],"message":"` + strings.Repeat("a", 2<<20) + `"}`, 413, "the body is larger than 1 MiB", nil},
	{"2 MiB with a file in the context", `{"message":"hi","context":{"attachments":["` + strings.Repeat("a", 2<<20) + `"]}}`, 413, "the body is larger than 1 MiB", nil},
	{"2 MiB with a file and an unknown field", `{"massage":"hi","attachments":[{"name":"a","mime":"text/plain","content":"` + strings.Repeat("a", 2<<20) + `"}]}`, 400, wrongShape, at("/massage", "is not a known field")},
	{"9 MiB with a file", `{"message":"hi","attachments":[{"name":"a","mime":"text/plain","content":"` + strings.Repeat("a", 9<<20) + `"}]}`, 413, "the body is larger than 8 MiB", nil},
}

// TestBadBodies sends each bad body to both routes that take a chat request.
func TestBadBodies(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for _, route := range []string{"/api/chat/stream", "/api/chat"} {
		for _, tt := range badBodies {
			t.Run(route+"/"+tt.name, func(t *testing.T) {
				got, _ := send(t, ts.URL, "POST", route, tt.body)
				p := got.problem(t)
				want := schemas.Problem{
					Type: "about:blank", Title: http.StatusText(tt.status), Status: tt.status, Detail: tt.detail,
					Code: codeOf[tt.status], RequestID: "test-1", Errors: tt.errors,
				}
				if diff := cmp.Diff(want, p, cmpopts.SortSlices(func(a, b schemas.FieldError) bool { return a.Pointer < b.Pointer })); diff != "" {
					t.Errorf("the answer differs (-want +got):\n%s", diff)
				}
			})
		}
	}
}

var codeOf = map[int]schemas.Code{
	400: schemas.CodeBadRequest, 413: schemas.CodeTooLarge, 415: schemas.CodeUnsupportedMedia, 422: schemas.CodeInvalid,
}

func TestBadBodiesOfOtherRoutes(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	feedback := "/api/chats/789/messages/" + aMessage + "/feedback"
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		errors                   []schemas.FieldError
	}{
		{"no change", "PATCH", "/api/chats/789", `{}`, 422, at("", "must change something")},
		{"pinned and what", "PATCH", "/api/chats/789", `{"pinned":"yes"}`, 400, at("/pinned", "must be a boolean, not a string")},
		{"blank title", "PATCH", "/api/chats/789", `{"title":" \u200b "}`, 422, at("/title", "must not be empty")},
		{"long title", "PATCH", "/api/chats/789", `{"title":"` + strings.Repeat("a", 201) + `"}`, 422, at("/title", "must have at most 200 characters")},
		{"unknown outcome", "POST", "/api/chats/789/payloads/abc12345/resolve", `{"outcome":"maybe"}`, 422, at("/outcome", "must be one of accepted, rejected")},
		{"unknown rating", "POST", feedback, `{"rating":"5"}`, 422, at("/rating", "must be one of up, down")},
		{"unknown reason", "POST", feedback, `{"rating":"down","reasons":["other","x"]}`, 422, at("/reasons/1", "must be one of incorrect, not_helpful, incomplete, instructions, sources, harmful, other")},
		{"reason twice", "POST", feedback, `{"rating":"down","reasons":["other","other"]}`, 422, at("/reasons", "must not have an item twice")},
		{"reason for a good answer", "POST", feedback, `{"rating":"up","reasons":["other"]}`, 422, at("/reasons", "goes with rating down only")},
		{"wrong rating", "POST", feedback, `{"rating":5}`, 400, at("/rating", "must be a string, not the number 5")},
		{"no object for a schema", "PUT", "/api/streams/1", `{"schema":[]}`, 422, at("/schema", "must be an object")},
		{"empty name", "PUT", "/api/streams/1", `{"name":""}`, 422, at("/name", "must have at least 1 characters")},
		{"2 MiB", "PATCH", "/api/chats/789", `{"title":"` + strings.Repeat("a", 2<<20) + `"}`, 413, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := send(t, ts.URL, tt.method, tt.path, tt.body)
			p := got.problem(t)
			if p.Status != tt.status || !cmp.Equal(p.Errors, tt.errors) {
				t.Errorf("got %d %v, want %d %v", p.Status, p.Errors, tt.status, tt.errors)
			}
		})
	}
}

func TestContentTypes(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	kinds := []struct {
		name   string
		header []string
		status int
	}{
		{"none", []string{"Content-Type", "-"}, 415},
		{"form", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"text", []string{"Content-Type", "text/plain"}, 415},
		{"like JSON", []string{"Content-Type", "application/jsonp"}, 415},
		{"another charset", []string{"Content-Type", "application/json; charset=latin1"}, 415},
		{"compressed", []string{"Content-Encoding", "gzip"}, 415},
		{"UTF-8", []string{"Content-Type", "application/json; charset=UTF-8"}, 400},
		{"UTF-8 by another name", []string{"Content-Type", "application/json; charset=utf8"}, 400},
	}
	routes := 0
	for _, r := range api.Table() {
		if !r.Body {
			continue
		}
		routes++
		for _, tt := range kinds {
			if r.Path == "/mcp" && tt.status == http.StatusBadRequest {
				continue // the protocol's own handler says what is no JSON
			}
			t.Run(r.Path+"/"+tt.name, func(t *testing.T) {
				got, _ := send(t, ts.URL, r.Method, examplePath(w, r.Path), "no JSON", tt.header...)
				if p := got.problem(t); p.Status != tt.status || p.Code != codeOf[tt.status] {
					t.Errorf("got %d %s, want %d", p.Status, p.Code, tt.status)
				}
			})
		}
	}
	if routes < 6 {
		t.Errorf("found %d routes with a body", routes)
	}
}

// examplePath fills a route's parameters with the contract's examples.
func examplePath(w *testEnv, route string) string {
	parts := strings.Split(route, "/")
	for pattern, item := range w.Paths.Map() {
		want := strings.Split(pattern, "/")
		if len(want) != len(parts) {
			continue
		}
		for i, p := range parts {
			for _, param := range item.Parameters {
				if p == ":"+param.Value.Name {
					parts[i] = fmt.Sprint(param.Value.Example)
				}
			}
		}
	}
	return strings.Join(parts, "/")
}

func TestUnknownPathsAndMethods(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for _, tt := range []struct {
		method, path string
		status       int
		code         schemas.Code
		allow        string
	}{
		{"GET", "/nothing", 404, schemas.CodeNotFound, ""},
		{"GET", "/api", 404, schemas.CodeNotFound, ""},
		{"POST", "/api/chats/789/nothing", 404, schemas.CodeNotFound, ""},
		{"GET", "/api/ui/%ff/messages", 404, schemas.CodeNotFound, ""},
		{"POST", "/api/copilotkit/agent/a%00/stop/t", 404, schemas.CodeNotFound, ""},
		{"PUT", "/api/chats", 405, schemas.CodeMethodNotAllowed, "OPTIONS, GET, HEAD"},
		{"GET", "/api/chat/stream", 405, schemas.CodeMethodNotAllowed, "OPTIONS, POST"},
		{"DELETE", "/api/me", 405, schemas.CodeMethodNotAllowed, "OPTIONS, GET, HEAD"},
		{"POST", "/healthz", 405, schemas.CodeMethodNotAllowed, "OPTIONS, GET, HEAD"},
	} {
		t.Run(tt.method+tt.path, func(t *testing.T) {
			got, _ := send(t, ts.URL, tt.method, tt.path, "")
			if p := got.problem(t); p.Status != tt.status || p.Code != tt.code || got.header.Get("Allow") != tt.allow {
				t.Errorf("got %d %s, Allow %q", p.Status, p.Code, got.header.Get("Allow"))
			}
		})
	}
}

func TestBadQueries(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	for _, tt := range []struct {
		path, detail string
		status       int
	}{
		{"/api/chats?limit=many", "the query parameter limit must be an integer", 400},
		{"/api/chats?limit=0", "the query parameter limit must be from 1 to 200", 422},
		{"/api/chats?limit=201", "the query parameter limit must be from 1 to 200", 422},
		{"/api/chats?q=" + strings.Repeat("a", 201), "the query parameter q must have at most 200 characters", 422},
		{"/api/chats?archived=yes", "the query parameter archived must be true or false", 400},
		{"/api/chats/789/export?format=pdf", "the query parameter format must be markdown or json", 422},
		{"/api/chats/789?superseded=yes", "the query parameter superseded must be true or false", 400},
		{"/api/chats/789?cursor=" + strings.Repeat("a", 1025), "the query parameter cursor must have at most 1024 characters", 422},
		{"/api/chat/runs", "the query parameter idempotency_key is required", 400},
		{"/api/reports?stream_id=one", "the query parameter stream_id must be an integer", 400},
	} {
		t.Run(tt.path[:min(len(tt.path), 40)], func(t *testing.T) {
			got, req := send(t, ts.URL, "GET", tt.path, "")
			w.CheckResponse(t, req, got.status, got.header, got.body)
			if p := got.problem(t); p.Status != tt.status || p.Detail != tt.detail {
				t.Errorf("got %d %q, want %d %q", p.Status, p.Detail, tt.status, tt.detail)
			}
		})
	}
	if len(w.calls) > 0 {
		t.Errorf("services were asked: %v", w.calls)
	}
}

// TestUnreadableQueries asks every route with a query of which net/url drops a part, or a
// part cannot be stored.
func TestUnreadableQueries(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	for _, r := range api.Table() {
		for query, want := range map[string]string{
			"q=100%":                    "the query has a % without two hexadecimal digits; write it as %25",
			"page=%ff":                  "the query has a value that is not text in UTF-8",
			"q=a&page=x%00":             "the query has a value that is not text in UTF-8",
			"q=a;b":                     "the query has a semicolon; write it as %3B",
			"q=100%&r=a;b":              "the query has a semicolon; write it as %3B",
			strings.Repeat("&", 10_000): "the query has too many parameters",
		} {
			t.Run(r.Method+r.Path+" "+want, func(t *testing.T) {
				if r.Public {
					t.Skip("public routes have no parameters")
				}
				got, req := send(t, ts.URL, r.Method, examplePath(w, r.Path)+"?"+query, "")
				w.CheckResponse(t, req, got.status, got.header, got.body)
				if p := got.problem(t); got.status != http.StatusBadRequest || p.Detail != want {
					t.Errorf("got %d %s, want 400 and %q", got.status, got.body, want)
				}
			})
		}
	}
	if len(w.calls) > 0 {
		t.Errorf("services were asked: %v", w.calls)
	}
}

// TestCutBodies sends every route a part of a body and then no more. The client can still
// read, and is told. Public routes do not read it: they answer as always, and close.
func TestCutBodies(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	for _, r := range api.Table() {
		t.Run(r.Method+r.Path, func(t *testing.T) {
			t.Parallel()
			conn := dialRaw(t, ts)
			_, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", r.Method, examplePath(w, r.Path))
			if err := errors.Join(err, conn.(*net.TCPConn).CloseWrite()); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(conn)
			if r.Public {
				if !strings.HasPrefix(string(got), "HTTP/1.1 ") || !strings.Contains(string(got), "\r\nConnection: close\r\n") || strings.Contains(string(got), "the body") && r.Path != "/openapi.yaml" {
					t.Errorf("got %.300q (%v), want the usual answer on a connection that closes", got, err)
				}
				return
			}
			if !strings.HasPrefix(string(got), "HTTP/1.1 400 ") || !strings.Contains(string(got), "the body could not be read") {
				t.Errorf("got %q (%v), want 400", got, err)
			}
		})
	}
}

// TestFailuresAfterTheClient has clients that stop sending once they have asked, and
// services that fail because their request ends with that.
func TestFailuresAfterTheClient(t *testing.T) {
	_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) { o.Documents = endlessDocuments{fakeDocuments{w}} })
	conn := dialRaw(t, ts)
	_, err := io.WriteString(conn, "GET /api/documents/doc1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\n\r\n")
	if err := errors.Join(err, conn.(*net.TCPConn).CloseWrite()); err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(conn); len(got) > 0 {
		t.Errorf("got %q, want a connection that is cut", got)
	}
}

// endlessDocuments has documents that are read until the request ends.
type endlessDocuments struct{ fakeDocuments }

func (endlessDocuments) Get(ctx context.Context, _ schemas.User, _ string) (schemas.Document, error) {
	<-ctx.Done()
	return schemas.Document{}, ctx.Err()
}

// TestHandshakes opens websockets as a proxy may that does not know them.
func TestHandshakes(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	for _, tt := range []struct {
		name   string
		header []string
		detail string
	}{
		{"no upgrade", []string{"Upgrade", "-"}, "this is a websocket"},
		{"no connection", []string{"Connection", "close"}, "Connection"},
		{"an old version", []string{"Sec-WebSocket-Version", "8"}, "only 13"},
		{"no key", []string{"Sec-WebSocket-Key", "-"}, "Sec-WebSocket-Key"},
		{"an odd key", []string{"Sec-WebSocket-Key", "x"}, "Sec-WebSocket-Key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			good := []string{"Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
			got, req := send(t, ts.URL, "GET", "/api/ws", "", append(good, tt.header...)...)
			w.CheckResponse(t, req, got.status, got.header, got.body)
			if p := got.problem(t); p.Status != http.StatusBadRequest || !strings.Contains(p.Detail, tt.detail) {
				t.Errorf("got %d %q, want 400 with %q", p.Status, p.Detail, tt.detail)
			}
		})
	}
}

// TestEscapedPaths asks under paths that escape a slash, or more than they need to: both
// spellings of a character are the same path (RFC 3986, section 6.2.2.2).
func TestEscapedPaths(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for _, path := range []string{"/api/pages/orders%2Fopen%3A1", "/api/pages/edit%5Fstream", "/api/chats/%37%38%39"} {
		if got, _ := send(t, ts.URL, "GET", path, ""); got.status != http.StatusOK {
			t.Errorf("%s: %d %s, want 200", path, got.status, got.body)
		}
	}
}

// TestSeveralKeys sends several Idempotency-Keys: only the same one may be repeated.
func TestSeveralKeys(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for _, tt := range []struct {
		keys []string
		want int
	}{
		{[]string{"a", "a"}, http.StatusOK},
		{[]string{"a", "b"}, http.StatusBadRequest},
		{[]string{"a", "b", "a"}, http.StatusBadRequest},
		{[]string{"", "b"}, http.StatusBadRequest},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, ts.URL+"/api/chat", strings.NewReader(anyChat))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer alice"}, "Content-Type": {"application/json"}, "Idempotency-Key": tt.keys}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != tt.want {
			t.Errorf("the keys %q: %d %v, want %d", tt.keys, res.StatusCode, err, tt.want)
		}
	}
}
