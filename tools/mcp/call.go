package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/mcp/result"
	"github.com/chattray/chattray/tools/mcp/transport"
)

// maxFault is the longest error text of a server that the model gets, in characters.
const maxFault = 2_000

// secretsOf removes the secrets that a server is given from texts, not other values, such as
// the names of toolsets.
func secretsOf(s *Server) *strings.Replacer {
	given := make(map[string]string)
	maps.Copy(given, s.Headers)
	for _, variable := range s.Env {
		name, value, _ := strings.Cut(variable, "=")
		given[name] = value
	}
	u, err := url.Parse(s.URL)
	if err != nil { // New reports it
		u = new(url.URL)
	}
	for name, values := range u.Query() {
		given["?"+name] = values[0]
	}
	maps.DeleteFunc(given, func(name, _ string) bool { return !text.NamesSecret(name) })
	return tools.Secrets(given, u.User)
}

// call calls a tool. What the model and the page get has no secrets, even if the server repeats
// its environment or the headers of the request.
func (c *client) call(ctx context.Context, d Definition, call *tools.Call) (tools.Result, error) {
	got, err := c.ask(ctx, d, call)
	got.Text = c.secrets.Replace(got.Text)
	if p := got.Payload; p != nil {
		p.Data = json.RawMessage(c.secrets.Replace(string(p.Data)))
	}
	return got, err
}

// ask calls a tool, provided that its definition is the one that was offered.
func (c *client) ask(ctx context.Context, d Definition, call *tools.Call) (tools.Result, error) {
	l, err := c.linkFor(d)
	if err != nil {
		return tools.Result{}, err
	}
	input := call.Input
	if len(bytes.TrimSpace(input)) == 0 {
		input = json.RawMessage("{}")
	}
	answer, err := l.Call(ctx, d.name, input, func(message string, fraction float64) {
		call.Progress("running", c.secrets.Replace(message), fraction, nil)
	})
	if err == nil {
		return result.Of(c.Name, d.name, answer), nil
	}
	if ctx.Err() != nil {
		return tools.Result{}, context.Cause(ctx)
	}
	if refused, ok := errors.AsType[*transport.Refused](err); ok {
		return tools.Result{IsError: true, Text: "the server " + c.Name + " refused the call: " + text.Printable(c.secrets.Replace(refused.Message), maxFault)}, nil
	}
	if undecoded, ok := errors.AsType[*transport.Undecoded](err); ok {
		if got, readable := result.Partly(c.Name, d.name, undecoded.Result); readable {
			return got, nil
		}
	}
	return tools.Result{}, c.failure(err)
}

// failure returns the error that the model reads of a call without a result; the caller logs its
// cause. It has the connection checked if that may be lost, or if the server no longer takes the
// headers.
func (c *client) failure(err error) error {
	code, what := schemas.CodeUpstreamError, ""
	bad, isBad := errors.AsType[*transport.BadAnswer](err)
	_, isUndecoded := errors.AsType[*transport.Undecoded](err)
	switch {
	case isBad:
		what = "gave an answer that cannot be used (" + text.Printable(c.secrets.Replace(bad.Error()), maxFault) + ")"
	case isUndecoded:
		what = "gave an answer that is not a tool's result"
	case errors.Is(err, transport.ErrLongMessage):
		what = "sent a message that is too large"
	default:
		code, what = schemas.CodeUpstreamUnavailable, "disconnected during the call"
	}
	if code == schemas.CodeUpstreamUnavailable || isBad && bad.Status == http.StatusUnauthorized {
		c.ring()
	}
	return schemas.NewError(code, "the server "+c.Name+" "+what+"; whether the call had an effect is unknown").Because(errors.New(c.reason(err)))
}

// linkFor returns the connection for a call of the tool.
func (c *client) linkFor(d Definition) (*transport.Link, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.offered[d.name].hash != d.hash:
		return nil, schemas.NewError(schemas.CodeForbidden, "this tool has changed or no longer exists, and cannot be called now")
	case c.link == nil:
		return nil, schemas.NewError(schemas.CodeUpstreamUnavailable, "the server "+c.Name+" cannot be reached now; reconnecting")
	}
	return c.link, nil
}
