// Package apitest checks responses of the API against openapi.yaml. It is for
// tests only.
package apitest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Contract is openapi.yaml, loaded and checked. Its methods report errors to
// the test that they are given.
type Contract struct {
	*openapi3.T
	schemas *schemas
}

// loaded maps a file to the function that returns its contract, so that Load
// reads each file once.
var loaded sync.Map

// Load reads the contract from a file, once.
func Load(t testing.TB, file string) Contract {
	t.Helper()
	once, _ := loaded.LoadOrStore(file, sync.OnceValues(func() (Contract, error) { return load(file) }))
	c, err := once.(func() (Contract, error))()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func load(file string) (Contract, error) {
	doc, err := openapi3.NewLoader().LoadFromFile(file)
	if err != nil {
		return Contract{}, fmt.Errorf("%s does not load: %w", file, err)
	}
	// The examples take most of the time, and CheckExamples checks them.
	if err := doc.Validate(context.Background(), openapi3.DisableExamplesValidation()); err != nil {
		return Contract{}, fmt.Errorf("%s is not a valid contract: %w", file, err)
	}
	s, err := newSchemas(file)
	if err != nil {
		return Contract{}, fmt.Errorf("the schemas of %s: %w", file, err)
	}
	// The contract describes the response with the contract itself as text.
	openapi3filter.RegisterBodyDecoder("application/yaml", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/jsonl", openapi3filter.PlainBodyDecoder)
	return Contract{doc, s}, nil
}

// CheckExamples reports whether the contract's examples fit their schemas.
func (c Contract) CheckExamples(t testing.TB) {
	t.Helper()
	if err := c.Validate(context.Background(), openapi3.EnableExamplesValidation()); err != nil {
		t.Errorf("the examples do not fit their schemas: %v", err)
	}
}

// Find returns the path of the contract that a request's path belongs to, with
// the values of its parameters; "" when there is none.
func (c Contract) Find(path string) (string, map[string]string) {
	best, values := "", map[string]string(nil)
	for pattern := range c.Paths.Map() {
		v, ok := match(pattern, path)
		if ok && (best == "" || len(v) < len(values)) {
			best, values = pattern, v
		}
	}
	return best, values
}

func match(pattern, path string) (map[string]string, bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	values := map[string]string{}
	for i, w := range want {
		name, ok := strings.CutPrefix(w, "{")
		switch {
		case ok:
			values[strings.TrimSuffix(name, "}")] = got[i]
		case w != got[i]:
			return nil, false
		}
	}
	return values, true
}

// CheckRequest reports whether the contract allows the request with this body.
// An optional member that is null counts as absent, as the contract says in
// words.
func (c Contract) CheckRequest(t testing.TB, r *http.Request, body []byte) {
	t.Helper()
	body = withoutNull(body)
	in := c.input(t, r)
	in.Request = r.Clone(r.Context())
	in.Request.Body = io.NopCloser(bytes.NewReader(body))
	pointer := ""
	if ref := in.Route.Operation.RequestBody; ref != nil && len(body) > 0 {
		pointer = jsonIn(ref.Value.Content, cmp.Or(ref.Ref, pointerTo("paths", in.Route.Path, strings.ToLower(r.Method), "requestBody")), r.Header)
	}
	in.Options.ExcludeRequestBody = pointer != ""
	err := openapi3filter.ValidateRequest(r.Context(), in)
	if err == nil && pointer != "" {
		err = c.schemas.check(pointer, body)
	}
	if err != nil {
		t.Errorf("%s %s: the contract does not allow the request: %v", r.Method, r.URL, err)
	}
}

// withoutNull leaves out the members of an object that are null.
func withoutNull(body []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || !bytes.Contains(body, []byte("null")) {
		return body
	}
	maps.DeleteFunc(members, func(_ string, raw json.RawMessage) bool { return string(raw) == "null" })
	raw, err := json.Marshal(members)
	if err != nil {
		return body
	}
	return raw
}

// CheckResponse reports whether the contract allows the response to its
// request: status, headers, body. It checks each frame of a stream.
func (c Contract) CheckResponse(t testing.TB, r *http.Request, status int, header http.Header, body []byte) {
	t.Helper()
	in := c.input(t, r)
	stream := strings.HasPrefix(header.Get("Content-Type"), "text/event-stream")
	pointer := ""
	if ref, name := response(in.Route.Operation, status); ref != nil {
		pointer = jsonIn(ref.Value.Content, cmp.Or(ref.Ref, pointerTo("paths", in.Route.Path, strings.ToLower(r.Method), "responses", name)), header)
	}
	err := openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: status, Header: header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: stream || pointer != "", MultiError: true},
	})
	if err == nil && pointer != "" {
		err = c.schemas.check(pointer, body)
	}
	if err != nil {
		t.Errorf("%s %s: the contract does not promise this answer: %v", r.Method, r.URL, err)
	}
	if stream && !slices.Contains(in.Route.Operation.Tags, "wires") { // a wire has frames of its own
		c.CheckFrames(t, body)
	}
}

// response returns what the contract says about a status, and the name under
// which it says it.
func response(op *openapi3.Operation, status int) (*openapi3.ResponseRef, string) {
	for _, name := range []string{strconv.Itoa(status), strconv.Itoa(status/100) + "XX", "default"} {
		if ref := op.Responses.Value(name); ref != nil {
			return ref, name
		}
	}
	return nil, ""
}

// jsonIn returns the pointer to the schema of a body in JSON, if the contract
// has one for its media type; "" for any other body. Owner is the pointer to
// the object that has the content.
func jsonIn(content openapi3.Content, owner string, header http.Header) string {
	name, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || !strings.HasSuffix(name, "json") || content[name] == nil || content[name].Schema == nil {
		return ""
	}
	return owner + strings.TrimPrefix(pointerTo("content", name, "schema"), "#")
}

func (c Contract) input(t testing.TB, r *http.Request) *openapi3filter.RequestValidationInput {
	t.Helper()
	pattern, values := c.Find(r.URL.Path)
	item := c.Paths.Value(pattern)
	if item == nil || item.GetOperation(r.Method) == nil {
		t.Fatalf("%s %s is not in the contract", r.Method, r.URL.Path)
	}
	return &openapi3filter.RequestValidationInput{
		Request: r, PathParams: values,
		Route: &routers.Route{Spec: c.T, Path: pattern, PathItem: item, Method: r.Method, Operation: item.GetOperation(r.Method)},
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: true,
		},
	}
}

// CheckJSON reports whether raw is a value of a type in components.schemas.
func (c Contract) CheckJSON(t testing.TB, name string, raw []byte) {
	t.Helper()
	if c.Components.Schemas[name] == nil {
		t.Errorf("components.schemas has no %s", name)
		return
	}
	if err := c.schemas.check(pointerTo("components", "schemas", name), raw); err != nil {
		t.Errorf("not a %s: %v in %s", name, err, raw)
	}
}
