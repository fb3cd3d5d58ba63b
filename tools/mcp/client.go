package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// steady is how long a connection to a local server must last before its end
// resets the backoff, so that a server that dies at once is not restarted in a
// loop. Retries of remote servers cost little and need no such rule.
const steady = time.Minute

// client keeps the connection to one server.
type client struct {
	Server
	opts Options
	base *url.URL
	log  *slog.Logger
	// bell rings when the list may have changed or the connection may be lost.
	bell chan struct{}
	// tried is closed after the first attempt.
	tried chan struct{}
	once  sync.Once
	// legacy connects with the old handshake: some servers do not answer
	// requests of a protocol that they do not know. Only run uses it.
	legacy bool
	// reported are the hashes of the definitions that have been logged, by
	// tool. Only run uses it.
	reported map[string]string

	mu   sync.Mutex
	link *link // nil while the server is not connected
	// failed is why the last attempt to connect ended, empty while it is connected.
	failed string
	// offered are the definitions that may be called, by the server's name of
	// the tool. Only run writes it.
	offered map[string]definition
}

// run connects, again and again, until ctx ends.
func (c *client) run(ctx context.Context) {
	defer c.wasTried()
	for failures := 0; ctx.Err() == nil; failures++ {
		began := time.Now()
		connected, err := c.follow(ctx)
		c.wasTried()
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > steady || connected && c.Command == "" {
			failures = 0
		}
		delay := backoff(c.opts.FirstDelay, c.opts.LastDelay, failures)
		c.mu.Lock()
		c.failed = reason(err)
		c.mu.Unlock()
		c.log.WarnContext(ctx, "MCP server is not connected", "error", reason(err), "retry_in", delay.String())
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
}

func (c *client) wasTried() { c.once.Do(func() { close(c.tried) }) }

// backoff returns a wait that doubles from first up to last, less a random part
// of up to a half.
func backoff(first, last time.Duration, failures int) time.Duration {
	d := first
	for range failures {
		if d *= 2; d >= last {
			d = last
			break
		}
	}
	return d - rand.N(d/2+1) //nolint:gosec // jitter is no secret
}

// errEnded is the error of a connection that the server closed.
var errEnded = errors.New("the server has ended the connection")

// follow connects and keeps the list of the server's tools up to date until the
// connection or ctx ends. It reports whether the connection worked. A server that
// keeps saying that its list has changed is asked for it less and less often.
func (c *client) follow(ctx context.Context) (connected bool, _ error) {
	l, err := c.connect(ctx)
	if err != nil {
		c.legacy = !c.legacy
		return false, err
	}
	defer l.end()
	defer c.use(nil)
	if err := c.refresh(ctx, l); err != nil {
		return false, err
	}
	c.use(l)
	c.wasTried()
	c.log.InfoContext(ctx, "MCP server is connected", "tools", len(c.offered))
	tick := time.NewTicker(c.opts.Refresh)
	defer tick.Stop()
	var rest <-chan time.Time // while it is set, the bell is not heard
	rings := 0                // in a row, each at the end of a rest
	for {
		bell, rang := c.bell, false
		if rest != nil {
			bell = nil
		}
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case <-l.ended:
			return true, l.why(errEnded)
		case <-rest:
			if rest = nil; len(c.bell) == 0 {
				rings = 0
			}
			continue
		case <-tick.C:
		case <-bell:
			rang = true
		}
		if err := c.refresh(ctx, l); err != nil {
			return true, err
		}
		if rang {
			rest = time.After(backoff(c.opts.FirstDelay, min(c.opts.LastDelay, c.opts.Refresh), rings))
			rings++
		}
	}
}

func (c *client) use(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link = l; l != nil {
		c.failed = ""
	}
}

// ring requests a refresh.
func (c *client) ring() {
	select {
	case c.bell <- struct{}{}:
	default:
	}
}

// connect starts or calls the server and does the handshake.
func (c *client) connect(ctx context.Context) (_ *link, err error) {
	l := &link{ended: make(chan struct{}), calls: map[string]*activeCall{}}
	caught := &catcher{}
	if c.Command == "" {
		caught.Transport = c.remote(l)
	} else {
		if l.process, err = startProcess(c.Command, c.Args, c.Env, c.log); err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
		caught.Transport = c.local(l)
	}
	defer func() {
		if err != nil {
			caught.close()
			l.process.stop()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, c.opts.Connect)
	defer cancel()
	if l.process != nil {
		defer context.AfterFunc(ctx, caught.close)()
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "chattray", Version: c.opts.Version}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { c.ring() },
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
	}).Connect(ctx, caught, c.sessionOptions())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	l.session = session
	l.watch()
	return l, nil
}

// beforeDiscover is the newest protocol that begins with initialize.
const beforeDiscover = "2025-11-25"

func (c *client) sessionOptions() *sdk.ClientSessionOptions {
	if c.legacy {
		return &sdk.ClientSessionOptions{ProtocolVersion: beforeDiscover}
	}
	return nil
}

// catcher keeps the connection that a transport makes, so that it can be closed
// when the handshake fails.
type catcher struct {
	sdk.Transport
	mu   sync.Mutex
	conn sdk.Connection
}

// Connect implements sdk.Transport.
func (t *catcher) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conn = conn
	return conn, err
}

func (t *catcher) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		_ = t.conn.Close() // the handshake's error is returned
	}
}
