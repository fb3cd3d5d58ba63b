package settings

import (
	"bytes"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
)

// sources are the settings of a test, by their source.
type sources struct {
	flags   []string
	environ []string
	// file is the text of the settings file; empty for none.
	file string
}

func (s sources) load(t *testing.T) (Config, []Origin, error) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse(s.flags); err != nil {
		t.Fatal(err)
	}
	path := ""
	if s.file != "" {
		path = tempFile(t, "chattray.yaml", s.file)
	}
	return Load(flags, s.environ, path)
}

func tempFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func defaults() Config {
	return Config{
		Addr: "127.0.0.1:8080", DatabaseURL: "sqlite:data/chattray.db", DatabaseConns: 16, Replicas: "one", Replica: Replica{Lease: 3 * time.Second},
		Model: "gpt-4.1-mini", Models: []Model{{Name: "gpt-4.1-mini"}},
		MaxTokens: 4096, MaxIterations: 5, Titles: "first_words", Diagnostics: "admin",
		PubMed:    PubMed{BaseURL: "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"},
		KeepAlive: 15 * time.Second, SessionIdle: 15 * time.Minute, DisconnectGrace: 5 * time.Second, Drain: 30 * time.Second, DemoDelay: 15 * time.Millisecond,
		Retention: Retention{Logs: 30 * 24 * time.Hour},
		Timeouts:  Timeouts{10 * time.Second, time.Minute, time.Minute, time.Minute, 15 * time.Minute, 15 * time.Minute, 2 * time.Minute, 5 * time.Second},
		Limits: Limits{
			Body: 1 << 20, LargeBody: 8 << 20, Message: 100_000, ToolOutput: 16_000,
			RunsPerUser: 8, StreamsPerUser: 32, Prompts: 128 << 20, ReplaysPerUser: 16, Replays: 1024, ReplayCache: 32 << 20, Mirrors: 256 << 20, RequestsPerMinute: 120, OthersPerMinute: 3000, BodiesPerUser: 16 << 20, Bodies: 256 << 20, AnswersPerUser: 128 << 20, Answers: 512 << 20, PDFPages: 200, PDFTime: 10 * time.Second, PDFMemory: 256 << 20, PDFProcesses: 2, StoragePerUser: 1 << 30,
		},
		History:  History{Budget: 24_000, Compact: true},
		LogLevel: slog.LevelInfo, LogFormat: "auto", ApproveAfterUntrusted: "effects",
	}
}

