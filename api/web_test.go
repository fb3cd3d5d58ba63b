package api_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

// TestErrorsOfThePageAreProblems has a handler of the page that refuses in its own form.
func TestErrorsOfThePageAreProblems(t *testing.T) {
	w, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) {
		o.Web = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"file"`)
			w.Header().Set("Content-Length", "5")
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
			switch {
			case r.URL.Path != "/":
				w.WriteHeader(http.StatusNotFound)
			case r.Header.Get("If-Match") != "":
				w.WriteHeader(http.StatusPreconditionFailed)
			}
			_, _ = io.WriteString(w, "hello")
		})
	})
	for _, tt := range []struct {
		path, match string
		want        schemas.Code
	}{
		{"/assets/nope.js", "-", schemas.CodeNotFound},
		{"/", `"other"`, schemas.CodePrecondition},
	} {
		got, req := send(t, ts.URL, "GET", tt.path, "", "Authorization", "-", "If-Match", tt.match)
		if p := got.problem(t); p.Code != tt.want || got.header.Get("ETag") != "" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s gives %d %s with %v, want the problem %s", tt.path, got.status, got.body, got.header, tt.want)
		}
		if tt.path == "/" {
			w.CheckResponse(t, req, got.status, got.header, got.body)
		}
	}
	if got, _ := send(t, ts.URL, "GET", "/", "", "Authorization", "-"); got.status != http.StatusOK || string(got.body) != "hello" || got.header.Get("ETag") != `"file"` {
		t.Errorf("got %d %s with %v, want the page", got.status, got.body, got.header)
	}
}
