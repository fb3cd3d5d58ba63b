package settings

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// An HS256 secret can be guessed from a token if it is shorter than this (RFC
// 7518, section 3.2), or has fewer different characters, like a repeated word.
const (
	leastSecret     = 32
	leastCharacters = 8
)

// leastPDFMemory is what a process that reads a PDF file needs for the smallest file.
const leastPDFMemory = 16 << 20

func (c Config) weakSecret() bool {
	different := map[byte]bool{}
	for _, b := range []byte(c.Auth.JWTSecret) {
		different[b] = true
	}
	return c.Auth.JWTSecret != "" && (len(c.Auth.JWTSecret) < leastSecret || len(different) < leastCharacters)
}

// Warnings returns the problems with which the service still starts, one
// sentence each.
func (c Config) Warnings() []string {
	var found []string
	if c.weakSecret() {
		found = append(found, "auth.jwt_secret is short or repeats itself; use 32 random bytes or more")
	}
	if (c.Auth.OIDCIssuer != "" || c.Auth.JWKSURL != "") && c.Auth.Audience == "" {
		found = append(found, "auth.audience is not set: every token that the issuer signs for any application is accepted here")
	}
	for _, from := range []struct{ key, url string }{{"auth.oidc_issuer", c.Auth.OIDCIssuer}, {"auth.jwks_url", c.Auth.JWKSURL}} {
		if u, err := url.Parse(from.url); err == nil && u.Scheme == "http" && !loopback(net.JoinHostPort(u.Hostname(), "0")) {
			found = append(found, from.key+" begins with http://: who can change the answers on their way can sign tokens as any user")
		}
	}
	return found
}

// problems checks rules over several settings and returns a sentence for each broken one.
func (c Config) problems() []string {
	var found []string
	if !c.Authenticated() && !loopback(c.Addr) {
		found = append(found, "addr: "+c.Addr+" can be reached from other machines and no authentication is configured; "+
			"set auth.jwt_secret, auth.oidc_issuer or auth.jwks_url, or listen on 127.0.0.1")
	}
	if c.weakSecret() && !loopback(c.Addr) {
		found = append(found, "auth.jwt_secret: is shorter than 32 bytes or repeats itself, so that it can be guessed from a token, and "+c.Addr+
			" can be reached from other machines; use 32 random bytes, for instance from openssl rand -base64 32")
	}
	if c.Auth.JWTSecret != "" && (c.Auth.OIDCIssuer != "" || c.Auth.JWKSURL != "") {
		found = append(found, "auth.jwt_secret: cannot be combined with auth.oidc_issuer or auth.jwks_url")
	}
	if c.Auth.Audience != "" && !c.Authenticated() {
		found = append(found, "auth.audience: has no effect without auth.jwt_secret, auth.oidc_issuer or auth.jwks_url")
	}
	if c.Many() && strings.HasPrefix(c.DatabaseURL, "sqlite:") {
		found = append(found, "replicas: many needs Postgres; a file is served by one process")
	}
	if c.NATS.URL != "" && !c.Many() {
		found = append(found, "nats_url: has no effect without replicas: many")
	}
	if c.NATS.Creds != "" && c.NATS.URL == "" {
		found = append(found, "nats_creds_file: has no effect without nats_url")
	}
	if c.Limits.LargeBody < c.Limits.Body {
		found = append(found, "limits.large_body: is smaller than limits.body")
	}
	if c.Limits.PDFMemory < leastPDFMemory {
		found = append(found, "limits.pdf_memory: must be at least 16MiB, which the process needs for itself")
	}
	if t := c.TextLimits(); t.Run < t.Reply {
		found = append(found, "limits.run_text: is smaller than limits.reply_text")
	} else if t.All < t.Run {
		found = append(found, "limits.all_text: is smaller than limits.run_text")
	}
	return append(found, c.modelProblems()...)
}

// modelProblems checks rules over the models.
func (c Config) modelProblems() []string {
	found := c.orderProblems("fallback", "", c.Fallback)
	priced := false
	for _, m := range c.Models {
		found = append(found, c.orderProblems("models: "+m.Name+": fallback", m.Name, m.Fallback)...)
		if m.ContextWindow > 0 && m.ContextWindow <= c.MaxTokens {
			found = append(found, "models: "+m.Name+": context_window: leaves no room for more than max_tokens")
		}
		priced = priced || m.Price != Price{}
	}
	if c.Limits.BudgetUSD > 0 && !priced {
		found = append(found, "limits.budget_usd: has no effect, because no model has a price")
	}
	return found
}

// orderProblems checks rules over the fallback models.
func (c Config) orderProblems(key, model string, order []string) []string {
	var found []string
	for i, name := range order {
		switch {
		case name == model:
			found = append(found, key+": a model cannot replace itself")
		case slices.Contains(order[:i], name):
			found = append(found, key+": "+name+" is given twice")
		case !slices.ContainsFunc(c.Models, func(m Model) bool { return m.Name == name }):
			found = append(found, key+": "+name+" is not in models")
		}
	}
	return found
}

// loopback reports whether addr can be reached only from this machine. A name
// other than localhost counts as reachable, because its address may change.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
