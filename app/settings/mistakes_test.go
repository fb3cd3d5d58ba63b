package settings

import (
	"strings"
	"testing"
)

func TestWrongSettingsAreAllReported(t *testing.T) {
	s := sources{
		flags: []string{"--temperature=3", "--max-tokens=0"},
		environ: []string{
			"CHATTRAY_COLOUR=x", "CHATTRAY_PORT=9000", "CHATTRAY_NATS_SERVICE_HOST=x", "CHATTRAY_NATS_UR=x", "CHATTRAY_MAX_BODY=big", "CHATTRAY_KEEPALIVE=soon", "CHATTRAY_DIAGNOSTICS=all users",
			"CHATTRAY_OPENAI_API_KEY=k", "CHATTRAY_OPENAI_API_KEY_FILE=k", "CHATTRAY_FETCH_ALLOW=10.0.0.1", "CHATTRAY_CORS_ORIGINS=example.com",
			"CHATTRAY_REPLICA_LEASE=10ms", "CHATTRAY_MODEL_FILE=x", "CHATTRAY_HISTORY_COMPACT=maybe", "CHATTRAY_PAGES=/no/such/folder", "CHATTRAY_JWT_SECRET_FILE=/no/such/file",
		},
		file: "colour: red\nlimits: {bodys: 1}\nlog_level: [info]\naddr: 8080\nmodels: [{nam: x}]\ndatabase_url: mysql://me:hunter2@h/db\n" +
			"pubmed: {base_url: 'ftp://me:hunter2@h'}\nmax_iterations: 21\nsecrets: [1]\nopenai: {base_url: 'me:hunter2'}",
	}
	_, _, err := s.load(t)
	reportsAll(t, err,
		"unknown environment variable CHATTRAY_COLOUR", "unknown environment variable CHATTRAY_PORT", "unknown environment variable CHATTRAY_NATS_UR", "unknown environment variable CHATTRAY_MODEL_FILE",
		"unknown key colour", "unknown key limits.bodys",
		"temperature: must be a number from 0 to 2 (flag --temperature)", "replica.lease: must be a time such as 15s or 2m, from 500ms to 1m0s", "max_tokens: must be", "max_iterations: must be",
		"limits.body: must be a size", "(environment CHATTRAY_MAX_BODY)", "keepalive: must be a time", "diagnostics: must be one of off, admin, all",
		"openai.api_key: is set together with the file for it", `fetch.allow: "10.0.0.1" is not a CIDR`, `cors_origins: "example.com" is not an origin`,
		"history.compact: must be true or false", "pages: must be a folder that exists", "auth.jwt_secret: open /no/such/file",
		"log_level: must be a single value", "addr: must be host:port", "models: entry 1: nam: is not known",
		"database_url: must be sqlite:PATH", "pubmed.base_url: must be a URL", "secrets: must be a map", "openai.base_url: must be a URL",
	)
}

// An error says all that is accepted, and names what is wrong of a file in its own words.
func TestErrorsSayWhatIsAccepted(t *testing.T) {
	_, _, err := sources{
		environ: []string{"CHATTRAY_SHUTDOWN_DELAY=soon", "CHATTRAY_MAX_REPLY_TEXT=much", "CHATTRAY_BUDGET_USD=-1"},
		file:    "timeouts: 5s\npubmed: [a]\n",
	}.load(t)
	reportsAll(t, err,
		"shutdown_delay: must be a time such as 15s or 2m, from 10ms to 24h0m0s, or 0 (", "limits.reply_text: must be a size such as 65536, 512KiB or 1MiB, from 1KiB to 1GiB, or 0 (",
		"limits.budget_usd: must be a number from 0 to 1000000 (", "timeouts: must be a section with keys (", "pubmed: must be a section with keys (")
	for file, want := range map[string]string{
		"- addr\n":        "line 1: a settings file has keys with values",
		"# mine\n:8080\n": "line 2: a settings file has keys with values",
		"null\n":          "",
		"# nothing\n":     "",
	} {
		_, _, err := sources{file: file}.load(t)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", file, err, want)
		}
	}
}

