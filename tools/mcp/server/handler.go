// Package server serves the registry's tools to other programs, over the Model Context
// Protocol. It owns the messages and their limits. The registry decides which tools are
// served, and the API who may call them.
package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

// The defaults and limits of a Handler.
const (
	defaultCallTimeout = time.Minute
	defaultBody        = 8 << 20
	// maxExchange bounds every request.
	maxExchange = 15 * time.Minute
	// maxResult bounds a result's text, and its payload's data, in bytes.
	maxResult = 2 << 20
	// maxSteps bounds the progress of a call. Steps beyond it are dropped.
	maxSteps = 1_000
)

// The media types of streamable HTTP.
const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// Options are the settings of a Handler. Tools is required.
type Options struct {
	Tools offered
	// Timeout bounds a call of a tool without its own timeout; 0 is one minute.
	Timeout time.Duration
	// Body is the largest request in bytes; 0 is 8 MiB.
	Body    int64
	Version string
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// offered returns the tools that a user may call outside of a chat.
// tools.Registry implements it.
type offered interface {
	Offered(user schemas.User) []turn.Tool
}

// Handler serves tools over streamable HTTP, without sessions: each request is
// independent. It is safe for concurrent use.
type Handler struct {
	opts      Options
	stream    http.Handler
	whole     http.Handler // for callers that take no stream
	abandoned concurrent.Abandoned
}

type serverKey struct{}

// New returns a Handler. It does not check a request's host and origin:
// the API does that for all routes.
func New(o Options) *Handler {
	o.Timeout, o.Body = cmp.Or(o.Timeout, defaultCallTimeout), cmp.Or(o.Body, defaultBody)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	server := func(r *http.Request) *sdk.Server {
		s, _ := r.Context().Value(serverKey{}).(*sdk.Server)
		return s
	}
	options := sdk.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: o.Body, DisableLocalhostProtection: true, PropagateRequestCancellation: true,
	}
	h := &Handler{opts: o, stream: sdk.NewStreamableHTTPHandler(server, &options)}
	options.JSONResponse = true
	h.whole = sdk.NewStreamableHTTPHandler(server, &options)
	return h
}

// takesStreams reports whether a caller takes an event stream. The protocol wants callers to
// take both forms, but simple programs name only JSON, or nothing.
func takesStreams(h http.Header) bool {
	accept := strings.ToLower(strings.Join(h.Values("Accept"), ","))
	return !strings.Contains(accept, typeJSON) || strings.Contains(accept, typeEvents) || strings.Contains(accept, "text/*") || strings.Contains(accept, "*/*")
}

// For returns the handler for one request of an authenticated user. When the request's
// context ends before there is an answer, the handler writes nothing: the caller knows why.
func (h *Handler) For(user schemas.User) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, refused := readMessage(r, h.opts.Body)
		if refused != nil {
			refused.send(w)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), maxExchange)
		defer cancel()
		server := sdk.NewServer(&sdk.Implementation{Name: "chattray", Version: h.opts.Version}, &sdk.ServerOptions{
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
			SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
		})
		for _, t := range h.opts.Tools.Offered(user) {
			server.AddTool(described(t), h.handler(ctx, user, t))
		}
		answer := &rpcWriter{ResponseWriter: w, id: id}
		to := h.whole
		if takesStreams(r.Header) {
			to = h.stream
		}
		r.Header.Set("Accept", typeJSON+", "+typeEvents) // the library requires both
		to.ServeHTTP(answer, r.WithContext(context.WithValue(ctx, serverKey{}, server)))
		if r.Context().Err() == nil && ctx.Err() != nil {
			answer.cut()
		}
		answer.finish()
	})
}

// described returns a tool in the protocol's form. A missing hint means that
// the tool destroys something and reaches the outside, so that hosts ask before
// each call.
func described(t turn.Tool) *sdk.Tool {
	hints := &sdk.ToolAnnotations{Title: t.Title, ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent, OpenWorldHint: new(t.Untrusted || t.Effects)}
	if !t.ReadOnly {
		hints.DestructiveHint = new(t.Effects)
	}
	return &sdk.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema, Annotations: hints}
}

