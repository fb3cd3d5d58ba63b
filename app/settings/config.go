package settings

import (
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/chattray/chattray/services"
)

// Config is what the service is told at its start. The table in settings.go says
// where each field comes from.
type Config struct {
	// Addr is host:port; only loopback addresses go without authentication.
	Addr string
	// DatabaseURL is sqlite:PATH or postgres://….
	DatabaseURL string
	OpenAI      OpenAI
	// Model is the one used when a request names none; it is one of Models.
	Model string
	// Models is the allow-list. It is never empty.
	Models []Model
	// Fallback is the order in which models stand in for one that fails before
	// its first token; see FallbackOf.
	Fallback      []string
	Temperature   float64
	MaxTokens     int
	MaxIterations int
	Auth          Auth
	// PublicURL is the URL under which clients know the service; empty is the one
	// that a request comes to.
	PublicURL string
	// Titles says who names new chats: model or first_words.
	Titles string
	// Diagnostics says who may see the trace of a run: off, admin or all.
	Diagnostics string
	// Pages is a folder of page files that add to and override the bundled
	// ones; empty for none.
	Pages  string
	PubMed PubMed
	// SearXNG is the base URL of a SearXNG; empty offers no web_search.
	SearXNG string
	// FetchAllow are exempt from the public-address and port rules.
	FetchAllow  []netip.Prefix
	CORSOrigins []string
	KeepAlive   time.Duration
	// DisconnectGrace is how long a run that ends with its reader waits for one to
	// come back.
	DisconnectGrace time.Duration
	Timeouts        Timeouts
	Limits          Limits
	History         History
	// Drain is how long running runs may go on after a stop was asked for.
	Drain    time.Duration
	LogLevel slog.Level
	// LogFormat is json, text, or auto: text on a terminal, else json.
	LogFormat string
	// ApproveAfterUntrusted is off, effects or all.
	ApproveAfterUntrusted string
	// Secrets are the values that page files name in headers of HTTP tools.
	Secrets map[string]string
	// MCPServers are those whose tools are offered, each under its own name.
	MCPServers []MCPServer
	// ChildEnv is what processes that are started get of our environment.
	ChildEnv []string
}

// OpenAI is the upstream of every model that has none of its own. An
// empty BaseURL is OpenAI's.
type OpenAI struct{ BaseURL, APIKey string }

// Model is a model that requests may name. Without a BaseURL it is served
// by OpenAI's, with OpenAI's key unless it has its own; with a BaseURL
// it has only its own key. A ContextWindow of 0 is unknown.
type Model struct {
	Name          string
	BaseURL       string
	APIKey        string
	ContextWindow int
	Price         Price
	// Fallback, when not nil, takes the place of Config's; empty is none.
	Fallback []string
}

// Price is in US dollars for a million tokens.
type Price struct{ Input, Output float64 }

// Auth says how users are known. All empty is the local user dev. JWTSecret
// goes without OIDCIssuer and JWKSURL.
type Auth struct {
	JWTSecret  string
	OIDCIssuer string
	JWKSURL    string
	Audience   string
}

// PubMed is NCBI's E-utilities. Without APIKey NCBI allows 3 requests a
// second, with it 10.
type PubMed struct{ BaseURL, APIKey, Email string }

// Timeouts bounds waits.
type Timeouts struct {
	ModelConnect    time.Duration
	ModelFirstToken time.Duration
	ModelIdle       time.Duration
	Tool            time.Duration
	Run             time.Duration
	Approval        time.Duration
	Database        time.Duration
}

// Limits bounds sizes and rates. Of the three per-user limits 0 is no
// limit.
type Limits struct {
	// Body is bytes; LargeBody is the same where attachments or blocks are sent.
	Body, LargeBody int64
	// BodiesPerUser and Bodies are the bytes of bodies in flight, of a user and
	// of all.
	BodiesPerUser, Bodies int64
	// Message and ToolOutput are characters.
	Message, ToolOutput int
	RunsPerUser         int
	StreamsPerUser      int
	// ReplyText, RunText and AllText are bytes that models may write in one
	// reply, in one run and in all at once; 0 follows from MaxTokens.
	ReplyText, RunText, AllText int64
	// ReplaysPerUser and Replays are how many logs of ended runs are read at
	// once, 0 is no limit; ReplayCache is bytes.
	ReplaysPerUser, Replays int
	ReplayCache             int64
	// RequestsPerMinute counts requests that start runs.
	RequestsPerMinute int
	// OthersPerMinute counts all other requests, and websocket events.
	OthersPerMinute int
	// StoragePerUser is the bytes of a user's documents and attachments; 0 is
	// no limit.
	StoragePerUser int64
	// Connections is how many of clients may be open; 0 follows from the
	// descriptors of the process, see connectionLimit.
	Connections int
	// BudgetUSD and BudgetTokens are what a user may use on a day in UTC; 0 is
	// no limit.
	BudgetUSD    float64
	BudgetTokens int
}