// An error about the file has its name and the line, and says what to write instead.
func TestErrorsOfTheFile(t *testing.T) {
	for file, want := range map[string]string{
		"limits:\n\tbody: 1MiB\n":              "chattray.yaml: yaml: line 2: found character that cannot start any token; indent with spaces, not tabs",
		"addr: localhost:1\n model: x\n":       "the keys of one mapping have the same indentation",
		"limits:\n  message: 5\n  bdy: 1MiB\n": "unknown key limits.bdy (",
		"limit:\n  body: 1MiB\n":               "unknown key limit.body; the setting is limits.body (",
		"a: 1\njwt_secret: x\n":                "unknown key jwt_secret; the setting is auth.jwt_secret (",
	} {
		_, _, err := sources{file: file}.load(t)
		reportsAll(t, err, want)
	}
	for file, place := range map[string]string{
		"limits:\n  message: 5\n  bdy: 1MiB\n": "chattray.yaml:3)", "bdy: {}\n": "chattray.yaml)",
	} {
		_, _, err := sources{file: file}.load(t)
		reportsAll(t, err, place)
	}
}

// The names of variables are not those of the keys, from which they are guessed.
func TestVariablesNamedLikeTheirKeys(t *testing.T) {
	_, _, err := sources{environ: []string{"CHATTRAY_LIMITS_BODY=1MiB", "CHATTRAY_AUTH_JWT_SECRET=hunter2"}}.load(t)
	reportsAll(t, err, "unknown environment variable CHATTRAY_LIMITS_BODY; the variable of limits.body is CHATTRAY_MAX_BODY",
		"unknown environment variable CHATTRAY_AUTH_JWT_SECRET; the variable of auth.jwt_secret is CHATTRAY_JWT_SECRET")
}

// What the start refuses, the check refuses too.
func TestDatabaseInMemory(t *testing.T) {
	_, _, err := sources{environ: []string{"CHATTRAY_DATABASE_URL=sqlite::memory:"}}.load(t)
	reportsAll(t, err, "database_url: must be the path of a file")
	for _, wrong := range []string{"postgres", "postgres:h/db", "POSTGRES://h/db"} { // the driver knows none of them
		_, _, err := sources{environ: []string{"CHATTRAY_DATABASE_URL=" + wrong}}.load(t)
		reportsAll(t, err, "database_url: must be sqlite:PATH or a URL that begins with postgres://")
	}
}

// A key may be written in a section or with dots. Written twice, either of its values would
// count, which would change from start to start.
func TestKeysGivenTwice(t *testing.T) {
	for file, want := range map[string]string{
		"limits.body: 2MiB\n":                                    "",
		"limits.body: 2MiB\nlimits: {message: 5}\n":              "",
		"limits.body: 2MiB\nlimits: {body: 1MiB}\n":              "line 2: limits.body is given twice",
		"limits: {body: 1MiB}\nlimits.body: 1MiB\n":              "line 2: limits.body is given twice",
		"models: [a]\nmodels.x: 3\n":                             "models is given twice",
		"models.x: 3\n":                                          "unknown key models.x",
		"secrets.a: x\n":                                         "unknown key secrets.a",
		"secrets: {a.b: x}\n":                                    "",
		"secrets: {a.b: x, a: {b: y}}\n":                         "secrets.a.b is given twice",
		"mcp_servers: [{name: a, command: x}]\nmcp_servers.b: 1": "mcp_servers is given twice",
	} {
		for range 20 {
			_, _, err := sources{file: file}.load(t)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%q: got %v, want %q", file, err, want)
				break
			}
		}
	}
}

// A key that cannot be sent in a header is refused at the start, not with each call.
func TestKeysOfModels(t *testing.T) {
	for environ, want := range map[string]string{
		"CHATTRAY_OPENAI_API_KEY=hunter\nb":                           "openai.api_key: has a line break or another control character",
		"CHATTRAY_OPENAI_API_KEY=hunter\x7f":                          "openai.api_key: has a line break or another control character",
		`CHATTRAY_MODELS=[{name: m, api_key: "hunter\nb"}]`:           "entry 1: api_key: has a line break or another control character",
		"CHATTRAY_MODELS=[{name: m, api_key_file: settings_test.go}]": "entry 1: api_key_file: has a line break or another control character",
	} {
		_, _, err := sources{environ: []string{environ}}.load(t)
		reportsAll(t, err, want)
		if strings.Contains(err.Error(), "hunter") {
			t.Errorf("the error shows the key: %v", err)
		}
	}
}

