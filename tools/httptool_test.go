package tools_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/toolstest"
)

// seen is a request as the server got it.
type seen struct {
	Method, URI, Body, Type, Key string
}

// anyArguments is the schema of a tool that takes arguments of any name.
var anyArguments = json.RawMessage(`{"type":"object","additionalProperties":true}`)

func declared(t *testing.T, def turn.HTTPTool, handler http.HandlerFunc) (turn.Tool, *seen) {
	t.Helper()
	var got seen
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = seen{r.Method, r.RequestURI, string(body), r.Header.Get("Content-Type"), r.Header.Get("X-Key")}
		handler(w, r)
	}))
	t.Cleanup(srv.Close)
	def.Name, def.Description, def.URL = "lookup", "Looks up.", srv.URL+def.URL
	if def.InputSchema == nil {
		def.InputSchema = anyArguments
	}
	tool, err := tools.NewHTTP(def, nil) // the guarded client, which may reach the declared host
	if err != nil {
		t.Fatal(err)
	}
	return tool, &got
}

func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

func TestHTTPToolRequest(t *testing.T) {
	for _, tc := range []struct {
		name string
		def  turn.HTTPTool
		args string
		want seen
	}{
		{"path", turn.HTTPTool{URL: "/items/{{.id}}/parts"}, `{"id":"a/b ?#&ü"}`, seen{Method: "GET", URI: "/items/a%2Fb%20%3F%23&%C3%BC/parts"}},
		{"query", turn.HTTPTool{URL: "/find?q={{.q}}&n={{.n}}"}, `{"q":"a&b=c #1","n":3}`, seen{Method: "GET", URI: "/find?q=a%26b%3Dc+%231&n=3"}},
		{"large integer", turn.HTTPTool{URL: "/{{.n}}"}, `{"n":9007199254740993}`, seen{Method: "GET", URI: "/9007199254740993"}},
		{"absent", turn.HTTPTool{URL: "/find?q={{.q}}{{if .n}}&n={{.n}}{{end}}"}, `{}`, seen{Method: "GET", URI: "/find?q="}},
		{"list", turn.HTTPTool{URL: "/find?ids={{.ids}}{{range .ids}}&id={{.}}{{end}}"}, `{"ids":["a",2]}`, seen{Method: "GET", URI: "/find?ids=a%2C2&id=a&id=2"}},
		{
			"body",
			turn.HTTPTool{Method: "post", URL: "/find", Body: `{"q": {{.q}}, "n": {{.n}}, "missing": {{.m}}}`},
			`{"q":"say \"hi\"\n","n":[1,2.5]}`,
			seen{Method: "POST", URI: "/find", Body: `{"q": "say \"hi\"\n", "n": [1,2.5], "missing": null}`, Type: "application/json"},
		},
		{
			"long numbers",
			turn.HTTPTool{Method: "POST", URL: "/find/{{.a}}?b={{.b}}", Body: `[{{.a}}, {{.b}}]`},
			`{"a":18446744073709551615,"b":-12345678901234567890123}`,
			seen{Method: "POST", URI: "/find/18446744073709551615?b=-12345678901234567890123", Body: "[18446744073709551615, -12345678901234567890123]", Type: "application/json"},
		},
		{
			"form",
			turn.HTTPTool{Method: "POST", URL: "/find", Body: "q={{.q}}&n={{.n}}&none={{.none}}", Headers: map[string]string{"content-type": "Application/x-www-form-urlencoded; charset=utf-8"}},
			`{"q":"a&b=\"c\" ü","n":3}`,
			seen{Method: "POST", URI: "/find", Body: "q=a%26b%3D%22c%22+%C3%BC&n=3&none=", Type: "Application/x-www-form-urlencoded; charset=utf-8"},
		},
		{"value that looks like a template", turn.HTTPTool{URL: "/find?q={{.q}}"}, `{"q":"{{.key}}"}`, seen{Method: "GET", URI: "/find?q=%7B%7B.key%7D%7D"}},
		{
			"headers",
			turn.HTTPTool{Method: "PUT", URL: "/", Body: "plain", Headers: map[string]string{"X-Key": "k", "Content-Type": "text/plain"}},
			`{}`,
			seen{Method: "PUT", URI: "/", Body: "plain", Type: "text/plain", Key: "k"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tool, got := declared(t, tc.def, answer(`{}`))
			if _, err := toolstest.Call(t, []turn.Tool{tool}, "lookup", tc.args, tools.Call{}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, *got); d != "" {
				t.Errorf("request (-want +got):\n%s", d)
			}
		})
	}
}

