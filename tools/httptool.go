package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/schemas/weburl"
	"github.com/chattray/chattray/tools/outbound"
)

// Limits of the answer to a tool that a page declares, in bytes.
const (
	maxHTTPAnswer = 1 << 20
	maxHTTPError  = 500
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
		h.body, err = bodyTemplate(def.Body)
		fail("body", err)
	}
	switch h.method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		fail("method", fmt.Errorf("%q is not one of GET, HEAD, POST, PUT, PATCH, DELETE", def.Method))
	}
	h.pointer, err = parsePointer(def.Payload)
	fail("payload", err)
	if (def.Payload == "") != (def.PayloadType == "") {
		fail("payload", errors.New("payload and its type must be set together"))
	}
	options := []Option{PayloadType(def.PayloadType), Words(def.Title, def.Done), Untrusted(), Addresses(weburl.SentIn)}
	if h.method != http.MethodGet && h.method != http.MethodHead {
		options = append(options, Effects())
	}
	if def.Idempotent {
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
	if len(wrong) > 0 {
		return turn.Tool{}, errors.Join(wrong...)
	}
	if client == nil {
		client = outbound.New(outbound.Config{Base: base})
	}
	h.client = sameOrigin(client)
	h.secrets = secrets(def.Headers)
	return tool, nil
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
	def     turn.HTTPTool
	method  string
	base    *url.URL
	url     *text.Template
	body    *text.Template
	pointer []string
	client  *http.Client
	secrets *strings.Replacer
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

// secrets removes header values, and the credentials in them, from texts.
func secrets(headers map[string]string) *strings.Replacer {
	const shortest = 6 // a shorter value is not a secret and may be a common word
	var pairs []string
	hide := func(s string) {
		if len(s) >= shortest {
			quoted := strings.Trim(jsonText(s), `"`)
			pairs = append(pairs, s, "[redacted]", quoted, "[redacted]")
		}
	}
	for name, v := range headers {
		switch textproto.CanonicalMIMEHeaderKey(name) {
		case "Accept", "Accept-Language", "Content-Type", "User-Agent":
			continue
		}
		hide(v)
		if _, credentials, ok := strings.Cut(v, " "); ok {
			hide(strings.TrimSpace(credentials))
		}
	}
	return strings.NewReplacer(pairs...)
}

func (h *httpTool) run(ctx context.Context, call *Call) (Result, error) {
	req, err := h.request(ctx, call.Input)
	if err != nil {
		return Result{}, err
	}
	call.Progress("requesting", "Calling "+call.Name, 0.2, nil)
	service := "the service at " + h.def.Name
	resp, err := h.client.Do(req)
	if err != nil {
		return Result{}, outbound.Explain(ctx, service, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHTTPAnswer+1))
	if err == nil && len(body) > maxHTTPAnswer {
		err = outbound.ErrTooLarge
	}
	if err != nil {
		return Result{}, outbound.Explain(ctx, service, err)
	}
	answer := strings.ToValidUTF8(h.secrets.Replace(string(body)), "\uFFFD")
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		message := fmt.Sprintf("%s answered with status %d", service, resp.StatusCode)
		if isText(resp) && strings.TrimSpace(answer) != "" {
			message += ": " + text.Ellipsis(oneLine(answer), maxHTTPError)
		}
		return Result{Text: message, IsError: true}, nil
	}
	return h.result(answer, resp)
}

// request renders the templates.
func (h *httpTool) request(ctx context.Context, input json.RawMessage) (*http.Request, error) {
	misfit := func(what string, err error) error {
		return schemas.NewError(schemas.CodeInvalid, "the arguments do not make a valid "+what).Because(err)
	}
	args, err := values(input)
	if err != nil {
		return nil, misfit("request", err)
	}
	rendered, err := render(h.url, args)
	if err != nil {
		return nil, misfit("URL", err)
	}
	u, err := url.Parse(strings.TrimSpace(rendered))
	if err != nil || u.Scheme != h.base.Scheme || u.Host != h.base.Host {
		return nil, misfit("URL", err)
	}
	var body io.Reader = http.NoBody
	if h.body != nil {
		text, err := render(h.body, args)
		if err != nil {
			return nil, misfit("body", err)
		}
		if h.sendsJSON() && !json.Valid([]byte(text)) {
			return nil, misfit("body", errors.New("it is not JSON"))
		}
		body = strings.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, h.method, u.String(), body)
	if err != nil {
		return nil, misfit("URL", err)
	}
	req.Header.Set("Accept", "application/json, text/*;q=0.8")
	if h.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, v := range h.def.Headers {
		req.Header.Set(name, v)
	}
	return req, nil
}

// sendsJSON reports whether the body is JSON, which it is unless the headers say otherwise.
func (h *httpTool) sendsJSON() bool {
	for name, v := range h.def.Headers {
		if textproto.CanonicalMIMEHeaderKey(name) == "Content-Type" {
			return strings.Contains(v, "json")
		}
	}
	return true
}

// result returns the answer for the model, and the part that the pointer names for the page.
func (h *httpTool) result(content string, resp *http.Response) (Result, error) {
	if strings.TrimSpace(content) == "" {
		return Text("The service answered with status " + strconv.Itoa(resp.StatusCode) + " and no content."), nil
	}
	var doc any
	isJSON := json.Valid([]byte(content)) && text.DecodeExact([]byte(content), &doc) == nil
	if !isJSON && !isText(resp) {
		return Result{}, schemas.NewError(schemas.CodeUnsupportedMedia, "the service at "+h.def.Name+" answered with something other than text")
	}
	out := Text(content)
	if !isJSON || h.def.Payload == "" {
		return out, nil
	}
	part, ok := follow(doc, h.pointer)
	if !ok {
		return out, nil
	}
	data, err := text.Encode(part)
	if err != nil {
		return Result{}, err
	}
	out.Payload = &turn.Payload{Type: h.def.PayloadType, Data: data}
	return out, nil
}

// isText reports whether an answer is text; without a content type it may be.
func isText(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err != nil || strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") || strings.HasSuffix(kind, "xml")
}

// parsePointer reads a JSON pointer (RFC 6901); "#" alone is the whole
// document, as in the pointer's form in URLs.
func parsePointer(pointer string) ([]string, error) {
	pointer = strings.TrimPrefix(pointer, "#")
	if pointer == "" {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return nil, errors.New("a JSON pointer begins with /")
	}
	parts := strings.Split(rest, "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts, nil
}

func follow(v any, pointer []string) (any, bool) {
	for _, key := range pointer {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(at) || strconv.Itoa(i) != key {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}
