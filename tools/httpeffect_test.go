package tools_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/toolstest"
)

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

const effectUnknown = "; whether it had an effect is unknown"

// A request that changes something, was sent and got no answer is not reported as one that
// did not arrive. Only one that may be repeated is retryable.
func TestHTTPToolsWhoseEffectIsUnknown(t *testing.T) {
	late := schemas.NewError(schemas.CodeUpstreamTimeout, "the call is late")
	type want struct {
		code    schemas.Code
		message string // the text of a result if code is empty
	}
	for name, failure := range map[string]struct {
		serve  func(w http.ResponseWriter, r *http.Request, end context.CancelCauseFunc)
		safe   want // of GET
		repeat want // of PUT and DELETE, and of POST and PATCH that may be repeated
		once   want // of POST and PATCH
	}{
		"hangs up": {
			serve:  func(w http.ResponseWriter, _ *http.Request, _ context.CancelCauseFunc) { hangUp(w) },
			safe:   want{schemas.CodeUpstreamUnavailable, "the service at lookup cannot be reached"},
			repeat: want{schemas.CodeUpstreamUnavailable, "the service at lookup did not answer" + effectUnknown},
			once:   want{schemas.CodeEffectUnknown, "the service at lookup did not answer" + effectUnknown},
		},
		"is late": {
			serve: func(_ http.ResponseWriter, r *http.Request, end context.CancelCauseFunc) {
				end(late)
				<-r.Context().Done()
			},
			safe:   want{schemas.CodeUpstreamTimeout, "the call is late"},
			repeat: want{schemas.CodeUpstreamTimeout, "the call is late" + effectUnknown},
			once:   want{schemas.CodeEffectUnknown, "the call is late" + effectUnknown},
		},
		"fails": {
			serve: func(w http.ResponseWriter, _ *http.Request, _ context.CancelCauseFunc) {
				w.WriteHeader(http.StatusBadGateway)
				_, _ = io.WriteString(w, "no luck")
			},
			safe:   want{"", "the service at lookup answered with status 502: no luck"},
			repeat: want{schemas.CodeUpstreamError, "the service at lookup answered with status 502" + effectUnknown + ": no luck"},
			once:   want{schemas.CodeEffectUnknown, "the service at lookup answered with status 502" + effectUnknown + ": no luck"},
		},
		"refuses": {
			serve: func(w http.ResponseWriter, _ *http.Request, _ context.CancelCauseFunc) {
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, "sold out")
			},
			safe:   want{"", "the service at lookup answered with status 409: sold out"},
			repeat: want{"", "the service at lookup answered with status 409: sold out"},
			once:   want{"", "the service at lookup answered with status 409: sold out"},
		},
	} {
		for _, def := range []turn.HTTPTool{
			{Method: http.MethodGet},
			{Method: http.MethodHead},
			{Method: http.MethodPut},
			{Method: http.MethodDelete},
			{Method: http.MethodPost},
			{Method: http.MethodPatch},
			{Method: http.MethodPost, Idempotent: true},
		} {
			want := failure.repeat
			switch {
			case def.Method == http.MethodHead && name != "hangs up" && name != "is late": // it has no body
				continue
			case def.Method == http.MethodGet, def.Method == http.MethodHead:
				want = failure.safe
			case !def.Idempotent && (def.Method == http.MethodPost || def.Method == http.MethodPatch):
				want = failure.once
			}
			title := name + " " + def.Method
			if def.Idempotent {
				title += " idempotent"
			}
			t.Run(title, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				tool, _ := declared(t, def, func(w http.ResponseWriter, r *http.Request) { failure.serve(w, r, cancel) })
				result, err := tool.Run(ctx, &tools.Call{Name: "lookup"})
				if want.code == "" {
					if err != nil || !result.IsError || result.Text != want.message {
						t.Errorf("got %+v, %v, want the result %q", result, err, want.message)
					}
					return
				}
				seen := schemas.Visible(err)
				if seen.Code != want.code || seen.Message != want.message {
					t.Errorf("got %v, want %s: %s", err, want.code, want.message)
				}
			})
		}
	}
	if schemas.CodeEffectUnknown.Retryable() {
		t.Error("an error with an unknown effect is retryable, want that it is not")
	}
}