func TestHTTPToolRefusesArguments(t *testing.T) {
	for _, tc := range []struct {
		name string
		def  turn.HTTPTool
		args string
	}{
		{"up", turn.HTTPTool{URL: "/items/{{.id}}"}, `{"id":".."}`},
		{"the folder", turn.HTTPTool{URL: "/items/{{.id}}"}, `{"id":""}`},
		{"up and on", turn.HTTPTool{URL: "/items/{{.id}}"}, `{"id":"../admin"}`},
		{"up backwards", turn.HTTPTool{URL: "/items/{{.id}}"}, `{"id":"x\\..\\admin"}`},
		{"too long", turn.HTTPTool{URL: "/items?q={{.id}}"}, `{"id":"` + strings.Repeat("x", 300<<10) + `"}`},
		{"against the schema", turn.HTTPTool{URL: "/{{.id}}", InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`)}, `{"id":"x"}`},
		{"no JSON in the body", turn.HTTPTool{Method: "POST", URL: "/", Body: `{"q": {{if .q}}{{.q}}{{end}}}`}, `{"q":""}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tool, got := declared(t, tc.def, answer(`{}`))
			_, err := toolstest.Call(t, []turn.Tool{tool}, "lookup", tc.args, tools.Call{})
			if schemas.Visible(err).Code != schemas.CodeInvalid || got.URI != "" {
				t.Errorf("got %v and request %+v, want code invalid and no request", err, *got)
			}
		})
	}
}

// The model reads what would be right, also where the value has the right type.
func TestRefusalsSayWhatIsRight(t *testing.T) {
	for property, want := range map[string]string{
		`{"type":"number","exclusiveMinimum":1}`:                       `"q" must be a number, more than 1; got the number 1`,
		`{"type":"number","exclusiveMaximum":1}`:                       `"q" must be a number, less than 1; got the number 1`,
		`{"type":"integer","multipleOf":5}`:                            `"q" must be an integer, a multiple of 5; got the number 1`,
		`{"const":"all"}`:                                              `"q" must be "all"; got the number 1`,
		`{"type":["string","null"]}`:                                   `"q" must be a string or null; got the number 1`,
		`{"anyOf":[{"type":"integer","minimum":2},{"type":"null"}]}`:   `"q" must be an integer, at least 2 or null; got the number 1`,
		`{"oneOf":[{"enum":["a","b"]},{"type":"object"}]}`:             `"q" must be one of "a", "b" or an object; got the number 1`,
		`{"allOf":[{"type":"string"}],"description":"What is sought"}`: `"q" must be a value (What is sought); got the number 1 (type: 1 has type "integer", want "string")`,
	} {
		schema := `{"type":"object","properties":{"q":` + property + `}}`
		tool, _ := declared(t, turn.HTTPTool{URL: "/", InputSchema: json.RawMessage(schema)}, answer(`{}`))
		_, err := toolstest.Call(t, []turn.Tool{tool}, "lookup", `{"q":1}`, tools.Call{})
		if got := schemas.Visible(err).Message; got != want {
			t.Errorf("%s: got %s, want %s", property, got, want)
		}
	}
}

func TestHTTPToolAnswer(t *testing.T) {
	const items = `{"data":{"items":[{"id":9007199254740993},{"a/b":{"~":"<x>"}}]}}`
	nothing := func(pointer string) string {
		return "\n\n[no card is shown: the answer has nothing at " + pointer + "]"
	}
	for _, tc := range []struct{ name, pointer, body, payload, note string }{
		{"no payload", "", items, "", ""},
		{"text", "", "just text", "", ""},
		{"a part", "/data/items", items, `[{"id":9007199254740993},{"a/b":{"~":"<x>"}}]`, ""},
		{"an element", "/data/items/0", items, `{"id":9007199254740993}`, ""},
		{"escaped keys", "/data/items/1/a~1b/~0", items, `"<x>"`, ""},
		{"all of it", "#", `{"a":1}`, `{"a":1}`, ""},
		{"not there", "/data/things", items, "", nothing("/data/things")},
		{"past the end", "/data/items/2", items, "", nothing("/data/items/2")},
		{"no index", "/data/items/01", items, "", nothing("/data/items/01")},
		{"no JSON", "/data", "just text", "", "\n\n[no card is shown: the answer is not JSON]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			def := turn.HTTPTool{URL: "/", Payload: tc.pointer}
			if tc.pointer != "" {
				def.PayloadType = "things"
			}
			tool, _ := declared(t, def, answer(tc.body))
			got, err := toolstest.Call(t, []turn.Tool{tool}, "lookup", `{}`, tools.Call{})
			if err != nil || got.Text != tc.body+tc.note || got.IsError {
				t.Fatalf("got %+v, %v, want the text %q", got, err, tc.body+tc.note)
			}
			switch {
			case tc.payload == "" && got.Payload != nil:
				t.Errorf("got payload %s, want none", got.Payload.Data)
			case tc.payload != "" && (got.Payload == nil || string(got.Payload.Data) != tc.payload || got.Payload.Type != "things"):
				t.Errorf("got payload %+v, want %s", got.Payload, tc.payload)
			}
		})
	}
}

