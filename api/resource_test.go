package api_test

import (
	"net/http"
	"testing"

	"github.com/chattray/chattray/api"
)

func TestWhereClientsLogIn(t *testing.T) {
	const document = "/.well-known/oauth-protected-resource"
	for _, tt := range []struct {
		name, public, path string
		header             []string
		want               string // what resource begins with; "" is the server's own
	}{
		{"by the request", "", "", nil, ""},
		{"by the request, for MCP", "", "/mcp", nil, ""},
		{"behind a proxy with TLS", "", "/mcp", []string{"X-Forwarded-Proto", "https"}, "https"},
		{"by the setting", "https://chat.example/", "/mcp", nil, "https://chat.example"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.Issuer, o.PublicURL = "https://id.example", tt.public })
			base := tt.want
			switch base {
			case "":
				base = ts.URL
			case "https":
				base = "https" + ts.URL[len("http"):]
			}
			got, req := send(t, ts.URL, "GET", document+tt.path, "", append(tt.header, "Authorization", "-")...)
			w.CheckResponse(t, req, got.status, got.header, got.body)
			want := `{"resource":"` + base + tt.path + `","authorization_servers":["https://id.example"],"bearer_methods_supported":["header"],"resource_name":"chattray"}` + "\n"
			if string(got.body) != want || got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("got %s, want %s", got.body, want)
			}
			method, path, body := "GET", "/api/me", ""
			if tt.path != "" {
				method, path, body = "POST", tt.path, toolsList
			}
			for token, start := range map[string]string{"-": "Bearer ", "Bearer x": `Bearer error="invalid_token", `} {
				refused, _ := send(t, ts.URL, method, path, body, append(tt.header, "Authorization", token)...)
				want = start + `resource_metadata="` + base + document + tt.path + `"`
				if refused.status != http.StatusUnauthorized || refused.header.Get("WWW-Authenticate") != want {
					t.Errorf("%d with the challenge %s, want %s", refused.status, refused.header.Get("WWW-Authenticate"), want)
				}
			}
		})
	}
}

func TestNoLoginWithoutAnIssuer(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for _, path := range []string{"", "/mcp"} {
		if got, _ := send(t, ts.URL, "GET", "/.well-known/oauth-protected-resource"+path, ""); got.status != http.StatusNotFound {
			t.Errorf("%q gives %d", path, got.status)
		}
	}
	refused, _ := send(t, ts.URL, "POST", "/mcp", toolsList, "Authorization", "-")
	if got := refused.header.Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("the challenge is %s", got)
	}
}
