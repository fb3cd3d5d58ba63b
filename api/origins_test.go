package api_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

// everyRoute has a request for each answer of the service: the routes, the
// files of the page, an unknown path, and a method that a path does not allow.
func everyRoute() []api.Row {
	return append(api.Table(), api.Row{Method: "GET", Path: "/assets/x.js", Public: true}, api.Row{Method: "GET", Path: "/no/such/path", Public: true},
		api.Row{Method: "POST", Path: "/no/such/path", Public: true}, api.Row{Method: "DELETE", Path: "/healthz", Public: true},
		api.Row{Method: "OPTIONS", Path: "/api/chats", Public: true}, api.Row{Method: "HEAD", Path: "/api/chats"})
}

// ask sends a request as alice under a name of the service.
func ask(t *testing.T, ts *httptest.Server, w *testEnv, r api.Row, host string, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, ts.URL+examplePath(w, r.Path), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	req.Header.Set("Authorization", "Bearer alice")
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	ts.Config.Handler.ServeHTTP(rec, req)
	got := answer{rec.Code, rec.Header(), rec.Body.Bytes()}
	if got.status == http.StatusMisdirectedRequest || got.status == http.StatusForbidden {
		pattern, _ := w.Find(req.URL.Path)
		if item := w.Paths.Value(pattern); item != nil && item.GetOperation(r.Method) != nil {
			w.CheckResponse(t, req, got.status, got.header, got.body)
		}
		if r.Method != http.MethodHead {
			got.problem(t)
		}
	}
	return got
}

// TestOwnNamesOnly sends every route under many names to a service without
// authentication, and to one with it.
func TestOwnNamesOnly(t *testing.T) {
	own := []string{
		"localhost", "localhost:8080", "LocalHost", "localhost.", "localhost.:8080", "127.0.0.1", "127.0.0.1:1", "127.8.8.8:80", "127.0.0.1.",
		"[::1]", "[::1]:8080", "[::ffff:127.0.0.1]:8080", "[0:0:0:0:0:0:0:1]", "tray.internal", "TRAY.internal:8080", "tray.internal.:1", "localhost:",
	}
	foreign := []string{
		"", "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "evil-localhost", "xlocalhost:8080", "app.localhost",
		"0.0.0.0:8080", "10.0.0.1", "169.254.169.254", "[::]:8080", "[fe80::1]", "127.0.0.1@evil.example", "localhost:8080:1", "localhost:evil.example",
		"[::1", "[localhost]x", "tray.internal.evil.example", "128.0.0.1", "2130706433", "localhost ", "localhost..",
	}
	w, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.LocalHosts = []string{"tray.internal:8080"} })
	free, freeServer := newTestEnv(t, nil)
	for _, r := range everyRoute() {
		for _, host := range own {
			if got := ask(t, ts, w, r, host); got.status == http.StatusMisdirectedRequest {
				t.Errorf("%s %s under %q is misdirected", r.Method, r.Path, host)
			}
		}
		w.calls = nil
		for _, host := range foreign {
			// A page under that name: for the browser all requests are of the
			// same origin.
			got := ask(t, ts, w, r, host, "Origin", "http://"+host, "Sec-Fetch-Site", "same-origin")
			if got.status != http.StatusMisdirectedRequest || r.Method != http.MethodHead && got.problem(t).Code != schemas.CodeMisdirected {
				t.Errorf("%s %s under %q gives %d %s, want 421", r.Method, r.Path, host, got.status, got.body)
			}
			if got.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s under %q may be read", r.Method, r.Path, host)
			}
		}
		if len(w.calls) > 0 {
			t.Errorf("%s %s: services were asked: %v", r.Method, r.Path, w.calls)
		}
		if got := ask(t, freeServer, free, r, "tray.example"); got.status == http.StatusMisdirectedRequest {
			t.Errorf("%s %s with authentication is misdirected", r.Method, r.Path)
		}
	}
}

