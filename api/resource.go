package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// The documents that tell a client of /mcp, or of the API, where to log in (RFC
// 9728). The path of the resource follows the path of the document.
const (
	resourceDocument = "/.well-known/oauth-protected-resource"
	mcpPath          = "/mcp"
)

// resourceMetadata is the document.
type resourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	Name                 string   `json:"resource_name"`
}

// getResource describes the resource whose path follows the document's. There
// is none without an issuer, because only an issuer hands out tokens.
func (s *server) getResource(c echo.Context) error {
	base := s.base(c.Request())
	if s.Issuer == "" || base == "" {
		return errNoRoute
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return respond(c, resourceMetadata{
		Resource: base + strings.TrimPrefix(c.Path(), resourceDocument), AuthorizationServers: []string{s.Issuer},
		BearerMethods: []string{"header"}, Name: "chattray",
	})
}

// challenge is the WWW-Authenticate of an answer 401.
func (s *server) challenge(r *http.Request, sent bool) string {
	var parts []string
	if sent {
		parts = append(parts, `error="invalid_token"`)
	}
	if base := s.base(r); s.Issuer != "" && base != "" {
		document := base + resourceDocument
		if r.URL.Path == mcpPath {
			document += mcpPath
		}
		parts = append(parts, `resource_metadata="`+document+`"`)
	}
	return strings.TrimSuffix("Bearer "+strings.Join(parts, ", "), " ")
}

// base is the URL under which clients know the service: the configured one, else
// the one that the request came to. Responses that contain it are never cached,
// so a client that lies about its host deceives only itself. It is "" if the
// host is not valid in a URL.
func (s *server) base(r *http.Request) string {
	if s.PublicURL != "" {
		return strings.TrimSuffix(s.PublicURL, "/")
	}
	scheme := "http"
	if r.TLS != nil || r.Header.Get(echo.HeaderXForwardedProto) == "https" {
		scheme = "https"
	}
	u, err := url.Parse(scheme + "://" + r.Host)
	if err != nil || u.Host == "" || u.Host != r.Host || u.User != nil || strings.ContainsAny(r.Host, `"\`) {
		return ""
	}
	return u.String()
}
