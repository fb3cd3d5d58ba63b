package tools

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/schemas/weburl"
	"github.com/chattray/chattray/tools/outbound"
)

// NewHTTP makes a tool from a page file's declaration. Arguments are checked
// against the declared schema; their values are escaped in the URL and written
// as JSON in the body. Scheme, host and port come from the declaration:
// arguments cannot change them, and redirects to other hosts are not followed,
// so headers, which may hold secrets, are sent nowhere else. A nil client means
// a guarded one that may reach the declared host. The error joins everything
// that is wrong with the declaration.
func NewHTTP(def turn.HTTPTool, client *http.Client) (turn.Tool, error) {
	base, err := httpBase(def.URL)
	var wrong []error
	fail := func(part string, err error) {
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", part, err))
		}
	}
	fail("url", err)
	h := &httpTool{def: def, base: base, method: strings.ToUpper(cmp.Or(def.Method, http.MethodGet))}
	h.url, err = urlTemplate(def.URL)
	fail("url", err)
	if def.Body != "" {
		h.body, err = bodyTemplate(def.Body, h.contentType())
		fail("body", err)
	}
	readable := len(wrong) == 0
	switch h.method {
	case http.MethodGet, http.MethodHead:
		h.repeatable = true
	case http.MethodPut, http.MethodDelete:
		h.effects, h.repeatable = true, true
	case http.MethodPost, http.MethodPatch:
		h.effects, h.repeatable = true, def.Idempotent
	default:
		fail("method", fmt.Errorf("%q is not one of GET, HEAD, POST, PUT, PATCH, DELETE", def.Method))
	}
	fail("headers", checkHeaders(def.Headers))
	h.pointer, err = parsePointer(def.Payload)
	fail("payload", err)
	if (def.Payload == "") != (def.PayloadType == "") {
		fail("payload", errors.New("must be set together with payload_type"))
	}
	options := []Option{PayloadType(def.PayloadType), Words(def.Title, def.Done), Untrusted(), Addresses(weburl.SentIn)}
	if h.effects {
		options = append(options, Effects())
	}
	switch {
	case def.Idempotent && !h.effects:
		options = append(options, ReadOnly())
	case def.Idempotent:
		options = append(options, Idempotent())
	}
	if def.Confirm {
		options = append(options, Confirm())
	}
	schema := def.InputSchema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	tool := NewRaw(def.Name, def.Description, schema, h.run, options...)
	fail("tool", fault(tool))
	if readable {
		wrong = append(wrong, h.checkTemplates(schema)...)
	}
	if len(wrong) > 0 {
		return turn.Tool{}, errors.Join(wrong...)
	}
	if client == nil {
		client = declaredClient(base)
	}
	h.client = sameOrigin(client)
	h.secrets = Secrets(def.Headers, base.User)
	return tool, nil
}

// declaredClient returns the guarded client for a declared host. A request ends when the
// call's context does: the caller bounds the call.
func declaredClient(base *url.URL) *http.Client {
	return outbound.New(outbound.Config{Base: base, Timeout: outbound.NoTimeout})
}

// NewHTTPAction makes the handler of an action that a page file declares: a
// tool with the action's name, made as by NewHTTP, whose arguments may have
// only keys of the schema.
func NewHTTPAction(def turn.HTTPTool, client *http.Client) (turn.Tool, error) {
	var err error
	if def.InputSchema, err = closedSchema(def.InputSchema); err != nil {
		return turn.Tool{}, fmt.Errorf("input_schema: %w", err)
	}
	return NewHTTP(def, client)
}

// closedSchema returns a schema that refuses unknown keys wherever it does not
// describe them.
func closedSchema(schema json.RawMessage) (json.RawMessage, error) {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","additionalProperties":false}`), nil
	}
	var s map[string]any
	if err := text.DecodeExact(schema, &s); err != nil || s == nil {
		return nil, errors.New("must be an object")
	}
	if _, ok := s["additionalProperties"]; !ok {
		s["additionalProperties"] = false
	}
	return json.Marshal(s)
}

// httpTool is a declared tool, ready to run.
type httpTool struct {
	def    turn.HTTPTool
	method string
	// effects requests change something; repeatable ones may be sent again when it is
	// unknown what they did.
	effects, repeatable bool
	base                *url.URL
	url                 *text.Template
	body                *text.Template
	pointer             []string
	client              *http.Client
	secrets             *strings.Replacer
}

// httpBase is the fixed beginning of a URL template.
func httpBase(source string) (*url.URL, error) {
	fixed, _, templated := strings.Cut(source, "{{")
	scheme, rest, ok := strings.Cut(fixed, "://")
	if !ok || (scheme != "http" && scheme != "https") {
		return nil, errors.New("it must begin with http:// or https://")
	}
	host := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host = rest[:i]
	} else if templated {
		return nil, errors.New("scheme, host and port must not come from arguments")
	}
	u, err := url.Parse(scheme + "://" + host)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("it has no valid host")
	}
	return u, nil
}

// sameOrigin returns client without following redirects to other origins: the
// redirect itself is the answer.
func sameOrigin(client *http.Client) *http.Client {
	c := *client
	check := c.CheckRedirect
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if r.URL.Scheme != via[0].URL.Scheme || r.URL.Host != via[0].URL.Host {
			return http.ErrUseLastResponse
		}
		if check != nil {
			return check(r, via)
		}
		if len(via) > outbound.MaxRedirects {
			return outbound.ErrRedirects
		}
		return nil
	}
	return &c
}

// manyEscapes escapes a text for JSON as .NET does, that is everything with a meaning in HTML.
var manyEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\u0022`, `&`, `\u0026`, `'`, `\u0027`, `+`, `\u002B`, `<`, `\u003C`, `>`, `\u003E`, "`", `\u0060`)

// Secrets returns what removes header values, the credentials in them, and those of the URL, which are
// sent in a header, from texts, also from JSON with more escapes than needed: PHP escapes slashes.
func Secrets(headers map[string]string, user *url.Userinfo) *strings.Replacer {
	var forms []string
	hide := func(s string) {
		if len(s) >= text.ShortestSecret {
			quoted := strings.Trim(jsonText(s), `"`)
			forms = append(forms, s, quoted, strings.ReplaceAll(quoted, "/", `\/`), manyEscapes.Replace(s))
		}
	}
	for name, v := range headers {
		switch textproto.CanonicalMIMEHeaderKey(name) {
		case "Accept", "Accept-Language", "Content-Type", "Host", "User-Agent":
			continue
		}
		hide(v)
		if _, credentials, ok := strings.Cut(v, " "); ok {
			hide(strings.TrimSpace(credentials))
		}
	}
	if user != nil {
		password, set := user.Password()
		hide(base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password)))
		if !set { // the name is a token
			password = user.Username()
		}
		hide(password)
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) }) // one that begins with another one is removed as a whole
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range forms {
		pairs = append(pairs, form, "[redacted]")
	}
	return strings.NewReplacer(pairs...)
}

// service names the server in sentences, without its address.
func (h *httpTool) service() string { return "the service at " + h.def.Name }

func (h *httpTool) run(ctx context.Context, call *Call) (Result, error) {
	var sent atomic.Bool // from when there is a connection, the server may have the request
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	req, err := h.request(traced, call.Input)
	if err != nil {
		return Result{}, err
	}
	call.Progress("requesting", "Calling "+call.Name, 0.2, nil)
	resp, err := h.client.Do(req)
	if err != nil {
		return Result{}, h.failed(ctx, err, sent.Load())
	}
	defer func() { _ = resp.Body.Close() }()
	return h.answer(ctx, resp)
}
