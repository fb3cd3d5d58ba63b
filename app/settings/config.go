package settings

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/chattray/chattray/services/modeltext"
)

// Config has the values of all settings. The table in settings.go defines where
// each field comes from.
type Config struct {
	// Addr is host:port; any address but a loopback one needs authentication.
	Addr string
	// DatabaseURL is sqlite:PATH or postgres://….
	DatabaseURL string
	// DatabaseConns is how many connections to Postgres are used.
	DatabaseConns int
	// Replicas is one, or many for a process that shares its database with others.
	Replicas string
	Replica  Replica
	NATS     NATS
	OpenAI   OpenAI
	// Model is the model of requests that name none; it is one of Models.
	Model string
	// Models is the allow-list. It is never empty.
	Models []Model
	// Fallback is the order of the models that replace one that fails before
	// its first token; see FallbackOf.
	Fallback      []string
	Temperature   float64
	MaxTokens     int
	MaxIterations int
	Auth          Auth
	// PublicURL is the URL of the service for clients; empty means the URL of the request.
	PublicURL string
	// Titles is how new chats get a title: model or first_words.
	Titles string
	// Diagnostics is who may see the trace of a run: off, admin or all.
	Diagnostics string
	// Pages is a folder of page files that add to and override the bundled
	// ones; empty for none.
	Pages  string
	PubMed PubMed
	// SearXNG is the base URL of a SearXNG server; empty offers no web_search.
	SearXNG string
	// FetchAllow are networks that the rules for addresses and ports do not apply to.
	FetchAllow  []netip.Prefix
	CORSOrigins []string
	KeepAlive   time.Duration
	SessionIdle time.Duration
	// DisconnectGrace is how long a run with on_disconnect cancel waits for a
	// reader to come back.
	DisconnectGrace time.Duration
	Timeouts        Timeouts
	Limits          Limits
	History         History
	Retention       Retention
	// Drain is how long runs may continue after a signal to stop.
	Drain time.Duration
	// ShutdownDelay is how long the service takes requests after a signal to stop, while it
	// says that it is not ready.
	ShutdownDelay time.Duration
	// DemoDelay is the pause of the demo model between two words.
	DemoDelay time.Duration
	LogLevel  slog.Level
	// LogFormat is json, text, or auto: text on a terminal, else json.
	LogFormat string
	// ApproveAfterUntrusted is off, effects or all.
	ApproveAfterUntrusted string
	// Secrets are the values that page files name in headers of HTTP tools.
	Secrets map[string]string
	// MCPServers are the MCP servers whose tools are offered. Their names are
	// unique.
	MCPServers []MCPServer
	// ChildEnv is the part of the environment that started processes get.
	ChildEnv []string
}

// OpenAI is the server of every model without a server of its own. An empty
// BaseURL is OpenAI's.
type OpenAI struct{ BaseURL, APIKey string }

// Model is a model that requests may name. Without a BaseURL it uses the server
// in OpenAI, with that server's key unless it has its own; with a BaseURL it
// has only its own key. A ContextWindow of 0 means unknown.
type Model struct {
	Name          string
	BaseURL       string
	APIKey        string
	ContextWindow int
	Price         Price
	// Fallback, when not nil, replaces Config.Fallback; empty means none.
	Fallback []string
}

// Price is in US dollars for a million tokens.
type Price struct{ Input, Output float64 }

// Auth configures how users are authenticated. If all fields are empty, every
// request comes from the local user dev. JWTSecret excludes OIDCIssuer and
// JWKSURL.
type Auth struct {
	JWTSecret  string
	OIDCIssuer string
	JWKSURL    string
	Audience   string
}

// PubMed is NCBI's E-utilities. Without APIKey NCBI allows 3 requests a
// second, with it 10.
type PubMed struct{ BaseURL, APIKey, Email string }

// Timeouts limit waits.
type Timeouts struct {
	ModelConnect    time.Duration
	ModelFirstToken time.Duration
	ModelIdle       time.Duration
	Tool            time.Duration
	Run             time.Duration
	Approval        time.Duration
	StreamWrite     time.Duration
	Database        time.Duration
}