func TestHTTPToolReadsEncodings(t *testing.T) {
	const bom = "\uFEFF"
	for _, tc := range []struct{ name, kind, body, want string }{
		{"UTF-8", "text/plain; charset=utf-8", "café", "café"},
		{"Latin 1", "text/plain; charset=ISO-8859-1", "caf\xe9", "café"},
		{"UTF-16", "text/csv; charset=utf-16le", "c\x00a\x00f\x00\xe9\x00", "café"},
		{"no encoding", "text/plain", "caf\xe9", "caf\uFFFD"},
		{"an encoding that nobody knows", "text/plain; charset=none", "café", "café"},
		{"YAML", "application/yaml", "café: 1", "café: 1"},
		{"a byte order mark", "text/plain", bom + "café", "café"},
		{"UTF-16 by its byte order mark", "text/csv", "\xff\xfec\x00a\x00f\x00\xe9\x00", "café"},
		{"XML by its declaration", "application/xml", "<?xml version='1.0' encoding='windows-1251'?><a>\xcf\xf0\xe8</a>", "<?xml version='1.0' encoding='windows-1251'?><a>При</a>"},
		{"JSON in UTF-16", "application/json", "\xfe\xff\x00{\x00}", "{}"},
		{"JSON after a byte order mark", "application/json", bom + `{"a":"é"}`, `{"a":"é"}`},
		{"JSON is UTF-8", "application/json; charset=iso-8859-1", `{"a":"é"}`, `{"a":"é"}`},
		{"JSON that is not", "application/json; charset=iso-8859-1", "{\"a\":\"\xe9\"}", `{"a":"é"}`},
	} {
		def := turn.HTTPTool{URL: "/"}
		if strings.Contains(tc.kind, "json") {
			def.Payload, def.PayloadType = "#", "things"
		}
		tool, _ := declared(t, def, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tc.kind)
			_, _ = io.WriteString(w, tc.body)
		})
		got, err := toolstest.Call(t, []turn.Tool{tool}, "lookup", `{}`, tools.Call{})
		if err != nil || got.Text != tc.want {
			t.Errorf("%s: got %q, %v, want %q", tc.name, got.Text, err, tc.want)
		}
		if def.Payload != "" && (got.Payload == nil || string(got.Payload.Data) != tc.want) {
			t.Errorf("%s: got the payload %+v, want %s", tc.name, got.Payload, tc.want)
		}
	}
}

func TestHTTPToolHidesSecrets(t *testing.T) {
	def := turn.HTTPTool{URL: "/", Payload: "#", PayloadType: "things", Headers: map[string]string{"Authorization": `Bearer s3cr3t"token`, "X-Key": "another-secret"}}
	for _, status := range []int{200, 401} {
		tool, _ := declared(t, def, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(r.Header)
		})
		got, err := toolstest.Call(t, []turn.Tool{tool}, "lookup", `{}`, tools.Call{})
		if err != nil || got.IsError != (status != 200) {
			t.Fatalf("got %+v, %v", got, err)
		}
		all, _ := json.Marshal(got)
		if strings.Contains(string(all), "s3cr3t") || strings.Contains(string(all), "another-secret") || !strings.Contains(string(all), "[redacted]") {
			t.Errorf("status %d: got %s, want no secret in it", status, all)
		}
	}
}

