package tools

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/chattray/chattray/schemas"
)

// formType is the media type of a body whose values are escaped as those of a form.
const formType = "application/x-www-form-urlencoded"

// request makes the request of a call.
func (h *httpTool) request(ctx context.Context, input json.RawMessage) (*http.Request, error) {
	misfit := func(what string, err error) error {
		return schemas.NewError(schemas.CodeInvalid, "the arguments do not make a valid "+what).Because(err)
	}
	args, err := values(input)
	if err != nil {
		return nil, misfit("request", err)
	}
	address, err := h.address(args)
	if err != nil {
		return nil, misfit("URL", err)
	}
	var body io.Reader = http.NoBody
	if h.body != nil {
		content, err := h.content(args)
		if err != nil {
			return nil, misfit("body", err)
		}
		body = strings.NewReader(content)
	}
	req, err := http.NewRequestWithContext(ctx, h.method, address, body)
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
	req.Host = req.Header.Get("Host") // net/http ignores the header; empty means the URL's
	return req, nil
}

// address returns the URL for arguments. It has the declared scheme, host and port.
func (h *httpTool) address(args map[string]any) (string, error) {
	rendered, err := render(h.url, args)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(strings.TrimSpace(rendered))
	if err != nil {
		return "", err
	}
	if u.Scheme != h.base.Scheme || u.Host != h.base.Host {
		return "", errors.New("it leads to another host")
	}
	return u.String(), nil
}

// errNotJSON is the error of a body that must be JSON and is not.
var errNotJSON = errors.New("it is not JSON")

// content returns the body for arguments. If it is not JSON and must be, it is returned
// with errNotJSON.
func (h *httpTool) content(args map[string]any) (string, error) {
	rendered, err := render(h.body, args)
	if err == nil && strings.Contains(h.contentType(), "json") && !json.Valid([]byte(rendered)) {
		err = errNotJSON
	}
	return rendered, err
}

// contentType is the media type of the body: JSON unless the headers say otherwise.
func (h *httpTool) contentType() string {
	for name, v := range h.def.Headers {
		if textproto.CanonicalMIMEHeaderKey(name) == "Content-Type" {
			kind, _, err := mime.ParseMediaType(v)
			if err != nil {
				return v
			}
			return kind
		}
	}
	return "application/json"
}
