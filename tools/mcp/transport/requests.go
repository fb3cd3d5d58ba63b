package transport

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Refused is the error of a call that the server answered with an error.
type Refused struct{ Message string }

// Error returns the server's message.
func (r *Refused) Error() string { return r.Message }

// Undecoded is the error of a request that the server answered in a form that the library
// does not take.
type Undecoded struct {
	// Result is the answer, empty if it is not known or an error.
	Result json.RawMessage
	cause  error
}

// Error returns the library's error.
func (u *Undecoded) Error() string { return u.cause.Error() }

// Unwrap returns the library's error.
func (u *Undecoded) Unwrap() error { return u.cause }

// The codes of the library's own errors: they mean a broken connection, not an
// answer of the server.
const (
	firstOwnCode = -32005
	lastOwnCode  = -32003
)

// Call calls a tool and passes the call's progress to report until it returns; a fraction is
// between 0 and 1, 0 if it is not known. If the call fails, the error is or wraps a Refused,
// a BadAnswer, an Undecoded, ErrLongMessage or the cause of ctx; every other one means that
// the connection was lost.
func (l *Link) Call(ctx context.Context, tool string, input json.RawMessage, report func(message string, fraction float64)) (*sdk.CallToolResult, error) {
	inner, call, done := l.begin(ctx, report)
	defer done()
	params := &sdk.CallToolParams{Name: tool, Arguments: input}
	params.SetProgressToken(call.token)
	answer, err := l.session.CallTool(inner, params)
	if err == nil {
		return answer, nil
	}
	answered := call.isAnswered.Load()
	if refusal, ok := errors.AsType[*jsonrpc.Error](err); ok && answered && (refusal.Code < firstOwnCode || refusal.Code > lastOwnCode) {
		return nil, &Refused{refusal.Message}
	}
	var result json.RawMessage
	if inner.Err() != nil {
		err = context.Cause(inner)
	} else if answered {
		result = call.result
	}
	if err = l.why(err); answered {
		err = &Undecoded{result, err}
	}
	return nil, err
}

// Within returns a context for requests that have to be answered within the limit. It counts
// from the end of the calls that are under way now, each of which has a timeout of its own: a
// server may do one thing at a time. A call that ends may be noticed as late as the limit.
func (l *Link) Within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	before := maps.Clone(l.calls)
	var timer *time.Timer
	timer = time.AfterFunc(limit, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(before) == 0 || ctx.Err() != nil {
			cancel(context.DeadlineExceeded)
			return
		}
		maps.DeleteFunc(before, func(token string, c *activeCall) bool { return l.calls[token] != c })
		timer.Reset(limit)
	})
	return ctx, func() { timer.Stop(); cancel(nil) }
}

// List returns a page of the server's list of tools: the first one without a cursor. A server
// that has no tools is only asked whether it is there. One List may run at a time. If it
// fails, the error may be an Undecoded.
func (l *Link) List(ctx context.Context, cursor string) (*sdk.ListToolsResult, error) {
	if has := l.session.InitializeResult().Capabilities; has == nil || has.Tools == nil {
		return &sdk.ListToolsResult{}, l.session.Ping(ctx, nil)
	}
	inner, request, done := l.begin(ctx, nil)
	defer done()
	page, err := l.session.ListTools(inner, &sdk.ListToolsParams{Cursor: cursor})
	switch {
	case err == nil || ctx.Err() != nil:
		return page, err
	case inner.Err() != nil:
		return nil, context.Cause(inner)
	case request.isAnswered.Load():
		return nil, &Undecoded{request.result, err}
	}
	return nil, err
}
