// Package openai is the adapter for servers that speak OpenAI's chat
// completions protocol. It is built on go-openai, made safe by a round tripper
// that cleans the byte stream, by timers around it, and by the rule that a
// reply is finished only when a known finish_reason was seen.
//
// Nothing of an upstream's headers or bodies reaches the visible part of an
// error; it is in the cause, for the log, without the key.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/openai/thoughts"
	"github.com/chattray/chattray/schemas/concurrent"
)

// Config configures a Model. Zero fields are their defaults.
type Config struct {
	// BaseURL is used as given, up to /chat/completions: as in
	// https://host/v1, with a query if the server needs one. Required. A host
	// of Azure gets the key as api-key.
	BaseURL string
	APIKey  string
	// Transport carries the requests; NewTransport(nil) when nil.
	Transport http.RoundTripper
	// Connect bounds getting a connection, FirstToken the time until the
	// reply's first token, Idle each silence after it.
	Connect, FirstToken, Idle time.Duration
	// Attempts is how often a call is tried before its first token.
	Attempts int
	// Before is called before each attempt; its error ends the call, and the time that it
	// takes counts towards none of the limits. It is called again when there is a
	// connection, directly before the request is sent; its error then ends the attempt.
	// Nil does nothing.
	Before func(ctx context.Context) error
	// Memory is called before each attempt, and waits until so many bytes of the request may be
	// in memory, which they are until release is called: when the request has been sent, or is
	// not read by its server. Release is called again later. The time that Memory takes counts
	// towards none of the limits. Nil means that they may be at once.
	Memory func(ctx context.Context, bytes int) (release func(), err error)
	// Limits bound what an upstream may send.
	Limits Limits
	// Logger records retries. Nil drops them.
	Logger *slog.Logger
	hide   *strings.Replacer // of keys in errors
}

// Limits bound a reply. Zero fields are their defaults.
type Limits struct {
	// Line is the longest line, Reply the longest reply (text, reasoning and
	// arguments), Arguments the longest arguments of one call, in bytes.
	Line, Reply, Arguments int
	// Calls is the most tool calls of one reply.
	Calls int
}

// The defaults.
const (
	defaultConnect    = 10 * time.Second
	defaultFirstToken = 2 * time.Minute
	defaultIdle       = time.Minute
	DefaultAttempts   = 3
	defaultLine       = 8 << 20
	defaultReply      = 8 << 20
	defaultArguments  = 8 << 20 // a block of a document is an argument
	defaultCalls      = 128
)

// azure are the ends of the hosts of Azure's clouds: the public one, that of the US
// government and that of China.
var azure = []string{".azure.com", ".azure.us", ".azure.cn"}

// Model calls the models of one server. It is safe for concurrent use.
type Model struct {
	cfg    Config
	client *goopenai.Client
	quirks sync.Map // model name → quirks
}

var _ agents.Model = (*Model)(nil)

// New returns a Model, or an error if the base URL is invalid. It does not
// connect.
func New(cfg Config) (*Model, error) {
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, errors.New("openai: the base URL must be an http or https URL with a host")
	}
	cfg.Connect = cmp.Or(max(cfg.Connect, 0), defaultConnect)
	cfg.FirstToken = cmp.Or(max(cfg.FirstToken, 0), defaultFirstToken)
	cfg.Idle = cmp.Or(max(cfg.Idle, 0), defaultIdle)
	cfg.Attempts = cmp.Or(max(cfg.Attempts, 0), DefaultAttempts)
	cfg.Limits.Line = cmp.Or(max(cfg.Limits.Line, 0), defaultLine)
	cfg.Limits.Reply = cmp.Or(max(cfg.Limits.Reply, 0), defaultReply)
	cfg.Limits.Arguments = cmp.Or(max(cfg.Limits.Arguments, 0), defaultArguments)
	cfg.Limits.Calls = cmp.Or(max(cfg.Limits.Calls, 0), defaultCalls)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Transport == nil {
		cfg.Transport = NewTransport(nil)
	}
	if cfg.Before == nil {
		cfg.Before = func(context.Context) error { return nil }
	}
	if cfg.Memory == nil {
		cfg.Memory = func(context.Context, int) (func(), error) { return func() {}, nil }
	}
	cfg.hide = hiding(cfg.APIKey, base.RawQuery)
	t := &cleaning{next: cfg.Transport, limits: cfg.Limits, query: base.RawQuery, key: cfg.APIKey, hide: cfg.hide, before: cfg.Before, memory: cfg.Memory}
	t.azure = slices.ContainsFunc(azure, func(cloud string) bool { return strings.HasSuffix(base.Hostname(), cloud) })
	base.RawQuery, base.Fragment = "", ""
	cc := goopenai.DefaultConfig(cfg.APIKey)
	cc.BaseURL = base.String()
	cc.HTTPClient = &http.Client{Transport: t}
	return &Model{cfg: cfg, client: goopenai.NewClientWithConfig(cc)}, nil
}