// handler returns the function that runs a tool for a call. A call also ends
// when its request ends.
func (h *Handler) handler(request context.Context, user schemas.User, t turn.Tool) sdk.ToolHandler {
	return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		timeout := cmp.Or(t.Timeout, h.opts.Timeout)
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		defer context.AfterFunc(request, cancel)()
		input := r.Params.Arguments
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		if err := turn.Readable("its arguments", input); err != nil {
			return failed("the tool was not run: " + err.Error()), nil
		}
		result, err := h.run(ctx, t, &turn.Call{Name: t.Name, Input: input, User: user, Report: steps(ctx, r)})
		if err != nil {
			return failed(h.fault(ctx, t, timeout, err)), nil
		}
		return answer(result), nil
	}
}

// run checks the input and runs the tool. Neither can be interrupted: a call that
// goes on although its context has ended is abandoned after the grace. A tool with
// concurrent.MaxAbandoned such calls is not run until one of them has ended.
func (h *Handler) run(ctx context.Context, t turn.Tool, call *turn.Call) (tools.Result, error) {
	if h.abandoned.Full(t.Name) {
		return tools.Result{IsError: true, Text: turn.Stuck}, nil
	}
	c := h.abandoned.Call(t.Name)
	result, err := concurrent.Race(ctx, concurrent.Options{}, func(ctx context.Context) (tools.Result, error) {
		c.Begins()
		defer c.Ends()
		if t.Check != nil {
			if err := t.Check(call.Input); err != nil {
				return refused("its arguments do not fit its schema: " + err.Error()), nil
			}
		}
		return t.Run(ctx, call)
	})
	if c.Leaves() {
		h.opts.Logger.WarnContext(ctx, "tool ignores its context and is abandoned", "tool", t.Name)
	}
	return result, err
}

func refused(why string) tools.Result {
	return tools.Result{IsError: true, Text: "the tool was not run: " + why}
}

// fault returns the text of an error that a caller may see, and logs the error.
func (h *Handler) fault(ctx context.Context, t turn.Tool, timeout time.Duration, err error) string {
	if p, ok := errors.AsType[*concurrent.PanicError](err); ok {
		h.opts.Logger.ErrorContext(ctx, "tool panicked", "tool", t.Name, "panic", p.Value, "at", p.Place)
		return turn.Panicked
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return "the call was cancelled" + turn.UnknownEffect
	}
	h.opts.Logger.WarnContext(ctx, "tool failed", "tool", t.Name, "error", err)
	if ctx.Err() != nil {
		return t.Late(timeout)
	}
	if seen, ok := errors.AsType[*schemas.Error](err); ok {
		return seen.Message
	}
	return turn.Failed
}

func failed(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// answer returns a result's text, and its payload's data as structured content
// if it is an object: older clients take nothing else.
func answer(result tools.Result) *sdk.CallToolResult {
	out := &sdk.CallToolResult{IsError: result.IsError, Content: []sdk.Content{&sdk.TextContent{Text: text.Bytes(result.Text, maxResult)}}}
	if p := result.Payload; p != nil && len(p.Data) <= maxResult && len(p.Data) > 0 && p.Data[0] == '{' && json.Valid(p.Data) {
		out.StructuredContent = p.Data
	}
	return out
}

// steps returns the function that sends a call's progress, if the caller asked for it.
func steps(ctx context.Context, r *sdk.CallToolRequest) func(turn.Progress) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	var mu sync.Mutex
	last, sent := 0.0, 0
	return func(p turn.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if sent++; sent > maxSteps || ctx.Err() != nil {
			return
		}
		last = max(p.Fraction, math.Nextafter(last, 2)) // the protocol requires that it grows each time
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: token, Message: p.Message, Progress: last, Total: 1,
		}) // a caller that has disconnected gets nothing
	}
}
