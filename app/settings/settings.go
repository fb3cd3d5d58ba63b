// Package settings has the one table of settings, and reads them from flags,
// the environment and a file, checks them, and prints them. The caller passes
// the environment; the package does not read it.
package settings

import "strings"

// setting is a row of the one table of settings.
type setting struct {
	key string
	// env are the variables that set it; the first one that is set takes
	// precedence.
	env  []string
	def  string
	help string
	// kind is which part of a value may be shown.
	kind secrecy
	// bind parses a raw value (a string, or what YAML gave) into the Config.
	bind func(*Config, any) error
}

// secrecy is which part of a setting's value may be shown. All values except
// plain ones may also come from a file of their own.
type secrecy int

const (
	plain  secrecy = iota // shown as it is
	hidden                // never shown
	dsn                   // a URL, shown without its password
	dsns                  // several URLs with commas, shown in the same way
	listed                // structured, shown without the secrets in it
	vault                 // a map of secrets, shown without its values
)

// flag is the name of the setting's flag.
func (s setting) flag() string { return flagName(s.key) }

func flagName(key string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(key) }

// secret reports whether the value has no flag, only one for its file: other
// users can see a command line.
func (s setting) secret() bool { return s.kind == hidden || s.kind == vault }

// table has a row for each setting. docs/settings.md shows it; a test compares the
// two.
var table = []setting{
	{"addr", vars("ADDR"), "127.0.0.1:8080", "host and port to listen on", plain, address(func(c *Config) *string { return &c.Addr })},
	{"database_url", vars("DATABASE_URL"), "sqlite:data/chattray.db", "`sqlite:PATH` or `postgres://…`", dsn, database},
	{"database_conns", vars("DATABASE_CONNS"), "16", "connections to Postgres, and one more for the lease; those of all processes together must fit its `max_connections`", plain, integer(func(c *Config) *int { return &c.DatabaseConns }, 2, 10_000)},
	{"replicas", vars("REPLICAS"), "one", "`one`: this process alone serves the database; `many`: it is one of several, on Postgres (see `docs/operating.md`)", plain, oneOf(func(c *Config) *string { return &c.Replicas }, "one", "many")},
	{"replica.name", vars("REPLICA_NAME"), "", "name of this process in logs; the host name when empty", plain, text(func(c *Config) *string { return &c.Replica.Name })},
	{"replica.lease", vars("REPLICA_LEASE"), "3s", "how long a process that gives no sign of life keeps its runs before the others take them, 500ms to 60s", plain, durationFrom(func(c *Config) *span { return &c.Replica.Lease }, shortestLease, longestLease)},
	{"nats_url", vars("NATS_URL"), "", "with `replicas: many`: NATS servers for messages between the processes, `nats://` or `tls://`, comma separated; without it they read the database", dsns, natsURLs},
	{"nats_creds_file", vars("NATS_CREDS_FILE"), "", "file with the credentials for NATS", plain, text(func(c *Config) *string { return &c.NATS.Creds })},
	{"openai.base_url", vars("OPENAI_BASE_URL", "OPENAI_BASE_URL"), "", "OpenAI-compatible endpoint with its `/v1`, such as `http://127.0.0.1:11434/v1`; OpenAI's when only a key is set, the demo model when neither is", dsn, httpURL(func(c *Config) *string { return &c.OpenAI.BaseURL })},
	{"openai.api_key", vars("OPENAI_API_KEY", "OPENAI_API_KEY"), "", "key of that endpoint", hidden, scalar(func(c *Config) *string { return &c.OpenAI.APIKey }, parseHeaderText)},
	{"model", vars("MODEL"), "gpt-4.1-mini", "model used when a request names none; with `models` set, its first", plain, text(func(c *Config) *string { return &c.Model })},
	{"models", vars("MODELS"), "", "allow-list: names, or objects `{name, base_url, api_key, api_key_file, context_window, price: {input, output}, fallback}`, prices in US dollars for a million tokens; only `model` when empty", listed, models},
	{"fallback", vars("FALLBACK"), "", "names of `models` in the order in which they replace one that fails before its first token; a model's own `fallback` takes precedence", plain, names(func(c *Config) *[]string { return &c.Fallback })},
	{"temperature", vars("TEMPERATURE"), "0", "sampling temperature, 0 to 2", plain, float(func(c *Config) *float64 { return &c.Temperature }, 0, 2)},
	{"max_tokens", vars("MAX_TOKENS"), "4096", "tokens of one reply", plain, integer(func(c *Config) *int { return &c.MaxTokens }, 1, 1_000_000)},
	{"max_iterations", vars("MAX_ITERATIONS"), "5", "model calls of one run that may ask for tools, 1 to 20; after them one without tools makes the answer", plain, integer(func(c *Config) *int { return &c.MaxIterations }, 1, 20)},
	{"auth.jwt_secret", vars("JWT_SECRET"), "", "secret of HS256 tokens", hidden, text(func(c *Config) *string { return &c.Auth.JWTSecret })},
	{"auth.oidc_issuer", vars("OIDC_ISSUER"), "", "OpenID Connect issuer of the tokens", plain, httpURL(func(c *Config) *string { return &c.Auth.OIDCIssuer })},
	{"auth.jwks_url", vars("JWKS_URL"), "", "URL of the tokens' keys, if there is no discovery", dsn, httpURL(func(c *Config) *string { return &c.Auth.JWKSURL })},
	{"auth.audience", vars("AUDIENCE"), "", "audience that tokens must have", plain, text(func(c *Config) *string { return &c.Auth.Audience })},
	{"public_url", vars("PUBLIC_URL"), "", "URL of the service for clients, given to those that log in over OAuth; the host of the request when empty", plain, scalar(func(c *Config) *string { return &c.PublicURL }, publicURL)},
	{"titles", vars("TITLES"), "first_words", "what names a new chat: `first_words` of its question, or the `model` after its first answer (at most 400 tokens of a reply, which count towards no budget)", plain, oneOf(func(c *Config) *string { return &c.Titles }, "model", "first_words")},
	{"diagnostics", vars("DIAGNOSTICS"), "admin", "who may see prompts and traces: `off` (nobody), `admin` or `all`", plain, oneOf(func(c *Config) *string { return &c.Diagnostics }, "off", "admin", "all")},
	{"pages", vars("PAGES"), "", "folder of page files, in addition to the bundled ones", plain, folder(func(c *Config) *string { return &c.Pages })},
	{"pubmed.base_url", vars("PUBMED_BASE_URL"), "https://eutils.ncbi.nlm.nih.gov/entrez/eutils", "NCBI E-utilities", dsn, httpURL(func(c *Config) *string { return &c.PubMed.BaseURL })},
	{"pubmed.api_key", vars("PUBMED_API_KEY"), "", "key for 10 instead of 3 requests a second", hidden, text(func(c *Config) *string { return &c.PubMed.APIKey })},
	{"pubmed.email", vars("PUBMED_EMAIL"), "", "contact that NCBI asks for", plain, text(func(c *Config) *string { return &c.PubMed.Email })},
	{"searxng_url", vars("SEARXNG_URL"), "", "SearXNG with JSON answers; without it `web_search` is not offered", dsn, httpURL(func(c *Config) *string { return &c.SearXNG })},
	{"fetch.allow", vars("FETCH_ALLOW"), "", "CIDRs exempt from the public-address and port rules", plain, prefixes(func(c *Config) *prefixList { return &c.FetchAllow })},
	{"cors_origins", vars("CORS_ORIGINS"), "", "origins whose pages may call the API, each by its name, no patterns; case and a default port do not matter", plain, origins(func(c *Config) *[]string { return &c.CORSOrigins })},
	{"keepalive", vars("KEEPALIVE"), "15s", "silence on a stream before a comment is sent; the React package takes a stream that is silent for 45 s for lost", plain, duration(func(c *Config) *span { return &c.KeepAlive })},
	{"on_disconnect_grace", vars("ON_DISCONNECT_GRACE"), "5s", "how long a run with `on_disconnect: cancel` waits for a reader to come back", plain, duration(func(c *Config) *span { return &c.DisconnectGrace })},
	{"session.idle", vars("SESSION_IDLE"), "15m", "time without events after which a websocket is closed; a websocket that watches 32 chats drops one that has been idle for as long when it watches a new one", plain, duration(func(c *Config) *span { return &c.SessionIdle })},
	{"timeouts.model_connect", vars("MODEL_CONNECT_TIMEOUT"), "10s", "connecting to the model", plain, duration(func(c *Config) *span { return &c.Timeouts.ModelConnect })},
	{"timeouts.model_first_token", vars("MODEL_FIRST_TOKEN_TIMEOUT"), "60s", "until the model's first token", plain, duration(func(c *Config) *span { return &c.Timeouts.ModelFirstToken })},
	{"timeouts.model_idle", vars("MODEL_IDLE_TIMEOUT"), "60s", "silence of the model within a reply", plain, duration(func(c *Config) *span { return &c.Timeouts.ModelIdle })},
	{"timeouts.tool", vars("TOOL_TIMEOUT"), "60s", "one tool call, and one action over HTTP", plain, duration(func(c *Config) *span { return &c.Timeouts.Tool })},
	{"timeouts.run", vars("RUN_TIMEOUT"), "15m", "one run, not counting the time it waits for the user", plain, duration(func(c *Config) *span { return &c.Timeouts.Run })},
	{"timeouts.approval", vars("APPROVAL_TIMEOUT"), "15m", "a call that waits for the user's approval, or for a tool of the page", plain, duration(func(c *Config) *span { return &c.Timeouts.Approval })},
	{"timeouts.stream_write", vars("STREAM_WRITE_TIMEOUT"), "2m", "a stream or a websocket whose client's system takes nothing, because the client reads slowly or not at all; it continues with `Last-Event-ID` or `resume`", plain, duration(func(c *Config) *span { return &c.Timeouts.StreamWrite })},
	{"timeouts.database", vars("DATABASE_TIMEOUT"), "5s", "a read of the database, including the wait for a connection; a change may take twice as long", plain, duration(func(c *Config) *span { return &c.Timeouts.Database })},
	{"limits.body", vars("MAX_BODY"), "1MiB", "request body", plain, size(func(c *Config) *int64 { return &c.Limits.Body })},
	{"limits.large_body", vars("MAX_LARGE_BODY"), "8MiB", "request body with attachments or blocks, and websocket frame", plain, size(func(c *Config) *int64 { return &c.Limits.LargeBody })},
	{"limits.bodies_per_user", vars("MAX_BODIES_PER_USER"), "16MiB", "bytes of a user's request bodies and websocket frames in memory at the same time; one of `limits.large_body` always fits", plain, size(func(c *Config) *int64 { return &c.Limits.BodiesPerUser })},
	{"limits.bodies", vars("MAX_BODIES"), "256MiB", "the same for all users together", plain, size(func(c *Config) *int64 { return &c.Limits.Bodies })},
	{"limits.answers_per_user", vars("MAX_ANSWERS_PER_USER"), "128MiB", "bytes of a user's answers that their clients have not read yet; above it the user's further requests are refused until they are read. Streams and answers of at most 64 KiB do not count, and one answer of any size always fits", plain, size(func(c *Config) *int64 { return &c.Limits.AnswersPerUser })},
	{"limits.answers", vars("MAX_ANSWERS"), "512MiB", "the same for all users together; above it only requests for documents, blocks, messages and payloads are refused", plain, size(func(c *Config) *int64 { return &c.Limits.Answers })},
	{"limits.prompts", vars("MAX_PROMPTS"), "128MiB", "memory for prompts while they are made and sent to a model, in which images take twice the length of their base64: an equal part for those that are made, and for each model server. Further ones wait for their turn, in the order in which they came. Prompts below 256 KiB do not count, and one of any size always fits", plain, size(func(c *Config) *int64 { return &c.Limits.Prompts })},
	{"limits.message", vars("MAX_MESSAGE"), "100000", "characters of a message", plain, integer(func(c *Config) *int { return &c.Limits.Message }, 1, 10_000_000)},
	{"limits.tool_output", vars("MAX_TOOL_OUTPUT"), "16000", "characters of a tool's output that the model gets", plain, integer(func(c *Config) *int { return &c.Limits.ToolOutput }, 200, 10_000_000)},
	{"limits.runs_per_user", vars("MAX_RUNS_PER_USER"), "8", "runs of a user that have not ended, also those that are queued or wait for the user; 0 means no limit", plain, integer(func(c *Config) *int { return &c.Limits.RunsPerUser }, 0, 1_000_000)},
	{"limits.streams_per_user", vars("MAX_STREAMS_PER_USER"), "32", "open streams of a user, and requests that wait for an answer (`POST /api/chat`); 0 means no limit", plain, integer(func(c *Config) *int { return &c.Limits.StreamsPerUser }, 0, 1_000_000)},
	{"limits.reply_text", vars("MAX_REPLY_TEXT"), "0", "bytes that a model may write in one reply; 0 means 64 bytes for each token of `max_tokens`, at least 8 MiB", plain, sizeOrZero(func(c *Config) *int64 { return &c.Limits.ReplyText })},
	{"limits.run_text", vars("MAX_RUN_TEXT"), "0", "the same for one run; 0 means 64 bytes for each token of `max_iterations` + 1 replies, from 16 to 64 MiB", plain, sizeOrZero(func(c *Config) *int64 { return &c.Limits.RunText })},
	{"limits.all_text", vars("MAX_ALL_TEXT"), "0", "the same for all runs together; 0 means the limit of a run times 8, at least 256 MiB", plain, sizeOrZero(func(c *Config) *int64 { return &c.Limits.AllText })},
	{"limits.replays_per_user", vars("MAX_REPLAYS_PER_USER"), "16", "ended answers that a user reads at once; 0 means no limit", plain, integer(func(c *Config) *int { return &c.Limits.ReplaysPerUser }, 0, 1_000_000)},
	{"limits.replays", vars("MAX_REPLAYS"), "1024", "the same for all users together; 0 means no limit", plain, integer(func(c *Config) *int { return &c.Limits.Replays }, 0, 1_000_000)},
	{"limits.replay_cache", vars("MAX_REPLAY_CACHE"), "32MiB", "memory for the logs of ended answers while they are read, and for a minute after", plain, size(func(c *Config) *int64 { return &c.Limits.ReplayCache })},
	{"limits.mirrors", vars("MAX_MIRRORS"), "256MiB", "with several processes: memory for answers of other processes while they are read at this one", plain, size(func(c *Config) *int64 { return &c.Limits.Mirrors })},
	{"limits.requests_per_minute", vars("REQUESTS_PER_MINUTE"), "120", "requests that start runs, per user; 0 means no limit", plain, integer(func(c *Config) *int { return &c.Limits.RequestsPerMinute }, 0, 1_000_000)},
	{"limits.other_requests_per_minute", vars("OTHER_REQUESTS_PER_MINUTE"), "3000", "all other requests, and websocket events, per user; 0 means no limit", plain, integer(func(c *Config) *int { return &c.Limits.OthersPerMinute }, 0, 1_000_000)},
	{"limits.pdf_pages", vars("MAX_PDF_PAGES"), "200", "pages of an attached PDF file; 0 means that PDF files are refused", plain, integer(func(c *Config) *int { return &c.Limits.PDFPages }, 0, 10_000)},
	{"limits.pdf_time", vars("MAX_PDF_TIME"), "10s", "reading the PDF files of a message, including the wait for their turn", plain, duration(func(c *Config) *span { return &c.Limits.PDFTime })},
	{"limits.pdf_memory", vars("MAX_PDF_MEMORY"), "256MiB", "memory of a process that reads a PDF file, at least 16MiB", plain, size(func(c *Config) *int64 { return &c.Limits.PDFMemory })},
	{"limits.pdf_processes", vars("MAX_PDF_PROCESSES"), "2", "PDF files that are read at once, of each user one", plain, integer(func(c *Config) *int { return &c.Limits.PDFProcesses }, 1, 1_000)},
	{"limits.storage_per_user", vars("MAX_STORAGE_PER_USER"), "1GiB", "bytes of a user's documents and attachments as they are stored: of a PDF file its text, of an image its base64, a third more than the file; each of them and each block counts 1 KiB more; 0 means no limit", plain, storage(func(c *Config) *int64 { return &c.Limits.StoragePerUser })},
	{"limits.connections", vars("MAX_CONNECTIONS"), "0", "open connections of clients; 0 means about half of the files and connections that the process may open (`ulimit -n`), because each answer has a connection to the model as well", plain, integer(func(c *Config) *int { return &c.Limits.Connections }, 0, 1_000_000)},
	{"limits.budget_usd", vars("BUDGET_USD"), "0", "US dollars that a user may spend on models on one day (UTC); 0 means no limit", plain, float(func(c *Config) *float64 { return &c.Limits.BudgetUSD }, 0, 1_000_000)},
	{"limits.budget_tokens", vars("BUDGET_TOKENS"), "0", "tokens of prompts and replies that a user may use on one day (UTC); 0 means no limit", plain, integer(func(c *Config) *int { return &c.Limits.BudgetTokens }, 0, 1_000_000_000_000)},
	{"history.budget", vars("HISTORY_BUDGET"), "24000", "tokens of earlier messages in a prompt", plain, integer(func(c *Config) *int { return &c.History.Budget }, 256, 10_000_000)},
	{"history.compact", vars("HISTORY_COMPACT"), "true", "keep a running summary of the messages that no longer fit", plain, boolean(func(c *Config) *bool { return &c.History.Compact })},
	{"retention.logs", vars("RETENTION_LOGS"), "30d", "how long event logs and traces of ended runs are kept, such as `30d` or `12h`; answers stay, and an old answer is resumed as one text; 0 means forever", plain, kept(func(c *Config) *span { return &c.Retention.Logs })},
	{"retention.chats", vars("RETENTION_CHATS"), "0", "how long a chat is kept after its last run, with all its messages; 0 means forever", plain, kept(func(c *Config) *span { return &c.Retention.Chats })},
	{"drain", vars("DRAIN"), "30s", "time that running runs have to finish after SIGTERM", plain, duration(func(c *Config) *span { return &c.Drain })},
	{"shutdown_delay", vars("SHUTDOWN_DELAY"), "0s", "after SIGTERM, how long `/readyz` fails before any request is refused, so that balancers notice", plain, durationOrZero(func(c *Config) *span { return &c.ShutdownDelay })},
	{"demo_delay", vars("DEMO_DELAY"), "15ms", "pause of the demo model between two words; with 0, tests of a page do not wait for it", plain, durationOrZero(func(c *Config) *span { return &c.DemoDelay })},
	{"log_level", vars("LOG_LEVEL"), "info", "`debug`, `info`, `warn` or `error`", plain, logLevel},
	{"log_format", vars("LOG_FORMAT"), "auto", "`json`, `text`, or `auto`: text on a terminal, else json", plain, oneOf(func(c *Config) *string { return &c.LogFormat }, "auto", "json", "text")},
	{"approve_after_untrusted", vars("APPROVE_AFTER_UNTRUSTED"), "effects", "calls that wait for the user's approval once the model has read text from outside: `off`, `effects` (tools with effects, and URLs that the model composed itself), or `all`", plain, oneOf(func(c *Config) *string { return &c.ApproveAfterUntrusted }, "off", "effects", "all")},
	{"secrets", vars("SECRETS"), "", "values for headers of page files' HTTP tools and of MCP servers: a map of names, in the environment as JSON", vault, secrets},
	{"mcp_servers", vars("MCP_SERVERS"), "", "MCP servers: a list of objects `{name, command, args, env, url, headers, pages, global, confirm, trust_hints, timeout, disabled}`", listed, mcpServers},
}

// vars returns the service's own variable and others with lower precedence.
func vars(name string, others ...string) []string {
	return append([]string{"CHATTRAY_" + name}, others...)
}