// A browser shows its user nothing but that the service cannot be reached, so the log says
// which origin is missing in the settings.
func TestRefusedOriginsAreLogged(t *testing.T) {
	preflight := api.Row{Method: "OPTIONS", Path: "/api/chats"}
	for _, tt := range []struct {
		name   string
		row    api.Row
		header []string
		want   int
	}{
		{"a preflight", preflight, []string{"Origin", "https://shop.example", "Access-Control-Request-Method", "POST"}, 1},
		{"a request", api.Row{Method: "POST", Path: "/api/chat"}, []string{"Origin", "https://shop.example"}, 1},
		{"a websocket", api.Row{Method: "GET", Path: "/api/ws"}, []string{"Origin", "https://shop.example", "Connection", "Upgrade", "Upgrade", "websocket"}, 1},
		{"a link, through a proxy that always says so", api.Row{Method: "GET", Path: "/api/chats"}, []string{"Origin", "https://shop.example", "Connection", "Upgrade", "Upgrade", "websocket"}, 0},
		{"a preflight of a configured origin", preflight, []string{"Origin", "https://app.example", "Access-Control-Request-Method", "POST"}, 0},
		{"no preflight", preflight, []string{"Origin", "https://shop.example"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			w, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) {
				o.CORSOrigins, o.Log = []string{"https://app.example"}, slog.New(slog.NewTextHandler(&log, nil))
			})
			ask(t, ts, w, api.Row{Method: "POST", Path: "/api/chat"}, "localhost:8080", "Origin", "https://other.example")
			for range 2 {
				ask(t, ts, w, tt.row, "localhost:8080", tt.header...)
			}
			if got := strings.Count(log.String(), "cors_origins may not call\" origin=https://shop.example"); got != tt.want {
				t.Errorf("%d lines name the origin, want %d: %s", got, tt.want, log.String())
			}
		})
	}
}

// TestPagesOfOtherOrigins sends every route from pages of many origins, and
// from clients that are not browsers, with and without authentication.
func TestPagesOfOtherOrigins(t *testing.T) {
	const app = "https://app.example"
	tests := []struct {
		name   string
		header []string
		may    bool
	}{
		{"no browser", nil, true},
		{"the service's own page", []string{"Origin", "http://localhost:8080", "Sec-Fetch-Site", "same-origin"}, true},
		{"its own page, in an older browser", []string{"Origin", "http://localhost:8080"}, true},
		{"the user, by the address bar", []string{"Sec-Fetch-Site", "none"}, true},
		{"a configured origin", []string{"Origin", app, "Sec-Fetch-Site", "cross-site"}, true},
		{"a configured origin, in an older browser", []string{"Origin", app}, true},
		{"another site", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, false},
		{"another site, in an older browser", []string{"Origin", "https://evil.example"}, false},
		{"another site that hides", []string{"Origin", "null", "Sec-Fetch-Site", "cross-site"}, false},
		{"another site that hides, in an older browser", []string{"Origin", "null"}, false},
		{"another site without Origin", []string{"Sec-Fetch-Site", "cross-site"}, false},
		{"another port of this host", []string{"Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-site"}, false},
		{"another port, in an older browser", []string{"Origin", "http://localhost:3000"}, false},
		{"a name that only begins like one", []string{"Origin", app + ".evil.example", "Sec-Fetch-Site", "cross-site"}, false},
	}
	for _, local := range []bool{false, true} {
		w, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) {
			o.CORSOrigins = []string{app}
			if local {
				o.LocalHosts = []string{"127.0.0.1:8080"}
			}
		})
		for _, r := range everyRoute() {
			unsafe := !slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, r.Method)
			for _, tt := range tests {
				w.calls = nil
				got := ask(t, ts, w, r, "localhost:8080", tt.header...)
				refused := got.status == http.StatusForbidden && strings.Contains(string(got.body), "origin") || got.status == http.StatusForbidden && r.Method == http.MethodHead
				want := !tt.may && (unsafe || local && !r.Public)
				if refused != want {
					t.Errorf("without authentication %v, %s: %s %s gives %d %s, refused should be %v", local, tt.name, r.Method, r.Path, got.status, got.body, want)
				}
				if want && len(w.calls) > 0 {
					t.Errorf("%s: %s %s: services were asked: %v", tt.name, r.Method, r.Path, w.calls)
				}
			}
		}
	}
}

// TestSocketsOfOtherOrigins checks the same rule for the upgrade, a GET, with
// and without authentication.
func TestSocketsOfOtherOrigins(t *testing.T) {
	for _, local := range []bool{false, true} {
		w, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) {
			o.CORSOrigins = []string{"https://app.example"}
			if local {
				o.LocalHosts = []string{"127.0.0.1:8080"}
			}
		})
		for _, header := range [][]string{
			{"Origin", "https://evil.example"},
			{"Origin", "null"},
			{"Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-site"},
			{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "cross-site"},
		} {
			upgrade := append([]string{"Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}, header...)
			if got := ask(t, ts, w, api.Row{Method: "GET", Path: "/api/ws"}, "localhost:8080", upgrade...); got.status != http.StatusForbidden {
				t.Errorf("without authentication %v: %v gives %d %s, want 403", local, header, got.status, got.body)
			}
		}
	}
}
