// Package apitest holds answers of the API against openapi.yaml. It is for
// tests only.
package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Contract is openapi.yaml, loaded and checked, its examples included. Its
// methods report to the test that they are given.
type Contract struct {
	*openapi3.T
}

// loaded keeps what Load has read; it is read only from then on.
var loaded sync.Map // file → Contract

// Load reads the contract from a file, once.
func Load(t testing.TB, file string) Contract {
	t.Helper()
	if c, ok := loaded.Load(file); ok {
		return c.(Contract)
	}
	doc, err := openapi3.NewLoader().LoadFromFile(file)
	if err != nil {
		t.Fatalf("%s does not load: %v", file, err)
	}
	if err := doc.Validate(context.Background(), openapi3.EnableExamplesValidation()); err != nil {
		t.Fatalf("%s is no valid contract: %v", file, err)
	}
	// The contract itself is promised as text.
	openapi3filter.RegisterBodyDecoder("application/yaml", openapi3filter.PlainBodyDecoder)
	loaded.Store(file, Contract{doc})
	return Contract{doc}
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

// CheckRequest says whether the contract allows the request with this body.
func (c Contract) CheckRequest(t testing.TB, r *http.Request, body []byte) {
	t.Helper()
	in := c.input(t, r)
	in.Request = r.Clone(r.Context())
	in.Request.Body = io.NopCloser(bytes.NewReader(body))
	if err := openapi3filter.ValidateRequest(r.Context(), in); err != nil {
		t.Errorf("%s %s: the contract does not allow the request: %v", r.Method, r.URL, err)
	}
}

// CheckResponse says whether the response is one that the contract promises for
// its request: status, headers, body. Of a stream it checks each frame.
func (c Contract) CheckResponse(t testing.TB, r *http.Request, status int, header http.Header, body []byte) {
	t.Helper()
	in := c.input(t, r)
	stream := strings.HasPrefix(header.Get("Content-Type"), "text/event-stream")
	err := openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: status, Header: header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: stream, MultiError: true},
	})
	if err != nil {
		t.Errorf("%s %s: the contract does not promise this answer: %v", r.Method, r.URL, err)
	}
	if stream {
		c.CheckFrames(t, body)
	}
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

// CheckJSON says whether raw is a value of a type in components.schemas.
func (c Contract) CheckJSON(t testing.TB, name string, raw []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Errorf("no JSON: %v in %s", err, raw)
		return
	}
	ref := c.Components.Schemas[name]
	if ref == nil {
		t.Errorf("components.schemas has no %s", name)
		return
	}
	if err := ref.Value.VisitJSON(v, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors()); err != nil {
		t.Errorf("no %s: %v in %s", name, err, raw)
	}
}