// Replica is what the process is among several. An empty name is the host's.
type Replica struct {
	Name  string
	Lease time.Duration
}

// Retention is how long data is kept; 0 means forever.
type Retention struct {
	// Logs is for the event logs and traces of runs, after their end.
	Logs time.Duration
	// Chats is for chats with all that is in them, after their last run.
	Chats time.Duration
}

// NATS carries messages between the processes. URL has the servers, comma separated, empty
// for none; Creds is a file with credentials, empty for none.
type NATS struct{ URL, Creds string }

// Limits of leases.
const (
	shortestLease = 500 * time.Millisecond
	longestLease  = time.Minute
)

// Many reports whether the process is one of several that serve the database.
func (c Config) Many() bool { return c.Replicas == "many" }

// Limits limit sizes and rates. A per-user limit of 0 means no limit.
type Limits struct {
	// Body is the largest body in bytes; LargeBody the largest of requests with
	// attachments or blocks.
	Body, LargeBody int64
	// BodiesPerUser and Bodies are the bytes of bodies in flight, for one user and for all.
	BodiesPerUser, Bodies int64
	// AnswersPerUser and Answers are the bytes of answers that were not read yet, for one
	// user and for all.
	AnswersPerUser, Answers int64
	// Message and ToolOutput are characters.
	Message, ToolOutput int
	RunsPerUser         int
	StreamsPerUser      int
	// Prompts is the memory for prompts while they are made and sent, in bytes.
	Prompts int64
	// ReplyText, RunText and AllText are the bytes that models may write in one
	// reply, in one run and in all runs at a time; for 0 the limit is derived
	// from MaxTokens.
	ReplyText, RunText, AllText int64
	// ReplaysPerUser and Replays bound how many logs of ended runs are read at
	// a time; 0 means no limit. ReplayCache is in bytes.
	ReplaysPerUser, Replays int
	ReplayCache             int64
	// Mirrors bounds the bytes of other processes' runs that are followed here.
	Mirrors int64
	// RequestsPerMinute counts requests that start runs.
	RequestsPerMinute int
	// OthersPerMinute counts all other requests, and websocket events.
	OthersPerMinute int
	// PDFPages is the most pages of an attached PDF file, 0 for none; PDFTime is how
	// long those of a message may be read, PDFMemory the bytes that reading one may
	// take, and PDFProcesses how many are read at once.
	PDFPages, PDFProcesses int
	PDFTime                time.Duration
	PDFMemory              int64
	// StoragePerUser bounds the bytes of a user's documents and attachments; 0
	// means no limit.
	StoragePerUser int64
	// Connections bounds the open connections of clients; for 0 the limit is
	// derived from the process's descriptors.
	Connections int
	// BudgetUSD and BudgetTokens are a user's budget for a day in UTC; 0 means
	// no limit.
	BudgetUSD    float64
	BudgetTokens int
}

// History configures how much of a chat is in a prompt. Budget is in tokens;
// Compact keeps a running summary of the turns that no longer fit.
type History struct {
	Budget  int
	Compact bool
}

// Demo reports whether no model is configured, so that the demo model answers.
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

// Authenticated reports whether requests need a token.
func (c Config) Authenticated() bool {
	return c.Auth.JWTSecret != "" || c.Auth.OIDCIssuer != "" || c.Auth.JWKSURL != ""
}

// TextLimits returns the limits of the text that models write.
func (c Config) TextLimits() modeltext.Limits {
	return modeltext.Limits{Reply: c.Limits.ReplyText, Run: c.Limits.RunText, All: c.Limits.AllText}.Or(c.MaxTokens, c.MaxIterations)
}

// FallbackOf returns the models that replace one that fails: its own order,
// else those after it in the common order, or the whole common order if the
// model is not in it.
func (c Config) FallbackOf(model string) []string {
	for _, m := range c.Models {
		if m.Name == model && m.Fallback != nil {
			return m.Fallback
		}
	}
	return c.Fallback[slices.Index(c.Fallback, model)+1:]
}
