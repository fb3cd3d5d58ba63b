// Package transport connects to one MCP server, over the input and output of a process or
// over HTTP. It owns the processes of local servers, the forms in which messages come, and
// which message belongs to which call. What an answer means is left to its callers.
package transport

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxMessage is the largest message of the protocol, in bytes. A larger one ends the
// connection, or only the call that a remote server answers with it.
const MaxMessage = 8 << 20

// Options are the settings of a connection, to a Command or a URL.
type Options struct {
	// Command is run with Args. Env is its whole environment, as NAME=value.
	Command   string
	Args, Env []string
	// URL is an endpoint of streamable HTTP. Headers are sent with every request to it, and
	// nowhere else.
	URL     string
	Headers map[string]string
	// Legacy connects with the old handshake: some servers do not answer requests of a
	// protocol that they do not know.
	Legacy bool
	// Version is this program's version, which is sent to the server.
	Version string
	// Timeout bounds the start of the connection.
	Timeout time.Duration
	// ListChanged is called when the server says that its list of tools has changed.
	ListChanged func()
	// Secrets removes what the server is given in secret from the lines of it that are logged.
	Secrets *strings.Replacer
	Logger  *slog.Logger
}

// Connect starts or calls the server and does the handshake. The caller closes the link.
func Connect(ctx context.Context, o Options) (_ *Link, err error) {
	l := &Link{ended: make(chan struct{}), calls: map[string]*activeCall{}}
	caught := &catcher{}
	if o.Command == "" {
		if caught.Transport, err = o.overHTTP(l); err != nil {
			return nil, err
		}
	} else {
		if l.process, err = o.startProcess(); err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
		caught.Transport = o.overStdio(l)
	}
	defer func() {
		if err != nil {
			caught.close()
			l.process.stop()
			err = l.process.explain(err)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if l.process != nil {
		defer context.AfterFunc(ctx, caught.close)()
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "chattray", Version: o.Version}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { o.ListChanged() },
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
	}).Connect(ctx, caught, o.session())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	l.session = session
	l.watch()
	return l, nil
}

// beforeDiscover is the newest protocol that begins with initialize.
const beforeDiscover = "2025-11-25"

func (o Options) session() *sdk.ClientSessionOptions {
	if o.Legacy {
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