// A request that got no connection had no effect.
func TestHTTPToolsThatSendNothing(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, url := range []string{gone.URL, "http://nowhere.invalid/"} {
		tool, err := tools.NewHTTP(turn.HTTPTool{Name: "lookup", Description: "Looks up.", Method: http.MethodPost, URL: url}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tool.Run(t.Context(), &tools.Call{Name: "lookup"})
		if seen := schemas.Visible(err); !seen.Code.Retryable() || !strings.HasPrefix(seen.Message, "the service at lookup cannot be reached") || strings.Contains(seen.Message, "effect") {
			t.Errorf("%s: got %v, want that it cannot be reached", url, err)
		}
	}
}

// net/http sends some requests again by itself if a connection that was used before breaks.
// A request that changes something is not among them.
func TestHTTPToolsSendOnce(t *testing.T) {
	for _, def := range []turn.HTTPTool{
		{Method: http.MethodPost},
		{Method: http.MethodPost, Body: `{"a": 1}`},
		{Method: http.MethodPatch, Body: `{"a": 1}`},
		{Method: http.MethodPut, Body: `{"a": 1}`},
		{Method: http.MethodDelete},
	} {
		t.Run(def.Method+" "+def.Body, func(t *testing.T) {
			var requests atomic.Int64
			tool, _ := declared(t, def, func(w http.ResponseWriter, _ *http.Request) {
				if requests.Add(1) > 1 {
					hangUp(w)
				}
			})
			for i := range 2 {
				if _, err := tool.Run(t.Context(), &tools.Call{Name: "lookup"}); (err != nil) != (i == 1) {
					t.Errorf("call %d: got %v", i, err)
				}
			}
			if got := requests.Load(); got != 2 {
				t.Errorf("two calls made %d requests, want 2", got)
			}
		})
	}
}

// A redirect after a request that changed something leads to a page about it, whose
// status says nothing about the request.
func TestHTTPToolsAfterARedirect(t *testing.T) {
	tool, _ := declared(t, turn.HTTPTool{Method: http.MethodPost, URL: "/orders"}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Redirect(w, r, "/orders/1", http.StatusSeeOther)
			return
		}
		http.NotFound(w, r)
	})
	_, err := tool.Run(t.Context(), &tools.Call{Name: "lookup"})
	if seen := schemas.Visible(err); seen.Code != schemas.CodeEffectUnknown || !strings.Contains(seen.Message, "status 404"+effectUnknown) {
		t.Errorf("got %v, want that the effect is unknown", err)
	}
}

// What is wrong with the answer to a request that changed something does not make it a
// failure.
func TestHTTPToolsWithEffectsAnswerOddly(t *testing.T) {
	for name, tc := range map[string]struct {
		serve http.HandlerFunc
		want  []string
		get   schemas.Code // of the same answer to a GET
	}{
		"too long": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, "order 7"+strings.Repeat(" x", 1<<20))
		}, []string{"answered with status 201", "is cut off", "order 7"}, schemas.CodeTooLarge},
		"incomplete": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "order 7")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, []string{"answered with status 200", "is cut off", "order 7"}, schemas.CodeUpstreamUnavailable},
		"an image": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			_, _ = io.WriteString(w, "\x89PNG")
		}, []string{"answered with status 200", "other than text"}, schemas.CodeUnsupportedMedia},
	} {
		t.Run(name, func(t *testing.T) {
			tool, _ := declared(t, turn.HTTPTool{Method: http.MethodPost}, tc.serve)
			got, err := tool.Run(t.Context(), &tools.Call{Name: "lookup"})
			if err != nil || got.IsError || len(got.Text) > 1<<20+200 {
				t.Fatalf("got %.200s, %v, want a success of at most a MiB", got.Text, err)
			}
			toolstest.Contains(t, got.Text, tc.want...)
			tool, _ = declared(t, turn.HTTPTool{}, tc.serve)
			if _, err := tool.Run(t.Context(), &tools.Call{Name: "lookup"}); schemas.Visible(err).Code != tc.get {
				t.Errorf("GET: got %v, want code %s", err, tc.get)
			}
		})
	}
}

// The caller bounds a call: a client with a limit of its own would end it before.
func TestDeclaredClientHasNoTimeout(t *testing.T) {
	if got := tools.DeclaredClient(nil).Timeout; got != 0 {
		t.Errorf("the client ends a request after %s, want no limit", got)
	}
}

// GET and HEAD change nothing, unless their page file says that a call is not to be repeated.
func TestHTTPToolsThatChangeNothing(t *testing.T) {
	for _, tt := range []struct {
		method     string
		idempotent bool
		want       bool
	}{
		{http.MethodGet, true, true},
		{http.MethodHead, true, true},
		{http.MethodGet, false, false},
		{http.MethodPut, true, false},
		{http.MethodPost, true, false},
	} {
		tool, err := tools.NewHTTP(turn.HTTPTool{Name: "lookup", Description: "Looks up.", Method: tt.method, Idempotent: tt.idempotent, URL: "https://example.com/"}, nil)
		if err != nil || tool.ReadOnly != tt.want || tool.Idempotent != tt.idempotent {
			t.Errorf("%s: read-only %t, idempotent %t, %v; want %t, %t", tt.method, tool.ReadOnly, tool.Idempotent, err, tt.want, tt.idempotent)
		}
	}
}