// History says how much of a chat goes into a prompt. Budget is tokens;
// Compact keeps a running summary of what no longer fits.
type History struct {
	Budget  int
	Compact bool
}

// Demo says that no model is configured, so that the demo model answers.
func (c Config) Demo() bool {
	if c.OpenAI.BaseURL != "" || c.OpenAI.APIKey != "" {
		return false
	}
	for _, m := range c.Models {
		if m.BaseURL != "" || m.APIKey != "" {
			return false
		}
	}
	return true
}

// Authenticated says that users must bring a token.
func (c Config) Authenticated() bool {
	return c.Auth.JWTSecret != "" || c.Auth.OIDCIssuer != "" || c.Auth.JWKSURL != ""
}

// TextLimits bound what models write.
func (c Config) TextLimits() services.TextLimits {
	return services.TextLimits{Reply: c.Limits.ReplyText, Run: c.Limits.RunText, All: c.Limits.AllText}.Or(c.MaxTokens, c.MaxIterations)
}

// FallbackOf returns the models that stand in for one: its own order, else what
// comes after it in the common one, which is all of it for a model that is not
// in it.
func (c Config) FallbackOf(model string) []string {
	for _, m := range c.Models {
		if m.Name == model && m.Fallback != nil {
			return m.Fallback
		}
	}
	return c.Fallback[slices.Index(c.Fallback, model)+1:]
}

// An HS256 secret can be guessed from a token when it is shorter (RFC 7518,
// section 3.2), or when it has fewer different characters, as a word has that is
// repeated until it is long enough.
const (
	leastSecret     = 32
	leastCharacters = 8
)

func (c Config) weakSecret() bool {
	different := map[byte]bool{}
	for _, b := range []byte(c.Auth.JWTSecret) {
		different[b] = true
	}
	return c.Auth.JWTSecret != "" && (len(c.Auth.JWTSecret) < leastSecret || len(different) < leastCharacters)
}

// Warnings are what the service starts with all the same; each is one sentence.
func (c Config) Warnings() []string {
	var found []string
	if c.weakSecret() {
		found = append(found, "auth.jwt_secret is short or repeats itself; take 32 random bytes or more")
	}
	if (c.Auth.OIDCIssuer != "" || c.Auth.JWKSURL != "") && c.Auth.Audience == "" {
		found = append(found, "auth.audience is not set: every token that the issuer signs for any application is accepted here")
	}
	return found
}

// problems are rules over several settings; each is one sentence.
func (c Config) problems() []string {
	var found []string
	if !c.Authenticated() && !loopback(c.Addr) {
		found = append(found, "addr: "+c.Addr+" can be reached from other machines and no authentication is configured; "+
			"set auth.jwt_secret, auth.oidc_issuer or auth.jwks_url, or listen on 127.0.0.1")
	}
	if c.weakSecret() && !loopback(c.Addr) {
		found = append(found, "auth.jwt_secret: is shorter than 32 bytes or repeats itself, so that it can be guessed from a token, and "+c.Addr+
			" can be reached from other machines; take 32 random bytes, for instance from openssl rand -base64 32")
	}
	if c.Auth.JWTSecret != "" && (c.Auth.OIDCIssuer != "" || c.Auth.JWKSURL != "") {
		found = append(found, "auth.jwt_secret: cannot be combined with auth.oidc_issuer or auth.jwks_url")
	}
	if c.Auth.Audience != "" && !c.Authenticated() {
		found = append(found, "auth.audience: has no effect without auth.jwt_secret, auth.oidc_issuer or auth.jwks_url")
	}
	if c.Limits.LargeBody < c.Limits.Body {
		found = append(found, "limits.large_body: is smaller than limits.body")
	}
	return append(found, c.modelProblems()...)
}

// modelProblems are rules over the models.
func (c Config) modelProblems() []string {
	found := c.orderProblems("fallback", "", c.Fallback)
	priced := false
	for _, m := range c.Models {
		found = append(found, c.orderProblems("models: "+m.Name+": fallback", m.Name, m.Fallback)...)
		if m.ContextWindow > 0 && m.ContextWindow <= c.MaxTokens {
			found = append(found, "models: "+m.Name+": context_window: leaves no room beside max_tokens")
		}
		priced = priced || m.Price != Price{}
	}
	if c.Limits.BudgetUSD > 0 && !priced {
		found = append(found, "limits.budget_usd: has no effect, for no model has a price")
	}
	return found
}

// orderProblems are rules over the models that stand in for one.
func (c Config) orderProblems(key, model string, order []string) []string {
	var found []string
	for i, name := range order {
		switch {
		case name == model:
			found = append(found, key+": a model cannot stand in for itself")
		case slices.Contains(order[:i], name):
			found = append(found, key+": "+name+" is there twice")
		case !slices.ContainsFunc(c.Models, func(m Model) bool { return m.Name == name }):
			found = append(found, key+": "+name+" is not in models")
		}
	}
	return found
}

// loopback says that addr can be reached from this machine alone. A name other
// than localhost counts as reachable: what it resolves to may change.
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