// What the driver or the server would refuse later is refused with the settings, and no error
// shows the password.
func TestPostgresURLs(t *testing.T) {
	dir := t.TempDir()
	for query, want := range map[string]string{
		"h/db":                                         "",
		"h:5432,h2:5433/db?sslmode=verify-full":        "",
		"[::1]:5432/db?connect_timeout=5":              "",
		"/db?host=/var/run/postgresql&sslmode=disable": "",
		"h/db?application_name=a&search_path=b&TimeZone=UTC&enable_seqscan=off&my.own=1&options=-c%20x%3D1": "",
		"h/db?default_query_exec_mode=exec&statement_cache_capacity=0&target_session_attrs=read-write":      "",
		"h/db?sslmode=on":                   "sslmode must be one of disable, allow",
		"h/db?sslmode=":                     "sslmode must be one of disable, allow",
		"h:99999/db":                        "a port of the database must be",
		"h:0/db":                            "a port of the database must be",
		"h:5432,h2:70000/db":                "a port of the database must be",
		"h/db?port=x":                       "has a wrong value",
		"h/db?connect_timeout=soon":         "has a wrong value",
		"h/db?default_query_exec_mode=fast": "has a wrong value",
		"h/db?sslmode=verify-ca&sslrootcert=/no/such":  "has a wrong value: open /no/such: no such file",
		"h/db?sslmode=verify-ca&sslrootcert=" + dir:    "is not a regular file",
		"h/db?sslmode=verify-ca&sslrootcert=/dev/zero": "/dev/zero is not a regular file",
		"h/db?passfile=/dev/zero":                      "/dev/zero is not a regular file",
		"h/db?a;b":                                     "cannot be read",
		"h:port/db":                                    "a port is a number",
		"x@h/db":                                       "@ as %40",
		"h/db#x":                                       "# as %23",
	} {
		_, _, err := sources{environ: []string{"CHATTRAY_DATABASE_URL=postgres://me:hunter2@" + query}}.load(t)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", query, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows the password: %v", query, err)
		}
	}
}

// A password with characters that mean something in a URL is the usual reason why one cannot be read.
func TestPasswordsInPostgresURLs(t *testing.T) {
	for password, ok := range map[string]bool{
		"hunter2%23": true, "hunter2#": false, "1234#hunter2": false, "hunter2/": false, "hunter2%": false, "hunter2@": false, "hunter2?": false, "hunter2%40%2f": true,
	} {
		_, _, err := sources{environ: []string{"CHATTRAY_DATABASE_URL=postgres://me:" + password + "@h/db"}}.load(t)
		if ok && err != nil {
			t.Errorf("%s: %v", password, err)
		}
		if !ok {
			reportsAll(t, err, "database_url: the URL of the database cannot be read", "# as %23")
		}
	}
}

// No pattern matches an origin, so one would let no page call, without a word.
func TestPatternsOfOrigins(t *testing.T) {
	for _, pattern := range []string{"*", "https://*.example.com", "https://app.example.com:*"} {
		_, _, err := sources{environ: []string{"CHATTRAY_CORS_ORIGINS=" + pattern}}.load(t)
		reportsAll(t, err, "cors_origins:", "is a pattern; each origin must be named")
	}
}

func TestFileOfSeveralDocuments(t *testing.T) {
	for file, want := range map[string]string{
		"addr: localhost:1\n---\naddr: localhost:2\n": "line 2: there is a second document",
		"addr: localhost:1\n---\ncolour: red\n":       "line 2: there is a second document",
		"addr: localhost:1\n---\n{\n":                 "yaml: line",
		"# one\n---\naddr: localhost:1\n...\n# end\n": "",
	} {
		_, _, err := sources{file: file}.load(t)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", file, err, want)
		}
	}
}