// The user and the password in the URL are sent in a header, which a server may repeat.
func TestHTTPToolHidesSecretsOfTheURL(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode([]string{r.Header.Get("Authorization"), name, password})
	}))
	t.Cleanup(srv.Close)
	for user, want := range map[string]string{
		"shop:s3cr3t-9": `["Basic [redacted]","shop","[redacted]"]`,
		"s3cr3t-9":      `["Basic [redacted]","[redacted]",""]`,
	} {
		tool, err := tools.NewHTTP(turn.HTTPTool{
			Name: "lookup", Description: "Looks up.", URL: strings.Replace(srv.URL, "://", "://"+user+"@", 1) + "/", InputSchema: anyArguments,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := toolstest.Call(t, []turn.Tool{tool}, "lookup", `{}`, tools.Call{})
		if err != nil || strings.TrimSpace(got.Text) != want {
			t.Errorf("%s: got %q, %v, want %s", user, got.Text, err, want)
		}
	}
}

// JSON can be written in several ways: PHP escapes slashes, and .NET what has a meaning in HTML.
func TestHTTPToolHidesEscapedSecrets(t *testing.T) {
	def := turn.HTTPTool{URL: "/", Payload: "#", PayloadType: "things", Headers: map[string]string{"Authorization": "Bearer a/b+c=d&e", "X-Key": `k"e\y-7`}}
	for _, body := range []string{
		`["Bearer a\/b+c=d\u0026e"]`, `["a\/b+c=d\u0026e"]`, `["Bearer a/b\u002Bc=d\u0026e"]`, `["k\"e\\y-7"]`, `["k\u0022e\\y-7"]`,
	} {
		tool, _ := declared(t, def, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		})
		got, err := toolstest.Call(t, []turn.Tool{tool}, "lookup", `{}`, tools.Call{})
		if err != nil || got.Payload == nil {
			t.Fatalf("%s: got %+v, %v", body, got, err)
		}
		if got.Text != `["[redacted]"]` || string(got.Payload.Data) != got.Text {
			t.Errorf("%s: got %s and the payload %s, want no secret in them", body, got.Text, got.Payload.Data)
		}
	}
}

// A secret that begins with the value of another header is hidden as a whole.
func TestSecretThatBeginsWithAnotherValue(t *testing.T) {
	headers := map[string]string{"X-Tenant": "acme-prod", "Authorization": "Bearer acme-prod-9f8e7d6c", "X-Team": "acme-prod-9f8"}
	for range 100 { // a map has no order
		if got := tools.Secrets(headers, nil).Replace("no key acme-prod-9f8e7d6c"); got != "no key [redacted]" {
			t.Fatalf("got %q, want no part of the secret in it", got)
		}
	}
}

func TestHTTPToolErrors(t *testing.T) {
	tool, _ := declared(t, turn.HTTPTool{URL: "/"}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "no such item "+strings.Repeat("x", 5000))
	})
	got, err := toolstest.Call(t, []turn.Tool{tool}, "lookup", `{}`, tools.Call{})
	if err != nil || !got.IsError || len(got.Text) > 700 {
		t.Fatalf("got %d bytes, %v, want a short error result", len(got.Text), err)
	}
	toolstest.Contains(t, got.Text, "status 418", "no such item")

	tool, _ = declared(t, turn.HTTPTool{URL: "/"}, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) })
	if _, err := toolstest.Call(t, []turn.Tool{tool}, "lookup", `{}`, tools.Call{}); schemas.Visible(err).Code != schemas.CodeTooLarge {
		t.Errorf("got %v, want code too_large", err)
	}
	tool, _ = declared(t, turn.HTTPTool{URL: "/"}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.WriteString(w, "\x89PNG")
	})
	if _, err := toolstest.Call(t, []turn.Tool{tool}, "lookup", `{}`, tools.Call{}); schemas.Visible(err).Code != schemas.CodeUnsupportedMedia {
		t.Errorf("got %v, want code unsupported_media_type", err)
	}
	tool, _ = declared(t, turn.HTTPTool{URL: "/"}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	if got, err := toolstest.Call(t, []turn.Tool{tool}, "lookup", `{}`, tools.Call{}); err != nil || got.IsError {
		t.Errorf("got %+v, %v, want a result for no content", got, err)
	}
}

func TestHTTPToolStaysOnItsHost(t *testing.T) {
	var elsewhere int
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	tool, _ := declared(t, turn.HTTPTool{URL: "/go?to={{.to}}", Headers: map[string]string{"X-Key": "another-secret"}}, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "home")
	})
	got, err := toolstest.Call(t, []turn.Tool{tool}, "lookup", `{"to":"/here"}`, tools.Call{})
	if err != nil || got.Text != "home" {
		t.Errorf("got %+v, %v, want the redirect on the same host followed", got, err)
	}
	got, err = toolstest.Call(t, []turn.Tool{tool}, "lookup", `{"to":"`+other.URL+`"}`, tools.Call{})
	if err != nil || !got.IsError || elsewhere != 0 {
		t.Errorf("got %+v, %v and %d requests elsewhere, want an error and none", got, err, elsewhere)
	}
}