func TestSettings(t *testing.T) {
	key := tempFile(t, "key", "  from-a-file\n")
	tests := []struct {
		name string
		sources
		want func(*Config)
	}{
		{"nothing configured", sources{}, func(*Config) {}},
		{
			"flag before environment before file",
			sources{
				flags:   []string{"--model=flag"},
				environ: []string{"CHATTRAY_MODEL=env", "CHATTRAY_MAX_TOKENS=2"},
				file:    "model: file\nmax_tokens: 1\nmax_iterations: 7\n",
			},
			func(c *Config) {
				c.Model, c.Models, c.MaxTokens, c.MaxIterations = "flag", []Model{{Name: "flag"}}, 2, 7
			},
		},
		{
			"own variable before the common one",
			sources{environ: []string{"OPENAI_API_KEY=common", "CHATTRAY_OPENAI_API_KEY=own", "OPENAI_BASE_URL=http://a/v1"}},
			func(c *Config) { c.OpenAI = OpenAI{"http://a/v1", "own"} },
		},
		{
			"an empty variable is not set",
			sources{environ: []string{"CHATTRAY_MODEL=", "CHATTRAY_OPENAI_API_KEY=", "OPENAI_API_KEY=common"}},
			func(c *Config) { c.OpenAI.APIKey = "common" },
		},
		{
			"secret from a file, by variable",
			sources{environ: []string{"CHATTRAY_JWT_SECRET_FILE=" + key}},
			func(c *Config) { c.Auth.JWTSecret = "from-a-file" },
		},
		{
			"secret from a file, by flag",
			sources{flags: []string{"--auth-jwt-secret-file=" + key}},
			func(c *Config) { c.Auth.JWTSecret = "from-a-file" },
		},
		{
			"secret from a file, by key",
			sources{file: "auth: {jwt_secret_file: " + key + "}"},
			func(c *Config) { c.Auth.JWTSecret = "from-a-file" },
		},
		{
			"lists",
			sources{
				environ: []string{"CHATTRAY_CORS_ORIGINS=HTTPS://A.Example:443, http://b.example:81,http://[::1]:80,https://c.example:80", "CHATTRAY_MODELS=m1,m2"},
				file:    "fetch: {allow: [10.1.2.3/16, '::1/128']}",
			},
			func(c *Config) {
				c.CORSOrigins = []string{"https://a.example", "http://b.example:81", "http://[::1]", "https://c.example:80"}
				c.FetchAllow = []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("::1/128")}
				c.Model, c.Models = "m1", []Model{{Name: "m1"}, {Name: "m2"}}
			},
		},
		{
			"models as objects",
			sources{file: "model: b\nmodels:\n  - a\n  - name: b\n    base_url: http://b/v1\n    api_key_file: " + key +
				"\n    context_window: 8192\n    price: {input: 0.4, output: 1}\n"},
			func(c *Config) {
				c.Model = "b"
				c.Models = []Model{{Name: "a"}, {"b", "http://b/v1", "from-a-file", 8192, Price{0.4, 1}, nil}}
			},
		},
		{
			"fallback models",
			sources{
				environ: []string{"CHATTRAY_FALLBACK=b,a", "CHATTRAY_BUDGET_TOKENS=1000"},
				file:    "models: [{name: a, price: {output: 1}}, {name: b, fallback: []}, {name: c, fallback: b}]\nlimits: {budget_usd: 0.5}",
			},
			func(c *Config) {
				c.Model, c.Fallback = "a", []string{"b", "a"}
				c.Models = []Model{{Name: "a", Price: Price{0, 1}}, {Name: "b"}, {Name: "c", Fallback: []string{"b"}}}
				c.Limits.BudgetUSD, c.Limits.BudgetTokens = 0.5, 1000
			},
		},
		{
			"structures in the environment",
			sources{environ: []string{
				`CHATTRAY_MODELS=[{"name":"a","api_key":"k"}]`, `CHATTRAY_SECRETS={"A.B":"x y","N":7}`,
				`CHATTRAY_FALLBACK=[]`, `CHATTRAY_CORS_ORIGINS=["https://a.example", https://b.example:8443]`,
			}},
			func(c *Config) {
				c.Model, c.Models = "a", []Model{{Name: "a", APIKey: "k"}}
				c.CORSOrigins = []string{"https://a.example", "https://b.example:8443"}
				c.Secrets = map[string]string{"A.B": "x y", "N": "7"}
			},
		},
		{
			"texts that look like numbers and dates",
			sources{
				environ: []string{`CHATTRAY_SECRETS={"A": 0012, "B": 1e40, "C": 2022-06-28, "D": True, "E": 12345678901234567890123}`},
				file: "models: [{name: 1.10, api_key: 0x1F}]\npubmed: {api_key: 1_0}\nauth: {audience: 01234567890123456789, jwt_secret: 0123456789012345678901234567890123}\n" +
					"mcp_servers: [{name: s, url: http://a/, headers: {Version: 2022-06-28, Key: 0o17}, pages: [0123]}]\n",
			},
			func(c *Config) {
				c.Model, c.Models, c.PubMed.APIKey = "1.10", []Model{{Name: "1.10", APIKey: "0x1F"}}, "1_0"
				c.Auth.Audience, c.Auth.JWTSecret = "01234567890123456789", "0123456789012345678901234567890123"
				c.Secrets = map[string]string{"A": "0012", "B": "1e40", "C": "2022-06-28", "D": "True", "E": "12345678901234567890123"}
				c.MCPServers = []MCPServer{{Name: "s", URL: "http://a/", Headers: map[string]string{"Version": "2022-06-28", "Key": "0o17"}, Pages: []string{"0123"}}}
			},
		},
		{
			"numbers as YAML writes them",
			sources{file: "max_tokens: 8_192\ntemperature: .5\nlimits: {budget_tokens: 1_000_000, body: 131_072}\nhistory: {compact: False}\n"},
			func(c *Config) {
				c.MaxTokens, c.Temperature, c.Limits.BudgetTokens, c.Limits.Body, c.History.Compact = 8192, 0.5, 1_000_000, 131_072, false
			},
		},
		{
			"sizes, times and switches",
			sources{environ: []string{
				"CHATTRAY_MAX_BODY=65536", "CHATTRAY_MAX_LARGE_BODY=2MB", "CHATTRAY_KEEPALIVE=1m30s", "CHATTRAY_MAX_RUNS_PER_USER=0",
				"CHATTRAY_MAX_STREAMS_PER_USER=0", "CHATTRAY_REQUESTS_PER_MINUTE=0", "CHATTRAY_HISTORY_COMPACT=false", "CHATTRAY_LOG_LEVEL=warn",
			}},
			func(c *Config) {
				c.Limits.Body, c.Limits.LargeBody, c.KeepAlive = 65536, 2_000_000, 90*time.Second
				c.Limits.RunsPerUser, c.Limits.StreamsPerUser, c.Limits.RequestsPerMinute = 0, 0, 0
				c.History.Compact, c.LogLevel = false, slog.LevelWarn
			},
		},
		{
			"empty sections and values", sources{file: "limits: {}\nhistory:\nmodel:\n"}, func(*Config) {},
		},
		{
			"variables of a Kubernetes service", sources{environ: []string{
				"CHATTRAY_PORT=tcp://10.0.0.1:80", "CHATTRAY_PORT_80_TCP=x", "CHATTRAY_SERVICE_HOST=10.0.0.1",
			}}, func(*Config) {},
		},
		{
			"variables of a service with a longer name", sources{environ: []string{
				"CHATTRAY_NATS_SERVICE_HOST=10.0.0.2", "CHATTRAY_NATS_SERVICE_PORT=4222", "CHATTRAY_NATS_SERVICE_PORT_NATS=4222",
				"CHATTRAY_NATS_PORT=tcp://10.0.0.2:4222", "CHATTRAY_NATS_PORT_4222_TCP=x", "CHATTRAY_NATS_PORT_4222_TCP_ADDR=10.0.0.2",
			}}, func(*Config) {},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := tt.load(t)
			if err != nil {
				t.Fatal(err)
			}
			want := defaults()
			tt.want(&want)
			if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

// reportsAll checks that an error of Load has all of these texts, and no
// password.
func reportsAll(t *testing.T, err error, wants ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("the settings were accepted, want an error")
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows a password:\n%v", err)
	}
}

func TestSettingsThatDoNotGoTogether(t *testing.T) {
	tests := []struct {
		name    string
		environ []string
		want    string // empty when they go together
	}{
		{"all addresses without authentication", []string{"CHATTRAY_ADDR=0.0.0.0:80"}, "no authentication is configured"},
		{"no host without authentication", []string{"CHATTRAY_ADDR=:80"}, "no authentication is configured"},
		{"a name without authentication", []string{"CHATTRAY_ADDR=tray.internal:80"}, "no authentication is configured"},
		{"IPv6 without authentication", []string{"CHATTRAY_ADDR=[::]:80"}, "no authentication is configured"},
		{"all addresses with a secret", []string{"CHATTRAY_ADDR=:80", "CHATTRAY_JWT_SECRET=secret-of-32-bytes-for-this-test"}, ""},
		{"all addresses with a secret that can be guessed", []string{"CHATTRAY_ADDR=:80", "CHATTRAY_JWT_SECRET=secret-of-31-bytes-for-thistest"}, "use 32 random bytes"},
		{"all addresses with a repeated word", []string{"CHATTRAY_ADDR=:80", "CHATTRAY_JWT_SECRET=changemechangemechangemechangeme"}, "use 32 random bytes"},
		{"a name with a secret that can be guessed", []string{"CHATTRAY_ADDR=tray.internal:80", "CHATTRAY_JWT_SECRET=s"}, "use 32 random bytes"},
		{"a loopback address with a secret that can be guessed", []string{"CHATTRAY_JWT_SECRET=s"}, ""},
		{"all addresses with an issuer", []string{"CHATTRAY_ADDR=:80", "CHATTRAY_OIDC_ISSUER=https://id.example"}, ""},
		{"all addresses with keys", []string{"CHATTRAY_ADDR=:80", "CHATTRAY_JWKS_URL=https://id.example/keys"}, ""},
		{"localhost", []string{"CHATTRAY_ADDR=localhost:80"}, ""},
		{"another loopback address", []string{"CHATTRAY_ADDR=127.8.8.8:80"}, ""},
		{"IPv6 loopback", []string{"CHATTRAY_ADDR=[::1]:80"}, ""},
		{"secret and issuer", []string{"CHATTRAY_JWT_SECRET=s", "CHATTRAY_OIDC_ISSUER=https://id.example"}, "cannot be combined"},
		{"audience alone", []string{"CHATTRAY_AUDIENCE=a"}, "has no effect"},
		{"large body smaller than body", []string{"CHATTRAY_MAX_BODY=9MiB"}, "smaller than limits.body"},
		{"a run of less text than a reply", []string{"CHATTRAY_MAX_REPLY_TEXT=2MiB", "CHATTRAY_MAX_RUN_TEXT=1MiB"}, "limits.run_text: is smaller than limits.reply_text"},
		{"a reply of more text than a log", []string{"CHATTRAY_MAX_REPLY_TEXT=65MiB"}, "limits.run_text: is smaller than limits.reply_text"},
		{"all runs of less text than one", []string{"CHATTRAY_MAX_ALL_TEXT=1MiB"}, "limits.all_text: is smaller than limits.run_text"},
		{"little text", []string{"CHATTRAY_MAX_REPLY_TEXT=1KiB", "CHATTRAY_MAX_RUN_TEXT=1KiB", "CHATTRAY_MAX_ALL_TEXT=1KiB"}, ""},
		{"no memory for PDF files", []string{"CHATTRAY_MAX_PDF_MEMORY=15MiB"}, "limits.pdf_memory: must be at least 16MiB"},
		{"little memory for PDF files", []string{"CHATTRAY_MAX_PDF_MEMORY=16MiB"}, ""},
		{"a URL without a host", []string{"CHATTRAY_PUBLIC_URL=http://:80"}, "public_url: must be a URL"},
		{"a public URL with a query", []string{"CHATTRAY_PUBLIC_URL=https://tray.example/?a=b"}, "public_url: must have no query"},
		{"a public URL with a password", []string{"CHATTRAY_PUBLIC_URL=https://me:pw@tray.example"}, "public_url: must have no user"},
		{"a public URL with a fragment", []string{"CHATTRAY_PUBLIC_URL=https://tray.example/#a"}, "public_url: must have no query"},
		{"model not in the list", []string{"CHATTRAY_MODEL=c", "CHATTRAY_MODELS=a,b"}, `"c" is not in models`},
		{"several processes on a file", []string{"CHATTRAY_REPLICAS=many"}, "many needs Postgres"},
		{"several processes on Postgres", []string{"CHATTRAY_REPLICAS=many", "CHATTRAY_DATABASE_URL=postgres://h/db"}, ""},
		{"a lease that is too short", []string{"CHATTRAY_REPLICA_LEASE=400ms"}, "replica.lease: must be a time such as 15s or 2m, from 500ms to 1m0s"},
		{"a lease that is too long", []string{"CHATTRAY_REPLICA_LEASE=61s"}, "replica.lease: must be a time such as 15s or 2m, from 500ms to 1m0s"},
		{"logs that are kept for minutes", []string{"CHATTRAY_RETENTION_LOGS=30m"}, "must be a time such as 30d or 12h"},
		{"chats that are kept for no days", []string{"CHATTRAY_RETENTION_CHATS=0d"}, "must be"},
		{"chats that are kept too long", []string{"CHATTRAY_RETENTION_CHATS=36501d"}, "must be"},
		{"days and hours", []string{"CHATTRAY_RETENTION_LOGS=12h", "CHATTRAY_RETENTION_CHATS=365d"}, ""},
		{"messages between several processes", []string{"CHATTRAY_REPLICAS=many", "CHATTRAY_DATABASE_URL=postgres://h/db", "CHATTRAY_NATS_URL=nats://a:4222, tls://b", "CHATTRAY_NATS_CREDS_FILE=creds"}, ""},
		{"messages of one process", []string{"CHATTRAY_NATS_URL=nats://a:4222"}, "has no effect without replicas: many"},
		{"credentials for nothing", []string{"CHATTRAY_NATS_CREDS_FILE=creds"}, "has no effect without nats_url"},
		{"messages over HTTP", []string{"CHATTRAY_NATS_URL=nats://a:4222,http://b"}, "nats:// or tls://"},
		{"a model twice", []string{"CHATTRAY_MODELS=a,a"}, "a is given twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := sources{environ: tt.environ}.load(t)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	for _, tt := range []struct {
		name    string
		environ []string
		want    string // empty when there are none
	}{
		{"nothing set", nil, ""},
		{"a secret that can be guessed", []string{"CHATTRAY_JWT_SECRET=s"}, "auth.jwt_secret is short or repeats itself"},
		{"a good secret", []string{"CHATTRAY_JWT_SECRET=secret-of-32-bytes-for-this-test"}, ""},
		{"several processes", []string{"CHATTRAY_REPLICAS=many", "CHATTRAY_DATABASE_URL=postgres://h/db"}, ""},
		{"keys for every application", []string{"CHATTRAY_JWKS_URL=https://id.example/keys"}, "auth.audience is not set"},
		{"an issuer for every application", []string{"CHATTRAY_OIDC_ISSUER=https://id.example"}, "auth.audience is not set"},
		{"keys that come in the clear", []string{"CHATTRAY_JWKS_URL=http://id.example/keys", "CHATTRAY_AUDIENCE=tray"}, "auth.jwks_url begins with http://"},
		{"an issuer in the clear", []string{"CHATTRAY_OIDC_ISSUER=http://id.example", "CHATTRAY_AUDIENCE=tray"}, "auth.oidc_issuer begins with http://"},
		{"an issuer on this machine", []string{"CHATTRAY_OIDC_ISSUER=http://localhost:9000/realm", "CHATTRAY_AUDIENCE=tray"}, ""},
		{"keys on this machine", []string{"CHATTRAY_JWKS_URL=http://127.0.0.1/keys", "CHATTRAY_AUDIENCE=tray"}, ""},
		{"an issuer for this one", []string{"CHATTRAY_OIDC_ISSUER=https://id.example", "CHATTRAY_AUDIENCE=tray"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _, err := sources{environ: tt.environ}.load(t)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(c.Warnings(), "\n"); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestConfigDemo(t *testing.T) {
	for _, tt := range []struct {
		environ string
		want    bool
	}{
		{"", true},
		{"CHATTRAY_MODEL=m", true},
		{"OPENAI_API_KEY=k", false},
		{"CHATTRAY_OPENAI_BASE_URL=http://h/v1", false},
		{`CHATTRAY_MODELS=[{"name":"a","base_url":"http://h/v1"}]`, false},
	} {
		c, _, err := sources{environ: []string{tt.environ}}.load(t)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Demo(); got != tt.want {
			t.Errorf("with %q Demo() is %t, want %t", tt.environ, got, tt.want)
		}
	}
}

func TestPrintConfigMasksSecrets(t *testing.T) {
	secret := "hunter2"
	s := sources{
		environ: []string{
			"CHATTRAY_DATABASE_URL=postgres://me:" + secret + "@db/chattray?password=" + secret, "CHATTRAY_OPENAI_API_KEY=" + secret,
			"CHATTRAY_JWT_SECRET=" + secret, "CHATTRAY_PUBMED_API_KEY=" + secret, "CHATTRAY_SEARXNG_URL=http://me:" + secret + "@search",
			"CHATTRAY_OPENAI_BASE_URL=http://" + secret + "@upstream/v1",
		},
		file: "models: [a, {name: b, base_url: 'http://me:" + secret + "@h', api_key: " + secret + "}]\nsecrets: {TOKEN: " + secret + "}\n" +
			"cors_origins: [https://a.example]\n",
	}
	_, origins, err := s.load(t)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Print(&out, origins); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"postgres://me:xxxxx@db/chattray", "environment CHATTRAY_JWT_SECRET", "TOKEN", "chattray.yaml", "https://a.example", "default"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not shown", want)
		}
	}
	if strings.Contains(out.String(), secret) {
		t.Error("the output has a secret, want it masked")
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// TestPrintConfigMasksURLs has URLs in settings that are otherwise shown as they are, and
// which the start may refuse.
func TestPrintConfigMasksURLs(t *testing.T) {
	for environ, want := range map[string]string{
		"CHATTRAY_PUBLIC_URL=https://tray.example/base":                        "https://tray.example/base",
		"CHATTRAY_PUBLIC_URL=https://me:hunter2@tray.example":                  "https://me:xxxxx@tray.example",
		"CHATTRAY_PUBLIC_URL=https://tray.example?token=hunter2":               "https://tray.example?token=xxxxx",
		"OPENAI_BASE_URL=https://h/v1?api-version=2024-02-15-preview":          "https://h/v1?api-version=2024-02-15-preview",
		"OPENAI_BASE_URL=https://h/v1?v=2024&sig=9f86d081884c7d659a2f":         "https://h/v1?sig=xxxxx&v=2024",
		"CHATTRAY_PUBLIC_URL=https://me:hunter2@tray .example":                 mask,
		"CHATTRAY_OIDC_ISSUER=https://me:hunter2@login.example/":               "https://me:xxxxx@login.example/",
		"CHATTRAY_CORS_ORIGINS=https://a.example,https://me:hunter2@b.example": "https://a.example,https://me:xxxxx@b.example",
		"CHATTRAY_CORS_ORIGINS=*":                                              "*",
		"CHATTRAY_PAGES=/srv/pages":                                            "/srv/pages",
		"CHATTRAY_FETCH_ALLOW=fd00::/8":                                        "fd00::/8",
	} {
		_, origins, _ := sources{environ: []string{environ}}.load(t)
		var out bytes.Buffer
		if err := Print(&out, origins); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), " "+want+" ") {
			t.Errorf("%s: %q is not shown:\n%s", environ, want, out.String())
		}
	}
}

// TestMangledSecrets gives settings with a fault in the JSON, a key or a URL: the parts must not be
// taken for names, which everybody may see, nor be printed.
func TestMangledSecrets(t *testing.T) {
	secret := "hunter2"
	for _, environ := range []string{
		`CHATTRAY_MODELS=[{"name":"a","api_key":"hunter2"}`, `CHATTRAY_MODELS={"name":"a","api_key":"hunter2"`, `CHATTRAY_MODELS="name":"a","api_key":"hunter2"}`,
		`CHATTRAY_SECRETS={"a":"hunter2"`, `CHATTRAY_SECRETS=hunter2`,
		`CHATTRAY_MCP_SERVERS=[{"name":"s","url":"http://h","headers":{"Authorization":"hunter2"}}`,
		`CHATTRAY_MODELS=name: a, api_key: hunter2`, `CHATTRAY_MODELS=[{"name":"a","apikey":"hunter2"}]`, `CHATTRAY_MODELS=[{"name":"a","auth":{"bearer":["hunter2"]}}]`,
		`CHATTRAY_MCP_SERVERS=[{"name":"s","url":"http://h","header":{"Authorization":"hunter2"}}]`,
		`CHATTRAY_MCP_SERVERS=[{"name":"s","command":"x","args":"--api-key hunter2"}]`,
		`CHATTRAY_CORS_ORIGINS=https://me:hunter2@h/`, `CHATTRAY_CORS_ORIGINS=https://me:hunter2@*.h`, `CHATTRAY_FETCH_ALLOW=https://me:hunter2@h`,
	} {
		_, origins, err := sources{environ: []string{environ}}.load(t)
		var out bytes.Buffer
		if err := Print(&out, origins); err != nil {
			t.Fatal(err)
		}
		if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(out.String(), secret) {
			t.Errorf("%s: the error is %v, want one without the secret, and settings without it:\n%s", environ, err, out.String())
		}
	}
	// Names may have such characters, if they are read as names.
	c, _, err := sources{environ: []string{"CHATTRAY_OPENAI_API_KEY=k", "CHATTRAY_MODELS=@cf/meta/llama, opus[1m], qwen3:8b"}}.load(t)
	if err != nil || len(c.Models) != 3 {
		t.Errorf("the models are %v (%v), want 3", c.Models, err)
	}
}

func TestSettingsTableIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range table {
		for _, name := range append([]string{s.key, s.flag()}, s.env...) {
			if name != s.key && seen[name] {
				t.Errorf("%s: %s is given twice", s.key, name)
			}
			seen[name] = true
		}
		if s.help == "" || s.bind == nil || !strings.HasPrefix(s.env[0], "CHATTRAY_") {
			t.Errorf("%s: incomplete row", s.key)
		}
	}
}
