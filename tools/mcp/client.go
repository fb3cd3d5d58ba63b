package mcp

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/tools/mcp/transport"
)

// steady is how long a connection to a local server must last before its end
// resets the backoff, so that a server that dies at once is not restarted in a
// loop. Retries of remote servers cost little and need no such rule.
const steady = time.Minute

// client keeps the connection to one server.
type client struct {
	Server
	opts Options
	log  *slog.Logger
	// bell rings when the list may have changed or the connection may be lost.
	bell chan struct{}
	// tried is closed after the first attempt.
	tried chan struct{}
	once  sync.Once
	// listed is closed after the first list of tools that could be compared with the trusted
	// definitions. Compared says that the last list could. Only run uses compared.
	listed   chan struct{}
	compared bool
	// legacy connects with the old handshake: some servers do not answer
	// requests of a protocol that they do not know. Only run uses it.
	legacy bool
	// secrets removes what the server is given in secret from what the model reads.
	secrets *strings.Replacer
	// reported are the hashes of the definitions that have been logged, by
	// tool. Only run uses it.
	reported map[string]string

	mu   sync.Mutex
	link *transport.Link // nil while the server is not connected
	// failed is why the last attempt to connect ended, empty while it is connected.
	failed string
	// offered are the definitions that may be called, by the server's name of
	// the tool. Only run writes it.
	offered map[string]Definition
	// used are the names of those that turns can use, sorted.
	used []string
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
		why := c.reason(err)
		c.mu.Lock()
		c.failed = why
		c.mu.Unlock()
		c.log.WarnContext(ctx, "MCP server is not connected", append([]any{"error", why, "retry_in", delay}, c.said(err)...)...)
		_ = concurrent.Pause(ctx, delay) // the loop ends with ctx
	}
}

// said returns what a local server wrote before it failed to start, as an attribute of the log.
func (c *client) said(err error) []any {
	failed, ok := errors.AsType[*transport.NotStarted](err)
	if !ok || len(failed.Said) == 0 {
		return nil
	}
	lines := strings.Split(c.secrets.Replace(strings.Join(failed.Said, "\n")), "\n")
	for i, line := range lines { // a secret that is cut is not found
		lines[i] = text.Printable(line, maxSaid)
	}
	return []any{"said", strings.Join(lines, "\n")}
}

// wasListed closes listed, unless the last list could not be compared. Only run uses it.
func (c *client) wasListed() {
	select {
	case <-c.listed:
	default:
		if c.compared {
			close(c.listed)
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

// follow connects and keeps the list of the server's tools up to date until the
// connection or ctx ends. It reports whether the connection worked. A server that
// keeps saying that its list has changed is asked for it less and less often.
func (c *client) follow(ctx context.Context) (connected bool, _ error) {
	l, err := transport.Connect(ctx, transport.Options{
		Command: c.Command, Args: c.Args, Env: c.Env, URL: c.URL, Headers: c.Headers,
		Legacy: c.legacy, Version: c.opts.Version, Timeout: c.opts.Connect, ListChanged: c.ring, Secrets: c.secrets, Logger: c.log,
	})
	if err != nil {
		c.legacy = !c.legacy
		return false, err
	}
	defer l.Close()
	defer c.use(nil)
	if err := c.refresh(ctx, l); err != nil {
		return false, err
	}
	c.use(l)
	c.wasListed()
	c.wasTried()
	c.log.InfoContext(ctx, "MCP server is connected", "tools", len(c.used))
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
		case <-l.Ended():
			return true, l.Err()
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
		c.wasListed()
		if rang {
			rest = time.After(backoff(c.opts.FirstDelay, min(c.opts.LastDelay, c.opts.Refresh), rings))
			rings++
		}
	}
}

func (c *client) use(l *transport.Link) {
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

// maxReason is the longest error text in the log, in characters.
const maxReason = 300

// maxSaid is the longest line of a local server in the log, in characters.
const maxSaid = 200

// reason returns the text of an error for the log, without URLs, which may hold keys, and
// without the server's secrets, which it may repeat.
func (c *client) reason(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return text.Printable(c.secrets.Replace(err.Error()), maxReason)
}