// NewTransport returns a transport for model servers: it keeps many idle
// connections, does not ask for compression, and uses the proxy function, nil
// for none.
func NewTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return &http.Transport{
		Proxy:               proxy,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: silence},
		MaxIdleConns:        maxIdle,
		MaxIdleConnsPerHost: maxIdle,
		IdleConnTimeout:     idleConnection,
		TLSHandshakeTimeout: defaultConnect,
		DisableCompression:  true,
		WriteBufferSize:     writeBuffer,
	}
}

// Limits of the connections that are kept for the next call.
const (
	maxIdle        = 1024
	idleConnection = 90 * time.Second
	// silence is how long a connection of HTTP/2 may be silent before it is asked for a sign
	// of life, and how long that may take. Without it calls would use a dead one until the
	// system gives it up, which takes a quarter of an hour.
	silence = 15 * time.Second
	// writeBuffer holds a request's head; a longer body is written directly.
	writeBuffer = 1 << 10
)

// Stream makes one call, as agents.Model describes.
func (m *Model) Stream(ctx context.Context, req agents.ModelRequest) iter.Seq2[agents.Delta, error] {
	return func(yield func(agents.Delta, error) bool) {
		first := m.known(req.Model)
		q := first
		for attempt := 1; ; attempt++ {
			release, err := m.admit(ctx, &req)
			if err != nil {
				yield(agents.Delta{}, fmt.Errorf("openai: the call was not made: %w", visible(err)))
				return
			}
			c := &modelCall{Model: m, yield: yield, release: release, thoughts: thoughts.Splitter{Within: q.has(withinThoughts)}}
			err = c.run(ctx, &req, q)
			if err == nil || c.shown {
				m.learn(req.Model, q.set(withinThoughts, c.thoughts.Within))
			}
			switch {
			case err == nil || c.gone:
				return
			case ctx.Err() != nil:
				yield(agents.Delta{}, fmt.Errorf("openai: the call was cancelled: %w", context.Cause(ctx)))
				return
			case c.shown:
				yield(agents.Delta{}, visible(err))
				return
			}
			if better, ok := q.after(err, first); ok { // each quirk changes once, so this ends
				q = better
				m.refused(ctx, req.Model, err)
				attempt--
				continue
			}
			wait, ok := pause(err, attempt, m.cfg.Attempts)
			if !ok {
				yield(agents.Delta{}, visible(err))
				return
			}
			if err := m.sleep(ctx, &req, attempt, wait, err); err != nil {
				yield(agents.Delta{}, fmt.Errorf("openai: the call was cancelled: %w", err))
				return
			}
		}
	}
}

// admit waits until an attempt may be made and its request may be in memory.
func (m *Model) admit(ctx context.Context, req *agents.ModelRequest) (release func(), err error) {
	if release, err = m.cfg.Memory(ctx, memoryOf(req)); err != nil {
		return nil, err
	}
	if err = m.cfg.Before(ctx); err != nil {
		release()
	}
	return release, err
}

// refused records that a model's server did not accept a request as it was.
//
//go:noinline
func (m *Model) refused(ctx context.Context, model string, err error) {
	m.cfg.Logger.InfoContext(ctx, "the model's server refused the form of the request; trying another one", "model", model, "error", err)
}

// learn remembers the quirks with which a model's server accepted a request.
func (m *Model) learn(model string, q quirks) {
	if q != m.known(model) {
		m.quirks.Store(model, q)
	}
}

// errNotNeeded ends a call whose reply nobody takes any longer.
var errNotNeeded = errors.New("the reply is not needed any longer")

// sleep waits before the next attempt, and tells that it does. An error means that
// there must be none.
//
//go:noinline
func (m *Model) sleep(ctx context.Context, req *agents.ModelRequest, attempt int, wait time.Duration, err error) error {
	m.cfg.Logger.WarnContext(ctx, "model call failed; retrying", "model", req.Model, "attempt", attempt, "wait", wait, "error", err)
	tell := req.Waits
	if tell == nil {
		tell = func(time.Duration) bool { return true }
	}
	if !tell(wait) {
		return errNotNeeded
	}
	if err := concurrent.Pause(ctx, wait); err != nil {
		return err
	}
	if !tell(0) {
		return errNotNeeded
	}
	return nil
}

func (m *Model) known(model string) quirks {
	if q, ok := m.quirks.Load(model); ok {
		return q.(quirks) // only quirks are stored
	}
	return 0
}
