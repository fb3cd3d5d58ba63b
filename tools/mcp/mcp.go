// Package mcp speaks the Model Context Protocol, both ways: the tools of the
// configured servers become a group of the registry each (Clients), and the
// registry's tools are served to other programs (Handler).
//
// It owns connections and their repair, the processes of local servers, and
// what of a foreign tool's name, description, schema and result is let in. Which
// page offers which tool is the settings' and the registry's; who may call /mcp
// is the API's. Nothing of a user, no token and no id, goes to a server.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

// What is taken from one server.
const (
	// MaxTools is how many of its tools count, by name.
	MaxTools = 100
	// MaxDescription is the longest description that a model gets, in
	// characters, MaxSchema the largest input schema, in bytes.
	MaxDescription = 1_000
	MaxSchema      = 32 << 10
	// MaxResult is the longest text of a result, in bytes.
	MaxResult = 2 << 20
	// MaxMessage is the largest message of the protocol, in bytes; a larger
	// one ends the connection.
	MaxMessage = 8 << 20
)

// The defaults of Options.
const (
	defaultRefresh    = 30 * time.Second
	defaultConnect    = 30 * time.Second
	defaultFirstDelay = time.Second
	defaultLastDelay  = time.Minute
)

// Server is a server to connect to: a Command to run or a URL to call.
type Server struct {
	// Name begins the names of its tools; see tools.CheckGroup.
	Name string
	// Command is run with Args. Env is its whole environment, as NAME=value.
	Command   string
	Args, Env []string
	// URL is an endpoint of streamable HTTP; Headers go with every request to
	// it, and nowhere else.
	URL     string
	Headers map[string]string
	// Global offers its tools on every page.
	Global bool
	// Confirm names the tools whose calls wait for the user's approval, as the
	// server names them; tools.GroupAll is all of them, an empty list none. Nil is
	// all but those that a trusted hint calls read-only or not destructive.
	Confirm []string
	// TrustHints lets what the server says of its tools count: that they only
	// read, destroy nothing, may be repeated after a crash, reach nothing outside.
	TrustHints bool
	// Timeout bounds one call; 0 is the loop's default.
	Timeout time.Duration
}

// Options is what Clients stand on. Registry and Pins are needed.
type Options struct {
	Servers  []Server
	Registry registry
	Pins     pins
	// Version is this program's, for the servers to know.
	Version string
	// Refresh is how often a list of tools is asked for, which also shows that
	// a server is still there. Connect bounds the start of a connection, and
	// each list. FirstDelay and LastDelay are the shortest and the longest time
	// between two attempts to connect. 0 is the default.
	Refresh, Connect, FirstDelay, LastDelay time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// registry takes the tools of a group; tools.Registry is one.
type registry interface {
	Replace(group string, tools []turn.Tool) error
}

// pins remembers definitions; see store.SeeMCPTools.
type pins interface {
	SeeMCPTools(ctx context.Context, server string, seen []record.MCPTool) ([]record.MCPTool, error)
}

// Clients keeps the connections to all configured servers. Its tools are in the
// registry for as long as the server had them when it was last heard of; a call
// to a server that is away is an error that the model reads.
type Clients struct{ clients []*client }

// New checks the servers; the registry must have a group for each. It connects
// to nothing.
func New(o Options) (*Clients, error) {
	o.Refresh, o.Connect = cmp.Or(o.Refresh, defaultRefresh), cmp.Or(o.Connect, defaultConnect)
	o.FirstDelay, o.LastDelay = cmp.Or(o.FirstDelay, defaultFirstDelay), cmp.Or(o.LastDelay, defaultLastDelay)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	c := &Clients{}
	var wrong []error
	for _, s := range o.Servers {
		one := &client{
			Server: s, opts: o, log: o.Logger.With("mcp_server", s.Name), bell: make(chan struct{}, 1), tried: make(chan struct{}),
			offered: map[string]definition{}, reported: map[string]string{},
		}
		err := errors.Join(tools.CheckGroup(s.Name), o.Registry.Replace(s.Name, nil))
		if one.base, _ = url.Parse(s.URL); (s.Command == "") == (s.URL == "") || one.base == nil {
			err = errors.Join(err, errors.New("it needs a command or a URL"))
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("MCP server %q: %w", s.Name, err))
		}
		c.clients = append(c.clients, one)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return c, nil
}

// Run connects to all servers and keeps the connections until ctx ends. When it
// returns every connection is closed and every process has ended. It is called
// once.
func (c *Clients) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, one := range c.clients {
		all.Go(func() { one.run(ctx) })
	}
	all.Wait()
}

// Ready waits until each server has been tried once, or ctx ends.
func (c *Clients) Ready(ctx context.Context) {
	for _, one := range c.clients {
		select {
		case <-one.tried:
		case <-ctx.Done():
			return
		}
	}
}