func TestNewHTTPReportsAllMistakes(t *testing.T) {
	for _, tc := range []struct {
		name string
		def  turn.HTTPTool
		want []string
	}{
		{"empty", turn.HTTPTool{}, []string{"url:", "its name", "no description"}},
		{"host from arguments", turn.HTTPTool{Name: "a", Description: "A.", URL: "https://{{.host}}/x"}, []string{"url:", "must not come from arguments"}},
		{"part of the host", turn.HTTPTool{Name: "a", Description: "A.", URL: "https://example.com{{.x}}"}, []string{"must not come from arguments"}},
		{"port from arguments", turn.HTTPTool{Name: "a", Description: "A.", URL: "https://example.com:{{.port}}/"}, []string{"must not come from arguments"}},
		{"scheme", turn.HTTPTool{Name: "a", Description: "A.", URL: "file:///etc/passwd"}, []string{"http:// or https://"}},
		{"templates", turn.HTTPTool{Name: "a", Description: "A.", URL: "https://example.com/{{.x", Body: "{{nope .x}}"}, []string{"url:", "body:"}},
		{"escaped twice", turn.HTTPTool{Name: "a", Description: "A.", URL: "https://example.com/?q={{.q | urlquery}}"}, []string{"leave out \"urlquery\""}},
		{"templates in templates", turn.HTTPTool{Name: "a", Description: "A.", URL: `https://example.com/{{define "x"}}{{end}}`}, []string{"must not define"}},
		{
			"a keyword of the wrong kind",
			turn.HTTPTool{Name: "a", Description: "A.", URL: "https://example.com/", InputSchema: json.RawMessage(`{"type":"object","required":"q"}`)},
			[]string{`the schema of its arguments: /required must be a list of names, not "q"`},
		},
		{
			"the rest",
			turn.HTTPTool{Name: "a b", Description: "A.", URL: "https://example.com/", Method: "BREW", Payload: "x", InputSchema: json.RawMessage(`[]`)},
			[]string{"its name", "BREW", `"x" is no JSON pointer such as /items, or # for the whole answer`, "must be set together with payload_type", "tool:"},
		},
		{
			"templates and the rest",
			turn.HTTPTool{Name: "a b", Description: "A.", URL: "https://example.com/{{.x}}", Body: `"{{.a}}"`, Headers: map[string]string{"Trailer": "x"}, InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)},
			[]string{"its name", "headers: Trailer", "url: there is no argument .x", `body: with the arguments {"a":"a"} it is not JSON but ""a""`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tools.NewHTTP(tc.def, nil)
			if err == nil {
				t.Fatal("got no error, want one")
			}
			toolstest.Contains(t, err.Error(), tc.want...)
		})
	}
}

// Whatever the values are, the request goes to the declared address: they
// change neither the host, nor the form of the path, nor other parameters, nor
// the form of the body.
func FuzzHTTPToolValues(f *testing.F) {
	for _, s := range []string{"", "a/b", "?x=1", "#", "..", "%2e%2e/", "@evil.example", "\r\nX: y", "{{.}}", "\"}", "\x00", "\xff", "//evil", ";", "&k=v"} {
		f.Add(s)
	}
	var last seen
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		last = seen{Method: r.Method, URI: r.RequestURI, Body: string(body)}
	}))
	defer srv.Close()
	tool, err := tools.NewHTTP(turn.HTTPTool{
		Name: "lookup", Description: "Looks up.", Method: "POST", URL: srv.URL + "/a/{{.v}}/b?q={{.v}}&k=1", Body: `{"v": {{.v}}, "k": 1}`,
		InputSchema: anyArguments,
	}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value string) {
		last = seen{}
		args, _ := json.Marshal(map[string]string{"v": value})
		_, err := tool.Run(t.Context(), &tools.Call{Input: args})
		if err != nil {
			if last.URI != "" {
				t.Errorf("got %v after a request %+v", err, last)
			}
			return
		}
		var given map[string]string
		if err := json.Unmarshal(args, &given); err != nil {
			t.Fatal(err)
		}
		sent := given["v"] // valid UTF-8
		u, err := url.ParseRequestURI(last.URI)
		if err != nil {
			t.Fatal(err)
		}
		segments := strings.Split(u.EscapedPath(), "/")
		if len(segments) != 4 || segments[1] != "a" || segments[3] != "b" {
			t.Errorf("got path %q", u.EscapedPath())
		}
		if q := u.Query(); len(q) != 2 || q.Get("k") != "1" || len(q["q"]) != 1 || q.Get("q") != sent {
			t.Errorf("got query %v for %q", q, sent)
		}
		var body map[string]any
		if err := json.Unmarshal([]byte(last.Body), &body); err != nil || len(body) != 2 || body["k"] != 1.0 {
			t.Errorf("got body %s, %v", last.Body, err)
		}
	})
}
