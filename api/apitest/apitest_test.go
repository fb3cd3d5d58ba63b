package apitest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chattray/chattray/api/apitest"
)

// recorder notes that a check has failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) Error(...any)          { r.failed = true }
func (r *recorder) Helper()               {}

// Every violation of the contract is found, in whichever part of it the rule
// is.
func TestChecks(t *testing.T) {
	contract := apitest.Load(t, "../../openapi.yaml")
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/me", nil)
	post := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/chat", nil)
	post.Header.Set("Content-Type", "application/json")
	as := func(kind string) http.Header { return http.Header{"Content-Type": {kind}} }
	for _, tt := range []struct {
		name  string
		check func(testing.TB)
		fits  bool
	}{
		{"an event", func(t testing.TB) { contract.CheckJSON(t, "StatusEvent", []byte(`{"type":"status","message":"x"}`)) }, true},
		{"an event of another type", func(t testing.TB) { contract.CheckJSON(t, "StatusEvent", []byte(`{"type":"error","message":"x"}`)) }, false},
		{"an event without a text", func(t testing.TB) { contract.CheckJSON(t, "StatusEvent", []byte(`{"type":"status"}`)) }, false},
		{"an event that is none", func(t testing.TB) { contract.CheckJSON(t, "ChatEvent", []byte(`{"type":"shout"}`)) }, false},
		{"no JSON", func(t testing.TB) { contract.CheckJSON(t, "StatusEvent", []byte(`{`)) }, false},
		{"an unknown type", func(t testing.TB) { contract.CheckJSON(t, "Nothing", []byte(`{}`)) }, false},
		{"a format", func(t testing.TB) {
			contract.CheckJSON(t, "Chat", []byte(`{"conversation_id":1,"chat_id":"c","title":"t","created_at":"yesterday","updated_at":"2026-01-01T00:00:00Z","messages":[]}`))
		}, false},
		{"a request", func(t testing.TB) { contract.CheckRequest(t, post, []byte(`{"message":"hi"}`)) }, true},
		{"a request of another type", func(t testing.TB) { contract.CheckRequest(t, post, []byte(`{"message":7}`)) }, false},
		{"a request without its body", func(t testing.TB) { contract.CheckRequest(t, post, nil) }, false},
		{"a problem", func(t testing.TB) {
			contract.CheckResponse(t, request, http.StatusUnauthorized, http.Header{"Content-Type": {"application/problem+json"}, "Www-Authenticate": {"Bearer"}},
				[]byte(`{"type":"about:blank","title":"Unauthorized","status":401,"code":"unauthorized","detail":"x","request_id":"r"}`))
		}, true},
		{"a body of another shape", func(t testing.TB) {
			contract.CheckResponse(t, request, http.StatusOK, as("application/json"), []byte(`{"id":7}`))
		}, false},
		{"a body of another media type", func(t testing.TB) { contract.CheckResponse(t, request, http.StatusOK, as("text/plain"), []byte(`x`)) }, false},
		{"a status that is not promised", func(t testing.TB) {
			contract.CheckResponse(t, request, http.StatusTeapot, as("application/json"), []byte(`{}`))
		}, false},
	} {
		got := &recorder{TB: t}
		tt.check(got)
		if got.failed == tt.fits {
			t.Errorf("%s: the check failed: %t, want %t", tt.name, got.failed, !tt.fits)
		}
	}
}
